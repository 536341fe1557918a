"""Nodes of operators with operands for them, and what the oracle admits of their results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from sonnx_ort.oracle import Enclosure, Violation, enclosure
from sonnx_ort.oracle.elements import TYPES
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from support.elementwise import written
from support.graphs import parse
from support.values import special_values

Array = npt.NDArray[Any]
Generator = np.random.Generator

OPSET = 21

FLOATS = (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)
"""The floats that ONNX Runtime has kernels of."""

_WIDE_INTEGERS = (ElementType.INT32, ElementType.INT64, ElementType.UINT32, ElementType.UINT64)
_NARROW = (ElementType.INT8, ElementType.UINT8)

TYPES_OF: Mapping[str, Sequence[ElementType]] = {
    "MatMul": (*FLOATS, *_WIDE_INTEGERS),
    "BatchNormalization": FLOATS,
    "Clip": (*FLOATS, *_NARROW, *_WIDE_INTEGERS),
    "Slice": tuple(ElementType),
    "ArgMax": (*FLOATS, *_NARROW, ElementType.INT32, ElementType.INT64),
    "Cast": tuple(ElementType),
    "Log": FLOATS,
    "Acos": FLOATS[:2],
    "Pow": (*FLOATS, ElementType.INT32, ElementType.INT64),
}
"""By operator the types in which ONNX Runtime computes it."""


@dataclass(frozen=True)
class Case:
    """A node with operands.

    Attributes:
        operator: The operator.
        element_type: The type of the operands that have none of their own.
        operands: The operands, None in the places of those that are left out.
        attributes: The attributes of the node.
    """

    operator: str
    element_type: ElementType
    operands: tuple[Array | None, ...]
    attributes: Mapping[str, int | float] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands, empty for those that are left out."""
        names = OPERATORS[self.operator].operands
        return tuple(n if o is not None else "" for n, o in zip(names, self.operands, strict=False))

    @property
    def feeds(self) -> dict[str, Array]:
        """The operands that are given, by name."""
        pairs = zip(self.names, self.operands, strict=True)
        return {name: operand for name, operand in pairs if operand is not None}

    @cached_property
    def admitted(self) -> Enclosure | Violation:
        """What the oracle says."""
        return enclosure(
            self.operator, self.operands, self.element_type, Edition.TYPED, self.attributes
        )

    def model(self) -> onnx.ModelProto:
        """A model of the node, whose inputs have known ranks and open sizes."""
        types = {dtype: t for t in reversed(ElementType) for dtype in [t.dtype]}
        inputs = ", ".join(
            f"{types[array.dtype]}[{', '.join(f'{name}{k}' for k in range(array.ndim))}] {name}"
            for name, array in self.feeds.items()
        )
        called = f"{self.operator}{written(self.attributes)}({', '.join(self.names)})"
        result = self._result_type()
        return parse(f"({inputs}) => ({result}[] y) {{ [the_node] y = {called} }}", opset=OPSET)

    def _result_type(self) -> ElementType:
        match self.operator:
            case "Cast":
                return TYPES[int(self.attributes["to"])]
            case "ArgMax":
                return ElementType.INT64
        return self.element_type

    def __str__(self) -> str:
        """Give operator and type: `MatMul float`."""
        return f"{self.operator} {self.element_type}"


def cases(operator: str, element_type: ElementType, count: int, seed: int = 0) -> Iterator[Case]:
    """Random nodes whose operands keep the rules, and of which ONNX Runtime keeps the documents.

    It does not of an ArgMax of NaN, of a Clip of int64 beyond int32, and of infinities where a
    bound of a Clip is left out; `tests/upstream` has these.

    Args:
        operator: The operator, one of `TYPES_OF`.
        element_type: The type of the operands that have none of their own.
        count: How many of them.
        seed: Decides which.
    """
    generator = np.random.default_rng([seed, *map(ord, f"{operator} {element_type}")])
    for _ in range(count):
        case = _MAKERS[operator](generator, element_type)
        if not isinstance(case.admitted, Violation):
            yield case


def elements(
    generator: Generator, kind: ElementType, shape: Sequence[int], special: float = 0.2
) -> Array:
    """Random elements: numbers of all magnitudes, and special values among them."""
    size = int(np.prod(shape))
    if kind is ElementType.BOOL:
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


def _shape(generator: Generator, rank: int, least: int = 0) -> list[int]:
    return generator.integers(least, 5, rank).tolist()  # type: ignore[no-any-return]


def _product(generator: Generator, kind: ElementType) -> Case:
    # ONNX Runtime refuses products of nothing in some types.
    rows, inner, columns = _shape(generator, 3, 1)
    wild = float(generator.choice([0.0, 0.05, 0.3]))
    a = elements(generator, kind, (rows, inner), wild)
    return Case("MatMul", kind, (a, elements(generator, kind, (inner, columns), wild)))


