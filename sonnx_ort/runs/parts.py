"""Parts of a model as models of their own: nodes, bodies, and either without its names."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnx
import onnx.defs
from onnx import helper

from sonnx_ort.loading.file_traversal import all_nodes, names_captured, names_needed, nodes_within
from sonnx_ort.ort.feeds import Array


def part(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    outputs: Iterable[onnx.ValueInfoProto],
    declaration: Callable[[str], onnx.ValueInfoProto | None],
    constants: Mapping[str, onnx.TensorProto],
) -> onnx.ModelProto:
    """Some nodes of a graph as a model.

    `declaration` gives the input for a value that the nodes read and do not compute; None for one
    that is no input.
    """
    made = onnx.GraphProto(name="part", node=nodes, output=outputs)
    for name in names_read(nodes):
        if name in constants:
            made.initializer.append(constants[name])
        if (found := declaration(name)) is not None:
            made.input.append(found)
    return _with_graph(model, made)


def _with_graph(model: onnx.ModelProto, graph: onnx.GraphProto) -> onnx.ModelProto:
    """A graph as a model, in the versions of another one."""
    opsets = model.opset_import
    return onnx.ModelProto(ir_version=model.ir_version, opset_import=opsets, graph=graph)


def names_read(nodes: Sequence[onnx.NodeProto]) -> list[str]:
    """The names of the values that nodes read and do not compute, each once."""
    computed = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in names_needed(node))
    return [name for name in read if name not in computed]


def declared(name: str, array: Array, *, sized: bool = False) -> onnx.ValueInfoProto:
    """The declaration of a value with the type and rank of an array.

    The sizes are left open unless they are asked for: with them ONNX Runtime would refuse a branch
    that the run does not take.
    """
    element_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    sizes = array.shape if sized else [None] * array.ndim
    return helper.make_tensor_value_info(name, element_type, sizes)


def body_as_model(
    model: onnx.ModelProto, body: onnx.GraphProto, feeds: Mapping[str, Array]
) -> onnx.ModelProto:
    """The body of a node as a model, whose inputs are all values that it gets or captures."""
    made = _with_graph(model, body)
    del made.graph.input[:]
    names = dict.fromkeys((*(value.name for value in body.input), *names_captured(body)))
    made.graph.input.extend(declared(name, feeds[name]) for name in names if name in feeds)
    return made


_TEXTS = (
    *("doc_string", "metadata_props", "value_info", "quantization_annotation", "denotation"),
    "device_configurations",
)
"""The fields of messages that say what no run needs."""


_KEYWORDS = frozenset({
    *("activation", "activations", "aggregate_function", "approximate", "auto_pad"),
    *("case_change_action", "cast_to", "coordinate_transformation_mode", "direction", "equation"),
    *("keep_aspect_ratio_policy", "kernel_type", "locale", "map_form", "mode", "nearest_mode"),
    *("nodes_modes", "norm", "padding_mode", "pixel_format", "post_transform", "reduction"),
    *("round_mode", "to", "update_rule"),
})  # fmt: skip
"""The attributes whose texts say what an operator computes; those of all others are data."""


_DEFINED = ("ai.onnx", "com.microsoft")
"""How the domains begin, but for the standard one, whose attributes ONNX or its runtime defines."""


def without_names(model: onnx.ModelProto, names: "NewNames | None" = None) -> onnx.ModelProto:
    """The model with numbers in the place of names and texts, and without metadata.

    Attributes, and operators that the model does not define, keep their names, and so do the
    domains of these operators.
    """
    made = _with_graph(model, model.graph)
    made.functions.extend(model.functions)
    names = names or NewNames(made)
    for message in _messages(made):
        for field in _TEXTS:
            if field in message.DESCRIPTOR.fields_by_name:
                message.ClearField(field)
        names.replace(message)
    functions = {function.domain for function in made.functions}
    held = [(made, all_nodes(made)), *((f, nodes_within(f.node)) for f in made.functions)]
    for importing, nodes in held:
        used = {"", "ai.onnx", *functions, *(node.domain for node in nodes)}
        kept = [entry for entry in importing.opset_import if entry.domain in used]
        del importing.opset_import[:]
        importing.opset_import.extend(kept)
    return made


def _messages(message: Any) -> Iterator[Any]:
    """A message, and then all that it contains."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            # A single message has a descriptor; a list of them has none.
            for each in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _messages(each)


class NewNames:
    """New names and texts, one for each old one of a kind, whatever has it."""

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
                message.name = self._new_name(f"{len(self._new)}", "node")
                if (message.domain, message.op_type) in self._functions:
                    message.op_type = self._new_name(message.op_type, "function")
            case onnx.FunctionProto():
                message.name = self._new_name(message.name, "function")
            case onnx.ValueInfoProto() | onnx.TensorProto():
                message.name = self._new_name(message.name, "value")
            case onnx.TensorShapeProto.Dimension() if message.dim_param:
                message.dim_param = self._new_name(message.dim_param, "size")
        self._replace_texts(message)
        self._replace_uses(message)

    def _replace_uses(self, message: Any) -> None:
        """Replace the names of values and domains that a message uses."""
        if isinstance(message, onnx.NodeProto | onnx.FunctionProto):
            if message.overload:
                message.overload = self._new_name(message.overload, "overload")
            for values in (message.input, message.output):
                values[:] = [self._new_name(name, "value") for name in values]
        if getattr(message, "domain", "") in self._domains:
            message.domain = self._new_name(message.domain, "domain")

    def text(self, text: bytes) -> bytes:
        """The new text for one that is data."""
        return self._new_name(text.decode(errors="surrogateescape"), "text").encode()

    def _replace_texts(self, message: Any) -> None:
        """Replace the texts in a message that are data."""
        attributes: Iterable[onnx.AttributeProto] = ()
        match message:
            case onnx.TensorProto():
                message.string_data[:] = map(self.text, message.string_data)
            case onnx.NodeProto():
                known = not message.domain or message.domain.startswith(_DEFINED)
                kept = _KEYWORDS if known else frozenset()
                attributes = (each for each in message.attribute if each.name not in kept)
            case onnx.FunctionProto():
                attributes = message.attribute_proto
        for attribute in attributes:
            if attribute.s:
                attribute.s = self.text(attribute.s)
            attribute.strings[:] = map(self.text, attribute.strings)

    def _new_name(self, name: str, kind: str) -> str:
        return self._new.setdefault((name, kind), f"{kind}{len(self._new)}") if name else ""
