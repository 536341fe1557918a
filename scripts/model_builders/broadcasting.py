"""Operands of different shapes: rejected or refused, unless broadcasting is explicit."""

from collections.abc import Iterator, Mapping

import numpy as np

from model_builders.bundle import (
    Bundle,
    binary,
    bundle,
    case,
    explicit,
    explicit_runs,
    float32,
    in_both_editions,
    int32,
    rejections,
    runs,
)
from model_builders.expected import NODE_NAMES, differences, explicit_outcome, outcome, quotients
from model_builders.graphs import Dimensions, parse
from sonnx_ort.models import Case

Shape = tuple[int, ...]

_OPERATORS = ("Div", "Sub")
_REJECTIONS = {
    "Div": rejections("Div.float.R1", "Div.R1 Div.R4"),
    "Sub": rejections("Sub.float.R1", "Sub.R1"),
}

_SHAPES: Mapping[str, tuple[Dimensions, Dimensions, Shape, Shape]] = {
    "scalar": ((2, 3), (), (2, 3), ()),
    "row": ((2, 3), (3,), (2, 3), (3,)),
    "column": (("n", 3), ("n", 1), (2, 3), (2, 1)),
    "both": ((2, 1), (1, 3), (2, 1), (1, 3)),
}
"""What a model shows, with the shapes that it declares for A and B and those that it is fed."""

_LONG, _SHORT = float32([6, 9, 35]), float32([3])
_RUNS = {
    "Div": (float32([3, 3, 5]), float32([2, 3, 7])),
    "Sub": (float32([1, 5, 3]), float32([5, 4, 32])),
}
"""Divisor or subtrahend for `_LONG`, and the result."""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for operator in _OPERATORS:
        for what in _SHAPES:
            yield _broadcast(operator, what)
    yield _misfit()
    yield _zero_divisor()
    yield _normalization()
    for operator in _OPERATORS:
        yield _open_sizes(operator)
        yield _unlike_sizes(operator)
        yield _open_rank(operator)
    yield _false_claims()


def _broadcast(operator: str, what: str) -> Bundle:
    *declared, a_shape, b_shape = _SHAPES[what]
    shown = " against ".join(str(shape).replace("'", "") for shape in declared)
    a = float32(np.resize((6, 9, 35, -1, 0, 8), a_shape))
    b = float32(np.resize((4, -2, 7), b_shape))
    return bundle(
        f"{operator.lower()}_broadcast_{what}",
        f"{operator} of {shown} is rejected, unless a Broadcast is inserted.",
        binary(operator, a, *declared),
        [*_REJECTIONS[operator], *explicit_runs(operator, a, b)],
    )


def _misfit() -> Bundle:
    always = rejections("Broadcast.E1", "Broadcast.E1", nodes=["divide"])
    return bundle(
        "div_broadcast_misfit",
        "Div of (4,) against (3,) fits nothing; no Broadcast can mend it.",
        binary("Div", _LONG, (4,), (3,)),
        [*_REJECTIONS["Div"], *explicit(*always)],
    )


def _zero_divisor() -> Bundle:
    a, good, bad = int32([[6, 9, 35], [-7, 0, 8]]), int32([3, -2, 5]), int32([3, 0, 5])
    return bundle(
        "div_broadcast_zero_divisor",
        "A zero divisor that a Broadcast repeats is told by the first place that it comes to.",
        binary("Div", a, (2, 3), (3,)),
        [
            *rejections("Div.int.R1"),
            *explicit_runs("Div", a, good),
            *explicit_runs("Div", a, bad, "x/0"),
        ],
    )


def _normalization() -> Bundle:
    x, mean, std = float32([[1, 4, -9], [9, 0, 1]]), float32([5, 2, 3]), float32([2, 4, 3])
    expected = quotients(differences(x, mean), std)
    return bundle(
        "normalization_broadcast",
        "(x - mean) / std as it is usually exported: rejected at both nodes, or made explicit.",
        parse("""(float[n,3] x, float[3] mean, float[3] std) => (float[n,3] C) {
            [subtract] centred = Sub(x, mean)
            [divide] C = Div(centred, std)
        }"""),
        [
            *rejections("Sub.float.R1 Div.float.R1", "Sub.R1 Div.R1 Div.R4"),
            *explicit(*in_both_editions(expected, x=x, mean=mean, std=std)),
        ],
    )


def _open_sizes(operator: str) -> Bundle:
    return bundle(
        f"{operator.lower()}_open_sizes",
        f"{operator} of inputs declared with one size n: lengths 3 and 1 are not broadcast.",
        binary(operator, _LONG, ("n",)),
        _decided_in_the_run(operator),
    )


def _unlike_sizes(operator: str) -> Bundle:
    none = float32([])
    clash = explicit_outcome(operator, none, _SHORT)
    return bundle(
        f"{operator.lower()}_unlike_sizes",
        f"{operator} of sizes n and m: 3 and 1 run only with a Broadcast, 3 and 2 never.",
        binary(operator, _LONG, ("n",), ("m",)),
        [
            *_decided_in_the_run(operator),
            *explicit_runs(operator, _LONG, _SHORT),
            *explicit_runs(operator, _LONG, float32([3, 5]), "3 and 2"),
            *explicit(case("0 and 1", clash, A=none, B=_SHORT)),
        ],
    )


def _open_rank(operator: str) -> Bundle:
    other, expected = _RUNS[operator]
    vector, column = np.array([3], np.int64), np.array([3, 1], np.int64)
    broken = outcome(operator, _LONG, other.reshape(column))
    return bundle(
        f"{operator.lower()}_open_rank",
        f"{operator} of an operand whose rank only the run knows: (3,) and (3, 1) are refused.",
        parse(f"""(float[n] A, float[n] B, int64[rank] shape) => (float[n] C) {{
            b = Reshape(B, shape)
            [{NODE_NAMES[operator]}] C = {operator}(A, b)
        }}"""),
        [
            *in_both_editions(expected, A=_LONG, B=other, shape=vector),
            case("column", broken, A=_LONG, B=other, shape=column),
        ],
    )


def _false_claims() -> Bundle:
    return bundle(
        "div_false_value_info",
        "A file that claims equal shapes inside the graph is not believed: the run decides.",
        parse("""(float[x] A, float[y] B) => (float[3] C) <float[3] a, float[3] b> {
            a = Identity(A)
            b = Identity(B)
            [divide] C = Div(a, b)
        }"""),
        _decided_in_the_run("Div"),
    )


def _decided_in_the_run(operator: str) -> list[Case]:
    other, expected = _RUNS[operator]
    return [
        *in_both_editions(expected, A=_LONG, B=other),
        *runs(operator, _LONG, _SHORT, "3 and 1"),
    ]
