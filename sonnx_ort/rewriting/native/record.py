"""What a natively enforced model says of how it was made.

Every node that the native backend adds belongs to a group, and one node of the group tells what
the group took the place of. That is a hint and nothing more: `recognition` believes it only
where undoing and doing it again gives the very same model.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import onnx
import onnx.serialization
import onnx_ir as ir

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.choice import choose_demands
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.rewriting.options import Enforcement

ENFORCED = "sonnx_ort.enforced"
"""The key in a model's metadata under which it stands how the model was enforced."""

GROUP = "sonnx_ort.group"
"""The key in a node's metadata under which the number of its group stands."""

ORIGINAL = "sonnx_ort.original"
"""The key under which one node of a group has what the group took the place of."""

_JSON = onnx.serialization.registry.get("json")


def write_enforcement(model: ir.Model, enforcement: Enforcement) -> None:
    """Write into a model's metadata how it is enforced.

    Args:
        model: The model; changed in place.
        enforcement: How it is enforced.
    """
    model.metadata_props[ENFORCED] = json.dumps(
        {
            "backend": "native",
            "edition": enforcement.demands.edition.value,
            "broadcast": enforcement.demands.broadcasting.value,
            "operators": sorted(enforcement.demands.operators),
            "opset": enforcement.opset,
        }
    )


def read_enforcement(model: ir.Model) -> Enforcement | None:
    """Read from a model's metadata how it says that it is enforced.

    Args:
        model: The model.

    Returns:
        None if it does not say so, or nothing that makes sense.
    """
    try:
        entries = json.loads(model.metadata_props[ENFORCED])
        demands = choose_demands(entries["edition"], entries["broadcast"], entries["operators"])
        return Enforcement(demands, int(entries["opset"]))
    except (KeyError, TypeError, ValueError, RecursionError, SonnxError):
        return None


@dataclass(frozen=True, slots=True)
class Original:
    """What a group of nodes took the place of.

    Attributes:
        node: The node; None if the group guards inputs, or what a Scan's body gives.
        undeclared: The outputs of the node whose type the file did not give.
        unshaped: Those whose shape it did not give, or that the group leaves without one.
        inputs: For such a group, by the name of each guarded value the name of what it gives.
    """

    node: onnx.NodeProto | None
    undeclared: tuple[str, ...] = ()
    unshaped: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, node: ir.Node) -> "Original":
        """Take down a node before it is replaced.

        Args:
            node: The node, which has no bodies.
        """
        return cls(
            ir.serde.serialize_node(node),
            tuple(output.name for output in node.outputs if output.name and output.type is None),
            tuple(_without_shape(node)),
        )

    def without_shapes_of(self, node: ir.Node) -> "Original":
        """Take down what a node's outputs have no shape of any more.

        Args:
            node: The node, as it is replaced.
        """
        return replace(self, unshaped=tuple(dict.fromkeys((*self.unshaped, *_without_shape(node)))))

    def text(self) -> str:
        """The record as a line of JSON."""
        node = None if self.node is None else json.loads(_JSON.serialize_proto(self.node))
        return json.dumps(
            {
                "node": node,
                "undeclared": self.undeclared,
                "unshaped": self.unshaped,
                "inputs": self.inputs,
            }
        )

    @classmethod
    def parse(cls, text: str) -> "Original":
        """Read a record.

        Args:
            text: What `text` gave.

        Raises:
            Exception: It is no such record, whatever may be wrong with it.
        """
        entries = json.loads(text)
        node = None
        if entries["node"] is not None:
            node = onnx.NodeProto()
            _JSON.deserialize_proto(json.dumps(entries["node"]).encode(), node)
        return cls(
            node,
            tuple(entries["undeclared"]),
            tuple(entries["unshaped"]),
            tuple((name, guarded) for name, guarded in entries["inputs"]),
        )


class GroupRecorder:
    """Numbers the groups of a model."""

    def __init__(self) -> None:
        """Start with the first group."""
        self._next = 0

    def record(self, nodes: Sequence[ir.Node], original: Original) -> None:
        """Mark nodes as one group, which took the place of something.

        Args:
            nodes: The nodes; not those of the bodies in them.
            original: What they took the place of.
        """
        for node in nodes:
            node.metadata_props[GROUP] = str(self._next)
        nodes[-1].metadata_props[ORIGINAL] = original.text()
        self._next += 1


def forget(model: ir.Model) -> None:
    """Take everything that a model says of its enforcement out of it.

    Args:
        model: The model; changed in place.
    """
    del model.metadata_props[ENFORCED]
    for node in every_node(model.graph):
        node.metadata_props.pop(GROUP, None)
        node.metadata_props.pop(ORIGINAL, None)


def groups(model: ir.Model) -> Iterator[tuple[ir.Node, ...]]:
    """The groups of a model, each in the order of the graph.

    Args:
        model: The model.
    """
    found: dict[tuple[ir.Graph | ir.Function | None, str], list[ir.Node]] = {}
    for node in every_node(model.graph):
        if GROUP in node.metadata_props:
            found.setdefault((node.graph, node.metadata_props[GROUP]), []).append(node)
    yield from map(tuple, found.values())


def _without_shape(node: ir.Node) -> Iterator[str]:
    """The outputs without a shape; one that is left out has no name."""
    return (output.name for output in node.outputs if output.name and output.shape is None)
