"""An operator applied to operands: a model of one node, and what is right of its results.

The equivalence classes of elements are those of the working group's strategy of tests
(tests-part2.md, "Type-specific domains", and the boundaries of domains in "Equivalence classes
based on the input domain").
"""

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.defs
from onnx import helper, numpy_helper

from sonnx_ort.facts.schemas import known_schema
from sonnx_ort.facts.types import Type, element_of, result_type, tensor_of
from sonnx_ort.meaning import COMPUTED, Result, Undefined, meaning
from sonnx_ort.meaning.balls import WITHOUT_FLINT, has_flint
from sonnx_ort.meaning.documented import meaning_of
from sonnx_ort.meaning.node import ELEMENT_TYPES, Node
from sonnx_ort.meaning.numbers import FLOAT_FORMATS, INTEGER_FORMATS, TYPES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import RequiredInput
from sonnx_ort.profile.rule import AttributeValue, Rule, Status, Subject
from sonnx_ort.runs.audit.verdicts import attribute_value
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.unruled import known as known_operator

Array = npt.NDArray[Any]

OPSET = 21
"""The version of the standard operators in the models, unless a rule needs another."""

_FLOAT = ElementType.FLOAT.dtype


def as_installed(
    compute: Callable[[], tuple[Result, ...] | Undefined],
) -> tuple[Result, ...] | Undefined:
    """What the oracle computes, or that it needs python-flint, which is not installed."""
    try:
        return compute()
    except ImportError:
        if has_flint():
            raise
        return Undefined(WITHOUT_FLINT)


