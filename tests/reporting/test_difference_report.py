"""Where two models differ, and how large an error is and whether it is admitted, in words."""

from dataclasses import replace

import numpy as np
import pytest

from sonnx_ort.reporting.audit_report import error_in_words, worst_error
from sonnx_ort.reporting.difference_report import difference_report
from sonnx_ort.runs.audit.verdicts import Element, NodeAudit, Verdict, by_operator
from sonnx_ort.runs.diff.difference import Comparison, Measure, Mismatch, survey
from sonnx_ort.runs.inputs import Inputs
from sonnx_ort.runs.pairs import Pair, Stop

NODES = {"a": "Sub 'd'", "s": "SplitToSequence 's'", "z": "Div 'ratio'", "late": "Relu 'r'"}
X = np.array([1, 2], np.float32)
INPUTS = Inputs({"x": X, "y": X}, 7, ("y",))


def comparison(
    *mismatches: Mismatch,
    stops: tuple[Stop | None, Stop | None] = (None, None),
    unshared: tuple[str, ...] = (),
    incomparable: tuple[str, ...] = (),
    inner: tuple[int, int] = (0, 0),
) -> Comparison:
    pair = Pair(unshared, inner)
    return Comparison(INPUTS, NODES, ("a",), mismatches, incomparable, 0, 2, stops, pair)


def report(compared: Comparison, *, every: bool = False) -> list[str]:
    found = survey([("0", compared)])
    return difference_report(found, ("a.onnx", "b.onnx"), every=every).splitlines()


HEAD = [
    "A: a.onnx",
    "B: b.onnx",
    "input x: float32 (2,) [1., 2.]",
    "input y: float32 (2,) [1., 2.] (random, seed 7)",
    "",
]


def test_every_value_is_listed_node_by_node_where_asked_for() -> None:
    found = Mismatch("z", "Div 'ratio'", X, X + 1, (0,), 2)
    lines = report(comparison(found, incomparable=("s",)), every=True)
    start = lines.index("same         'a' of Sub 'd'")
    assert lines[start - 1] == ""
    assert lines[start : start + 5] == [
        "same         'a' of Sub 'd'",
        "no tensor    's' of SplitToSequence 's'",
        "different    'z' of Div 'ratio'",
        "not in both  'late' of Relu 'r'",
        "",
    ]


def test_no_difference() -> None:
    assert report(comparison()) == [
        *HEAD,
        "no difference",
        "",
        "values with the same name in both: 1 equal, 0 different; 0 only in A, 2 only in B",
    ]


def test_first_difference_shows_both_numbers_and_their_bits() -> None:
    found = Mismatch("z", "Div 'ratio'", X, np.array([1, 0.5], np.float32), (1,), 1)
    shapes = Mismatch("w", "Relu 'r'", X, X[:1], None, 0)
    assert report(comparison(found, shapes)) == [
        *HEAD,
        "first difference: value 'z' of Div 'ratio'",
        "    A[1] = 2.0 (0x40000000)",
        "    B[1] = 0.5 (0x3f000000)",
        "    1 of 2 elements differ",
        "    and 1 more: 'w'",
        "",
        "values with the same name in both: 1 equal, 2 different; 0 only in A, 2 only in B",
    ]


@pytest.mark.parametrize(("a", "b", "shown"), [
    (X, X[:1], ["    A: float32 (2,)", "    B: float32 (1,)"]),
    (X, None, ["    A: float32 (2,)", "    B: no tensor"]),
    (X, X.astype(np.float64), ["    A: float32 (2,)", "    B: float64 (2,)"]),
])  # fmt: skip
def test_types_and_shapes_that_differ(
    a: np.ndarray | None, b: np.ndarray | None, shown: list[str]
) -> None:
    lines = report(comparison(Mismatch("z", "Div 'ratio'", a, b, None, 0)))
    assert lines[6:8] == shown


def test_runs_that_end_early() -> None:
    stops = (
        Stop("Div 'ratio'", "the process is killed by SIGFPE", False),
        Stop("Reshape 'guard'", "Div 'ratio' breaks Div.int.C2: why", True),
    )
    assert report(comparison(stops=stops))[5:-1] == [
        "A ends at Div 'ratio':",
        "    the process is killed by SIGFPE",
        "B breaks a rule:",
        "    Div 'ratio' breaks Div.int.C2: why",
        "",
    ]


def test_what_is_not_compared_is_said() -> None:
    lines = report(comparison(unshared=("y",), incomparable=("s",), inner=(2, 3)))
    assert lines[5] == "outputs of one model only: y"
    assert lines[-2:] == [
        "not compared, because they are not tensors: s",
        "not compared: values in subgraphs and functions (nodes: 2 in A and 3 in B)",
    ]


