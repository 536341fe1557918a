"""What is timed and how, the figures as tables, JSON and a picture, and the commands."""

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise

import benchmark
import numpy as np
import onnx
import onnxruntime
import pytest
from benchmarks import caching, finite, growth, operators, plot, report
from benchmarks.measurement import (
    ELEMENT_TYPES,
    Measurement,
    Setting,
    choose_subjects,
    make_feeds,
    make_model,
)
from benchmarks.starting import OURS, PLAIN, REWRITE, REWRITTEN, Memory, make_weighted, row
from benchmarks.turns import FEWEST_TURNS, Spread, difference_of, ratio_of, seconds_of, take_turns

import sonnx_ort
from sonnx_ort.backends import Backend

MICROSECOND = 1e-6


def measurement(
    elements: int = 1_000_000,
    element_type: str = "float32",
    *,
    nodes: int = 1,
    proved: bool = False,
    **microseconds: Sequence[float],
) -> Measurement:
    """Make up a measurement on one thread.

    Args:
        elements: The number of elements.
        element_type: The numpy name of their type.
        nodes: The number of nodes.
        proved: Whether all is proved.
        **microseconds: What each subject took, turn by turn.
    """
    setting = Setting(element_type, elements, nodes, proved=proved)
    turns = [
        {name: figure * MICROSECOND for name, figure in zip(microseconds, taken, strict=True)}
        for taken in zip(*microseconds.values(), strict=True)
    ]
    return Measurement(setting, turns)


TURNS = [{"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 3.0}, {"a": 4.0, "b": 6.0}, {"a": 1.5}]

SINGLE = measurement(
    1000, onnxruntime=[10, 20, 40], native=[15, 24, 44], jit=[5, 5, 5], checkify=[10, 20, 15]
)
CHAIN = measurement(
    16, "int32", nodes=100, onnxruntime=[100, 200, 100], native=[350, 500, 400], plain=[9, 9, 9]
)


def test_figures_are_those_of_the_shortest_times_and_the_median_turn_by_turn():
    assert seconds_of(TURNS, "b") == Spread(3.0, 3.0)
    assert ratio_of(TURNS, "b", "a") == Spread(3.0, 1.5)
    assert difference_of(TURNS, "b", "a") == Spread(2.0, 2.0)
    assert Spread(1.0, 2.5).times(2) == Spread(2.0, 5.0)


def test_order_changes_from_turn_to_turn():
    order = []
    runs = {name: lambda name=name: order.append(name) for name in ("a", "b", "c")}
    turns = take_turns(runs, 0.0, "a")
    assert [sorted(turn) for turn in turns] == [["a", "b", "c"]] * FEWEST_TURNS
    followers_of_a = {after for before, after in pairwise(order) if before == "a"} - {"a"}
    assert followers_of_a == {"b", "c"}


@pytest.mark.parametrize(
    ("backends", "own"),
    [
        (["native"], ["native", "session"]),
        (["python"], ["python"]),
        (["python", "native"], ["native", "session", "python"]),
    ],
)
def test_only_the_chosen_backends_take_part(backends, own):
    others = ["plain", "reference", "jit", "checkify"]
    assert choose_subjects(backends, find=str) == (["onnxruntime", *own, *others], "")


def test_missing_jax_is_said_and_everything_else_measured():
    chosen, notice = choose_subjects(["native"], find=lambda _: None)
    assert chosen == ["onnxruntime", "native", "session", "plain", "reference"]
    assert notice.startswith("The package jax is not installed, so jit and checkify / jit are left")


def test_markdown_has_a_table_for_single_nodes_and_one_for_chains():
    assert operators.markdown_tables([SINGLE, CHAIN]).splitlines() == [
        "| one Div | elements | ONNX Runtime, us | native | checkify / jit |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| float32 | 1,000 | 10.0 / 20.0 | 1.50 / 1.20 | 2.00 / 3.00 |",
        "",
        "| us added to a node | native | plain @onnx_op |",
        "| --- | ---: | ---: |",
        "| int32, in the run | 2.50 / 3.00 | -0.91 / -0.91 |",
    ]


def test_columns_of_text_stand_under_each_other(capsys):
    report.print_row({"x": "1", "a title of a column": "2", "z": "3"}, titles=True)
    titles, row = capsys.readouterr().out.splitlines()
    assert [titles.index(title) for title in "xz"] == [row.index(cell) for cell in "13"]
    assert len(titles) == len(row)


@pytest.mark.parametrize(
    ("figure", "text"),
    [(0.994, "0.99"), (-0.002, "0.00"), (12.34, "12.3"), (-12.34, "-12.3"), (1234.5, "1,234")],
)
def test_figures_have_three_digits_or_so(figure, text):
    assert report.number(figure) == text


def test_record_holds_each_subject_with_its_baseline():
    figures = operators.record([SINGLE])["figures"]
    assert [(figure["subject"], figure["baseline"]) for figure in figures] == [
        ("onnxruntime", "onnxruntime"),
        ("native", "onnxruntime"),
        ("jit", "jit"),
        ("checkify", "jit"),
    ]
    assert figures[1] == {
        "subject": "native",
        "element_type": "float32",
        "elements": 1000,
        "nodes": 1,
        "proved": False,
        "positive": False,
        "threads": 1,
        "turns": 3,
        "seconds": {"minimum": pytest.approx(15e-6), "median": pytest.approx(24e-6)},
        "baseline": "onnxruntime",
        "ratio": {"minimum": pytest.approx(1.5), "median": pytest.approx(1.2)},
        "added_microseconds_per_node": {"minimum": pytest.approx(5), "median": pytest.approx(4)},
    }


@pytest.fixture
def results(tmp_path):
    """A file of figures."""
    file = tmp_path / "results.json"
    report.write_json(file, {"cores": "2", "command": "x"}, operators.record([SINGLE, CHAIN]))
    return file


def test_panels_hold_the_median_ratios_of_single_nodes_by_size(results):
    assert plot.read_panels(results) == {
        "float32": {"native": {1000: pytest.approx(1.2)}, "checkify": {1000: pytest.approx(3)}}
    }


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "does not hold the figures that 'operators --json' writes: TypeError("),
        ("no JSON", "does not hold the figures that 'operators --json' writes: JSONDecodeError("),
        ('{"models": []}', "does not hold the figures that 'operators --json' writes: KeyError("),
        ('{"figures": []}', "holds no figures of a single Div"),
        (None, "does not hold the figures that 'operators --json' writes: FileNotFoundError("),
    ],
)
def test_file_without_figures_ends_with_status_2_and_a_sentence(tmp_path, capsys, content, reason):
    file = tmp_path / "results.json"
    if content is not None:
        file.write_text(content)
    assert plot.run([str(file), str(tmp_path / "picture.svg")]) == 2
    assert capsys.readouterr().out.startswith(f"'{file}' {reason}")


