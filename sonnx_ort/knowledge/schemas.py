"""Facts from ONNX's operator schemas: allowed types and default values."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import onnx.defs
import onnx.helper

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType

_DEFAULT_PHRASE = re.compile(
    r"default|omitted|unset|assumed|unless specified|otherwise, it is"
    r"|not (?:present|specified|provided|given|set)\b",
    re.IGNORECASE,
)
"""How schema texts introduce the default of something omitted."""

_SENTENCE_END = re.compile(r"(?<=[.:])\s+(?=[A-Z])")

_KNOWN_DEFAULTS = {
    ("Clip", "min"): "They default to numeric_limits::lowest() and numeric_limits::max()",
    ("Clip", "max"): "They default to numeric_limits::lowest() and numeric_limits::max()",
    ("Split", "split"): "Otherwise, the tensor is split to equal sized parts.",
}
"""Defaults from sentences of the schema text that do not name the input."""

_WITHOUT_DEFAULT = frozenset((name, "clip") for name in ("GRU", "LSTM", "RNN"))
"""Attributes of which ONNX says that without them something is not done: no value is assumed."""

_INDEX_TYPES = {ElementType.INT32, ElementType.INT64}

_CONVERTS_NOTHING = frozenset(
    {
        # Conversion is its purpose.
        "CastLike",
        # Positions, and the elements to insert there.
        "OneHot",
        # Defined on integers of several types, with a result in int32 or by scales.
        *("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"),
    }
)
"""Operators with numbers of several types that convert none implicitly."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """The default of an omitted input or attribute, in words; an attribute has no position."""

    name: str
    position: int | None
    assumed: str


@dataclass(frozen=True, slots=True)
class Input:
    """An input of an operator."""

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
    """The allowed numeric types of each input; the operator must have a schema."""
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
    """The pairs of inputs that accept the same numeric types, but may have different ones.

    If their types differ, the operator converts one. Sizes, axes and indices are excluded. Empty
    for an operator without a schema.
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
    """What an operator assumes for omitted attributes and inputs; empty without a schema."""
    schema = _schema_of(name, version, domain)
    return () if schema is None else (*_of_attributes(schema), *_of_inputs(schema))


def _of_attributes(schema: onnx.defs.OpSchema) -> Iterator[Assumption]:
    for name, attribute in schema.attributes.items():
        # Required attributes are present in every valid node.
        assumed = _attribute_default(schema, name, attribute)
        if assumed and (schema.name, name) not in _WITHOUT_DEFAULT:
            yield Assumption(name, None, assumed)


def _attribute_default(
    schema: onnx.defs.OpSchema, name: str, attribute: onnx.defs.OpSchema.Attribute
) -> str:
    """The default of an omitted attribute in words; empty if there is none."""
    if not attribute.default_value.name:
        return _default_sentence(schema, name, attribute.description)
    value = onnx.helper.get_attribute_value(attribute.default_value)
    printed = value.decode() if isinstance(value, bytes) else value
    return f"ONNX assumes {printed!r}"


def _of_inputs(schema: onnx.defs.OpSchema) -> Iterator[Assumption]:
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    for position, parameter in enumerate(schema.inputs):
        if parameter.option == optional:
            default_text = _default_sentence(schema, parameter.name, parameter.description)
            if default_text:
                yield Assumption(parameter.name, position, default_text)


def _default_sentence(schema: onnx.defs.OpSchema, name: str, description: str) -> str:
    """The sentence of the schema that states the default; empty if there is none."""
    named = re.compile(rf"[`'\"]{re.escape(name)}[`'\"]")
    sentences = (
        *_sentences(description),
        *(sentence for sentence in _sentences(str(schema.doc)) if named.search(sentence)),
    )
    known = _KNOWN_DEFAULTS.get((schema.name, name))
    default_text = next(
        (sentence for sentence in sentences if _DEFAULT_PHRASE.search(sentence)), known
    )
    return f"ONNX says: {default_text}" if default_text else ""


def _sentences(text: str) -> list[str]:
    return _SENTENCE_END.split(" ".join(text.split()))
