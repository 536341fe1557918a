import os
import sys
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from sonnx_ort import models
from sonnx_ort.backends import Backend
from sonnx_ort.cli import demo
from sonnx_ort.cli.demo import next_command
from sonnx_ort.installation import demonstration
from sonnx_ort.installation.demonstration import Row, Verdict, demonstrate, run_case
from sonnx_ort.models import Approximation, Case, Outputs, Rejection, RunViolation, StaticViolation
from support.command import command


@pytest.fixture(scope="module", params=[Backend.NATIVE, Backend.PYTHON], ids=str)
def rows(request):
    return list(demonstrate(request.param))


def bundled(name, case_name):
    example = models.example(name)
    return example, next(case for case in example.cases if case.name == case_name)


@pytest.mark.thorough
def test_every_case_is_a_row_in_the_order_of_the_manifest(rows):
    manifest = [(e.name, case.name, e.shows) for e in models.examples() for case in e.cases]
    assert [(row.model, row.case, row.shows) for row in rows] == manifest


@pytest.mark.thorough
def test_every_case_is_kept(rows):
    assert [row for row in rows if not row.kept] == []


@pytest.mark.thorough
def test_what_is_kept_reads_as_expected(rows):
    assert [(row.expected, row.got) for row in rows if row.expected != row.got] == []


@pytest.mark.thorough
def test_texts_fit_a_table(rows):
    assert max(len(text) for row in rows for text in (row.model, row.case)) <= 40
    assert max(len(text) for row in rows for text in (row.shows, row.got)) <= 200


TINY_YOLO_V2 = "-0.982283, -0.399092, -1.26238, -0.626775, 0.220358, 0.21248"


@pytest.mark.parametrize(("name", "case_name", "expected"), [
    ("div_zero_by_zero", "typed", "C = [1, 2, 4, nan, 5, 6]"),
    ("normalization_broadcast", "typed",
     "rejected: Sub.float.R1 at subtract; Div.float.R1 at divide"),
    ("div_int32", "x/0 typed", "refused in the run: Div.int.C1 at divide, -5 and 0 at [1]"),
    ("digits", "typed", "352 of 360 right, before and after"),
    ("digits_convolutional", "held-out images", "354 of 360 right, before and after"),
    ("tiny_yolo_v2", "a made-up image",
     f"grid = [{TINY_YOLO_V2}, ... 500 elements], within 0.0001"),
])  # fmt: skip
def test_row_says_what_was_expected(name, case_name, expected):
    example, case = bundled(name, case_name)
    row = run_case(example, case)
    assert row == Row(name, case_name, example.shows, expected, expected, Verdict.KEPT)


def with_expectation(name, case_name, expected):
    example, case = bundled(name, case_name)
    return example, replace(case, expected=expected)


@pytest.mark.parametrize(
    ("name", "case_name", "expected", "got"),
    [
        ("div_example_1_float32", "typed", Outputs({"C": np.float32([2, 3, 8])}),
         "C[2] = 7, not 8"),
        ("div_example_1_float32", "typed",
         Outputs({"C": np.float32([2, 3, 7]), "D": np.float32([1])}), "there is no output D"),
        ("div_example_1_float32", "typed", Rejection((StaticViolation("Div.float.R1", "divide"),)),
         "C = [2, 3, 7]"),
        ("onnx_div_broadcast", "preliminary", Rejection((StaticViolation("Div.R1", "divide"),)),
         "rejected: Div.R1 at divide; Div.R4 at divide"),
        ("div_int32", "x/0 typed",
         RunViolation("Div.int.C1", "Div", "divide", ((3,), (3,)), (2,), (0, 0)),
         "refused in the run: Div.int.C1 at divide, -5 and 0 at [1]"),
    ],
    ids=["element", "missing output", "not rejected", "further violation", "other element"],
)  # fmt: skip
def test_what_is_not_as_expected_fails_and_says_what_came(name, case_name, expected, got):
    row = run_case(*with_expectation(name, case_name, expected))
    assert (row.got, row.verdict) == (got, Verdict.FAILED)
    assert not row.kept