@dataclass(frozen=True)
class Applied:
    """An operator applied to operands.

    Attributes:
        operands: Its operands, None for those that are omitted.
        results: How many of its results the node has.
        constants: The names of the operands that are initializers.
        sparse: The name of an initializer that is stored sparsely; empty if none is.
        declared: The type that the file declares for the first result, if it is a wrong one.
    """

    operator: str
    operands: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    results: int = 1
    opset: int = OPSET
    edition: Edition = Edition.TYPED
    constants: frozenset[str] = frozenset()
    sparse: str = ""
    declared: ElementType | None = None

    @cached_property
    def meaning(self) -> tuple[Result, ...] | Undefined:
        """What the oracle says."""
        return as_installed(self._meaning)

    def _meaning(self) -> tuple[Result, ...] | Undefined:
        attributes = dict(self.attributes)
        if self.operator == "Split":
            attributes["num_outputs"] = self.results
        if self.operator in COMPUTED:
            return meaning(self.operator, self.opset, attributes, self.operands, self.edition)
        try:
            node = Node(self.opset, attributes, tuple(self.operands), self.edition)
            return meaning_of(self.operator, node)
        except ValueError as error:
            return Undefined(str(error))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the operands, empty for those that are omitted."""
        known = known_operator(self.operator)
        count = len(self.operands)
        given = () if known is None else known.operand_names(count)
        names = given if len(given) >= count else tuple(f"x{i}" for i in range(count))
        return tuple(n if o is not None else "" for n, o in zip(names, self.operands, strict=False))

    @property
    def given(self) -> dict[str, Array]:
        """The operands that are given, by name."""
        pairs = zip(self.names, self.operands, strict=True)
        return {name: operand for name, operand in pairs if operand is not None}

    @property
    def feeds(self) -> dict[str, Array]:
        """The inputs of the model, by name."""
        stored = {*self.constants, self.sparse}
        return {name: array for name, array in self.given.items() if name not in stored}

    @property
    def plain(self) -> dict[str, AttributeValue]:
        """The attributes as rules see them."""
        return {name: attribute_value(value) for name, value in self.attributes.items()}

    @cached_property
    def broken_rules(self) -> tuple[Rule, ...]:
        """The rules of the profile that the node breaks, in the order of their evaluation.

        Those that exist only because kernels of ONNX Runtime are wrong are no part of it.
        """
        return tuple(self._broken_rules())

    def _broken_rules(self) -> Iterator[Rule]:
        operator, names = known_operator(self.operator), tuple(self.given)
        if operator is None:
            return
        known = [self.fact(name, array) for name, array in self.given.items()]
        elements = [self.fact(name, array, elements=True) for name, array in self.given.items()]
        sparse = "sparse_value" in self.attributes
        kind = self.declared and self.declared.value
        results = [Operand(operator.result, "y", "node", kind, sparse=sparse)]
        usable = complete = True
        for rule in operator.rules_of_node(self.edition, known, self.plain, self.opset):
            if rule.needed_before is not None:
                continue
            # Rules on elements may need what other rules demand, such as types and shapes that fit.
            subject = rule.requirement.subject
            if not complete and subject in (Subject.HELD, Subject.ELEMENTS):
                continue
            hidden = subject is Subject.STORAGE or (subject is Subject.ELEMENTS and not usable)
            declared_results = results if self.declared or sparse else []
            judgement, _ = rule.judge(names, known if hidden else elements, declared_results)
            is_broken = judgement.status is Status.VIOLATED
            if judgement.status is Status.RUNTIME and rule.in_run and usable:
                is_broken = rule.violation(names, tuple(self.given.values())) is not None
            usable = usable and not is_broken
            complete = complete and not (is_broken and isinstance(rule.requirement, RequiredInput))
            if is_broken:
                yield rule

    def fact(self, name: str, array: Array, *, elements: bool = False) -> Operand:
        """What is known of an operand before a run, and its elements if they are asked for."""
        kind = ELEMENT_TYPES.get(array.dtype)
        return Operand(
            name,
            name,
            "initializer" if name in (*self.constants, self.sparse) else "input",
            None if kind is None else kind.value,
            tuple(map(int, array.shape)),
            sparse=name == self.sparse,
            constant=array if elements else None,
        )

    @property
    def admitted_by_onnx(self) -> bool:
        """Whether the schema of the operator has the types of the operands."""
        inputs = known_schema(self.operator, self.opset).inputs
        return all(
            f"tensor({ELEMENT_TYPES[array.dtype]})" in inputs[min(k, len(inputs) - 1)].types
            for k, array in enumerate(self.operands)
            if array is not None
        )

    def model(self) -> onnx.ModelProto:
        """A model of the node alone, whose operands have open sizes."""
        outputs = [f"y{i}" for i in range(self.results)]
        node = helper.make_node(self.operator, self.names, outputs, "the_node")
        node.attribute.extend(self._attributes())
        graph = helper.make_graph(
            [node],
            "alone",
            [
                _declared(name, array.dtype, [f"{name}_{k}" for k in range(array.ndim)])
                for name, array in self.feeds.items()
            ],
            [_declared(*each) for each in zip(outputs, *self._declared_results(), strict=False)],
            [numpy_helper.from_array(self.given[n], n) for n in self.given if n in self.constants],
        )
        if self.sparse:
            graph.sparse_initializer.append(_sparse(self.given[self.sparse], self.sparse))
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=10)

    def _attributes(self) -> Iterator[onnx.AttributeProto]:
        """The attributes, those of the schema in the types that it wants."""
        known = known_schema(self.operator, self.opset).attributes
        for name, value in self.attributes.items():
            kind = known[name].type if name in known else None
            if isinstance(value, np.ndarray):
                sparse = kind == onnx.defs.OpSchema.AttrType.SPARSE_TENSOR
                tensor = _sparse(value, "") if sparse else numpy_helper.from_array(value)
                yield helper.make_attribute(name, tensor)
                continue
            if kind in (onnx.defs.OpSchema.AttrType.FLOAT, onnx.defs.OpSchema.AttrType.FLOATS):
                value = [*map(float, value)] if isinstance(value, tuple | list) else float(value)  # noqa: PLW2901
            listed = [] if isinstance(value, tuple | list) and not value else value
            ints = onnx.AttributeProto.INTS if listed == [] else None
            yield helper.make_attribute(name, listed, attr_type=ints)

    def _declared_results(self) -> tuple[Sequence[np.dtype[Any]], Sequence[Sequence[str] | None]]:
        """The types and the sizes of the results, which are open; an unknown rank is None."""
        if self.declared is not None:
            return [self.declared.dtype], [None]
        typed = _Typed(self)
        names = (element_of(result_type(typed, i), "tensor") for i in range(self.results))
        dtypes = [(ElementType.named(name) or ElementType.FLOAT).dtype for name in names]
        if self.broken_rules or isinstance(self.meaning, Undefined):
            return dtypes, [None] * self.results
        return dtypes, [
            [f"y{i}_{k}" for k in range(each.nearest.ndim)] for i, each in enumerate(self.meaning)
        ]


class _Typed:
    """A node as the rules about types see it."""

    def __init__(self, applied: Applied) -> None:
        self.operator = ("", applied.operator, applied.opset)
        self.inputs, self.outputs = len(applied.operands), applied.results
        self._applied = applied

    def input_type(self, index: int) -> Type:
        """The type of an operand; empty for one that is omitted."""
        operands = self._applied.operands
        operand = operands[index] if index < len(operands) else None
        return "" if operand is None else tensor_of(ELEMENT_TYPES[operand.dtype])

    def named_type(self, attribute: str) -> Type:
        """The type that an attribute names; None if it is omitted."""
        number = self._applied.attributes.get(attribute)
        return None if number is None else tensor_of(TYPES.get(number, ElementType.FLOAT))

    def attribute_type(self, attribute: str) -> Type:
        """The type of an attribute's elements; None if it is omitted."""
        if attribute not in self._applied.attributes:
            return None
        dtype = np.asarray(self._applied.attributes[attribute]).dtype
        # Real numbers in attributes are floats.
        is_tensor = attribute in {"value", "sparse_value"}
        return tensor_of(ELEMENT_TYPES[dtype if is_tensor or dtype.kind != "f" else _FLOAT])


