"""The figures as text and as JSON, from measurements with given times."""

import pytest
from benchmarks import table
from benchmarks.record import record
from benchmarks.target import TARGETS
from benchmarks.turns import Spread

from support.benchmarks import measurement

SINGLE = measurement(
    1000,
    onnxruntime=[10, 20, 40],
    native=[15, 24, 44],
    jit=[5, 5, 5],
    checkify=[10, 20, 15],
)
CHAIN = measurement(
    16, "int32", nodes=100, onnxruntime=[100, 200, 100], native=[350, 500, 400], plain=[9, 9, 9]
)


def test_row_has_the_time_without_checks_and_a_ratio_for_each_subject():
    titles = table.ratio_titles(SINGLE.subjects)
    assert list(zip(titles, table.ratio_cells(SINGLE), strict=True)) == [
        ("elements", "1,000"),
        ("ONNX Runtime, us", "10.0 / 20.0"),
        ("native", "1.50 / 1.20"),
        ("checkify / jit", "2.00 / 3.00"),
    ]


def test_chain_has_the_time_added_to_a_node():
    titles = table.chain_titles(CHAIN.subjects)
    assert list(zip(titles, table.chain_cells(CHAIN), strict=True)) == [
        ("us added to a node", "int32, in the run"),
        ("native", "2.50 / 3.00"),
        ("plain @onnx_op", "-0.91 / -0.91"),
    ]


def test_columns_of_text_stand_under_each_other():
    assert [table.text_row(["a", "b"]), table.text_row(["12", "3"])] == [
        "                                 a                 b",
        "                                12                 3",
    ]


def test_markdown_has_a_table_for_single_nodes_and_one_for_chains():
    assert table.markdown_tables([SINGLE, CHAIN]).splitlines() == [
        "| one Div | elements | ONNX Runtime, us | native | checkify / jit |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| float32 | 1,000 | 10.0 / 20.0 | 1.50 / 1.20 | 2.00 / 3.00 |",
        "",
        "| us added to a node | native | plain @onnx_op |",
        "| --- | ---: | ---: |",
        "| int32, in the run | 2.50 / 3.00 | -0.91 / -0.91 |",
    ]


@pytest.mark.parametrize(
    ("figure", "text"),
    [(0.994, "0.99"), (-0.002, "0.00"), (12.34, "12.3"), (-12.34, "-12.3"), (1234.5, "1,234")],
)
def test_figures_have_three_digits_or_so(figure, text):
    assert table.number(figure) == text


def outcomes(*measurements):
    """The rows of the targets that were measured."""
    rows = [table.target_row(target, measurements) for target in TARGETS]
    return [row for row in rows if not row.startswith("not measured")]


@pytest.mark.parametrize(
    ("measured", "verdict", "sentence", "figures"),
    [
        (
            measurement(16, nodes=100, proved=True, onnxruntime=[100] * 2, native=[100, 101]),
            "reached",
            "native: 1.00 times ONNX Runtime where all is proved",
            "1.00 / 1.00",
        ),
        (
            measurement(16, nodes=100, onnxruntime=[100], native=[351]),
            "MISSED",
            "native: a node adds at most 2.5 us on small float32",
            "2.51 / 2.51",
        ),
        (
            measurement(10_000_000, onnxruntime=[10, 10, 10], native=[10, 12, 15]),
            "MISSED",
            "native: at most 1.15 times ONNX Runtime from 1,000,000 float32",
            "1.00 / 1.20",
        ),
        (
            measurement(1_000_000, "int64", onnxruntime=[10], native=[16]),
            "reached",
            "native: at most 1.6 times ONNX Runtime at 1,000,000 int64",
            "1.60 / 1.60",
        ),
        (
            measurement(16, "int64", nodes=10, onnxruntime=[100], python=[200]),
            "reached",
            "python: a node adds at most 10 us on small tensors",
            "10.0 / 10.0",
        ),
    ],
)
def test_target_is_decided_by_the_median(measured, verdict, sentence, figures):
    assert outcomes(measured) == [f"{verdict:<12}  {sentence}: {figures}"]


def test_worst_size_decides_about_checkify():
    measured = [
        measurement(elements, "int32", onnxruntime=[100], native=[n], jit=[10], checkify=[c])
        for elements, n, c in ((1, 200, 40), (10, 150, 12), (100, 110, 11))
    ]
    (row,) = outcomes(*measured)
    assert row == (
        "MISSED        native over ONNX Runtime: at most checkify over jit at every size of int32: "
        "1.25 / 1.25"
    )


def test_plain_kernel_is_compared_with_the_python_backend():
    measured = measurement(onnxruntime=[10], python=[20], plain=[1000])
    assert outcomes(measured)[1:] == [
        "reached       python: at least 50 times faster than the plain kernel there: 50.0 / 50.0"
    ]


def test_targets_are_for_one_thread_and_not_for_others():
    assert outcomes(measurement(10, "int32", onnxruntime=[1], native=[9])) == []


def test_record_holds_each_subject_with_its_baseline():
    recorded = record({"cores": "2"}, "the command", [SINGLE])
    assert recorded["machine"] == {"cores": "2"}
    assert recorded["command"] == "the command"
    assert [(f["subject"], f["baseline"]) for f in recorded["figures"]] == [
        ("onnxruntime", "onnxruntime"),
        ("native", "onnxruntime"),
        ("jit", "jit"),
        ("checkify", "jit"),
    ]


def test_record_of_a_subject():
    figure = record({}, "", [SINGLE])["figures"][1]
    assert figure == {
        "subject": "native",
        "element_type": "float32",
        "elements": 1000,
        "nodes": 1,
        "threads": 1,
        "proved": False,
        "turns": 3,
        "seconds": {"minimum": pytest.approx(15e-6), "median": pytest.approx(24e-6)},
        "baseline": "onnxruntime",
        "ratio": {"minimum": pytest.approx(1.5), "median": pytest.approx(1.2)},
        "added_microseconds_per_node": {"minimum": pytest.approx(5), "median": pytest.approx(4)},
    }


def test_added_time_is_that_of_a_node():
    added = CHAIN.added_microseconds_per_node("native")
    assert added == Spread(pytest.approx(2.5), pytest.approx(3.0))
