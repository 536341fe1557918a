"""The types of all values of a model, and what ONNX's schemas say of nodes."""

import functools
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import onnx
import onnx.defs
import onnx.helper
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import type_name
from sonnx_ort.facts.attributes import plain_value
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.facts.iterations import FIRST_WITHOUT_BATCH
from sonnx_ort.facts.schemas import operator_schema
from sonnx_ort.facts.types import Type, TypedNode, element_of, result_type, sequence_of, tensor_of
from sonnx_ort.loading.serialization import deserialize_type, holds_another_type
from sonnx_ort.loading.traversal import subgraphs_of
from sonnx_ort.profile.catalog import defined_outputs
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN

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
def allowed_types(name: str, version: int, domain: str) -> tuple[frozenset[str], ...]:
    """The types of each input of an operator, such as "tensor(float)"; none without a schema."""
    schema = operator_schema(name, version, domain)
    if schema is None:
        return ()
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return tuple(frozenset(constraints.get(i.type_str, [i.type_str])) for i in schema.inputs)


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


_logger = logging.getLogger("sonnx_ort")

_COUNTERS = (tensor_of("int64"), tensor_of("bool"))
"""What a Loop passes to its body first: the iteration number and the condition."""


class ValueTypes:
    """The types of values, without what the file declares of others than the model's inputs."""

    def __init__(self, model: ir.Model) -> None:
        """Follow the nodes of a canonical model, which is not modified."""
        self._versions = model.opset_imports
        self._types: dict[ir.Value, ir.TypeProtocol] = {}
        self._texts: dict[ir.Value, Type] = {}
        for value in model.graph.inputs:
            if value.type is not None:
                self._types[value], self._texts[value] = value.type, _text(value.type)
        self._derive(model.graph)

    def type(self, value: ir.Value) -> ir.TypeProtocol | None:
        """The type of a value, without its shape; None if it is unknown."""
        return self._types.get(value)

    def element_type(self, value: ir.Value) -> ir.DataType | None:
        """The element type of a value; None if it is unknown."""
        known = self._types.get(value)
        return None if known is None else known.dtype

    def may_be_tensor(self, value: ir.Value) -> bool:
        """Whether a value is not known to be a sequence or an optional."""
        known = self._types.get(value, value.type)
        return type(known) not in (ir.SequenceType, ir.OptionalType)

    def _record(self, values: Iterable[ir.Value], texts: Iterable[Type]) -> None:
        for value, text in zip(values, texts, strict=False):
            # An omitted output has no name.
            if text and value.name:
                self._types[value], self._texts[value] = _parsed(text), text

    def _derive(self, graph: ir.Graph) -> None:
        for value in graph.initializers.values():
            if value.const_value is not None and not value.is_graph_input():
                self._record([value], [tensor_of(type_name(value.const_value.dtype))])
        for node in graph:
            try:
                self._derive_node(node)
            except Exception:
                # A malformed node must not stop the analysis.
                _logger.debug("the types of %s are unknown", node.op_type, exc_info=True)

    def _derive_node(self, node: ir.Node) -> None:
        given = ["" if v is None else self._texts.get(v) for v in node.inputs]
        bodies = subgraphs_of(node)
        found = self._through_bodies(node, given, bodies) if bodies else None
        if found is None:
            version = self._versions.get(node.domain, 0)
            found = _results(_Node(node, version, given))
        self._record(node.outputs, found)

    def _through_bodies(
        self, node: ir.Node, given: Sequence[Type], bodies: Sequence[ir.Graph]
    ) -> Sequence[Type] | None:
        """The types of results that follow from subgraphs, which are followed; None if none do."""
        operator = node.op_type if node.domain == STANDARD_DOMAIN else ""
        taken: Sequence[Type] = ()
        match operator:
            case "Loop":
                taken = (*_COUNTERS, *given[len(_COUNTERS) :])
            case "Scan":
                version = operator_version(operator, self._versions.get(STANDARD_DOMAIN, 0))
                # With a batch, the lengths of its sequences stand in front of its other inputs.
                taken = given[1:] if version < FIRST_WITHOUT_BATCH else given
            case "SequenceMap":
                taken = [element_of(kind) or kind for kind in given]
        for body in bodies:
            self._record(body.inputs, taken)
            self._derive(body)
        results = [[self._texts.get(value) for value in body.outputs] for body in bodies]
        match operator, results:
            case "If", [one, other]:
                # A session does not start if they differ.
                pairs = zip(one, other, strict=False)
                return [(a or b) if not a or not b or a == b else None for a, b in pairs]
            case "Loop", [(_, *of_body)]:
                initial = chain(given[len(_COUNTERS) :], [None] * len(of_body))
                # A state may begin as an optional and go on as its element.
                return [own or first for own, first in zip(of_body, initial, strict=False)]
            case "Scan", [of_body]:
                return of_body
            case "SequenceMap", [of_body]:
                return list(map(sequence_of, of_body))
        return None


