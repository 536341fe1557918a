"""Operands of different shapes: rejected or refused, unless broadcasting is explicit."""

from collections.abc import Iterator, Mapping

import numpy as np

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Bundle,
    breaks,
    broadcast_cases,
    bundle,
    case,
    clashes,
    explicit,
    float32,
    gives,
    in_both_editions,
    int32,
    rejected,
    rejected_even_explicitly,
)
from model_builders.expected import differences, quotients, spread
from model_builders.graphs import NODE_NAMES, Dimensions
from sonnx_ort.models import Case
from sonnx_ort.profile.options import Edition

Shape = tuple[int, ...]

_LONG, _SHORT = float32([6, 9, 35]), float32([3])
_RUNS = {
    "Div": (float32([3, 3, 5]), gives(C=float32([2, 3, 7]))),
    "Sub": (float32([1, 5, 3]), gives(C=float32([5, 4, 32]))),
}
"""Divisor or subtrahend for `_LONG`, and the result."""

_PRELIMINARY_RULES = {"Div": ("Div.R1", "Div.R4"), "Sub": ("Sub.R1",)}


_SHAPES: Mapping[str, tuple[Dimensions, Dimensions, Shape, Shape]] = {
    "scalar": ((2, 3), (), (2, 3), ()),
    "row": ((2, 3), (3,), (2, 3), (3,)),
    "column": (("n", 3), ("n", 1), (2, 3), (2, 1)),
    "both": ((2, 1), (1, 3), (2, 1), (1, 3)),
}
"""What a model shows, with the shapes that it declares for A and B and those that it is fed."""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for operator in ("Div", "Sub"):
        for what in _SHAPES:
            yield _broadcast(operator, what)
    yield _misfit()
    yield _zero_divisor()
    yield _normalization()
    for operator in ("Div", "Sub"):
        yield _open_sizes(operator)
        yield _unlike_sizes(operator)
        yield _open_rank(operator)
    yield _false_claims()


def _broadcast(operator: str, what: str) -> Bundle:
    a_declared, b_declared, a_shape, b_shape = _SHAPES[what]
    shown = " against ".join(str(shape).replace("'", "") for shape in (a_declared, b_declared))
    a, b = (
        float32(np.resize(numbers, shape))
        for numbers, shape in (((6, 9, 35, -1, 0, 8), a_shape), ((4, -2, 7), b_shape))
    )
    return bundle(
        f"{operator.lower()}_broadcast_{what}",
        f"{operator} of {shown} is rejected, unless a Broadcast is inserted.",
        graphs.binary(operator, np.float32, a_declared, b_declared),
        [*_rejections(operator), *broadcast_cases(operator, a, b)],
    )


def _rejections(operator: str) -> list[Case]:
    node = NODE_NAMES[operator]
    return [
        rejected(TYPED, (f"{operator}.float.R1", node)),
        rejected(PRELIMINARY, *((rule, node) for rule in _PRELIMINARY_RULES[operator])),
    ]


def _misfit() -> Bundle:
    return bundle(
        "div_broadcast_misfit",
        "Div of (4,) against (3,) fits nothing; no Broadcast can mend it.",
        graphs.binary("Div", np.float32, (4,), (3,)),
        [
            *_rejections("Div"),
            *(rejected_even_explicitly(e, ("Broadcast.E1", NODE_NAMES["Div"])) for e in Edition),
        ],
    )


def _zero_divisor() -> Bundle:
    node = NODE_NAMES["Div"]
    a, good, bad = int32([[6, 9, 35], [-7, 0, 8]]), int32([3, -2, 5]), int32([3, 0, 5])
    repeated = spread(a, bad)[1]
    cases = [rejected(TYPED, ("Div.int.R1", node)), *broadcast_cases("Div", a, good)]
    for edition, rule in ((TYPED, "Div.int.C1"), (PRELIMINARY, "Div.R5")):
        broken = breaks(rule, node, a, repeated, (0, 1))
        cases.append(explicit(f"x/0 {edition}", edition, broken, A=a, B=bad))
    return bundle(
        "div_broadcast_zero_divisor",
        "A zero divisor that a Broadcast repeats is told by the first place that it comes to.",
        graphs.binary("Div", np.int32, (2, 3), (3,)),
        cases,
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
    inputs = {
        "x": float32([[1, 4, -9], [9, 0, 1]]),
        "mean": float32([5, 2, 3]),
        "std": float32([2, 4, 3]),
    }
    x, mean, std = spread(*inputs.values())
    expected = gives(C=quotients(differences(x, mean), std))
    return bundle(
        "normalization_broadcast",
        "(x - mean) / std as it is usually exported: rejected at both nodes, or made explicit.",
        graphs.model(main),
        [
            rejected(TYPED, ("Sub.float.R1", subtract), ("Div.float.R1", divide)),
            rejected(PRELIMINARY, ("Sub.R1", subtract), ("Div.R1", divide), ("Div.R4", divide)),
            *(explicit(edition.value, edition, expected, **inputs) for edition in Edition),
        ],
    )


def _open_sizes(operator: str) -> Bundle:
    return bundle(
        f"{operator.lower()}_open_sizes",
        f"{operator} of inputs declared with one size n: lengths 3 and 1 are not broadcast.",
        graphs.binary(operator, np.float32, ("n",), ("n",)),
        _decided_in_the_run(operator),
    )


def _unlike_sizes(operator: str) -> Bundle:
    node, misfit, none = NODE_NAMES[operator], float32([3, 5]), float32([])
    clash = clashes(node, _LONG, misfit)
    return bundle(
        f"{operator.lower()}_unlike_sizes",
        f"{operator} of sizes n and m: 3 and 1 run only with a Broadcast, 3 and 2 never.",
        graphs.binary(operator, np.float32, ("n",), ("m",)),
        [
            *_decided_in_the_run(operator),
            *broadcast_cases(operator, _LONG, _SHORT),
            *(
                explicit(f"3 and 2 {edition}", edition, clash, A=_LONG, B=misfit)
                for edition in Edition
            ),
            explicit("0 and 1", TYPED, clashes(node, none, _SHORT), A=none, B=_SHORT),
        ],
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
