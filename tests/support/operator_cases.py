"""The table of operators that the tests read: kernels, attributes, and operands for every rule.

What `sonnx_ort.profile.catalog` says of an operator (operands, results, rules) and what
`sonnx_ort.meaning` computes is not repeated here. A new operator is one row of `OPERATOR_CASES`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

from sonnx_ort.profile.element_type import ElementType, Family, smallest_value
from sonnx_ort.profile.rule import AttributeValue
from sonnx_ort.vectors.applied import special_values
from support.values import SIGNED_INTEGERS

Array = npt.NDArray[Any]
Generator = np.random.Generator
Attributes = Mapping[str, AttributeValue]
Elements = tuple[int | float, ...]
"""One element of each operand, all at one place."""

T = ElementType

OPSET = 21
NEWEST = 28 if tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 32) else 26
"""The newest version of the standard operators that both packages know, as far as it matters."""
NEWEST = min(NEWEST, onnx.defs.onnx_opset_version())

FLOATS = (T.FLOAT16, T.FLOAT, T.DOUBLE)
"""The floats that ONNX Runtime has kernels of."""
UNSIGNED_INTEGERS = (T.UINT8, T.UINT16, T.UINT32, T.UINT64)
NUMBERS = (*FLOATS, *SIGNED_INTEGERS, *UNSIGNED_INTEGERS)
_WITHOUT_16_BITS = tuple(t for t in NUMBERS if t not in (T.INT16, T.UINT16))


MAX_POOL_ATTRIBUTES: Attributes = {
    "auto_pad": "NOTSET",
    "ceil_mode": 0,
    "dilations": (1, 1),
    "kernel_shape": (2, 2),
    "pads": (0, 0, 0, 0),
    "storage_order": 0,
    "strides": (1, 1),
}
LSTM_ATTRIBUTES: Attributes = {
    "activations": ("Sigmoid", "Tanh", "Tanh"),
    "hidden_size": 1,
    "input_forget": 0,
    "layout": 0,
}


@dataclass(frozen=True)
class Boundary:
    """A rule about elements, what breaks it, and what only just keeps it.

    Attributes:
        rule: The rule's id.
        outside: What breaks it, for a type.
        inside: What keeps it, for a type.
        types: The types that have such elements.
    """

    rule: str
    outside: Callable[[ElementType], Sequence[Elements]]
    inside: Callable[[ElementType], Sequence[Elements]]
    types: tuple[ElementType, ...] = tuple(ElementType)


@dataclass(frozen=True)
class OperatorCase:
    """What tests have to know of an operator.

    Attributes:
        kernels: The types of which ONNX Runtime has kernels.
        newer_kernels: Further types, of which there are kernels from version 28 on.
        attributes: What a node cannot do without, by the family of its operands' types.
        boundaries: The rules about elements.
    """

    kernels: tuple[ElementType, ...] = NUMBERS
    newer_kernels: tuple[ElementType, ...] = ()
    attributes: Mapping[Family, Attributes] = field(default_factory=dict)
    boundaries: tuple[Boundary, ...] = ()


def _by_zero(operator: str) -> Boundary:
    return Boundary(
        f"{operator}.int.C1",
        lambda _: [(7, 0), (0, 0)],
        lambda kind: [(7, 1), (0, 3), (smallest_value(kind), 2)],
    )


def _smallest_by_minus_one(
    operator: str, types: tuple[ElementType, ...] = SIGNED_INTEGERS
) -> Boundary:
    return Boundary(
        f"{operator}.int.C2",
        lambda kind: [(smallest_value(kind), -1)],
        lambda kind: [(smallest_value(kind), 1), (smallest_value(kind) + 1, -1), (-1, 7)],
        types,
    )


def _beyond_int32(operator: str) -> Boundary:
    return Boundary(
        f"{operator}.int.C1",
        lambda kind: [(3, 2**31, 5), (-(2**31) - 1, 0, 0), (0, 0, smallest_value(kind))],
        lambda _: [(2**31 - 1, -(2**31), 0), (1, 2, 3)],
        (T.INT64,),
    )


def _shifts_beyond(kind: ElementType) -> Sequence[Elements]:
    smallest = smallest_value(kind)
    negative = [(1, -1), (smallest, smallest)] if smallest else []
    return [(1, 8 * kind.dtype.itemsize), (0, 127), *negative]


def _inexact_powers(kind: ElementType) -> Sequence[Elements]:
    if kind is T.INT32:
        return [(2, 31), (46341, 2), (-1291, 3), (3, 2**31 - 1)]
    wide = [(2**53, 1), (smallest_value(kind), 1), (-1, 2**53 + 1), (3, 2**63 - 1)]
    return [(2, 53), (-2, 53), (3, 39), (94906266, 2), *wide]


def _exact_powers(kind: ElementType) -> Sequence[Elements]:
    if kind is T.INT32:
        return [(-2, 31), (46340, 2), (-1290, 3), (-1, 2**31 - 1), (2**31 - 1, 1)]
    wide = [(2**53 - 1, 1), (1 - 2**53, 1), (-1, 2**53 - 1), (smallest_value(kind), 0)]
    return [(2, 52), (-3, 33), (94906265, 2), *wide]


def elements(
    generator: Generator, kind: ElementType, shape: Sequence[int], special: float = 0.2
) -> Array:
    """Random elements: numbers of all magnitudes, and special values among them."""
    size = int(np.prod(shape))
    if kind is T.BOOL:
        return np.asarray(generator.random(size) < 0.5).reshape(shape)
    if kind.family is Family.INTEGER:
        limits = np.iinfo(kind.dtype)
        anything = generator.integers(limits.min, limits.max, size, kind.dtype, endpoint=True)
        small = generator.integers(-9 if limits.min else 0, 10, size).astype(kind.dtype)
        numbers = np.where(generator.random(size) < 0.5, anything, small)
    else:
        with np.errstate(over="ignore"):
            wide = generator.normal(size=size) * np.exp(2 * generator.normal(size=size))
            numbers = wide.astype(kind.dtype)
    chosen = generator.choice(special_values(kind).view(f"u{kind.dtype.itemsize}"), size)
    taken = generator.random(size) < special
    return np.where(taken, chosen.view(kind.dtype), numbers).astype(kind.dtype).reshape(shape)


OPERATOR_CASES: Mapping[str, OperatorCase] = {
    **dict.fromkeys(("Add", "Sub", "Mul"), OperatorCase()),
    "Div": OperatorCase(boundaries=(_by_zero("Div"), _smallest_by_minus_one("Div"))),
    **{
        name: OperatorCase(_WITHOUT_16_BITS, boundaries=(_beyond_int32(name),))
        for name in ("Max", "Min")
    },
    "PRelu": OperatorCase((T.FLOAT16, T.FLOAT)),
    **dict.fromkeys(("And", "Or", "Xor"), OperatorCase((T.BOOL,))),
    **dict.fromkeys(
        ("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
        OperatorCase((*SIGNED_INTEGERS, *UNSIGNED_INTEGERS)),
    ),
    "Equal": OperatorCase((*NUMBERS, T.BOOL)),
    **dict.fromkeys(("Less", "LessOrEqual", "Greater", "GreaterOrEqual"), OperatorCase()),
    "Where": OperatorCase(tuple(t for t in _WITHOUT_16_BITS if t is not T.UINT64)),
    "Mod": OperatorCase(attributes={Family.FLOAT: {"fmod": 1}},
        boundaries=(_by_zero("Mod"), _smallest_by_minus_one("Mod", (T.INT32, T.INT64)))),
    "Pow": OperatorCase(
        (*FLOATS, T.INT32, T.INT64),
        boundaries=(
            Boundary("Pow.int.C1", lambda kind: [(2, -1), (7, -1), (0, smallest_value(kind))],
                lambda _: [(2, 0), (0, 0), (-3, 3), (1, 7)]),
            Boundary("Pow.int.C2", _inexact_powers, _exact_powers),
        ),
    ),
    "BitShift": OperatorCase(
        (T.UINT8, T.UINT32, T.UINT64),
        newer_kernels=(*SIGNED_INTEGERS, T.UINT16),
        attributes={family: {"direction": "LEFT"} for family in Family},
        boundaries=(
            Boundary(
                "BitShift.int.C1",
                _shifts_beyond,
                lambda kind: [
                    (1, 8 * kind.dtype.itemsize - 1),
                    (127, 0),
                    (smallest_value(kind), 1),
                ],
            ),
        ),
    ),
    "Abs": OperatorCase(
        boundaries=(
            Boundary("Abs.int.C1", lambda kind: [(smallest_value(kind),)],
                lambda kind: [(smallest_value(kind) + 1,), (-smallest_value(kind) - 1,), (0,)],
                SIGNED_INTEGERS),
        )
    ),
    "Neg": OperatorCase((*FLOATS, *SIGNED_INTEGERS)),
    **dict.fromkeys(("Reciprocal", "Sqrt"), OperatorCase(FLOATS)),
    "Log": OperatorCase(FLOATS),
    "Acos": OperatorCase(
        (T.FLOAT16, T.FLOAT),
        boundaries=(
            Boundary(
                "Acos.float.C1",
                lambda kind: [
                    (float(np.nextafter(kind.dtype.type(1), kind.dtype.type(2))),),
                    (-np.inf,),
                ],
                lambda _: [(1.0,), (-1.0,), (-0.0,), (np.nan,), (0.25,)],
            ),
        ),
    ),
    "Relu": OperatorCase((*FLOATS, T.INT8, T.INT32)),
    **dict.fromkeys(("Sigmoid", "Tanh", "Exp", "Sin"), OperatorCase(FLOATS)),
    "LeakyRelu": OperatorCase((T.FLOAT16, T.FLOAT), attributes={Family.FLOAT: {"alpha": 0.1}}),
    "Cast": OperatorCase(
        tuple(ElementType),
        attributes={family: {"to": 6} for family in Family},
        boundaries=(
            Boundary(
                "Cast.float.C1",
                lambda kind: [
                    (np.nan,),
                    (-np.inf,),
                    (3e9,) if kind.dtype.itemsize > 2 else (np.inf,),
                ],
                lambda _: [(-0.5,), (-2049.75,), (0.0,), (65504.0,)],
            ),
        ),
    ),
    "MatMul": OperatorCase((*FLOATS, T.INT32, T.INT64, T.UINT32, T.UINT64)),
    "BatchNormalization": OperatorCase(FLOATS),
    "Clip": OperatorCase(_WITHOUT_16_BITS),
    "Slice": OperatorCase(tuple(ElementType)),
    "ArgMax": OperatorCase((*FLOATS, T.INT8, T.UINT8, T.INT32, T.INT64),
        attributes={family: {"axis": 0} for family in Family}),
    "Concat": OperatorCase(tuple(T), attributes={family: {"axis": 0} for family in Family}),
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), OperatorCase(tuple(T))),
    **dict.fromkeys(("Constant", "Shape"), OperatorCase(tuple(T))),
    "Range": OperatorCase((T.FLOAT, T.DOUBLE, T.INT16, T.INT32, T.INT64)),
    "Conv": OperatorCase((T.FLOAT16, T.FLOAT), attributes={Family.FLOAT: {"auto_pad": "NOTSET"}}),
    "ConvInteger": OperatorCase(
        (T.INT8, T.UINT8), attributes={Family.INTEGER: {"auto_pad": "NOTSET"}}
    ),
    "MaxPool": OperatorCase(
        (*FLOATS, T.INT8, T.UINT8), attributes=dict.fromkeys(Family, MAX_POOL_ATTRIBUTES)
    ),
    "Gemm": OperatorCase(FLOATS),
    "LSTM": OperatorCase((T.FLOAT16, T.FLOAT), attributes={Family.FLOAT: LSTM_ATTRIBUTES}),
    "Softmax": OperatorCase(FLOATS, attributes={Family.FLOAT: {"axis": 0}}),
    "QuantizeLinear": OperatorCase((T.FLOAT,)),
    "DequantizeLinear": OperatorCase((T.INT32,)),
}  # fmt: skip


def called(
    operator: str, family: Family, operands: Sequence[str], said: Attributes | None = None
) -> str:
    """A node's expression in ONNX's textual syntax: `Mod<fmod = 1>(A, B)`.

    Args:
        operator: The operator.
        family: The family of its operands' types, which decides the attributes it cannot lack.
        operands: The names of its operands.
        said: Attributes beside these, or in their place.
    """
    attributes = {**OPERATOR_CASES[operator].attributes.get(family, {}), **(said or {})}
    return f"{operator}{written(attributes)}({', '.join(operands)})"


def written(attributes: Mapping[str, object]) -> str:
    """Attributes of a node as ONNX's textual syntax has them; nothing where there are none."""
    texts = [json.dumps(value) for value in attributes.values()]
    given = ", ".join(f"{n} = {text}" for n, text in zip(attributes, texts, strict=True))
    return f"<{given}>" if given else ""
