"""Operands of different shapes, rejected or refused unless broadcasting is explicit; Broadcast."""

import re
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from model_builders import bundle as make
from model_builders.bundle import Array, Bundle, bundle
from model_builders.graphs import Dimensions, parse
from sonnx_ort.models import Case, Citation

Shape = tuple[int, ...]

_OPERATORS = ("Div", "Sub")
_REJECTIONS = {
    "Div": make.rejections("Div.float.R1", "Div.R1 Div.R4"),
    "Sub": make.rejections("Sub.float.R1", "Sub.R1"),
}

_SHAPES: Mapping[str, tuple[Dimensions, Dimensions, Shape, Shape]] = {
    "scalar": ((2, 3), (), (2, 3), ()),
    "row": ((2, 3), (3,), (2, 3), (3,)),
    "column": (("n", 3), ("n", 1), (2, 3), (2, 1)),
    "both": ((2, 1), (1, 3), (2, 1), (1, 3)),
}
"""What a model shows, with the shapes that it declares for A and B and those that it is fed."""

_LONG, _SHORT = make.float32([6, 9, 35]), make.float32([3])
_RUNS = {
    "Div": (make.float32([3, 3, 5]), make.float32([2, 3, 7])),
    "Sub": (make.float32([1, 5, 3]), make.float32([5, 4, 32])),
}
"""Divisor or subtrahend for `_LONG`, and the result."""

_DOCUMENT = Citation("SONNX Broadcast", "Informal specification")
_DOMAINS = {"sonnx": 1}
_MATRIX = make.float32([[1, 2, 3], [4, 5, 6]])


def of_div_and_sub() -> Iterator[Bundle]:
    """Div and Sub of operands of different shapes."""
    for operator in _OPERATORS:
        for what in _SHAPES:
            yield _broadcast(operator, what)
    always = make.rejections("Broadcast.E1", "Broadcast.E1", nodes=["divide"])
    yield bundle(
        "div_broadcast_misfit",
        "Div of (4,) against (3,) fits nothing; no Broadcast can mend it.",
        make.binary("Div", _LONG, (4,), (3,)),
        [*_REJECTIONS["Div"], *make.explicit(*always)],
    )
    a, good, bad = (
        make.int32([[6, 9, 35], [-7, 0, 8]]),
        make.int32([3, -2, 5]),
        make.int32([3, 0, 5]),
    )
    yield bundle(
        "div_broadcast_zero_divisor",
        "A zero divisor that a Broadcast repeats is told by the first place that it comes to.",
        make.binary("Div", a, (2, 3), (3,)),
        [
            *make.rejections("Div.int.R1"),
            *make.explicit_runs("Div", a, good),
            *make.explicit_runs("Div", a, bad, "x/0"),
        ],
    )
    x, mean, std = (
        make.float32([[1, 4, -9], [9, 0, 1]]),
        make.float32([5, 2, 3]),
        make.float32([2, 4, 3]),
    )
    expected = make.quotients(make.differences(x, mean), std)
    yield bundle(
        "normalization_broadcast",
        "(x - mean) / std as it is usually exported: rejected at both nodes, or made explicit.",
        parse("""(float[n,3] x, float[3] mean, float[3] std) => (float[n,3] C) {
            [subtract] centred = Sub(x, mean)
            [divide] C = Div(centred, std)
        }"""),
        [
            *make.rejections("Sub.float.R1 Div.float.R1", "Sub.R1 Div.R1 Div.R4"),
            *make.explicit(*make.in_both_editions(expected, x=x, mean=mean, std=std)),
        ],
    )
    for operator in _OPERATORS:
        yield _open_sizes(operator)
        yield _unlike_sizes(operator)
        yield _open_rank(operator)
    yield bundle(
        "div_false_value_info",
        "A file that claims equal shapes inside the graph is not believed: the run decides.",
        parse("""(float[x] A, float[y] B) => (float[3] C) <float[3] a, float[3] b> {
            a = Identity(A)
            b = Identity(B)
            [divide] C = Div(a, b)
        }"""),
        _decided_in_the_run("Div"),
    )


def _broadcast(operator: str, what: str) -> Bundle:
    *declared, a_shape, b_shape = _SHAPES[what]
    shown = " against ".join(str(shape).replace("'", "") for shape in declared)
    a = make.float32(np.resize((6, 9, 35, -1, 0, 8), a_shape))
    b = make.float32(np.resize((4, -2, 7), b_shape))
    return bundle(
        f"{operator.lower()}_broadcast_{what}",
        f"{operator} of {shown} is rejected, unless a Broadcast is inserted.",
        make.binary(operator, a, *declared),
        [*_REJECTIONS[operator], *make.explicit_runs(operator, a, b)],
    )


def _open_sizes(operator: str) -> Bundle:
    return bundle(
        f"{operator.lower()}_open_sizes",
        f"{operator} of inputs declared with one size n: lengths 3 and 1 are not broadcast.",
        make.binary(operator, _LONG, ("n",)),
        _decided_in_the_run(operator),
    )


