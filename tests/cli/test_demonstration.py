import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort import models
from sonnx_ort.backends import Backend
from sonnx_ort.cli.demo import next_command
from sonnx_ort.installation.demonstration import Row, Verdict, demonstrate, run_case
from sonnx_ort.models import Outputs, Rejection, RunViolation, StaticViolation


@pytest.fixture(
    scope="module",
    params=[Backend.NATIVE, pytest.param(Backend.PYTHON, marks=pytest.mark.thorough)],
    ids=str,
)
def rows(request):
    return list(demonstrate(request.param))


def bundled(name, case_name):
    example = models.example(name)
    return example, next(case for case in example.cases if case.name == case_name)


@pytest.mark.thorough
def test_every_case_is_a_row_in_the_order_of_the_manifest(rows):
    manifest = [(e.name, case.name, e.shows) for e in models.examples() for case in e.cases]
    assert [(row.model, row.case, row.shows) for row in rows] == manifest


def test_every_case_is_kept(rows):
    assert [row for row in rows if not row.kept] == []


def test_what_is_kept_reads_as_expected(rows):
    assert [(row.expected, row.got) for row in rows if row.expected != row.got] == []


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
