"""The nodes that a rewrite added, removed or changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import onnx

from sonnx_ort.loading.opset import resolve_default_domain
from sonnx_ort.printable import printable

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A node, and its replacement.

    Attributes:
        node: The node as in messages, such as "Div 'divide'"; empty for added nodes.
        path: The nodes whose subgraphs contain it, outermost first.
        became: The nodes that compute its outputs, and the new nodes that these read, in their
            order.
    """

    node: str
    path: Path
    became: tuple[str, ...]

    def __str__(self) -> str:
        """The change as a clause."""
        inside = "".join(f" in {step}" for step in reversed(self.path))
        became = ", ".join(self.became) or "nothing"
        return printable(f"{self.node or 'added'}{inside}: {became}")


def changes(before: onnx.ModelProto, after: onnx.ModelProto) -> tuple[Change, ...]:
    """Find every node of a model that the rewritten model changed, and every added node.

    Documentation and metadata of nodes are ignored.
    """
    old, new = (resolve_default_domain(model).graph for model in (before, after))
    return tuple(_changes(old, new, ()))


def _changes(before: onnx.GraphProto, after: onnx.GraphProto, path: Path) -> Iterator[Change]:
    old, new = list(before.node), list(after.node)
    made_by = {name: index for index, node in enumerate(new) for name in node.output if name}
    known = {name for node in old for name in node.output}
    covered: set[int] = set()
    for node in old:
        successors = {made_by[name] for name in node.output if name in made_by}
        if successors and all(_content(new[index]) == _content(node) for index in successors):
            covered |= successors
        else:
            group = _made_for(successors, new, made_by, known)
            covered |= group
            yield Change(_named(node), path, tuple(_named(new[index]) for index in sorted(group)))
        for index in sorted(successors)[:1]:
            yield from _inside(node, new[index], path)
    added = tuple(_named(node) for index, node in enumerate(new) if index not in covered)
    if added:
        yield Change("", path, added)


def _inside(before: onnx.NodeProto, after: onnx.NodeProto, path: Path) -> Iterator[Change]:
    """The changes in the subgraphs of a node that still has the same operator."""
    if _operator(before) != _operator(after):
        return
    bodies = _bodies(after)
    for name, body in _bodies(before).items():
        if name in bodies:
            yield from _changes(body, bodies[name], (*path, f"{_named(before)} {name}"))


def _made_for(
    chosen: Iterable[int],
    nodes: list[onnx.NodeProto],
    made_by: Mapping[str, int],
    known: set[str],
) -> set[int]:
    """The chosen nodes with all new nodes on which they depend."""
    found: set[int] = set()
    pending = list(chosen)
    while pending:
        index = pending.pop()
        if index in found:
            continue
        found.add(index)
        read = (name for name in _read(nodes[index]) if name in made_by and name not in known)
        pending.extend(made_by[name] for name in read)
    return found


def _read(node: onnx.NodeProto) -> Iterator[str]:
    """The names of the values that a node and its subgraphs read."""
    yield from node.input
    for body in _bodies(node).values():
        for inner in body.node:
            yield from _read(inner)


def _content(node: onnx.NodeProto) -> tuple[object, ...]:
    """The operator, name, inputs, outputs and attributes of a node, without its subgraphs."""
    attributes = sorted(map(_attribute, node.attribute))
    return _operator(node), node.name, tuple(node.input), tuple(node.output), attributes


def _attribute(attribute: onnx.AttributeProto) -> tuple[str, bytes]:
    bare = onnx.AttributeProto()
    bare.CopyFrom(attribute)
    for left_out in ("doc_string", "g", "graphs"):
        bare.ClearField(left_out)
    content: bytes = bare.SerializeToString(deterministic=True)
    return attribute.name, content


def _bodies(node: onnx.NodeProto) -> dict[str, onnx.GraphProto]:
    return {a.name: a.g for a in node.attribute if a.HasField("g")}


def _operator(node: onnx.NodeProto) -> tuple[str, str, str]:
    return node.domain, node.op_type, node.overload


def _named(node: onnx.NodeProto) -> str:
    operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    label = node.name or f"(output {node.output[0] if node.output else 'none'})"
    return f"{operator} '{label}'"
