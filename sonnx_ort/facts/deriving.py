"""The one engine that derives facts: types, shapes, elements and numbers of all values of a graph.

A fact is derived in the order of the graph, by the rule of the operator that computes the value,
from facts about the operands. It is made once and never changed. How a graph is read, and what is
declared of its inputs, is told by a view: the analysis and the checker each have one.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy.typing as npt

from .bounds import bounds_by, bounds_of_elements
from .catalog import bounds_rule, elements_rule, interval_rule, rule_of, verified_rule
from .elements import HELD, HOLDING_SIZES, elements_by
from .established import KINDS, Established
from .intervals import hull, intervals_by, of_elements
from .iterations import Changing, States, iteration_of
from .misinference import Misinference
from .node import FLOATS, INTEGERS, Graph, Node, Value
from .operators import like_first
from .ranges import Interval
from .sizes import (
    Bounds,
    PartialSizes,
    Rejected,
    Size,
    Sizes,
    Symbolic,
    both,
    common_shape,
    from_the_front,
    is_negative,
    kept_sizes,
    require,
)
from .types import Types, of_tensor

_logger = logging.getLogger("sonnx_ort")

MOST_ELEMENTS = 1024
"""A vector of more elements is no shape; each of a chain of Concats doubles them."""

_BOUNDED = INTEGERS | {"bool"}

Watch = Callable[[Sequence[Any]], Iterable[Any]]
"""Gives the nodes of the main graph again, and may tell how many it gave."""


class Engine(Established, ABC):
    """Derives what follows of the values of a model. What is abstract, a view of the model tells.

    Attributes:
        version: The version of the standard operators.
        versions: The versions of the operators, by their domain.
        states: What is assumed of the states of Loops and Scans.
        misinference: What ONNX Runtime may infer wrongly of shapes.
        types: The types of the values, which the view follows.
        inputs: The inputs of the model.
        stored_values: The initializers, and the results of Constants, that hold a tensor.
        limited: The values of which a contract says what numbers their elements can be.
    """

    types: Types
    inputs: Container[Value]
    stored_values: Container[Value]
    limited: Container[Value] = frozenset[Value]()

    def __init__(self, versions: Mapping[str, int], changing: Changing) -> None:
        """Nothing is established; of states that may change, nothing is assumed."""
        super().__init__()
        self.versions = versions
        self.version = versions.get("", 0)
        self.states = States(changing)
        self.misinference = Misinference(self)
        self._kinds = frozenset(KINDS)
        self._open = 0
        self._producers: dict[Value, tuple[Node, int]] = {}
        self._takers: dict[Value, tuple[Node, int]] = {}
        self._counters: set[Value] = set()
        self._slices: dict[Value, tuple[Value, int]] = {}
        self._collected: dict[Value, Value] = {}
        self._common: dict[Value, PartialSizes] = {}
        self._shaped_like: dict[Value, Value] = {}
        # What rules say of all results of a node, as long as these are derived one by one.
        self._said: dict[str, tuple[Node, Sequence[Any], bool]] | None = None

    @property
    @abstractmethod
    def main(self) -> Graph:
        """The main graph."""

    @abstractmethod
    def is_declared(self, value: Value) -> bool:
        """Whether the file says anything of the shape of a value."""

    @abstractmethod
    def declared_rank(self, value: Value) -> int | None:
        """The declared rank of an input of a body."""

    @abstractmethod
    def array(self, value: Value) -> npt.NDArray[Any]:
        """The elements of a stored value.

        Raises:
            Rejected: It is none, or its elements are not read.
        """

    @abstractmethod
    def small_array(self, value: Value) -> npt.NDArray[Any] | None:
        """The elements of a small constant; None for another value."""

    @abstractmethod
    def _stored_shape(self, value: Value) -> Sizes:
        """The shape of a stored value."""

    @abstractmethod
    def _declared_sizes(self, value: Value) -> PartialSizes:
        """What is declared of the shape of an input, or what a contract demands of it.

        Raises:
            Rejected: Its rank is not known.
        """

    @abstractmethod
    def _narrowed(self, value: Value, before: Any) -> Any:
        """The numbers of a value within its contract.

        Raises:
            Rejected: The type has none.
        """

    def require_as_inferred(self, value: Value) -> None:
        """Reject a value of whose shape ONNX Runtime may infer something else.

        It computes a Shape from what it infers.
        """
        wrong = self.misinference.may_be_wrong(value, self.known_or_none("shape", value))
        require(not wrong, f"ONNX Runtime may infer another shape of '{self.name_of(value)}'")

    def _is_own(self, node: Node) -> bool:
        """Whether a node of another domain than the standard one has a rule."""
        del node
        return False

    def _enter(self, graph: Graph) -> None:
        """Take in the nodes of a graph and of all bodies in it."""
        for node in graph.nodes:
            for place in range(node.results):
                self._producers[node.result(place)] = node, place
            for body in node.bodies:
                self._takers |= {value: (node, place) for place, value in enumerate(body.inputs)}
                self._enter(body)
            self.misinference.enter(node)
            iteration = iteration_of(node)
            if iteration is not None:
                self.states.add(iteration)
                self._counters.update(iteration.counters)
                self._slices |= {own: (whole, axis) for own, whole, axis in iteration.elements}
                if node.op_type == "Scan":
                    self._collected |= dict(iteration.collected)

    def is_given(self, value: Value) -> bool:
        """Whether the elements of a value are given to a run."""
        return value not in self._producers and value not in self.stored_values

    def derive_all(self, graph: Graph, watch: Watch = iter) -> None:
        """Derive what follows of a graph, and of bodies before their nodes.

        Args:
            graph: The graph.
            watch: Is given its nodes.
        """
        # An initializer may be the default of an input.
        given = list(dict.fromkeys((*graph.inputs, *graph.stored)))
        self._derive_possible(given, KINDS[:2])
        self._derive_possible(given, KINDS[2:])
        for node in watch(graph.nodes):
            for body in node.bodies:
                self.derive_all(body)
            self.derive_results(node)

    def derive_results(self, node: Node) -> None:
        """Derive what follows of the results of one node."""
        results, opened = node.written, self._open
        self._derive_possible(results, KINDS[:1])
        self._derive_possible(results, KINDS[1:2])
        self.misinference.derive(node, [f"?{k + 1}" for k in range(opened, self._open)])
        self._derive_possible(results, KINDS[2:])

    def _derive_possible(self, values: Iterable[Value], kinds: Sequence[str]) -> None:
        self._said = {}
        for value in values:
            for kind in kinds:
                if kind in self._kinds and self._may_follow(kind, value):
                    with suppress(Rejected):
                        self.derive(value, kind)
        self._said = None

    def _answers(
        self, kind: str, node: Node, rule: Callable[[Node], Sequence[Any]]
    ) -> Sequence[Any]:
        """What a rule says of all results of a node: of many, it is asked once."""
        if self._said is None:
            return rule(node)
        known, answers, of_numbers = self._said.get(kind, (None, (), False))
        if known is not node:
            before, self.rests_on_numbers = self.rests_on_numbers, False
            try:
                answers = rule(node)
                self._said[kind] = node, answers, self.rests_on_numbers
            finally:
                self.rests_on_numbers |= before
        self.rests_on_numbers |= of_numbers
        return answers

    def _may_follow(self, kind: str, value: Value) -> bool:
        match kind:
            case "elements":
                return self._has_few_elements(value)
            case "bounds":
                return self._known["type"].get(value) in _BOUNDED
            case "interval":
                return self._known["type"].get(value) in FLOATS
        return True

    def _has_few_elements(self, value: Value) -> bool:
        """Whether a value may be a shape, axes or indices."""
        shape = self._known["shape"].get(value)
        if shape is None or len(shape) > 1 or self._known["type"].get(value) not in HELD:
            return False
        size = shape[0] if shape else 1
        return isinstance(size, int) and size <= MOST_ELEMENTS

    def derive(self, value: Value, kind: str) -> None:
        """Establish something of a value, from what is established before.

        A fact is made once: to derive it again changes nothing.

        Args:
            value: The value.
            kind: One of `KINDS`.

        Raises:
            Rejected: Nothing follows.
        """
        if self.knows(kind, value):
            return
        before, self.rests_on_numbers = self.rests_on_numbers, False
        try:
            found = self._fact_of(value, kind)
            computed = kind == "interval" and not self._is_given_or_stored(value)
            of_numbers = self.rests_on_numbers or computed
        except Rejected as reason:
            name = self.name_of(value)
            raise Rejected(f"the {kind} of '{name}' does not follow: {reason}") from reason
        except Exception as error:
            # A malformed node ends nothing.
            name = self.name_of(value)
            _logger.debug("the %s of '%s' cannot be followed", kind, name, exc_info=True)
            raise Rejected(f"the {kind} of '{name}' cannot be followed: {error!r}") from error
        finally:
            self.rests_on_numbers = before
        self.establish(kind, value, found, of_numbers=of_numbers)

    def _fact_of(self, value: Value, kind: str) -> Any:
        match kind:
            case "type":
                return self._type(value)
            case "shape":
                return self._shape(value)
            case "elements":
                return self._elements(value)
            case "bounds":
                return self._within_contract(value, kind, self._bounds)
        require(self.known("type", value) in FLOATS, "it has no floats")
        return self._within_contract(value, kind, self._interval)

    def _is_given_or_stored(self, value: Value) -> bool:
        """Whether no kernel computes a value."""
        return value in self.stored_values or value in self.inputs

    def broken_assumptions(self) -> Changing:
        """The states of Loops that do not keep the shape that is assumed of them."""
        return self.states.broken(lambda value: self.known_or_none("shape", value))

    def require_kept_assumptions(self) -> None:
        """Reject what assumes of a state of a Loop what its body does not keep."""
        for state in self.broken_assumptions():
            raise Rejected(f"the shape of the state '{self.name_of(state)}' changes")

    def _producer_of(self, value: Value) -> tuple[Node, int]:
        require(value in self._producers, "no node computes it")
        node, place = self._producers[value]
        known = not node.domain or self._is_own(node)
        require(known, f"the domain {node.domain} is not known")
        return node, place

    def producer(self, value: Value) -> Node | None:
        """The node of a standard operator whose first result is a value; None if there is none."""
        node, place = self._producers.get(value, (None, 0))
        return None if node is None or node.domain or place else node

    def shaped_like(self, value: Value) -> Value:
        """The value from which one is computed element by element, and whose shape it has.

        A value that is not computed so is its own.
        """
        passed = []
        while value not in self._shaped_like:
            passed.append(value)
            node = self.producer(value)
            rule = None if node is None else verified_rule(node)
            if node is None or rule is None or rule.shapes is not like_first or not node.given(0):
                self._shaped_like[value] = value
                break
            value = node.operand(0)
        found = self._shaped_like[value]
        self._shaped_like |= dict.fromkeys(passed, found)
        return found

    def _type(self, value: Value) -> str:
        """The type of the elements of a tensor."""
        found = of_tensor(self.types.of(value))
        if found is None:
            raise Rejected("no rule says that it is a tensor, and of which type")
        return found

    def _shape(self, value: Value) -> Sizes:
        sizes = self._partial_shape(value)
        if sizes is None:
            raise Rejected("its rank is not known")
        require(not is_negative(sizes), "a size is negative")
        return self._with_symbols(kept_sizes(sizes))

    def _partial_shape(self, value: Value) -> PartialSizes | None:
        """The shape of a value by what decides it, with None for open sizes."""
        if value in self.inputs:
            return self._declared_sizes(value)
        if value in self.stored_values:
            return self._stored_shape(value)
        passed = self._passed_shape(value)
        if passed is not None:
            return passed
        node, place = self._producer_of(value)
        found: Sequence[PartialSizes | None] = self._answers("shape", node, self._shapes_of)
        require(place < len(found), f"result {place} has no rule")
        return found[place]

    def _passed_shape(self, value: Value) -> PartialSizes | None:
        """The shape of what passes between a Loop or Scan and its body; None of another value."""
        if value in self._counters:
            # ONNX Runtime makes them of the declared rank.
            rank = self.declared_rank(value)
            require(rank in (0, 1), "a counter is no scalar and no vector")
            return (1,) * (rank or 0)
        if self.states.is_taken(value):
            return self.states.taken(value, self.known)
        if self.states.is_final(value):
            return self.states.final(value, self.known)
        if value in self._slices:
            whole, axis = self._slices[value]
            shape: Sizes = self.known("shape", whole)
            axis = from_the_front(axis, len(shape))
            return (*shape[:axis], *shape[axis + 1 :])
        if value in self._collected:
            return (None,) * (len(self.known("shape", self._collected[value])) + 1)
        return None

    def _with_symbols(self, sizes: PartialSizes) -> Sizes:
        return tuple(self._opened() if size is None else size for size in sizes)

    def _opened(self) -> Size:
        """A new open size, with a name that no file can declare."""
        self._open += 1
        return Symbolic.named(f"?{self._open}")

    def _shapes_of(self, node: Node) -> Sequence[PartialSizes | None]:
        if node.op_type == "If" and not node.domain:
            one, other = (body.outputs for body in node.bodies)
            pairs = zip(one, other, strict=True)
            return [both(*(self.known_or_none("shape", each) for each in pair)) for pair in pairs]
        return rule_of(node).shapes(node)

    def _broadcast(self, node: Node) -> Sequence[PartialSizes]:
        """The shapes of the results of a Broadcast: the same for all, in every run that goes on."""
        common = kept_sizes(common_shape(node.operand_shapes()))
        first = node.result(0)
        if first not in self._common:
            # An open size has one name in all of them.
            self._common[first] = self._with_symbols(common)
        return [self._common[first]] * node.results

    def _elements(self, value: Value) -> PartialSizes:
        """The elements of a vector or a scalar of sizes; None for those that are not known."""
        require(len(self.known("shape", value)) < 2, "it is no vector and no scalar")
        if value in self.stored_values:
            array = self.array(value)
            # No other integers become sizes as they are.
            require(array.dtype.name in HOLDING_SIZES, f"'{self.name_of(value)}' has no sizes")
            return tuple(array.ravel().tolist())
        node, place = self._producer_of(value)
        require(place == 0 and not node.domain, "there is no rule for its elements")
        if node.op_type in ("Shape", "Size"):
            self.require_as_inferred(node.operand(0))
        kind, shape = self.known("type", value), self.known("shape", value)
        return elements_by(elements_rule(node), node, kind, shape)

    def _bounds(self, value: Value) -> Bounds | None:
        """The interval of integers, or of bools as bytes."""
        if value in self.stored_values:
            return bounds_of_elements(self.array(value))
        node, place = self._producer_of(value)
        require(not node.domain, "there is no rule for its bounds")
        answers = self._answers("bounds", node, lambda node: bounds_by(bounds_rule(node), node))
        return answers[place] if place < len(answers) else None

    def _interval(self, value: Value) -> Interval | None:
        """The numbers that floats can be."""
        if value in self.stored_values:
            return of_elements(self.array(value))
        node, place = self._producer_of(value)
        require(not node.domain, "there is no rule for its interval")
        if node.op_type == "If" and node.bodies:
            results = [body.outputs[place] for body in node.bodies]
            return hull([self.known("interval", each).uniform for each in results])
        answers = self._answers(
            "interval", node, lambda node: intervals_by(interval_rule(node), node)
        )
        return answers[place] if place < len(answers) else None

    def _within_contract(
        self, value: Value, kind: str, compute: Callable[[Value], Bounds | Interval | None]
    ) -> Any:
        """What follows of the numbers of a value, and from its contract."""
        limited, found = value in self.limited, None
        try:
            found = compute(value)
        except Rejected:
            if not limited:
                raise
        if limited:
            within = self._narrowed(value, found)
            self._keep_unguarded(kind, value, found)
            found = within
        if found is None:
            raise Rejected("they are not known")
        return found


Made = TypeVar("Made", bound=Engine)


def all_derived(make: Callable[[Changing], Made], watch: Watch = iter) -> Made:
    """A model of which all is established that follows.

    Of the states of Loops so much is assumed as their bodies keep.

    Args:
        make: Makes the model anew, of whose states some axes may change.
        watch: Is given the nodes of the main graph.
    """
    changing: dict[Value, frozenset[int] | None] = {}
    while True:
        made = make(changing)
        with made.reading_apart():
            made.derive_all(made.main, watch)
            broken = made.broken_assumptions()
        if not broken:
            return made
        changing |= broken