def _unlike_sizes(operator: str) -> Bundle:
    none = make.float32([])
    clash = make.explicit_outcome(operator, none, _SHORT)
    return bundle(
        f"{operator.lower()}_unlike_sizes",
        f"{operator} of sizes n and m: 3 and 1 run only with a Broadcast, 3 and 2 never.",
        make.binary(operator, _LONG, ("n",), ("m",)),
        [
            *_decided_in_the_run(operator),
            *make.explicit_runs(operator, _LONG, _SHORT),
            *make.explicit_runs(operator, _LONG, make.float32([3, 5]), "3 and 2"),
            *make.explicit(make.case("0 and 1", clash, A=none, B=_SHORT)),
        ],
    )


def _open_rank(operator: str) -> Bundle:
    other, expected = _RUNS[operator]
    vector, column = np.array([3], np.int64), np.array([3, 1], np.int64)
    broken = make.outcome(operator, _LONG, other.reshape(column))
    return bundle(
        f"{operator.lower()}_open_rank",
        f"{operator} of an operand whose rank only the run knows: (3,) and (3, 1) are refused.",
        parse(f"""(float[n] A, float[n] B, int64[rank] shape) => (float[n] C) {{
            b = Reshape(B, shape)
            [{make.NODE_NAMES[operator]}] C = {operator}(A, b)
        }}"""),
        [
            *make.in_both_editions(expected, A=_LONG, B=other, shape=vector),
            make.case("column", broken, A=_LONG, B=other, shape=column),
        ],
    )


def _decided_in_the_run(operator: str) -> list[Case]:
    other, expected = _RUNS[operator]
    return [
        *make.in_both_editions(expected, A=_LONG, B=other),
        *make.runs(operator, _LONG, _SHORT, "3 and 1"),
    ]


def own_broadcasts() -> Iterator[Bundle]:
    """Models that contain the profile's Broadcast themselves."""
    yield _own(
        "scalar",
        "A scalar is repeated to a matrix.",
        "float[2,3] X0, float X1 => float[?,?] Z0, float[?,?] Z1",
        make.in_both_modes(_run(_MATRIX, make.float32(7))),
    )
    yield _own(
        "row",
        "A row is repeated to a matrix.",
        "float[2,3] X0, float[3] X1 => float[?,?] Z0, float[?,?] Z1",
        make.in_both_modes(_run(_MATRIX, make.float32([7, 8, 9]))),
    )
    yield _own(
        "both",
        "A column and a row are both repeated.",
        "float[2,1] X0, float[1,3] X1 => float[?,?] Z0, float[?,?] Z1",
        make.in_both_modes(_run(make.float32([[1], [2]]), make.float32([[3, 4, 5]]))),
    )
    yield _own(
        "rank_0",
        "Scalars of two types stay scalars.",
        "float X0, bool X1 => float Z0, bool Z1",
        make.in_both_modes(_run(make.float32(7), np.array(True))),
    )
    three_types = make.float32([[1], [2]]), np.array([True, False, True]), np.array(-9, np.int64)
    yield _own(
        "three_inputs",
        "Three tensors of three types and ranks get one shape; each keeps its type.",
        "float[n,m] X0, bool[k] X1, int64 X2 => float[?,?] Z0, bool[?,?] Z1, int64[?,?] Z2",
        make.in_both_modes(_run(*three_types)),
    )
    three, two, one, none = (make.int32(range(size)) for size in (3, 2, 1, 0))
    clashes = _run(three, two, name="3 and 2"), _run(none, one, name="0 and 1")
    yield _own(
        "incompatible",
        "Sizes that only the run knows: 3 and 1 fit; 3 and 2, and 0 and 1, do not.",
        "int32[n] X0, int32[m] X1 => int32[?] Z0, int32[?] Z1",
        [*make.in_both_modes(_run(three, one)), *make.in_both_modes(*clashes)],
    )
    yield _own(
        "misfit",
        "A Broadcast of (4,) and (3,) is rejected before any run.",
        "float[4] X0, float[3] X1 => float[?] Z0, float[?] Z1",
        make.in_both_modes(*make.rejections("Broadcast.E1")),
    )
    x, mean, std = _MATRIX, make.float32([2, 3, 4]), make.float32([2, 4, 3])
    expected = make.quotients(make.differences(x, mean), std)
    typed, preliminary = make.in_both_editions(expected, x=x, mean=mean, std=std)
    yield bundle(
        "normalization_by_the_profile",
        "(x - mean) / std as the profile has it: one Broadcast of all three, then equal shapes.",
        parse(
            """(float[n,3] x, float[3] mean, float[3] std) => (float[n,3] C) {
                [spread] x_all, mean_all, std_all = sonnx.Broadcast(x, mean, std)
                [subtract] centred = Sub(x_all, mean_all)
                [divide] C = Div(centred, std_all)
            }""",
            domains=_DOMAINS,
        ),
        [typed, preliminary, *make.explicit(typed)],
        _DOCUMENT,
    )


def _own(what: str, shows: str, types: str, cases: Iterable[Case]) -> Bundle:
    inputs, outputs = types.split(" => ")
    xs, zs = (", ".join(re.findall(r"[XZ]\d", part)) for part in (inputs, outputs))
    text = f"({inputs}) => ({outputs}) {{ [spread] {zs} = sonnx.Broadcast({xs}) }}"
    return bundle(f"broadcast_{what}", shows, parse(text, domains=_DOMAINS), cases, _DOCUMENT)


def _run(*arrays: Array, name: str = "typed") -> Case:
    inputs = {f"X{index}": array for index, array in enumerate(arrays)}
    return make.case(name, make.broadcast_outcome(*arrays), **inputs)
