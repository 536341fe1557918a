"""How many nodes the functions of a file stand for: ONNX Runtime writes out every call.

A file of 2 KB, each of whose functions calls the next one twice, stands for a million nodes, and no
session of it would start within an hour.
"""

from collections import Counter
from collections.abc import Iterable

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.file_traversal import nodes_within

_STANDARD = ("", "ai.onnx")

_Key = tuple[str, str, str]
"""The domain, the name and the overload of a function, and of a call of it."""

MOST_NODES = 1 << 14
"""How many nodes a file with functions may stand for in any case."""

_MOST_TIMES = 16
"""How many times as many nodes a larger file may stand for as it has."""


def require_few_nodes(proto: onnx.ModelProto) -> None:
    """Check that a model has few nodes when each call is replaced by its function.

    Raises:
        InvalidModel: It has many, or a function calls itself.
    """
    if not proto.functions:
        return
    inside = {
        (_domain(each.domain), each.name, each.overload): _calls(nodes_within(each.node))
        for each in proto.functions
    }
    main = _calls(nodes_within(proto.graph.node))
    written = main.total() + sum(calls.total() for calls in inside.values())
    sizes: dict[_Key, int] = {}
    for called in _innermost_first(inside):
        sizes[called] = _size(inside[called], sizes)
    number, most = _size(main, sizes), max(MOST_NODES, _MOST_TIMES * written)
    if number > most:
        raise InvalidModel(
            "replacing each call by its model-local function, as ONNX Runtime does, gives "
            f"{number:,} nodes or more, and at most {most:,} are taken; make fewer calls"
        )


def _domain(name: str) -> str:
    """A domain by one name: the standard one has two."""
    return "" if name in _STANDARD else name


def _calls(nodes: Iterable[onnx.NodeProto]) -> Counter[_Key]:
    """How often each operator or function is called."""
    return Counter((_domain(node.domain), node.op_type, node.overload) for node in nodes)


_COUNTED = 10**12
"""More nodes are not counted: their number may have thousands of digits."""


def _size(calls: Counter[_Key], sizes: dict[_Key, int]) -> int:
    """How many nodes stand there once the calls are inlined, up to a limit."""
    return min(_COUNTED, sum(number * sizes.get(called, 1) for called, number in calls.items()))


def _innermost_first(inside: dict[_Key, Counter[_Key]]) -> list[_Key]:
    """The functions, each after those that it calls.

    Raises:
        InvalidModel: One calls itself, directly or through others.
    """
    done: dict[_Key, None] = {}
    for first, calls in inside.items():
        path = {} if first in done else {first: iter(calls)}
        while path:
            current = next(reversed(path))
            called = next((c for c in path[current] if c in inside and c not in done), None)
            if called is None:
                del path[current]
                done[current] = None
            elif called in path:
                raise InvalidModel(
                    f"the model-local function '{called[1]}' calls itself, directly or through "
                    "other functions; ONNX allows no recursion"
                )
            else:
                path[called] = iter(inside[called])
    return list(done)
