"""What facts presume: the contract of values, and that states of Loops keep their shapes.

It is assumed that a state has the shape of its initial value, or that some of its axes have. That
holds if the body gives the next iteration the same again, which is compared after all is derived.
Of a Scan nothing is assumed, for ONNX Runtime infers its shapes in other ways.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from sonnx_ort.checker.graphs import bodies_of, graphs_of, type_name
from sonnx_ort.kernel.sizes import NAME, PartialSizes, Rejected, Sizes, require
from sonnx_ort.profile.both_contracts import ASSUMED_CONTRACT, both
from sonnx_ort.profile.contract import Contract, contract_from_json, is_size
from sonnx_ort.profile.contract_rules import ShapeDemand, shape_demands


def require_contract(graph: GraphProto, contract: Contract) -> None:
    """Reject a contract that no file can have, or of values that no node computes.

    Raises:
        Rejected: It is none of this model.
    """
    inputs = {value.name: value for value in graph.input}
    nodes = (node for each in graphs_of(graph) for node in each.node)
    values = {*inputs, *(name for node in nodes for name in node.output)}
    limited = [entry.value for entry in contract.values]
    stated = [entry.input for entry in contract.shapes]
    named = [size.name for size in contract.sizes]
    outputs, states = {value.name for value in graph.output}, contract.states
    carried = [state.input for state in states]
    for state in states:
        known = state.input in inputs and state.output in outputs and contract.keeps(state)
        require(known, f"'{state.input}' is no state that '{state.output}' carries on")
    typed = [each.input for each in contract.types]
    for each in contract.types:
        own = inputs.get(each.input, ValueInfoProto()).type.tensor_type.elem_type
        require(
            own and type_name(own) == each.dtype, f"'{each.input}' is not declared as {each.dtype}"
        )
    for names in (limited, stated, named, carried, typed):
        require(len(names) == len(set(names)), "the contract names something twice")
    for name in limited:
        require(name in values, f"the contract names '{name}', which the graph does not have")
    for name in stated:
        require(name in inputs, f"the contract gives a shape to '{name}', which is no input")
    for entry in contract.shapes:
        declared = _declared_axes(inputs[entry.input])
        fits = declared is None or len(declared) == len(entry.axes)
        require(fits, f"the contract gives '{entry.input}' another rank")
        for axis in entry.axes:
            named += [axis] if isinstance(axis, str) else []
            require(isinstance(axis, str | None) or is_size(axis), f"{axis} is no size")
    for name in named:
        require(NAME.fullmatch(name), f"'{name}' is no name of a size")
    for size in contract.sizes:
        numbers = (size.least, size.most, size.multiple_of)
        require(
            all(map(is_size, numbers)) and size.multiple_of and size.sizes,
            f"'{size.name}' has no size",
        )


def require_premises(model: ModelProto, contract: Contract) -> None:
    """Reject a certificate that does not have the contract within which its model was conformed.

    Beyond it the model gives other results than its original.

    Raises:
        Rejected: The metadata of the model has another contract, or one that cannot be read.
    """
    axes = {value.name: _declared_axes(value) for value in model.graph.input}
    for entry in model.metadata_props:
        if entry.key != ASSUMED_CONTRACT:
            continue
        try:
            kept = both(contract, contract_from_json(entry.value), axes) == contract
        except Exception as error:
            raise Rejected(f"the contract of the conformed model: {error!r}") from error
        require(kept, "the model was conformed within a contract, which the certificate lacks")


def demands_on_shapes(graph: GraphProto, contract: Contract) -> dict[str, ShapeDemand]:
    """What a contract demands of the shapes of inputs, by their names."""
    if not contract.limits_sizes:
        return {}
    declared = ((value.name, _declared_axes(value)) for value in graph.input)
    return dict(shape_demands(contract, declared))


def _declared_axes(value: ValueInfoProto) -> tuple[int | str | None, ...] | None:
    """The declared axes of an input; None if it may be of any rank."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    return tuple(map(_axis, value.type.tensor_type.shape.dim))


