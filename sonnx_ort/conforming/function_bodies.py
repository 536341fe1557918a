"""The functions by which ONNX defines operators, written in place of a node.

Such a body has a CastLike where it needs a number of the type of an operand; it becomes a Cast, or
a constant of that type. A body may be written for a later version of the standard operators than
the model's, if the difference is only of which types its operators have.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from sonnx_ort.conforming.change import NoChangeError, NodeEdit
from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.knowledge.value_types import result_type_of

_SAME_SINCE: Mapping[str, int] = {
    **dict.fromkeys(("Cast", "CastLike", "Constant", "Identity", "Softplus"), 1),
    **dict.fromkeys(("Abs", "Exp", "Log", "Neg", "Sigmoid", "Sqrt", "Tanh"), 6),
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), 7),
    **dict.fromkeys(("Less", "Where"), 9),
}
"""The first version since which an operator computes the same; later ones have more types."""


def has_function(edit: NodeEdit) -> bool:
    """Whether ONNX defines the operator of a node by a function of others."""
    return defined_by_function(_schema(edit.node, edit.opset))


def defined_by_function(schema: Any | None) -> bool:
    """Whether ONNX defines the operator of a schema by a function of others."""
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def write_function(edit: NodeEdit) -> tuple[ir.Value | None, ...]:
    """Add the nodes of the function in front of the node; give what its outputs become.

    Raises:
        NoChangeError: It has another meaning in the model's version, or holds subgraphs.
    """
    function = _function(edit)
    known: dict[str, ir.Value | None] = dict(
        zip_longest(function.input, edit.node.inputs[: len(function.input)])
    )
    known[""] = None
    types: dict[ir.Value, ir.TypeProtocol | None] = {}

    def type_of(value: ir.Value) -> ir.TypeProtocol | None:
        return types.get(value) or edit.facts.type(value) or value.type

    for node in function.node:
        attributes = dict(_attributes(edit, node))
        inputs = [known[name] for name in node.input]
        if len(node.output) != 1 or any(a is None for a in attributes.values()):
            raise NoChangeError(f"its definition by ONNX has a {node.op_type} of another form")
        value = _written(edit, node.op_type, inputs, attributes, type_of)
        known[node.output[0]] = value
        if edit.added and edit.added[-1].outputs[0] is value:
            types[value] = result_type_of(edit.added[-1], edit.opset, type_of)
    return tuple(known.get(name) for name in function.output)


def _written(
    edit: NodeEdit,
    operator: str,
    inputs: list[ir.Value | None],
    attributes: Mapping[str, Any],
    type_of: Callable[[ir.Value], ir.TypeProtocol | None],
) -> ir.Value:
    purpose = operator.lower()
    if operator == "Constant":
        ((name, value),) = attributes.items()
        return edit.constant(_elements(name, value), purpose)
    if operator != "CastLike":
        return edit.add(operator, inputs, purpose, attributes)
    given, like = inputs
    kind = None if like is None else type_of(like)
    if given is None or kind is None:
        raise NoChangeError("the type that its definition by ONNX wants is not known")
    dtype = kind.dtype
    stored = constant_tensor(given)
    if stored is not None:
        return edit.constant(stored.numpy().astype(dtype.numpy()), purpose)
    return edit.add("Cast", [given], purpose, {"to": dtype.value})


def _elements(name: str, value: Any) -> np.ndarray[Any, Any]:
    match name:
        case "value":
            return np.asarray(value.numpy())
        case "value_float" | "value_floats":
            return np.asarray(value, np.float32)
        case "value_int" | "value_ints":
            return np.asarray(value, np.int64)
        case _:
            raise NoChangeError("its definition by ONNX has a constant of another type")


def _schema(node: ir.Node, opset: int) -> Any | None:
    """The schema of an operator; the types of onnx do not have what it says of functions."""
    try:
        return onnx.defs.get_schema(node.op_type, opset, node.domain)
    except onnx.defs.SchemaError:
        return None


def _function(edit: NodeEdit) -> onnx.FunctionProto:
    """The function in the version that means the same in the model's."""
    schema = _schema(edit.node, edit.opset)
    if schema is None:
        raise NoChangeError("ONNX does not define it")
    depends = schema.has_context_dependent_function
    versions = (
        schema.context_dependent_function_opset_versions
        if depends
        else schema.function_opset_versions
    )
    version = max((v for v in versions if v <= edit.opset), default=min(versions))
    function = onnx.FunctionProto()
    if depends:
        types = [_type(edit, value) for value in edit.node.inputs]
        node = ir.serde.serialize_node(edit.node).SerializeToString()
        function.ParseFromString(
            schema.get_context_dependent_function_with_opset_version(version, node, types)
        )
    else:
        function.ParseFromString(schema.get_function_with_opset_version(version))
    _require_same_meaning(function, version, edit.opset)
    return function


def _type(edit: NodeEdit, value: ir.Value | None) -> bytes:
    if value is None:
        return bytes(onnx.TypeProto().SerializeToString())
    name = edit.facts.element_type(value)
    if name is None:
        raise NoChangeError(f"the type of '{value.name}' is not known")
    dtype = ir.DataType[name.upper()].value
    return bytes(onnx.helper.make_tensor_type_proto(dtype, None).SerializeToString())


def _require_same_meaning(function: onnx.FunctionProto, theirs: int, ours: int) -> None:
    for node in function.node:
        name = node.op_type
        own = operator_version(name, ours)
        if own != operator_version(name, theirs) and own < _SAME_SINCE.get(name, ours + 1):
            if name == "CastLike":
                continue
            raise NoChangeError(
                f"its definition by ONNX is of version {theirs} of the standard operators, in "
                f"which {name} is another one"
            )


def _attributes(edit: NodeEdit, node: onnx.NodeProto) -> Iterator[tuple[str, Any]]:
    """The attributes of a node of the function, with those of the call in place of references."""
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            yield attribute.name, ir.serde.deserialize_attribute(attribute).value
        elif (given := edit.attribute(attribute.ref_attr_name)) is not None:
            yield attribute.name, given
