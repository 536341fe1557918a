"""Types of the values of a model, from the schemas of operators.

A type is written as ONNX does: `tensor(float)`, `seq(tensor(int64))`. ONNX Runtime derives the same
types, and starts no session of a model that declares others.
"""

import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

import onnx.defs
from onnx import TensorProto, TypeProto

from .iterations import COUNTERS, FIRST_WITHOUT_BATCH
from .node import Graph, Node, Value
from .schemas import operator_schema
from .sizes import Rejected, require

_logger = logging.getLogger("sonnx_ort")

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


def optional_of(kind: Type) -> Type:
    """The type of a value of a type, or of none."""
    return kind and f"{_OPTIONAL}({kind})"


def element_of(kind: Type, container: str = _SEQUENCE) -> Type:
    """The type of the elements of a sequence or another container; None for any other type."""
    begin = f"{container}("
    return kind[len(begin) : -1] if kind is not None and kind.startswith(begin) else None


def name_of_type(data_type: int) -> str:
    """The ONNX name of a type of elements, for its number.

    Raises:
        Rejected: There is none.
    """
    require(data_type in _NAMES, f"there is no type {data_type} of elements")
    return _NAMES[data_type]


_NAMES: Mapping[int, str] = {
    number: name.lower()
    for name, number in TensorProto.DataType.items()
    if number != TensorProto.UNDEFINED
}


def type_of_proto(kind: TypeProto) -> Type:
    """A type of a file; None for a map, and where there is none.

    Raises:
        Rejected: It is of elements of no type that ONNX has.
    """
    match kind.WhichOneof("value"):
        case "tensor_type" | "sparse_tensor_type" as field:
            name = name_of_type(getattr(kind, field).elem_type)
            return f"{field.removesuffix('_type')}({name})"
        case "sequence_type":
            return sequence_of(type_of_proto(kind.sequence_type.elem_type))
        case "optional_type":
            return optional_of(type_of_proto(kind.optional_type.elem_type))
    return None


def of_tensor(kind: Type) -> Type:
    """The type of the elements of a tensor, dense or sparse; None for any other type."""
    return element_of(kind, _TENSOR) or element_of(kind, f"sparse_{_TENSOR}")


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
    return optional_of(node.input_type(0) or node.named_type("type"))


def _quantized(node: TypedNode) -> Type:
    zero_point = node.input_type(2)
    omitted = tensor_of("uint8") if zero_point == "" else None
    return zero_point or node.named_type("output_dtype") or omitted


def _label_type(node: TypedNode) -> Type:
    return node.attribute_type("classlabels_strings") or tensor_of("int64")


def _categories(node: TypedNode) -> Type:
    other = {tensor_of("string"): tensor_of("int64"), tensor_of("int64"): tensor_of("string")}
    return other.get(node.input_type(0) or "")


_WINDOWS = ("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix")

_PAST_STATE = 3
"""The input of a LinearAttention that has the type of its second result, if it is given."""

_CONSTANTS = (
    *("value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints"),
    *("value_string", "value_strings"),
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
    **{(_ML, name): _label_type for name in _CLASSIFIERS},
    (_ML, "CategoryMapper"): _categories,
    (_ML, "LabelEncoder"): lambda node: (
        _given("values_tensor", "values_strings", "values_int64s", "values_floats")(node)
        or _categories(node)
    ),
    (_ML, "ZipMap"): lambda node: sequence_of(
        f"map({element_of(_label_type(node), _TENSOR)},tensor(float))"
    ),
}
"""The types of results that are those of no input: they follow from attributes or containers."""


class _Typed:
    """A node whose inputs have the given types; empty for those that are omitted."""

    def __init__(self, node: Node, version: int, given: Sequence[Type]) -> None:
        self.operator = (node.domain, node.op_type, version)
        self.inputs, self.outputs = len(given), node.results
        self._node, self._given = node, given

    def input_type(self, index: int) -> Type:
        return self._given[index] if index < len(self._given) else ""

    def named_type(self, attribute: str) -> Type:
        match self._node.attribute(attribute):
            case str() as name if name.lower() in _NAMES.values():  # in the first version of Cast
                return tensor_of(name.lower())
            case int() as number if number in _NAMES:
                return tensor_of(_NAMES[number])
        return self._node.held_type(attribute)

    def attribute_type(self, attribute: str) -> Type:
        value = self._node.attribute(attribute)
        match value[:1] if isinstance(value, list | tuple) else [value]:
            case [int()]:
                return tensor_of("int64")
            case [float()]:
                return tensor_of("float")
            case [str()]:
                return tensor_of("string")
        return self._node.held_type(attribute)


