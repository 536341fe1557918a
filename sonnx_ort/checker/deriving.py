"""Derives all that follows of the values of a model, in the order of its graph.

Nothing of it is in a certificate: the model and the contract alone decide what is derived.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

import onnx

from sonnx_ort.checker.graphs import bodies_of
from sonnx_ort.checker.model import KINDS, Model
from sonnx_ort.kernel.elements import HELD
from sonnx_ort.kernel.node import FLOATS, INTEGERS
from sonnx_ort.kernel.sizes import Rejected
from sonnx_ort.profile.contract import NO_CONTRACT, Contract

MOST_ELEMENTS = 64
"""Longer vectors are no shapes, axes or indices."""

_BOUNDED = INTEGERS | {"bool"}

Watch = Callable[[Sequence[onnx.NodeProto]], Iterable[onnx.NodeProto]]
"""Gives the nodes of the main graph again, and may tell how many it gave."""


def established(
    proto: onnx.ModelProto, contract: Contract = NO_CONTRACT, watch: Watch = iter
) -> Model:
    """A model of which all is established that follows.

    Of the states of Loops so much is assumed as their bodies keep.

    Args:
        proto: The model.
        contract: What its values may be.
        watch: Is given the nodes of the main graph.

    Raises:
        Rejected: The file can be read in two ways, or the contract is of other values.
    """
    changing: dict[str, frozenset[int] | None] = {}
    while True:
        made = Model(proto, contract, changing)
        with made.reading_apart():
            _derive_all(made.proto.graph, made, watch)
            broken = made.broken_assumptions()
        if not broken:
            return made
        changing |= broken


def _derive_all(graph: onnx.GraphProto, model: Model, watch: Watch = iter) -> None:
    """Derive what follows of a graph, and of bodies before their nodes."""
    stored = [tensor.name for tensor in graph.initializer]
    # An initializer may be the default of an input.
    _derive(dict.fromkeys((*(value.name for value in graph.input), *stored)), model)
    for node in watch(graph.node):
        for body in bodies_of(node):
            _derive_all(body, model)
        _derive(filter(None, node.output), model)


def _derive(values: Iterable[str], model: Model) -> None:
    """Derive what follows of the results of one node, whose types its rules read first."""
    for value, kind in _facts_of(list(values), model):
        with suppress(Rejected):
            model.derive(value, kind)


def _facts_of(values: list[str], model: Model) -> Iterator[tuple[str, str]]:
    yield from ((value, "type") for value in values)
    for value in values:
        yield from ((value, kind) for kind in KINDS[1:] if _may_follow(kind, value, model))


def _may_follow(kind: str, value: str, model: Model) -> bool:
    match kind:
        case "elements":
            return _has_few_elements(model, value)
        case "bounds":
            return model.known_or_none("type", value) in _BOUNDED
        case "interval":
            return model.known_or_none("type", value) in FLOATS
    return True


def _has_few_elements(model: Model, value: str) -> bool:
    """Whether a value may be a shape, axes or indices."""
    shape = model.known_or_none("shape", value)
    if shape is None or model.known_or_none("type", value) not in HELD:
        return False
    size = shape[0] if shape else 1
    return len(shape) < 2 and isinstance(size, int) and size <= MOST_ELEMENTS