@pytest.mark.parametrize("backend", list(Backend))
def test_each_case_runs_on_the_chosen_backend(monkeypatch, backend):
    chosen = []
    monkeypatch.setattr(demonstration, "run_case", lambda *given: chosen.append(given[-1]))
    list(demonstrate(backend))
    assert set(chosen) == {backend}


@pytest.mark.parametrize("backend", list(Backend))
def test_only_the_python_backend_has_what_is_expected_of_one_release(monkeypatch, backend):
    example, case = bundled("div_int32", "x/0 typed")
    given = []
    monkeypatch.setattr(Case, "with_runtime", lambda case, version: given.append(version) or case)
    run_case(example, case, backend)
    assert given == [onnxruntime.__version__ if backend is Backend.PYTHON else None]


@pytest.mark.parametrize("backend", list(Backend))
def test_session_has_the_options_of_the_case(monkeypatch, backend):
    given = {}

    def refuse(*_, **options):
        given.update(options)
        raise ValueError("no session")

    example, case = bundled("div_int32", "x/0 typed")
    case = replace(case, edition="preliminary", broadcast="explicit", operators="Div")
    monkeypatch.setattr(demonstration, "InferenceSession", refuse)
    assert run_case(example, case, backend).got == "ValueError: no session"
    assert given == {
        "edition": "preliminary", "broadcast": "explicit", "operators": "Div", "backend": backend,
    }  # fmt: skip


APPROXIMATION = Approximation({"C": np.float32([2, 3, 7])}, 0.5)


@pytest.mark.parametrize(("name", "expected"), [
    ("div_example_1_float32", APPROXIMATION), ("digits", None),
])  # fmt: skip
def test_output_that_the_rewrite_changes_is_a_failure(monkeypatch, name, expected):
    example, case = bundled(name, "typed")
    case = replace(case, expected=expected or case.expected)
    assert run_case(example, case, Backend.NATIVE).kept
    computed, calls = demonstration._outputs, []

    def changed_before(session, case):
        calls.append(session)
        found = computed(session, case)
        return {n: x + (len(calls) > 1) for n, x in found.items()}

    monkeypatch.setattr(demonstration, "_outputs", changed_before)
    row = run_case(example, case, Backend.NATIVE)
    assert (row.verdict, len(calls)) == (Verdict.FAILED, 2)
    assert row.got.startswith("the rewrite changes an output: ")


@pytest.mark.parametrize(
    ("expected", "level"),
    [
        (Outputs({}), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL),
        (APPROXIMATION, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL),
    ],
)
def test_bits_are_compared_without_optimizations(expected, level):
    _, case = bundled("div_int32", "x/0 typed")
    options = demonstration._options(replace(case, expected=expected))
    assert (options.graph_optimization_level, options.log_severity_level) == (level, 4)


def test_violations_are_the_same_in_any_order():
    one, other = StaticViolation("Div.R1", "a"), StaticViolation("Div.R4", "b")
    assert demonstration.agrees(Rejection((one, other)), Rejection((other, one)))
    assert not demonstration.agrees(Rejection((one, other)), Rejection((one, one)))


WITHOUT_SHAPES = RunViolation("Div.int.C1", "Div", "divide", (), None, None)


@pytest.mark.parametrize(
    ("installed", "observed", "kept", "short"),
    [
        (False, WITHOUT_SHAPES, True, True),
        (True, WITHOUT_SHAPES, False, False),
        (False, None, True, False),
        (False, replace(WITHOUT_SHAPES, rule="Div.int.C2"), False, True),
    ],
    ids=["not installed", "installed", "with shapes", "another rule"],
)
def test_error_without_shapes_is_kept_where_nothing_adds_them(
    monkeypatch, installed, observed, kept, short
):
    example, case = bundled("div_int32", "x/0 typed")
    found = observed or case.expected
    monkeypatch.setattr(demonstration, "observe", lambda *_: found)
    monkeypatch.setattr(demonstration, "is_installed", lambda _: installed)
    row = run_case(example, case, Backend.NATIVE)
    assert (row.kept, row.short) == (kept, short)
    assert row.expected == "refused in the run: Div.int.C1 at divide, -5 and 0 at [1]"


