"""Says why nodes are not in an order in which they can be computed."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import onnx

from sonnx_ort.loading.traversal import all_graphs, bodies_of

_SHOWN = 5


def reason_for_disorder(proto: onnx.ModelProto) -> str:
    """Say why the nodes of a model are not sorted, and what to do; empty if that is not known."""
    for owner in (*all_graphs(proto), *proto.functions):
        nodes = list(owner.node)
        if cycle := _cycle(_predecessors(nodes)):
            shown = " needs ".join(_label(nodes[at]) for at in (*cycle[:_SHOWN], cycle[0]))
            left = len(cycle) - _SHOWN
            through = f" (with {left} more nodes before the last)" if left > 0 else ""
            return (
                f"its nodes form a cycle: {shown}{through}; no node can need its own result, so "
                "export the model again"
            )
    return ""


def _label(node: onnx.NodeProto) -> str:
    return f"{node.op_type} '{node.name}'"


def _predecessors(nodes: Sequence[onnx.NodeProto]) -> list[set[int]]:
    """The positions of the nodes whose results each node needs."""
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    return [{makers[name] for name in _needed(node) if name in makers} for node in nodes]


def _needed(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, also in its subgraphs, but for those that these define."""
    pending: list[tuple[onnx.NodeProto, frozenset[str]]] = [(node, frozenset())]
    while pending:
        inner, known = pending.pop()
        yield from (name for name in inner.input if name and name not in known)
        for body in bodies_of(inner):
            inside = known | frozenset(_defined(body))
            yield from (value.name for value in body.output if value.name not in inside)
            pending += [(each, inside) for each in body.node]


def _defined(body: onnx.GraphProto) -> Iterable[str]:
    made = (name for node in body.node for name in node.output)
    return chain((value.name for value in (*body.input, *body.initializer)), made)


def _cycle(before: Sequence[set[int]]) -> list[int]:
    """Positions of nodes of which each needs the next, and the last the first; empty if none."""
    waiting = {at: set(needed) for at, needed in enumerate(before)}
    users: dict[int, list[int]] = {}
    for at, needed in waiting.items():
        for each in needed:
            users.setdefault(each, []).append(at)
    ready = [at for at, needed in waiting.items() if not needed]
    while ready:
        done = ready.pop()
        del waiting[done]
        for user in users.get(done, ()):
            waiting[user].discard(done)
            if not waiting[user]:
                ready.append(user)
    if not waiting:
        return []
    path: dict[int, None] = {}
    at = min(waiting)
    while at not in path:
        path[at] = None
        at = min(waiting[at])
    met = list(path)
    return met[met.index(at) :]
