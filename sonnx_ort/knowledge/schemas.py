"""What ONNX's own schemas say of an operator: the types it takes, and what it assumes by itself."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import onnx.defs
import onnx.helper

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType

_ABSENCE = re.compile(
    r"default|omitted|unset|assumed|unless specified|otherwise, it is"
    r"|not (?:present|specified|provided|given|set)\b",
    re.IGNORECASE,
)
"""How a document speaks of what it assumes where something is left out."""

_SENTENCE_END = re.compile(r"(?<=[.:])\s+(?=[A-Z])")

_SAID_ELSEWHERE = {
    ("Clip", "min"): "They default to numeric_limits::lowest() and numeric_limits::max()",
    ("Clip", "max"): "They default to numeric_limits::lowest() and numeric_limits::max()",
    ("Split", "split"): "Otherwise, the tensor is split to equal sized parts.",
}
"""What a document says of an input in words that do not name it."""

_INDEX_TYPES = {ElementType.INT32, ElementType.INT64}

_CONVERTS_NOTHING = frozenset(
    {
        # Conversion is what it is for.
        "CastLike",
        # Positions, and the elements that are put there.
        "OneHot",
        # Defined on integers of several types, with a result in int32 or by scales.
        *("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"),
    }
)
"""Operators that take numbers of several types and convert none of them implicitly."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """What ONNX assumes where a node leaves something out.

    Attributes:
        name: The attribute or input.
        position: The input's position; None for an attribute.
        assumed: What is assumed, in words.
    """

    name: str
    position: int | None
    assumed: str


@dataclass(frozen=True, slots=True)
class Input:
    """An input of an operator.

    Attributes:
        name: Its name.
        position: Its position.
    """

    name: str
    position: int


def _schema_of(name: str, version: int, domain: str) -> onnx.defs.OpSchema | None:
    """The schema of an operator; None if there is none."""
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


@functools.cache
def numeric_types(name: str, version: int, domain: str) -> tuple[frozenset[ElementType], ...]:
    """The numeric types that each input may be of.

    Args:
        name: An operator that has a schema.
        version: The version of its domain that a model imports.
        domain: The domain.
    """
    schema = onnx.defs.get_schema(name, version, domain)
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return tuple(
        frozenset(
            kind
            for kind in NUMERIC_TYPES
            if f"tensor({kind})" in constraints.get(parameter.type_str, [parameter.type_str])
        )
        for parameter in schema.inputs
    )


@functools.cache
def convertible_inputs(name: str, version: int, domain: str) -> tuple[tuple[Input, Input], ...]:
    """The pairs of inputs that take the same numeric types but need not be of one type.

    Where their types differ, the operator converts one. Sizes, axes and indices are no operands
    that are converted.

    Args:
        name: The operator; one without a schema has no pairs.
        version: The version of its domain that a model imports.
        domain: The domain.
    """
    schema = _schema_of(name, version, domain)
    if schema is None or name in _CONVERTS_NOTHING:
        return ()
    types = numeric_types(name, version, domain)
    operands = [index for index, allowed in enumerate(types) if not allowed <= _INDEX_TYPES]
    return tuple(
        (Input(schema.inputs[one].name, one), Input(schema.inputs[other].name, other))
        for one, other in combinations(operands, 2)
        if schema.inputs[one].type_str != schema.inputs[other].type_str
        and len(types[one] & types[other]) > 1
    )


@functools.cache
def assumptions(name: str, version: int, domain: str) -> tuple[Assumption, ...]:
    """What an operator assumes of attributes and inputs that a node leaves out.

    Args:
        name: The operator; one without a schema assumes nothing that is known.
        version: The version of its domain that a model imports.
        domain: The domain.
    """
    schema = _schema_of(name, version, domain)
    return () if schema is None else (*_of_attributes(schema), *_of_inputs(schema))


def _of_attributes(schema: onnx.defs.OpSchema) -> Iterator[Assumption]:
    for name, attribute in schema.attributes.items():
        # One that is required is left out by no valid node.
        assumed = _assumed(schema, name, attribute)
        if assumed:
            yield Assumption(name, None, assumed)


def _assumed(schema: onnx.defs.OpSchema, name: str, attribute: onnx.defs.OpSchema.Attribute) -> str:
    """What is assumed of an attribute that is left out; empty if nothing is said."""
    if not attribute.default_value.name:
        return _said_of_absence(schema, name, attribute.description)
    value = onnx.helper.get_attribute_value(attribute.default_value)
    shown = value.decode() if isinstance(value, bytes) else value
    return f"ONNX assumes {shown!r}"


def _of_inputs(schema: onnx.defs.OpSchema) -> Iterator[Assumption]:
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    for position, parameter in enumerate(schema.inputs):
        if parameter.option == optional:
            said = _said_of_absence(schema, parameter.name, parameter.description)
            if said:
                yield Assumption(parameter.name, position, said)


def _said_of_absence(schema: onnx.defs.OpSchema, name: str, description: str) -> str:
    """The sentence by which a document says what it assumes; empty if there is none."""
    named = re.compile(rf"[`'\"]{re.escape(name)}[`'\"]")
    sentences = (
        *_sentences(description),
        *(sentence for sentence in _sentences(str(schema.doc)) if named.search(sentence)),
    )
    elsewhere = _SAID_ELSEWHERE.get((schema.name, name))
    said = next((sentence for sentence in sentences if _ABSENCE.search(sentence)), elsewhere)
    return f"ONNX says: {said}" if said else ""


def _sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(" ".join(text.split()))