def test_missing_matplotlib_ends_with_status_2_and_a_sentence(results, tmp_path, capsys):
    picture = tmp_path / "picture.svg"
    assert plot.run([str(results), str(picture)], find=lambda _: None) == 2
    assert capsys.readouterr().out == (
        "The package matplotlib is not installed; to plot: pip install --group benchmark\n"
    )


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_picture_names_panels_and_lines_as_text_and_is_the_same_again(results, tmp_path):
    pictures = [tmp_path / "one.svg", tmp_path / "other.svg"]
    assert [plot.run([str(results), str(picture)]) for picture in pictures] == [0, 0]
    one, other = (picture.read_text(encoding="utf-8") for picture in pictures)
    assert one == other
    assert "prefers-color-scheme: dark" in one
    assert all(f">{text}</text>" in one for text in ("float32", "native", "checkify / jit"))


@pytest.fixture
def call(monkeypatch):
    """Calls the command here."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["benchmark.py", *map(str, arguments)])
        return benchmark.main()

    return run


@pytest.mark.parametrize(
    ("measurement", "options"),
    [
        ("operators", {"--backend", "--elements", "--types", "--seconds", "--json", "--markdown"}),
        ("models", {"--backend", "--model", "--seconds", "--markdown"}),
        ("rewriting", {"--backend", "--nodes", "--seconds"}),
        ("finite", {"--seconds"}),
        ("cache", {"MODEL", "--backend", "--seconds", "--markdown"}),
        ("sessions", {"MODEL", "--backend", "--megabytes", "--seconds", "--markdown"}),
        ("plot", {"RESULTS.json", "PICTURE.svg"}),
    ],
)
def test_help_names_the_options(call, capsys, measurement, options):
    with pytest.raises(SystemExit) as ended:
        call(measurement, "--help")
    assert ended.value.code == 0
    assert options <= set(capsys.readouterr().out.replace("]", " ").replace("[", " ").split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seconds", "0"], "'0' is no number above 0"),
        (["--elements", "1.5"], "'1.5' is no whole number above 0"),
        (["--json", "no/file"], "there is no folder 'no'; make it first"),
        (["plot", "a.json", "a.png"], "'a.png' is no SVG; name a file that ends in .svg"),
    ],
)
def test_wrong_argument_is_refused_in_a_sentence(call, capsys, arguments, sentence):
    with pytest.raises(SystemExit) as ended:
        call(*arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f": {sentence}\n")


@pytest.mark.thorough
def test_what_finite_values_cost_is_a_ratio_for_each_backend_and_extent():
    turns = finite.time_runs("digits_convolutional", 0.001)
    row = finite.row("digits_convolutional", turns)
    extents = ("outputs", "every value")
    assert list(row)[2:] == [
        f"{backend}, {extent}" for backend in reversed(Backend) for extent in extents
    ]


@pytest.mark.thorough
def test_smallest_measurement_prints_a_row_for_each_size_and_writes_the_figures(tmp_path):
    file = tmp_path / "figures.json"
    done = subprocess.run(
        [
            *(sys.executable, benchmark.__file__, "operators", "--seconds", "0.001"),
            *("--elements", "1", "3", "--types", "int32", "--backend", "native", "--json", file),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *printed, total = done.stdout.splitlines()
    assert total.endswith(" s in all")
    lines = [line.split()[0] for line in printed if line]
    assert lines.count("1") == lines.count("3") == 1
    assert lines.count("int32,") == 2
    recorded = json.loads(file.read_text(encoding="utf-8"))
    assert {"machine", "command", "figures"} == recorded.keys()


STARTS = [
    {PLAIN: 0.010, REWRITTEN: 0.020, REWRITE: 0.030, OURS: 0.050},
    {PLAIN: 0.020, REWRITTEN: 0.020, REWRITE: 0.030, OURS: 0.060},
    {PLAIN: 0.010, REWRITTEN: 0.020, REWRITE: 0.030, OURS: 0.060},
]
MEGABYTE = 2**20


def test_row_has_times_ratios_and_memory():
    plain, ours = Memory(200 * MEGABYTE, 100 * MEGABYTE), Memory(300 * MEGABYTE, 150 * MEGABYTE)
    assert row("m", STARTS, plain, ours) == {
        "model": "m",
        "ONNX Runtime, ms": "10.0 / 10.0",
        "ONNX Runtime, rewritten, ms": "20.0 / 20.0",
        "rewrite, ms": "30.0 / 30.0",
        "InferenceSession, ms": "50.0 / 60.0",
        "over ONNX Runtime": "5.00 / 5.00",
        "peak, MB": "200 -> 300",
        "held, MB": "100 -> 150",
    }


def test_row_of_a_cache_compares_the_session_that_finds_its_model():
    turns = [
        {caching.PLAIN: 0.01, caching.CHECK: 0.5, caching.OURS_KEPT: 0.02},
        {caching.PLAIN: 0.02, caching.CHECK: 0.7, caching.OURS_KEPT: 0.06},
    ]
    assert caching.row("m", turns) == {
        "model": "m",
        "ONNX Runtime, ms": "10.0 / 15.0",
        "check, ms": "500 / 600",
        "InferenceSession, kept, ms": "20.0 / 40.0",
        "over ONNX Runtime": "2.00 / 2.50",
    }


def test_memory_that_the_system_does_not_tell_is_unknown():
    unknown = Memory(None, None)
    assert row("m", STARTS, unknown, unknown)["peak, MB"] == "unknown -> unknown"


def test_large_model_is_the_same_with_its_weights_in_the_file_and_outside(tmp_path):
    whole, external = make_weighted(1.0, tmp_path)
    weights = sum(tensor.ByteSize() for tensor in onnx.load(whole).graph.initializer)
    assert 0.9 * MEGABYTE < weights < 1.1 * MEGABYTE
    assert external.stat().st_size < 10_000
    results = []
    for path in (whole, external):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        size = session.get_inputs()[0].shape[1]
        feeds = {name: np.ones((2, size), np.float32) for name in ("x0", "y")}
        results.append(session.run(None, feeds)[0])
    np.testing.assert_array_equal(*results)


@pytest.mark.thorough
def test_smallest_measurement_prints_a_row_for_each_model(tmp_path):
    file = tmp_path / "sessions.md"
    arguments = ["--seconds", "0.01", "--megabytes", "1", "--markdown", file]
    done = subprocess.run(
        [sys.executable, benchmark.__file__, "sessions", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, _, *rows = file.read_text(encoding="utf-8").splitlines()
    assert first.startswith("| model | ONNX Runtime, ms | ONNX Runtime, rewritten, ms |")
    assert [line.split(" | ")[0] for line in rows] == [
        "| div_int32",
        "| normalization_broadcast",
        "| digits",
        "| 1 MB of weights, external data",
        "| 1 MB of weights, in the file",
        "| 1 MB of weights, bytes",
    ]


SINGLE_SETTINGS = [Setting(element_type, 1000) for element_type in ELEMENT_TYPES]
CHAINS = [Setting(element_type, 4, nodes=3) for element_type in ELEMENT_TYPES]
PROVED = [Setting(element_type, 4, nodes=3, proved=True) for element_type in ELEMENT_TYPES]

TO_BE_CHECKED = {
    "float32": ["Div.float.R1"],
    "int32": ["Div.int.R1", "Div.int.C1", "Div.int.C2"],
    "int64": ["Div.int.R1", "Div.int.C1", "Div.int.C2"],
}


def left_to_the_run(setting):
    obligations = sonnx_ort.check(make_model(setting), operators="default").obligations
    return [(o.node, o.rule.id) for o in obligations if o.status == "runtime"]


@pytest.mark.parametrize("setting", [*SINGLE_SETTINGS, *CHAINS], ids=str)
def test_every_node_has_a_shape_check_and_integers_both_domain_checks(setting):
    assert left_to_the_run(setting) == [
        (f"division_{index}", rule)
        for index in range(setting.nodes)
        for rule in TO_BE_CHECKED[setting.element_type]
    ]


@pytest.mark.parametrize("setting", PROVED, ids=str)
def test_nothing_is_left_to_the_run_where_all_is_proved(setting):
    assert left_to_the_run(setting) == []


@pytest.mark.parametrize("setting", PROVED, ids=str)
def test_native_backend_adds_no_node_where_all_is_proved(setting):
    rewritten = sonnx_ort.rewrite(make_model(setting), backend="native")
    assert [node.op_type for node in rewritten.graph.node] == ["Div"] * setting.nodes


@pytest.mark.parametrize("setting", SINGLE_SETTINGS, ids=str)
def test_dividends_and_divisors_are_of_both_signs_and_no_divisor_is_zero(setting):
    a, b = make_feeds(setting).values()
    assert set(np.sign(b)) == {-1, 1}
    assert {-1, 1} <= set(np.sign(a))


@pytest.mark.parametrize("setting", [*SINGLE_SETTINGS, *CHAINS, *PROVED], ids=str)
def test_feeds_are_those_that_the_model_declares(setting):
    declared = {
        value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        for value in make_model(setting).graph.input
    }
    feeds = make_feeds(setting)
    assert {name: array.dtype for name, array in feeds.items()} == declared
    assert {array.shape for array in feeds.values()} == {(setting.elements,)}


def test_nodes_of_a_chain_share_no_divisor():
    nodes = make_model(Setting("int32", 4, nodes=3)).graph.node
    assert len({node.input[1] for node in nodes}) == 3


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_divisors_are_positive_where_that_is_asked_for(element_type):
    of_both_signs = make_feeds(Setting(element_type, 1000))["B_0"]
    positive = make_feeds(Setting(element_type, 1000, positive=True))["B_0"]
    assert (of_both_signs.min() < 0, positive.min() > 0) == (True, True)


@pytest.mark.parametrize(
    ("half", "whole", "expected"), [(1.0, 2.0, 1.0), (1.0, 4.0, 2.0), (0.5, 0.5, 0.0)]
)
def test_exponent_is_the_power_of_the_size_that_a_step_grew_by(half, whole, expected):
    assert growth.exponent(half, whole) == expected


def test_row_of_growth_has_the_seconds_of_the_largest_size_and_the_exponent():
    assert growth.row("nodes", 2000, {"check": [0.5, 1.0]}) == {
        "dimension": "2,000 nodes",
        "check": "1.00 s, 1.0",
    }


@pytest.mark.parametrize("dimension", growth.DIMENSIONS)
def test_each_dimension_makes_valid_models_of_more_and_more_of_it(dimension):
    _, make = growth.DIMENSIONS[dimension]
    one, two = make(2), make(4)
    onnx.checker.check_model(two, full_check=True)
    assert two.ByteSize() > one.ByteSize()


@pytest.mark.parametrize("step", growth.STEPS)
def test_growth_times_each_step_for_each_size(step):
    assert all(seconds > 0 for seconds in growth.time_step("nodes", (3, 6), step))
