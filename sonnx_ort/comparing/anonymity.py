"""A model without the names and texts of its author."""

from collections.abc import Iterator
from typing import Any

import onnx

from sonnx_ort.loading.traversal import all_nodes

_TEXTS = ("doc_string", "metadata_props", "value_info", "quantization_annotation")
"""The fields of messages that say what no run needs."""


def anonymous(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with numbers in the place of names, and without texts and metadata.

    Attributes, and operators that the model does not define, keep their names.
    """
    made = onnx.ModelProto(ir_version=model.ir_version, graph=model.graph)
    made.opset_import.extend(model.opset_import)
    made.functions.extend(model.functions)
    names = _Names(made)
    for message in _messages(made):
        for field in _TEXTS:
            if field in message.DESCRIPTOR.fields_by_name:
                message.ClearField(field)
        names.replace(message)
    return made


def _messages(message: Any) -> Iterator[Any]:
    """A message, and then all that it contains."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            # A single message has a descriptor; a list of them has none.
            for each in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _messages(each)


class _Names:
    """New names, one for each old one of a kind, whatever has it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._new: dict[tuple[str, str], str] = {}
        self._functions = {(each.domain, each.name) for each in model.functions}
        others = {
            n.domain for n in all_nodes(model) if (n.domain, n.op_type) not in self._functions
        }
        self._domains = {domain for domain, _ in self._functions} - others - {"", "ai.onnx"}
        """Those in which there are functions of the model alone."""

    def replace(self, message: Any) -> None:
        """Replace the names in a message, but for those in messages inside it."""
        match message:
            case onnx.GraphProto():
                message.name = "graph"
            case onnx.NodeProto():
                message.name = self._of(f"{len(self._new)}", "node")
                if (message.domain, message.op_type) in self._functions:
                    message.op_type = self._of(message.op_type, "function")
            case onnx.FunctionProto():
                message.name = self._of(message.name, "function")
            case onnx.ValueInfoProto() | onnx.TensorProto():
                message.name = self._of(message.name, "value")
            case onnx.TensorShapeProto.Dimension() if message.dim_param:
                message.dim_param = self._of(message.dim_param, "size")
        if isinstance(message, onnx.NodeProto | onnx.FunctionProto):
            for values in (message.input, message.output):
                values[:] = [self._of(name, "value") for name in values]
        if getattr(message, "domain", "") in self._domains:
            message.domain = self._of(message.domain, "domain")

    def _of(self, name: str, kind: str) -> str:
        return self._new.setdefault((name, kind), f"{kind}{len(self._new)}") if name else ""
