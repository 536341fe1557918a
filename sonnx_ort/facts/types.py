"""Types of the results of nodes, from the schemas of their operators.

A type is written as ONNX does: `tensor(float)`, `seq(tensor(int64))`. ONNX Runtime derives the same
types, and starts no session of a model that declares others.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import onnx.defs

from .schemas import operator_schema

Type = str | None
"""A type; None if it is unknown."""

_ML = "ai.onnx.ml"
_TENSOR, _SEQUENCE, _OPTIONAL = "tensor", "seq", "optional"


class TypedNode(Protocol):
    """A node whose inputs have known types."""

    @property
    def operator(self) -> tuple[str, str, int]:
        """Its domain, its operator's name and the version of the domain."""

    @property
    def inputs(self) -> int:
        """The number of its inputs."""

    def input_type(self, index: int) -> Type:
        """The type of an input; empty for an omitted one, and where there is none."""

    @property
    def outputs(self) -> int:
        """The number of its outputs."""

    def named_type(self, attribute: str) -> Type:
        """The type that an attribute names; None if it is omitted."""

    def attribute_type(self, attribute: str) -> Type:
        """The type of an attribute's value or elements; None if it is omitted or empty."""


def tensor_of(element_type: str) -> str:
    """The type of a tensor, for the ONNX name of its element type."""
    return f"{_TENSOR}({element_type})"


def sequence_of(kind: Type) -> Type:
    """The type of a sequence of values of a type."""
    return kind and f"{_SEQUENCE}({kind})"


def element_of(kind: Type, container: str = _SEQUENCE) -> Type:
    """The type of the elements of a sequence or another container; None for any other type."""
    begin = f"{container}("
    return kind[len(begin) : -1] if kind is not None and kind.startswith(begin) else None


class _Signature(NamedTuple):
    """The type, or the variable, of each output and input; the last one may be repeated."""

    outputs: Sequence[str]
    inputs: Sequence[str]


@functools.cache
def _signature(domain: str, name: str, version: int) -> _Signature | None:
    """The types in an operator's schema; None if there is none. Variables of one type are it."""
    schema = operator_schema(name, version, domain)
    if schema is None:
        return None
    allowed = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    single = {variable: types[0] for variable, types in allowed.items() if len(types) == 1}

    def written(parameter: onnx.defs.OpSchema.FormalParameter) -> str:
        text: str = parameter.type_str if parameter.is_homogeneous else ""
        return single.get(text, text)

    return _Signature(
        [written(output) for output in schema.outputs], [written(read) for read in schema.inputs]
    )


def result_type(node: TypedNode, index: int) -> Type:
    """The type of a node's result; those of If, Loop and Scan depend on their bodies."""
    signature = _signature(*node.operator)
    if signature is None or not signature.outputs:
        return None
    wanted = signature.outputs[min(index, len(signature.outputs) - 1)]
    if "(" in wanted:
        return wanted
    for place in range(node.inputs):
        formal = signature.inputs[min(place, len(signature.inputs) - 1)]
        if wanted == formal and (kind := node.input_type(place)):
            return kind
    rule = _UNBOUND.get(node.operator[:2])
    return None if rule is None else rule(node)


_Rule = Callable[[TypedNode], Type]


def _named(attribute: str, default: str | int | None = None) -> _Rule:
    """A rule: the type that an attribute names, else a type, or that of an input."""

    def rule(node: TypedNode) -> Type:
        kind = node.named_type(attribute)
        if kind is not None or default is None:
            return kind
        return node.input_type(default) if isinstance(default, int) else tensor_of(default)

    return rule


def _given(*attributes: str) -> _Rule:
    """A rule: the type of the first of these attributes that is given."""
    return lambda node: next(filter(None, map(node.attribute_type, attributes)), None)


def _optional(node: TypedNode) -> Type:
    kind = node.input_type(0) or node.named_type("type")
    return kind and f"{_OPTIONAL}({kind})"


def _quantized(node: TypedNode) -> Type:
    zero_point = node.input_type(2)
    omitted = tensor_of("uint8") if zero_point == "" else None
    return zero_point or node.named_type("output_dtype") or omitted


def _labels(node: TypedNode) -> Type:
    return node.attribute_type("classlabels_strings") or tensor_of("int64")


def _categories(node: TypedNode) -> Type:
    other = {tensor_of("string"): tensor_of("int64"), tensor_of("int64"): tensor_of("string")}
    return other.get(node.input_type(0) or "")


_WINDOWS = ("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix")

_PAST_STATE = 3
"""The input of a LinearAttention that has the type of its second result, if it is given."""

_CONSTANTS = (
    *("value", "value_float", "value_floats", "value_int", "value_ints", "value_string"),
    "value_strings",
)

_STANDARD: Mapping[str, _Rule] = {
    **dict.fromkeys(("BitCast", "Cast"), _named("to")),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), _named("dtype", "float")),
    **dict.fromkeys(
        ("Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike"), _named("dtype", 0)
    ),
    **dict.fromkeys(_WINDOWS, _named("output_datatype", "float")),
    **dict.fromkeys(
        ("ConcatFromSequence", "SequenceAt"), lambda node: element_of(node.input_type(0))
    ),
    **dict.fromkeys(
        ("SequenceConstruct", "SplitToSequence"), lambda node: sequence_of(node.input_type(0))
    ),
    "Constant": _given(*_CONSTANTS),
    "ConstantOfShape": lambda node: node.attribute_type("value") or tensor_of("float"),
    "DequantizeLinear": _named("output_dtype", 1),
    "LayerNormalization": _named("stash_type", "float"),
    "LinearAttention": lambda node: (
        node.input_type(0) if node.input_type(_PAST_STATE) == "" else None
    ),
    "Multinomial": _named("dtype", "int32"),
    "Optional": _optional,
    # Since version 18 the operand may also be the element itself.
    "OptionalGetElement": lambda node: (
        element_of(node.input_type(0), _OPTIONAL) or node.input_type(0)
    ),
    "QuantizeLinear": _quantized,
    "SequenceEmpty": lambda node: sequence_of(_named("dtype", "float")(node)),
}

_CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")

_UNBOUND: Mapping[tuple[str, str], _Rule] = {
    **{("", name): rule for name, rule in _STANDARD.items()},
    **{(_ML, name): _labels for name in _CLASSIFIERS},
    (_ML, "CategoryMapper"): _categories,
    (_ML, "LabelEncoder"): lambda node: (
        _given("values_tensor", "values_strings", "values_int64s", "values_floats")(node)
        or _categories(node)
    ),
    (_ML, "ZipMap"): lambda node: sequence_of(
        f"map({element_of(_labels(node), _TENSOR)},tensor(float))"
    ),
}
"""The types of results that are those of no input: they follow from attributes or containers."""