def test_classification_with_another_count_fails():
    example, case = bundled("digits", "typed")
    row = run_case(example, replace(case, expected=replace(case.expected, correct=351)))
    assert (row.expected, row.got, row.verdict) == (
        "351 of 360 right, before and after",
        "352 of 360 right, before and after",
        Verdict.FAILED,
    )


@pytest.mark.parametrize(("change", "distance"), [(np.float32(0.25), "0.25"), (0.25, "inf")])
def test_output_beyond_the_tolerance_fails(change, distance):
    example, case = bundled("tiny_yolo_v2", "a made-up image")
    others = {"grid": case.expected.values["grid"].astype(type(change)) + change}
    row = run_case(example, replace(case, expected=replace(case.expected, values=others)))
    assert (row.got[:19], row.verdict) == (f"grid is off by {distance}", Verdict.FAILED)


def test_error_that_nobody_expects_is_a_failed_row():
    example, case = bundled("div_example_1_float32", "typed")
    row = run_case(example, replace(case, broadcast="never"))
    assert row.verdict is Verdict.FAILED
    assert row.got.startswith("SonnxError: ")


def test_violations_are_not_printed(capfd):
    run_case(*bundled("div_int32", "x/0 typed"))
    run_case(*bundled("div_open_sizes", "3 and 1 typed"))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("backend", [Backend.PYTHON, Backend.NATIVE])
@pytest.mark.parametrize(("verdict", "status"), [(Verdict.KEPT, 0), (Verdict.FAILED, 1)])
def test_demo_says_what_is_not_as_expected_and_ends_so(monkeypatch, backend, verdict, status):
    rows = [
        Row("div_int32", "x/0 typed", "", "1", "1", Verdict.KEPT, short=True),
        Row("digits", "typed", "", "1", "2", verdict),
    ]
    chosen = []
    monkeypatch.setattr(demo, "play", lambda backend: chosen.append(backend) or [["a scene"]])
    monkeypatch.setattr(demo, "demonstrate", lambda backend: chosen.append(backend) or rows)
    done = command("demo", "--backend", backend)
    assert (done.returncode, done.stderr, chosen) == (status, "", [backend, backend])
    kept = 2 - status
    failed = ["not as expected: digits, typed: 2; expected 1"] if status else []
    assert done.stdout.splitlines()[:-2] == [
        "a scene", "",
        "0 of 0  give the numbers that the documents state",
        "0 of 0  are rejected before any run",
        "1 of 1  run, and fail with an error where a rule is violated",
        f"{kept - 1} of 1  classify as before",
        "0 of 0  give the same bits as before",
        *failed,
        f"2 cases: {kept} as expected, {status} not",
        f"backend: {backend}",
        "1 errors without the shapes and values that the python backend adds",
    ]  # fmt: skip


MODEL = models.path("normalization_broadcast")


@pytest.mark.parametrize(("on_path", "here", "typed"), [
    (True, "", "sonnx-ort"),
    (False, "", ".venv/bin/sonnx-ort"),
    (False, ".venv", "bin/sonnx-ort"),
    (False, "else where", "'{folder}/.venv/bin/sonnx-ort'"),
])  # fmt: skip
def test_next_command_can_be_typed_where_the_demo_runs(monkeypatch, tmp_path, on_path, here, typed):
    folder = tmp_path / "a folder"
    command = folder / ".venv/bin/sonnx-ort"
    for new in (command.parent, folder / "else where"):
        new.mkdir(parents=True)
    command.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(command.parent) if on_path else os.defpath)
    monkeypatch.setattr(sys, "argv", [str(command), "demo"])
    monkeypatch.chdir(folder / here)
    assert next_command() == f"{typed.format(folder=folder)} check {MODEL}"


def test_next_command_has_its_name_where_something_else_shows_the_demo(monkeypatch):
    monkeypatch.setattr(sys, "argv", [sys.executable, "demo"])
    monkeypatch.chdir(MODEL.parent)
    assert next_command() == "sonnx-ort check normalization_broadcast.onnx"
