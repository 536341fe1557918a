"""The guards of a model on their own, parts of graphs, and whether graphs have the same nodes."""

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from support import ort_values
from support.sessions import on_one_thread

Array = npt.NDArray[Any]


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of the branches in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(attribute.g)


def reaching(model: onnx.ModelProto, guarded: Collection[str]) -> tuple[str, ...]:
    """What guarded nodes read."""
    found = [name for n in model.graph.node if n.name in guarded for name in n.input]
    return tuple(dict.fromkeys(found)) or tuple(output.name for output in model.graph.output)


def guards_alone(model: onnx.ModelProto, guarded: Collection[str]) -> onnx.ModelProto:
    """A model without the guarded nodes: it gives what they would read.

    Args:
        model: The model.
        guarded: The names of the nodes; without any the model gives what it gives.
    """
    names = reaching(model, guarded)
    alone = onnx.ModelProto()
    alone.CopyFrom(model)
    left: set[str] = set()
    nodes = []
    for node in model.graph.node:
        if node.name in guarded or left.intersection(node.input):
            left.update(node.output)
        else:
            nodes.append(node)
    del alone.graph.node[:], alone.graph.output[:], alone.graph.value_info[:]
    alone.graph.node.extend(nodes)
    for number, name in enumerate(filter(None, names)):
        node = onnx.helper.make_node("Identity", [name], [f"reaching_{number}"])
        alone.graph.node.append(node)
        alone.graph.output.append(onnx.ValueInfoProto(name=node.output[0]))
    return alone


def passes(model: onnx.ModelProto, guarded: Collection[str], feeds: Mapping[str, Array]) -> bool:
    """Whether ONNX Runtime lets operands through the guards of a model."""
    return outcome(guards_alone(model, guarded), feeds) is not None


def outcome(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Sequence[Array | None] | None:
    """What a model gives; None where it refuses.

    Args:
        model: The model; nothing in it ends the process.
        feeds: Its inputs.
    """
    session = _session(model.SerializeToString(deterministic=True))
    try:
        return ort_values.run(session, feeds)
    except Exception:  # noqa: BLE001 - its kinds are private
        return None


@functools.lru_cache(maxsize=1)
def _session(model: bytes) -> ort.InferenceSession:
    return ort.InferenceSession(model, on_one_thread("none"))


def computing(
    model: onnx.ModelProto, wanted: Collection[str], given: Collection[str] = ()
) -> onnx.ModelProto:
    """A model with those nodes alone that compute some of its values.

    Args:
        model: The model.
        wanted: The names of the values.
        given: The names of values that count as inputs.
    """
    names = set(wanted)
    nodes = []
    for node in reversed(model.graph.node):
        made = set(node.output)
        if names & made and not made & set(given):
            nodes.append(node)
            names.update(node.input)
    part = onnx.ModelProto()
    part.CopyFrom(model)
    del part.graph.node[:]
    part.graph.node.extend(reversed(nodes))
    return part


def depending(model: onnx.ModelProto, given: Collection[str]) -> set[str]:
    """The values that are computed from some values, and these."""
    names = set(given)
    for node in model.graph.node:
        if names & set(node.input):
            names.update(node.output)
    return names


SPOKEN = " breaks the "
"""What the name of a guard says, which people are to read."""


def up_to_names(
    nodes: Sequence[onnx.NodeProto], given: Mapping[str, str], *, codes: bool = True
) -> list[object]:
    """What nodes are, but for the names of what they give.

    Args:
        nodes: The nodes.
        given: What the values are that they read and do not give, by name.
        codes: Whether the codes of rules, and the names of guards, count.
    """
    return list(_compared(nodes, given, codes))


def _compared(
    nodes: Sequence[onnx.NodeProto], known: Mapping[str, str], codes: bool
) -> Iterator[object]:
    names = dict(known)
    for number, node in enumerate(nodes):
        read = [names[name] if name else "" for name in node.input]
        names.update((name, f"{number}, {place}") for place, name in enumerate(node.output))
        said = node.name if codes and SPOKEN in node.name else ""
        told = codes or not any(name.endswith("_code") for name in node.output)
        attributes = [_content(each, names, codes) for each in node.attribute if told]
        yield node.domain, node.op_type, said, read, attributes


def _content(attribute: onnx.AttributeProto, names: Mapping[str, str], codes: bool) -> object:
    if attribute.type == onnx.AttributeProto.GRAPH:
        body = attribute.g
        inner = {value.name: f"given {place}" for place, value in enumerate(body.input)}
        own = names | inner
        return attribute.name, list(_compared(body.node, own, codes)), len(body.output)
    if attribute.type == onnx.AttributeProto.TENSOR:
        tensor = attribute.t
        return attribute.name, tensor.data_type, numpy_helper.to_array(tensor).tolist()
    return attribute.name, helper.get_attribute_value(attribute)
