"""What a Loop or Scan hands to its body, and what it takes back."""

import onnx_ir as ir
import pytest

from sonnx_ort.knowledge.declarations import Iteration, iteration_of, loop_of
from support.graphs import parse

_INPUTS = "(float[2,3] x, float[2,3] w, int64 trips, bool go)"
_LOOP = (
    "Loop({}) <body = b (int64 i, bool g{}) => (bool still{}) {{ still = Identity(g)"
    " p1 = Relu(s) q1 = Relu(t) e = Relu(t) }}>"
)
_SCAN = (
    "Scan<{}body = b (float[] s, float[] t) => (float[] s1, float[] t1, float[] e)"
    " {{ s1 = Relu(s) t1 = Relu(t) e = Relu(t) }}>(x, w)"
)


def node_of(text: str) -> ir.Node:
    """The node; it is not checked."""
    made = parse(f"{_INPUTS} => (y) {{ {text} }}", domains={"com.example": 1})
    return ir.from_proto(made.graph.node[0])


def named(*values: ir.Value) -> str:
    return " ".join(str(value.name) for value in values)


def described(found: Iteration | None) -> list[str] | None:
    if found is None:
        return None
    return [
        *(f"counts {value.name}" for value in found.counters),
        *(f"goes around {named(s.initial, s.taken, s.given, s.final)}" for s in found.states),
        *(f"part {named(taken, tensor)} axis {axis}" for taken, tensor, axis in found.elements),
        *(f"collected {named(*pair)}" for pair in found.collected),
    ]


LOOPS = [
    (
        "y, z, c = " + _LOOP.format("trips, go, x, w", ", float[] s, float[] t", ", p1, q1, e"),
        [
            *("counts i", "counts g"),
            *("goes around x s p1 y", "goes around w t q1 z"),
            "collected c e",
        ],
    ),
    (
        "y, z = " + _LOOP.format("trips, , x", ", float[] s", ", p1, e"),
        [
            *("counts i", "counts g"),
            *("goes around x s p1 y", "collected z e"),
        ],
    ),
    ("y = " + _LOOP.format("trips, go", "", ", e"), ["counts i", "counts g", "collected y e"]),
    ("y = " + _LOOP.format("trips", "", ", e"), ["counts i", "counts g", "collected y e"]),
]


@pytest.mark.parametrize(("text", "expected"), LOOPS)
@pytest.mark.parametrize("version", [1, 10, 11, 17, 25])
def test_loop_of_every_version(text: str, expected: list[str], version: int) -> None:
    assert described(loop_of(node_of(text))) == expected
    assert described(iteration_of(node_of(text), version)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "y, z = " + _SCAN.format("num_scan_inputs = 1, "),
            ["goes around x s s1 y", "part t w axis 0", "collected z t1"],
        ),
        (
            "y, z, c = " + _SCAN.format("num_scan_inputs = 1, scan_input_axes = [1], "),
            ["goes around x s s1 y", "part t w axis 1", "collected z t1", "collected c e"],
        ),
        (
            "y = " + _SCAN.format("num_scan_inputs = 2, scan_input_axes = [1, -1], "),
            ["part s x axis 1", "part t w axis -1", "collected y s1"],
        ),
        ("y, z = " + _SCAN.format(""), ["goes around x s s1 y", "goes around w t t1 z"]),
        ("y = " + _SCAN.format("num_scan_inputs = 3, "), None),
        ("y = " + _SCAN.format("num_scan_inputs = 2, scan_input_axes = [1], "), None),
        ("y = " + _SCAN.format("num_scan_inputs = 1, scan_input_axes = [0, 1], "), None),
        ("y = com.example." + _SCAN.format("num_scan_inputs = 1, "), None),
    ],
)
@pytest.mark.parametrize("version", [9, 25])
def test_scan_without_a_batch(text: str, expected: list[str] | None, version: int) -> None:
    assert described(iteration_of(node_of(text), version)) == expected


@pytest.mark.parametrize("version", [8, 7])
def test_nothing_is_known_of_a_scan_with_a_batch(version: int) -> None:
    assert iteration_of(node_of("y = " + _SCAN.format("num_scan_inputs = 1, ")), version) is None


@pytest.mark.parametrize("scanned", [-1, 3, 1 << 62])
def test_nothing_is_known_of_a_scan_of_more_than_there_is(scanned: int) -> None:
    node = node_of("y = " + _SCAN.format(f"num_scan_inputs = {scanned}, "))
    assert iteration_of(node, 17) is None


@pytest.mark.parametrize(
    "text",
    ["y = Relu(x)", "y = com.example." + _LOOP.format("trips, go", "", ", e"), "y = Loop(trips)"],
)
def test_nothing_is_known_of_other_nodes(text: str) -> None:
    assert iteration_of(node_of(text), 17) is None
    assert loop_of(node_of(text)) is None
