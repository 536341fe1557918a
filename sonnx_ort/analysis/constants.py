"""The elements of values that are the same in every run."""

import onnx_ir as ir

from sonnx_ort.profile.domain import STANDARD_DOMAIN


def constant_tensor(value: ir.Value) -> ir.TensorProtocol | None:
    """The tensor of an initializer, or of a Constant.

    An initializer that a graph input of the same name can override is no constant. External data
    may be large, and is not at hand where the model came without a place.

    Args:
        value: The value.

    Returns:
        The tensor; None if the elements may differ, lie in external data, or are said twice.
    """
    if value.is_graph_input():
        return None
    node = value.producer()
    tensor = value.const_value if node is None else _produced(node)
    return None if isinstance(tensor, ir.ExternalTensor) else tensor


def _produced(node: ir.Node) -> ir.TensorProtocol | None:
    if (node.domain, node.op_type) != (STANDARD_DOMAIN, "Constant"):
        return None
    attribute = node.attributes.get("value")
    if len(node.attributes) == 1 and attribute is not None and not attribute.is_ref():
        # What follows would name the tensor anew, and look at each of its methods first.
        tensor: ir.TensorProtocol = attribute.value
        return tensor
    try:
        return ir.convenience.get_const_tensor(node.outputs[0])
    except ValueError:
        # A Constant with two attributes, which ONNX Runtime takes.
        return None