def _axis(dimension: Any) -> int | str | None:
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value) if dimension.dim_value >= 0 else None
    return str(dimension.dim_param) if NAME.fullmatch(dimension.dim_param) else None


_COUNTERS = 2
"""The inputs of a Loop, and of its body, before the states."""

Changing = Mapping[str, frozenset[int] | None]
"""The axes of states that may change, by the name of the state; None if its rank may change."""


@dataclass(frozen=True, slots=True)
class State:
    """The values that hold one state of a Loop.

    Attributes:
        initial: What the first iteration takes.
        given: What an iteration gives to the next one.
    """

    initial: str
    given: str


class States:
    """The states of all Loops of a model, and what is assumed of them.

    Attributes:
        changing: The axes of states of which nothing is assumed.
    """

    def __init__(self, changing: Changing) -> None:
        """Begin with no assumption; of what may change, none is made."""
        self.changing = MappingProxyType(dict(changing))
        self._counters: dict[str, ValueInfoProto] = {}
        self._states: dict[str, State] = {}
        self._final: dict[str, str] = {}
        self._assumed: dict[str, PartialSizes] = {}

    def add(self, node: NodeProto) -> None:
        """Take in a node, if it is a Loop."""
        bodies = bodies_of(node)
        if node.domain or node.op_type != "Loop" or len(bodies) != 1:
            return
        taken = [value.name for value in bodies[0].input]
        self._counters |= {value.name: value for value in bodies[0].input[:_COUNTERS]}
        given = [value.name for value in bodies[0].output[1:]]
        carried = zip(taken[_COUNTERS:], node.input[_COUNTERS:], given, node.output, strict=False)
        for name, initial, next_one, final in carried:
            if initial:
                self._states[name] = State(initial, next_one)
                self._final[final] = name

    def is_taken(self, value: str) -> bool:
        """Whether the body of a Loop takes a value from the Loop."""
        return value in self._states or value in self._counters

    def is_final(self, value: str) -> bool:
        """Whether a value is the last state of a Loop."""
        return value in self._final

    def taken(self, value: str, known: Callable[[str, str], Any]) -> PartialSizes:
        """The shape of what a body takes, which is assumed of a state.

        Args:
            value: What the body takes.
            known: Gives what is established of a value.

        Raises:
            Rejected: Nothing is assumed of it.
        """
        if value in self._counters:
            declared = self._counters[value].type.tensor_type
            # ONNX Runtime makes them of the declared rank.
            single = declared.HasField("shape") and len(declared.shape.dim) <= 1
            require(single, "a counter is no scalar and no vector")
            return (1,) * len(declared.shape.dim)
        changing = self.changing.get(value, frozenset())
        if changing is None:
            raise Rejected("the rank of the state may change")
        initial: Sizes = known("shape", self._states[value].initial)
        kept = tuple(None if axis in changing else size for axis, size in enumerate(initial))
        self._assume(value, kept)
        return kept

    def _assume(self, state: str, sizes: PartialSizes) -> None:
        """Keep an assumption for `broken`. It is never changed: facts rest on it."""
        require(state not in self._assumed, "something is assumed of it already")
        self._assumed[state] = sizes

    def final(self, value: str, known: Callable[[str, str], Any]) -> PartialSizes:
        """The shape of the last state, which is the first one if there is no iteration.

        Raises:
            Rejected: Nothing is assumed of the state.
        """
        state = self._final[value]
        known("shape", state)
        return self._assumed[state]

    def broken(self, shape: Callable[[str], Sizes | None]) -> Changing:
        """The states of which more is assumed than the body keeps, and the axes that change.

        This discharges all assumptions: each that was made is compared.

        Args:
            shape: Gives the established shape of a value, if it has one.
        """
        found: dict[str, frozenset[int] | None] = {}
        for state, sizes in self._assumed.items():
            given = shape(self._states[state].given)
            if given is None or len(given) != len(sizes):
                found[state] = None
                continue
            pairs = enumerate(zip(sizes, given, strict=True))
            changed = frozenset(axis for axis, (size, now) in pairs if size not in (None, now))
            if changed:
                found[state] = changed | (self.changing.get(state) or frozenset())
        return found