def _declared(name: str, dtype: np.dtype[Any], sizes: Sequence[str] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), sizes)


def _sparse(array: Array, name: str) -> onnx.SparseTensorProto:
    places = np.flatnonzero(array)
    values = numpy_helper.from_array(array.ravel()[places], name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(places), array.shape)


class Class(enum.StrEnum):
    """An equivalence class of cases."""

    NAN = "NaN"
    INFINITY = "infinities"
    ZERO = "zeros"
    SUBNORMAL = "subnormal values"
    BOUNDARY = "boundary of the type"
    """The smallest and largest integers, or normal numbers, and their neighbors."""

    INTERIOR = "interior of the type"
    TYPE = "type"
    RANK = "rank"
    SIZE = "size"
    VERSION = "version"
    ATTRIBUTE = "attribute"
    INDEX = "index"
    """The elements of the result differ, so that each is seen to be in its place.

    Conditions differ over several data sets; elements that an operator repeats do not.
    """

    NEUTRAL = "neutral element"
    ABSORBING = "absorbing element"
    PROPERTY = "functional property"
    ACCUMULATOR = "accumulator"
    """A sum of many or of large products, which an accumulator may not hold."""

    EXAMPLE = "example of the document"
    KEPT = "constraint kept"
    BROKEN = "constraint broken"
    NEIGHBOR = "next to a valid node"
    """One number of the node that keeps all rules is another: one more or less, 0, an extreme."""


_TYPES = "tests-part2.md, Type-specific domains"
_STRUCTURES = "tests-part2.md, Structure-specific domains"
_SPECIAL = "tests-part2.md, Operator-specific constraints, Special values"
_CONSTRAINTS = "tests-part2.md, Domains and equivalence classes"

GUIDELINES: Mapping[Class, str] = {
    **dict.fromkeys((Class.NAN, Class.INFINITY, Class.ZERO, Class.SUBNORMAL), _TYPES),
    **dict.fromkeys((Class.BOUNDARY, Class.INTERIOR), _TYPES),
    **dict.fromkeys((Class.RANK, Class.SIZE), _STRUCTURES),
    **dict.fromkeys((Class.NEUTRAL, Class.ABSORBING), _SPECIAL),
    **dict.fromkeys((Class.KEPT, Class.BROKEN, Class.NEIGHBOR), _CONSTRAINTS),
    Class.EXAMPLE: "tests-part1.md, Level a: conformance",
    Class.TYPE: "tests-part2.md, Test completeness",
    Class.VERSION: "tests-part1.md, Level a: conformance",
    Class.ATTRIBUTE: "tests-part1.md, Test design rules, attributes coverage",
    Class.INDEX: "tests-part2.md, On values and indexes",
    Class.PROPERTY: "tests-part2.md, High-level functional properties",
    Class.ACCUMULATOR: "tests-part2.md, Eliminating useless combinations of constraints",
}
"""The section of the working group's strategy of tests that asks for the cases of a class."""


def special_values(element_type: ElementType) -> Array:
    """The values at the edges of a type, in one dimension.

    Floats: zeros, the smallest and largest subnormals, the smallest normal, numbers around 1, the
    largest finite and the infinities, in both signs, and NaN. Integers: the smallest two, those
    around zero, and the largest two. Conditions: both.
    """
    if element_type is ElementType.BOOL:
        return np.array([False, True])
    if element_type.family is Family.INTEGER:
        return _special_integers(element_type)
    return _special_floats(element_type)


def _special_integers(element_type: ElementType) -> Array:
    limits = INTEGER_FORMATS[element_type]
    around_zero = range(-7 if limits.signed else 0, 8)
    edges = [limits.smallest, limits.smallest + 1, limits.largest - 1, limits.largest]
    return np.array(sorted({*edges, *around_zero}), element_type.dtype)


