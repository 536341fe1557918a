"""Operands of different shapes: rejected where the file shows it, refused in the run elsewhere."""

from collections.abc import Iterator

import numpy as np

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Bundle,
    breaks,
    bundle,
    case,
    float32,
    gives,
    in_both_editions,
    rejected,
)
from model_builders.graphs import NODE_NAMES, Dimensions
from sonnx_ort.models import Case

_LONG, _SHORT = float32([6, 9, 35]), float32([3])
_RUNS = {
    "Div": (float32([3, 3, 5]), gives(C=float32([2, 3, 7]))),
    "Sub": (float32([1, 5, 3]), gives(C=float32([5, 4, 32]))),
}
"""Divisor or subtrahend for `_LONG`, and the result."""

_PRELIMINARY_RULES = {"Div": ("Div.R1", "Div.R4"), "Sub": ("Sub.R1",)}


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    broadcast = "is broadcast by ONNX; the profile rejects it"
    for operator in ("Div", "Sub"):
        yield _rejected(operator, "scalar", (2, 3), (), broadcast)
        yield _rejected(operator, "row", (2, 3), (3,), broadcast)
        yield _rejected(operator, "column", ("n", 3), ("n", 1), broadcast)
        yield _rejected(operator, "both", (2, 1), (1, 3), broadcast)
    yield _rejected("Div", "misfit", (4,), (3,), "fits nothing; it is rejected before any run")
    yield _normalization()
    for operator in ("Div", "Sub"):
        yield _open_sizes(operator)
        yield _open_rank(operator)
    yield _false_claims()


def _rejected(operator: str, what: str, a: Dimensions, b: Dimensions, outcome: str) -> Bundle:
    node = NODE_NAMES[operator]
    shown = " against ".join(str(shape).replace("'", "") for shape in (a, b))
    return bundle(
        f"{operator.lower()}_broadcast_{what}",
        f"{operator} of {shown} {outcome}.",
        graphs.binary(operator, np.float32, a, b),
        [
            rejected(TYPED, (f"{operator}.float.R1", node)),
            rejected(PRELIMINARY, *((rule, node) for rule in _PRELIMINARY_RULES[operator])),
        ],
    )


def _normalization() -> Bundle:
    divide, subtract = NODE_NAMES["Div"], NODE_NAMES["Sub"]
    main = graphs.graph(
        [graphs.node("Sub", "x mean", "centred"), graphs.node("Div", "centred std", "C")],
        [
            graphs.value("x", np.float32, ("n", 3)),
            graphs.value("mean", np.float32, (3,)),
            graphs.value("std", np.float32, (3,)),
        ],
        [graphs.value("C", np.float32, ("n", 3))],
    )
    return bundle(
        "normalization_broadcast",
        "(x - mean) / std as it is usually exported; the rejection names both nodes.",
        graphs.model(main),
        [
            rejected(TYPED, ("Sub.float.R1", subtract), ("Div.float.R1", divide)),
            rejected(PRELIMINARY, ("Sub.R1", subtract), ("Div.R1", divide), ("Div.R4", divide)),
        ],
    )


def _open_sizes(operator: str) -> Bundle:
    return bundle(
        f"{operator.lower()}_open_sizes",
        f"{operator} of inputs declared with one size n: lengths 3 and 1 are not broadcast.",
        graphs.binary(operator, np.float32, ("n",), ("n",)),
        _decided_in_the_run(operator),
    )


def _open_rank(operator: str) -> Bundle:
    main = graphs.graph(
        [graphs.node("Reshape", "B shape", "b"), graphs.node(operator, "A b", "C")],
        [
            graphs.value("A", np.float32, ("n",)),
            graphs.value("B", np.float32, ("n",)),
            graphs.value("shape", np.int64, ("rank",)),
        ],
        [graphs.value("C", np.float32, ("n",))],
    )
    other, expected = _RUNS[operator]
    vector, column = np.array([3], np.int64), np.array([3, 1], np.int64)
    broken = breaks(f"{operator}.float.R1", NODE_NAMES[operator], _LONG, other.reshape(column))
    return bundle(
        f"{operator.lower()}_open_rank",
        f"{operator} of an operand whose rank only the run knows: (3,) and (3, 1) are refused.",
        graphs.model(main),
        [
            *in_both_editions(expected, A=_LONG, B=other, shape=vector),
            case("column", TYPED, broken, A=_LONG, B=other, shape=column),
        ],
    )


def _false_claims() -> Bundle:
    main = graphs.graph(
        [
            graphs.node("Identity", "A", "a"),
            graphs.node("Identity", "B", "b"),
            graphs.node("Div", "a b", "C"),
        ],
        [graphs.value("A", np.float32, ("x",)), graphs.value("B", np.float32, ("y",))],
        [graphs.value("C", np.float32, (3,))],
    )
    main.value_info.extend(graphs.value(name, np.float32, (3,)) for name in "ab")
    return bundle(
        "div_false_value_info",
        "A file that claims equal shapes inside the graph is not believed: the run decides.",
        graphs.model(main),
        _decided_in_the_run("Div"),
    )


def _decided_in_the_run(operator: str) -> list[Case]:
    other, expected = _RUNS[operator]
    cases = in_both_editions(expected, A=_LONG, B=other)
    for edition, rule in ((TYPED, f"{operator}.float.R1"), (PRELIMINARY, f"{operator}.R1")):
        broken = breaks(rule, NODE_NAMES[operator], _LONG, _SHORT)
        cases.append(case(f"3 and 1 {edition}", edition, broken, A=_LONG, B=_SHORT))
    return cases
