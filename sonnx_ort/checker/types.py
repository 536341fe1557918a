"""The types of results, as the kernel derives them."""

from onnx import TensorProto

from sonnx_ort.checker.node import Node, type_name
from sonnx_ort.kernel.sizes import Rejected
from sonnx_ort.kernel.types import Type, element_of, result_type, tensor_of


def type_of(node: Node, index: int) -> str:
    """The type of the elements of a result.

    Raises:
        Rejected: It does not follow, or the result is no tensor.
    """
    if node.op_type == "Broadcast":
        return node.type(index)
    found = element_of(result_type(_Typed(node), index), "tensor")
    if found is None:
        raise Rejected(f"there is no rule for the type of a {node.op_type}")
    return found


class _Typed:
    """A node whose operands are tensors, if a step gives their types."""

    def __init__(self, node: Node) -> None:
        self.operator = ("", node.op_type, node.model.version)
        self.inputs, self.outputs = node.operands, node.results
        self._node = node

    def input_type(self, index: int) -> Type:
        return tensor_of(self._node.type(index)) if self._node.given(index) else ""

    def named_type(self, attribute: str) -> Type:
        value = self._node.attribute(attribute)
        return tensor_of(type_name(value)) if isinstance(value, int) else None

    def attribute_type(self, attribute: str) -> Type:
        value = self._node.attribute(attribute)
        return tensor_of(type_name(value.data_type)) if isinstance(value, TensorProto) else None
