"""The guards of a model on their own: what ONNX Runtime makes of them, without the guarded node."""

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnx
import onnxruntime as ort

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
    for number, name in enumerate(names):
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
