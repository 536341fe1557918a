"""What a rewriting changed: the nodes that it added, took away, and changed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import onnx

from sonnx_ort.loading.opset import resolve_default_domain

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A node, and what stands in its place.

    Attributes:
        node: The node, as messages give one: "Div 'divide'"; empty for nodes that were added.
        path: The nodes whose subgraphs it lies in, outermost first.
        became: The nodes that give what it gave, and the new ones that they read, in their order.
    """

    node: str
    path: Path
    became: tuple[str, ...]

    def __str__(self) -> str:
        """Give the change in one clause."""
        inside = "".join(f" in {step}" for step in reversed(self.path))
        became = ", ".join(self.became) or "nothing"
        return f"{self.node or 'added'}{inside}: {became}"


def changes(before: onnx.ModelProto, after: onnx.ModelProto) -> tuple[Change, ...]:
    """Find every node of a model that is not the same in another one, and every node that is new.

    What a node says of itself for people (its documentation and metadata) makes no difference.

    Args:
        before: A model.
        after: What was made of it.
    """
    old, new = (resolve_default_domain(model).graph for model in (before, after))
    return tuple(_changes(old, new, ()))


def _changes(before: onnx.GraphProto, after: onnx.GraphProto, path: Path) -> Iterator[Change]:
    old, new = list(before.node), list(after.node)
    made_by = {name: index for index, node in enumerate(new) for name in node.output if name}
    known = {name for node in old for name in node.output}
    told: set[int] = set()
    for node in old:
        successors = {made_by[name] for name in node.output if name in made_by}
        if successors and all(_content(new[index]) == _content(node) for index in successors):
            told |= successors
        else:
            group = _made_for(successors, new, made_by, known)
            told |= group
            yield Change(_named(node), path, tuple(_named(new[index]) for index in sorted(group)))
        for index in sorted(successors)[:1]:
            yield from _inside(node, new[index], path)
    added = tuple(_named(node) for index, node in enumerate(new) if index not in told)
    if added:
        yield Change("", path, added)


def _inside(before: onnx.NodeProto, after: onnx.NodeProto, path: Path) -> Iterator[Change]:
    """The changes in the subgraphs of a node that is one of the same operator still."""
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
    """The chosen nodes with those that they rest on, back to values that there were before."""
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
    """The names of what a node and its subgraphs read."""
    yield from node.input
    for body in _bodies(node).values():
        for inner in body.node:
            yield from _read(inner)


def _content(node: onnx.NodeProto) -> tuple[object, ...]:
    """What a node computes and of what, without its subgraphs."""
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