def _normalization(generator: Generator, kind: ElementType) -> Case:
    shape = _shape(generator, int(generator.integers(2, 5)), 1)
    wild = float(generator.choice([0.0, 0.2]))
    x = elements(generator, kind, shape, wild)
    scale, shift, mean, variance = (elements(generator, kind, shape[1:2], wild) for _ in range(4))
    kept = np.where(np.isnan(variance), 0, abs(variance)).astype(kind.dtype)
    said = {"epsilon": 0.5} if generator.random() < 0.5 else {}
    return Case("BatchNormalization", kind, (x, scale, shift, mean, kept), said)


def _clip(generator: Generator, kind: ElementType) -> Case:
    shape = _shape(generator, int(generator.integers(0, 4)))
    narrow = ElementType.INT32 if kind is ElementType.INT64 else kind
    x, *bounds = (elements(generator, narrow, s, 0.4).astype(kind.dtype) for s in (shape, (), ()))
    if kind.family is Family.FLOAT:
        x = np.where(generator.random(shape) < 0.2, np.nan, x).astype(kind.dtype)
    given = [bound if generator.random() < 0.8 else None for bound in bounds]
    if kind.family is Family.FLOAT and None in given:
        x = np.where(np.isinf(x), 0, x).astype(kind.dtype)
    return Case("Clip", kind, (x, *given))


def _slice(generator: Generator, kind: ElementType) -> Case:
    shape = _shape(generator, int(generator.integers(1, 4)), 1)
    columns = zip(*(_cut(generator, size) for size in shape), strict=True)
    signs = generator.integers(0, 2, len(shape))
    axes = np.arange(len(shape)) - len(shape) * signs
    starts, ends, steps = (np.array(column) for column in columns)
    order = generator.permutation(len(shape))
    indices = [index[order].astype(np.int64) for index in (starts, ends, axes, steps)]
    return Case("Slice", kind, (elements(generator, kind, shape), *indices))


def _cut(generator: Generator, size: int) -> tuple[int, int, int]:
    """A start, an end and a step that an axis admits, from the front or from behind."""
    first, last = sorted(generator.integers(0, size, 2).tolist())
    step = int(generator.integers(1, 4))
    if generator.random() < 0.5:
        return first - (size if generator.random() < 0.3 else 0), last + 1, step
    return last, first - 1 - size if generator.random() < 0.7 or first == 0 else first - 1, -step


def _arg_max(generator: Generator, kind: ElementType) -> Case:
    shape = _shape(generator, int(generator.integers(1, 4)), 1)
    # Of so few the largest one often stands in several places.
    few = elements(generator, kind, [3], 0.6)
    if kind.family is Family.FLOAT:
        few = np.where(np.isnan(few), 1, few).astype(kind.dtype)
    x = few[generator.integers(0, 3, shape)]
    axis = int(generator.integers(0, len(shape)))
    keepdims, last = (int(generator.random() < 0.6) for _ in range(2))
    said = {"axis": axis, "keepdims": keepdims, "select_last_index": last}
    return Case("ArgMax", kind, (x,), said)


def _conversion(generator: Generator, kind: ElementType) -> Case:
    number = int(generator.choice(list(TYPES)))
    x = elements(generator, kind, [24], 0.3)
    if kind.family is Family.FLOAT and TYPES[number].family is Family.INTEGER:
        limits = np.iinfo(TYPES[number].dtype)
        with np.errstate(invalid="ignore"):
            held = (x > max(limits.min, -30000)) & (x < min(limits.max, 30000))
        x = x[held]
    return Case("Cast", kind, (x,), {"to": number})


def _function(operator: str) -> Callable[[Generator, ElementType], Case]:
    def make(generator: Generator, kind: ElementType) -> Case:
        shape = [20]
        operands = [elements(generator, kind, shape) for _ in OPERATORS[operator].operands]
        if operator == "Acos":
            with np.errstate(invalid="ignore"):
                operands = [np.where(abs(x) > 1, np.sin(x), x).astype(kind.dtype) for x in operands]
            operands = [np.where(abs(x) > 1, 0, x).astype(kind.dtype) for x in operands]
        if operator == "Pow" and kind.family is Family.INTEGER:
            operands[1] = (abs(operands[1]) % 16).astype(kind.dtype)
        return Case(operator, kind, tuple(operands))

    return make


_MAKERS: Mapping[str, Callable[[Generator, ElementType], Case]] = {
    "MatMul": _product,
    "BatchNormalization": _normalization,
    "Clip": _clip,
    "Slice": _slice,
    "ArgMax": _arg_max,
    "Cast": _conversion,
    **{name: _function(name) for name in ("Log", "Acos", "Pow")},
}