def of_sample(difference: float, *, differs: bool) -> Comparison:
    mismatches = (Mismatch("a", "Sub 'd'", X, X + 1, (0,), 2),) if differs else ()
    found = comparison(*mismatches)
    return replace(found, differences={"a": difference, "z": 0.0}, measure=Measure.ULP)


SAMPLES = [
    ("one", of_sample(0.5, differs=False)),
    ("two", of_sample(3, differs=True)),
    ("three", of_sample(1, differs=True)),
]


def test_table_has_the_least_the_median_and_the_largest_difference_of_values_that_differ() -> None:
    lines = difference_report(survey(SAMPLES), ("a.onnx", "b.onnx")).splitlines()
    assert lines[2:11] == [
        "samples: 3, of which 2 differ",
        "",
        "    least     median    largest  in sample  value (ulp)",
        "      0.5          1          3  two        'a' of Sub 'd'",
        "",
        "sample two:",
        *HEAD[2:4],
        "",
    ]
    assert "    2 of 2 elements differ, by 3 at most" in lines


def test_table_has_every_value_where_asked_for() -> None:
    text = difference_report(survey(SAMPLES), ("a.onnx", "b.onnx"), every=True)
    assert "        0          0          0  one        'z' of Div 'ratio'\n" in text


def test_no_table_is_shown_where_no_value_differs() -> None:
    equal = comparison()
    lines = difference_report(survey([("one", equal), ("two", equal)]), ("a", "b")).splitlines()
    assert lines[2:5] == ["samples: 2, of which 0 differ", "", "sample one:"]


def element(units: int | None, admitted: int | None) -> Element:
    return Element("y", (0,), (), "1", "", "2", units, admitted)


@pytest.mark.parametrize(("units", "admitted", "words", "cell"), [
    (1, 0, "1 unit in the last place; none is admitted", "1 unit, 0 admitted"),
    (0, 0, "other bits of the same number", "0 units, 0 admitted"),
    (19_694, 12, "19,694 units in the last place, 1,641.2 times the 12 admitted",
     "19,694 units, 12 admitted"),
    (19_694, 1_640_000, "19,694 units in the last place, 1 % of the 1,640,000 admitted",
     "19,694 units, 1,640,000 admitted"),
    (1, 425, "1 unit in the last place, less than 1 % of the 425 admitted", "1 unit, 425 admitted"),
    (5, 5, "5 units in the last place, 100 % of the 5 admitted", "5 units, 5 admitted"),
    (7, None, "7 units in the last place; any result is admitted", "7 units, any admitted"),
    (None, 5, "one of both is no number", "no number"),
])  # fmt: skip
def test_error_is_set_against_the_admitted_one(
    units: int | None, admitted: int | None, words: str, cell: str
) -> None:
    worst = element(units, admitted)
    (summary,) = by_operator([NodeAudit("n", "Conv", worst=worst), NodeAudit("m", "Conv")])
    assert (error_in_words(worst), worst_error(summary)) == (words, cell)


@pytest.mark.parametrize(("bound", "verdict", "cell"), [
    ("3 units in the last place, measured of ONNX Runtime with each float (ours)",
     Verdict.ADMITTED, "1 unit, 3 admitted (measured)"),
    ("3 units in the last place, measured of ONNX Runtime with each float (ours)",
     Verdict.EXACT, "1 unit, 3 admitted"),
    ("2 ulps (ours: ONNX leaves errors open)", Verdict.ADMITTED, "1 unit, 3 admitted"),
])  # fmt: skip
def test_error_that_was_measured_is_marked(bound: str, verdict: Verdict, cell: str) -> None:
    audited = NodeAudit("n", "Log", verdict=verdict, worst=element(1, 3), bound=bound)
    (summary,) = by_operator([audited, NodeAudit("m", "Log")])
    assert worst_error(summary) == cell


def test_worst_element_has_the_largest_share_of_the_admitted_error() -> None:
    worse, better = element(3, 4), element(19_694, 1_640_000)
    nodes = [
        NodeAudit("n", "Conv", verdict=Verdict.ADMITTED, worst=each) for each in (better, worse)
    ]
    (summary,) = by_operator(nodes)
    assert (summary.worst, nodes[0].merged(nodes[1]).worst) == (worse, worse)


def test_operator_without_an_error() -> None:
    (summary,) = by_operator([NodeAudit("n", "Add")])
    assert worst_error(summary) == "-"
