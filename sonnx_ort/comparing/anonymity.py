"""A model without the names and texts of its author."""

from collections.abc import Iterator
from itertools import chain
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
    _rename_functions(made)
    names = _Names()
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

    def __init__(self) -> None:
        self._new: dict[tuple[str, str], str] = {}
        self._nodes = 0

    def replace(self, message: Any) -> None:
        """Replace the names in a message, but for those in messages inside it."""
        match message:
            case onnx.GraphProto():
                message.name = "graph"
            case onnx.NodeProto():
                message.name, self._nodes = f"node{self._nodes}", self._nodes + 1
            case onnx.ValueInfoProto() | onnx.TensorProto():
                message.name = self._of(message.name, "value")
            case onnx.TensorShapeProto.Dimension() if message.dim_param:
                message.dim_param = self._of(message.dim_param, "size")
        if isinstance(message, onnx.NodeProto | onnx.FunctionProto):
            for values in (message.input, message.output):
                values[:] = [self._of(name, "value") for name in values]

    def _of(self, name: str, kind: str) -> str:
        return self._new.setdefault((name, kind), f"{kind}{len(self._new)}") if name else ""


def _rename_functions(model: onnx.ModelProto) -> None:
    """Rename the functions, and the domains in which there is nothing else."""
    names = {(f.domain, f.name): f"function{at}" for at, f in enumerate(model.functions)}
    nodes = all_nodes(model)
    others = {node.domain for node in nodes if (node.domain, node.op_type) not in names}
    own = dict.fromkeys(domain for domain, _ in names if domain not in others | {"", "ai.onnx"})
    domains = {domain: f"domain{at}" for at, domain in enumerate(own)}
    for function in model.functions:
        function.name = names[function.domain, function.name]
    for node in nodes:
        node.op_type = names.get((node.domain, node.op_type), node.op_type)
    imports = chain(model.opset_import, *(f.opset_import for f in model.functions))
    for each in (*nodes, *model.functions, *imports):
        each.domain = domains.get(each.domain, each.domain)