def types_of_results(node: Node, version: int, given: Sequence[Type]) -> Sequence[Type]:
    """The types of the results of a node without bodies.

    Args:
        node: The node.
        version: The version of its domain.
        given: The types of its operands; empty for those that are omitted.
    """
    typed = _Typed(node, version, given)
    return [result_type(typed, index) for index in range(node.results)]


def types_of_operands(node: TypedNode) -> Sequence[Type]:
    """The types of the results of a Broadcast: each has that of the operand at its place."""
    return [node.input_type(index) for index in range(node.outputs)]


OwnTypes = Callable[[TypedNode], Sequence[Type]]
"""Gives the types of the results of a node that is no operator of ONNX."""

_COUNTERS = (tensor_of("int64"), tensor_of("bool"))
"""What a Loop passes to its body first: the iteration number and the condition."""


class Types:
    """The types of all values of a model, without what it declares of others than its inputs."""

    def __init__(
        self,
        main: Graph,
        versions: Mapping[str, int],
        known: Callable[[Value], Type],
        own: Mapping[str, OwnTypes],
    ) -> None:
        """Follow the nodes of a model.

        Args:
            main: Its main graph.
            versions: The versions of the operators, by their domain.
            known: Gives the type of an input of the model, and of a stored value; raises `Rejected`
                if it is none.
            own: What gives the types of results, by the domain, if it is none of ONNX.
        """
        self._versions, self._known, self._own = versions, known, own
        self._types: dict[Value, Type] = {}
        self._keep_types(main.inputs, map(self._declared_type, main.inputs))
        self._follow_graph(main)

    def of(self, value: Value) -> Type:
        """The type of a value; None if it is not known."""
        return self._types.get(value)

    def _declared_type(self, value: Value) -> Type:
        try:
            return self._known(value)
        except Rejected:
            return None

    def _keep_types(self, values: Iterable[Value | None], types: Iterable[Type]) -> None:
        for value, kind in zip(values, types, strict=False):
            if value is not None and kind:
                self._types[value] = kind

    def _follow_graph(self, graph: Graph) -> None:
        self._keep_types(graph.stored, map(self._declared_type, graph.stored))
        for node in graph.nodes:
            try:
                self._keep_types(node.outputs, self._result_types(node))
            except Exception:
                # A malformed node must not stop the analysis.
                _logger.debug("the types of %s are unknown", node.op_type, exc_info=True)

    def _result_types(self, node: Node) -> Sequence[Type]:
        given = ["" if value is None else self._types.get(value) for value in node.inputs]
        bodies = node.bodies
        found = self._through_bodies(node, given, bodies) if bodies else None
        if found is not None:
            return found
        version = self._versions.get(node.domain, 0)
        if node.domain in self._own:
            return self._own[node.domain](_Typed(node, version, given))
        return types_of_results(node, version, given)

    def _through_bodies(
        self, node: Node, given: Sequence[Type], bodies: Sequence[Graph]
    ) -> Sequence[Type] | None:
        """The types of results that follow from bodies, which are followed; None if none do."""
        operator = "" if node.domain else node.op_type
        taken: Sequence[Type] = ()
        match operator:
            case "Loop":
                taken = (*_COUNTERS, *given[COUNTERS:])
            case "Scan":
                # With a batch, the lengths of its sequences stand in front of its other inputs.
                taken = given[1:] if node.version < FIRST_WITHOUT_BATCH else given
            case "SequenceMap":
                taken = [element_of(kind) or kind for kind in given]
        for body in bodies:
            self._keep_types(body.inputs, taken)
            self._follow_graph(body)
        results = [[self._types.get(value) for value in body.outputs] for body in bodies]
        match operator, results:
            case "If", [one, other]:
                # A session does not start if they differ.
                pairs = zip(one, other, strict=False)
                return [(a or b) if not a or not b or a == b else None for a, b in pairs]
            case "Loop", [(_, *of_body)]:
                initial = chain(given[COUNTERS:], [None] * len(of_body))
                # A state may begin as an optional and go on as its element.
                return [own or first for own, first in zip(of_body, initial, strict=False)]
            case "Scan", [of_body]:
                return of_body
            case "SequenceMap", [of_body]:
                return list(map(sequence_of, of_body))
        return None