def result_type_of(
    node: ir.Node, version: int, known: Callable[[ir.Value], ir.TypeProtocol | None]
) -> ir.TypeProtocol | None:
    """The type of the first result of a standard operator's node; None if it is unknown.

    Args:
        node: The node.
        version: The version of the standard operators.
        known: The type of an operand, if it is known.
    """
    kinds = [None if value is None else known(value) for value in node.inputs]
    given = [None if kind is None else _text(kind) for kind in kinds]
    found, *_ = _results(_Node(node, version, given))
    return None if not found else _parsed(found)


def unsupported_type(
    nodes: Iterable[ir.Node], version: int, known: Callable[[ir.Value], ir.TypeProtocol | None]
) -> str | None:
    """What new nodes of standard operators read that a version of these does not: "Sub of int8".

    Args:
        nodes: The nodes, each after those whose results it reads.
        version: The version of the standard operators.
        known: The type of a value that none of them computes, if it is known.
    """
    types: dict[ir.Value, ir.TypeProtocol | None] = {}

    def type_of(value: ir.Value) -> ir.TypeProtocol | None:
        return types.get(value) or known(value)

    for node in nodes:
        allowed = allowed_types(node.op_type, version, STANDARD_DOMAIN)
        for position, value in enumerate(node.inputs if allowed else ()):
            kind = None if value is None else type_of(value)
            text = None if kind is None else _text(kind)
            if text and text not in allowed[min(position, len(allowed) - 1)]:
                return f"{node.op_type} of {element_of(text, 'tensor') or text}"
        types[node.outputs[0]] = result_type_of(node, version, type_of)
    return None


def _results(node: TypedNode) -> Sequence[Type]:
    """The types of a node's results."""
    domain, name, _ = node.operator
    if domain == DOMAIN and name == BROADCAST.name:
        return [node.input_type(index) for index in range(node.outputs)]
    if domain == DOMAIN:
        # No proof about a model that is not enforced rests on our kernels.
        from sonnx_ort.analysis.values.own_kernels import types_of_kernel

        return types_of_kernel(node)
    return [result_type(node, index) for index in range(node.outputs)]


class _Node:
    """A node of the graph library, and the types of its inputs."""

    def __init__(self, node: ir.Node, version: int, given: Sequence[Type]) -> None:
        self.operator = (node.domain, node.op_type, version)
        self.inputs, self.outputs = len(given), len(node.outputs)
        self._node, self._given = node, given

    def input_type(self, index: int) -> Type:
        return self._given[index] if index < len(self._given) else ""

    def named_type(self, attribute: str) -> Type:
        given = self._node.attributes.get(attribute)
        if given is None or given.is_ref():
            return None
        match given.value:
            case ir.TypeAndShape(type=named):
                return None if named is None else _text(named)
            case str() as name if name.lower() in _NAMES:  # in the first version of Cast
                return tensor_of(name.lower())
            case int() as number if number in _DATA_TYPES:
                return tensor_of(_DATA_TYPES[number])
        return None

    def attribute_type(self, attribute: str) -> Type:
        given = self._node.attributes.get(attribute)
        if given is None or given.is_ref():
            return None
        if given.type is ir.AttributeType.TENSOR:
            return tensor_of(type_name(given.value.dtype))
        is_empty_list = given.type.name.endswith("S") and not given.value
        return None if is_empty_list else _OF_ATTRIBUTES.get(given.type)


_DATA_TYPES = {int(dtype): type_name(dtype) for dtype in ir.DataType if dtype.value}
_NAMES = frozenset(_DATA_TYPES.values())
_OF_ATTRIBUTES = {
    ir.AttributeType[f"{kind}{plural}"]: tensor_of(name)
    for kind, name in (("INT", "int64"), ("FLOAT", "float"), ("STRING", "string"))
    for plural in ("", "S")
}


def _text(kind: ir.TypeProtocol) -> Type:
    """A type as ONNX writes it; None for one that the graph library does not know."""
    match kind:
        case ir.TensorType():
            return tensor_of(type_name(kind.dtype))
        case ir.SparseTensorType():
            return f"sparse_tensor({type_name(kind.dtype)})"
        case ir.SequenceType():
            return sequence_of(_text(kind.elem_type))
        case ir.OptionalType() if not holds_another_type(kind):
            inner = _text(kind.elem_type)
            return inner and f"optional({inner})"
    return None


@functools.cache
def _parsed(text: str) -> ir.TypeProtocol:
    kind = deserialize_type(_proto(text)).type
    if kind is None:
        raise ValueError(f"{text} is no type")
    return kind


def _proto(text: str) -> onnx.TypeProto:
    container, _, inner = text[:-1].partition("(")
    proto = onnx.TypeProto()
    match container:
        case "tensor" | "sparse_tensor":
            declared = getattr(proto, f"{container}_type")
            declared.elem_type = onnx.TensorProto.DataType.Value(inner.upper())
        case "seq":
            proto.sequence_type.elem_type.CopyFrom(_proto(inner))
        case "optional":
            proto.optional_type.elem_type.CopyFrom(_proto(inner))
        case "map":
            keys, _, values = inner.partition(",")
            proto.map_type.key_type = onnx.TensorProto.DataType.Value(keys.upper())
            proto.map_type.value_type.CopyFrom(_proto(values))
    return proto