def _special_floats(element_type: ElementType) -> Array:
    limits = FLOAT_FORMATS[element_type]
    fraction_bits = limits.precision - 1
    smallest_normal = 1 << fraction_bits
    one = limits.largest_exponent << fraction_bits
    three = one + smallest_normal + smallest_normal // 2
    infinity = (2 * limits.largest_exponent + 1) << fraction_bits
    positive = [0, 1, smallest_normal - 1, smallest_normal, one - 1, one, one + 1, three]
    positive += [infinity - 1, infinity]
    sign = 1 << (fraction_bits + limits.exponent_bits)
    quiet_nan = infinity + smallest_normal // 2
    bits = [*positive, *(sign + each for each in positive), quiet_nan]
    return np.array(bits, f"u{element_type.dtype.itemsize}").view(element_type.dtype)


_OF_FLOATS = (
    Class.ZERO,
    *(Class.SUBNORMAL,) * 2,
    Class.BOUNDARY,
    *(Class.INTERIOR,) * 4,
    Class.BOUNDARY,
    Class.INFINITY,
)
"""The classes of the special floats of one sign, in their order."""


def special_classes(element_type: ElementType) -> Mapping[Class, Array]:
    """The special values of a type by their classes."""
    values = special_values(element_type)
    classes: Iterable[Class] = (*_OF_FLOATS, *_OF_FLOATS, Class.NAN)
    if element_type.family is not Family.FLOAT:
        classes = (_class_of_integer(int(value), element_type) for value in values)
    made: dict[Class, list[int]] = {}
    for place, each in enumerate(classes):
        made.setdefault(each, []).append(place)
    return {each: values[places] for each, places in made.items()}


def _class_of_integer(value: int, element_type: ElementType) -> Class:
    """The class of an integer, or of a bool."""
    limits = INTEGER_FORMATS.get(element_type)
    if limits is not None and value == 0:
        return Class.ZERO
    near = limits and min(value - limits.smallest, limits.largest - value) <= 1
    return Class.BOUNDARY if near else Class.INTERIOR


_NO_AMOUNTS = {"to", "fmod"}
"""The attributes that name a type, or one of two functions."""


def neighbors(applied: Applied) -> Iterator[tuple[str, Applied]]:
    """Nodes in which one number is another, each with a name for what it is of.

    A size of an operand is one more, one less, or 0. An element of an operand after the first one
    is one more or less, an extreme of its type, or NaN. An integer of an attribute is one more or
    less; a list has one more, one less, or none.
    """
    for place, array in enumerate(applied.operands):
        if array is None:
            continue
        changed = [*_of_other_sizes(array)]
        changed += [("element", each) for each in _of_other_elements(array)] if place else []
        for what, made in changed:
            operands = [*applied.operands[:place], made, *applied.operands[place + 1 :]]
            yield f"{applied.names[place]}_{what}", replace(applied, operands=operands)
    for name, value in applied.attributes.items():
        for made in () if name in _NO_AMOUNTS else _other_numbers(value):
            yield name, replace(applied, attributes={**applied.attributes, name: made})


def _of_other_sizes(array: Array) -> Iterator[tuple[str, Array]]:
    for axis, size in enumerate(array.shape):
        for other in dict.fromkeys((size + 1, size - 1, 0)):
            if other >= 0:
                yield f"axis_{axis}", np.take(array, np.arange(other) % size, axis)


def _of_other_elements(array: Array) -> Iterator[Array]:
    kind = ELEMENT_TYPES[array.dtype]
    if not array.size or kind.family is Family.BOOLEAN:
        return
    first = array.flat[0]
    if kind.family is Family.INTEGER:
        limits = INTEGER_FORMATS[kind]
        near = (
            n for n in (int(first) - 1, int(first) + 1) if limits.smallest <= n <= limits.largest
        )
        others: Iterable[Any] = (*near, limits.smallest, limits.largest)
    else:
        others = (-first, 0, np.inf, np.nan)
    for other in others:
        made = array.copy()
        made.flat[0] = other
        yield made


def _other_numbers(value: Any) -> Iterator[Any]:
    match value:
        case int():
            yield from (value - 1, value + 1)
        case [int(), *_]:
            numbers = tuple(value)
            yield from ((numbers[0] - 1, *numbers[1:]), (numbers[0] + 1, *numbers[1:]))
            yield from (numbers[:-1], (*numbers, numbers[-1]), ())


def ordinary(
    generator: np.random.Generator, element_type: ElementType, shape: tuple[int, ...]
) -> Array:
    """Random elements far from all limits."""
    if element_type is ElementType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if element_type.family is Family.FLOAT:
        return np.asarray(2 * generator.normal(size=shape)).astype(element_type.dtype)
    least = -9 if INTEGER_FORMATS[element_type].signed else 0
    return generator.integers(least, 10, shape).astype(element_type.dtype)
