"""The types of results, by the constraints in the operators' schemas."""

from onnx import defs

from ..sizes import Rejected, require
from .node import Node, type_name


def type_of(node: Node, index: int) -> str:
    """The type of a result, by the constraints in the operator's schema."""
    op_type = node.proto.op_type
    if op_type == "Broadcast":
        return str(node.model.known("type", node.name(index)))
    if op_type == "Cast":
        return type_name(node.attribute("to"))
    if op_type == "ConstantOfShape":
        value = node.attribute("value")
        return "float" if value is None else type_name(value.data_type)
    schema = defs.get_schema(op_type, node.model.version, "")
    result = schema.outputs[min(index, len(schema.outputs) - 1)]
    require(result.is_homogeneous, "its results have types of their own")
    text = result.type_str
    constraints = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    allowed = constraints.get(text, [text])
    if len(allowed) == 1:
        return str(allowed[0]).removeprefix("tensor(").removesuffix(")")
    for place, name in enumerate(node.proto.input):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        if name and formal.type_str == text:
            return str(node.model.known("type", name))
    raise Rejected(f"there is no rule for the type of a {op_type}")
