"""What ONNX's schemas let a node leave out or convert, and what they assume then."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import onnx.defs

from sonnx_ort.facts.attributes import plain_value
from sonnx_ort.facts.schemas import allowed_types, operator_schema
from sonnx_ort.facts.types import tensor_of
from sonnx_ort.profile.catalog import defined_outputs
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
class Parameter:
    """An input or an output of an operator."""

    name: str
    position: int


@functools.cache
def numeric_types(name: str, version: int, domain: str) -> tuple[frozenset[ElementType], ...]:
    """The allowed numeric types of each input of an operator; none of one without a schema."""
    return tuple(
        frozenset(kind for kind in NUMERIC_TYPES if tensor_of(kind) in allowed)
        for allowed in allowed_types(name, version, domain)
    )


@functools.cache
def convertible_inputs(
    name: str, version: int, domain: str
) -> tuple[tuple[Parameter, Parameter], ...]:
    """The pairs of inputs that accept the same numeric types, but may have different ones.

    If their types differ, the operator converts one. Sizes, axes and indices are excluded. Empty
    for an operator without a schema.
    """
    schema = operator_schema(name, version, domain)
    if schema is None or name in _CONVERTS_NOTHING:
        return ()
    types = numeric_types(name, version, domain)
    operands = [index for index, allowed in enumerate(types) if not allowed <= _INDEX_TYPES]
    return tuple(
        (Parameter(schema.inputs[one].name, one), Parameter(schema.inputs[other].name, other))
        for one, other in combinations(operands, 2)
        if schema.inputs[one].type_str != schema.inputs[other].type_str
        and len(types[one] & types[other]) > 1
    )


@functools.cache
def optional_inputs(name: str, version: int, domain: str) -> tuple[Parameter, ...]:
    """The inputs that a node of an operator may omit; empty without a schema."""
    schema = operator_schema(name, version, domain)
    return () if schema is None else _optional(schema.inputs)


@functools.cache
def optional_outputs(name: str, version: int, domain: str) -> tuple[Parameter, ...]:
    """The outputs of an operator that ONNX lets a node omit, and that its draft defines."""
    schema, undefined = (
        operator_schema(name, version, domain),
        undefined_outputs(name, version, domain),
    )
    return (
        () if schema is None else tuple(p for p in _optional(schema.outputs) if p not in undefined)
    )


@functools.cache
def undefined_outputs(name: str, version: int, domain: str) -> tuple[Parameter, ...]:
    """The outputs that ONNX has of an operator and its draft does not define."""
    schema, defined = operator_schema(name, version, domain), defined_outputs(domain, name)
    return () if schema is None or defined is None else _parameters(schema.outputs)[defined:]


def _parameters(
    formal: Sequence[onnx.defs.OpSchema.FormalParameter],
) -> tuple[Parameter, ...]:
    return tuple(Parameter(parameter.name, position) for position, parameter in enumerate(formal))


def _optional(formal: Sequence[onnx.defs.OpSchema.FormalParameter]) -> tuple[Parameter, ...]:
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    return tuple(p for p in _parameters(formal) if formal[p.position].option == optional)


@functools.cache
def assumptions(name: str, version: int, domain: str) -> tuple[Assumption, ...]:
    """What an operator assumes for omitted attributes and inputs; empty without a schema."""
    schema = operator_schema(name, version, domain)
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
    printed = plain_value(attribute.default_value)
    return f"ONNX assumes {printed!r}"


def _of_inputs(schema: onnx.defs.OpSchema) -> Iterator[Assumption]:
    for parameter in _optional(schema.inputs):
        description = schema.inputs[parameter.position].description
        if default_text := _default_sentence(schema, parameter.name, description):
            yield Assumption(parameter.name, parameter.position, default_text)


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
