"""Observes the values of a run: what ONNX Runtime really computes, in parts that fit in memory.

An optimizer fuses nodes, and does so no more if the value between them becomes an
output of the graph. So the optimized graph is run, in parts, and not the original one. The value
between two nodes that the optimizer joined is missing there. If all outputs have the same bits when
it is made an output too, it is observed so. Otherwise it is computed again, from the values that
the run has, and the node that reads it is compared with what that value makes exact.
"""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice
from sonnx_ort.loading.file_traversal import names_needed
from sonnx_ort.ort.optimized_graph import without_repeated_constants
from sonnx_ort.runs.audit.audited_node import Audited, versions
from sonnx_ort.runs.derived_models import constants_of
from sonnx_ort.runs.diff.difference import differing, same
from sonnx_ort.runs.isolated_run import Array, Failed, IsolatedRuns, Outcome, Results, Settings
from sonnx_ort.runs.parts import declared, part


def _observed_part(  # noqa: PLR0913 - what is made, of what, and how
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    outputs: Iterable[str],
    arrays: Mapping[str, Array],
    constants: Mapping[str, onnx.TensorProto],
    *,
    sized: bool = False,
) -> onnx.ModelProto:
    """Some nodes as a model: what they read of the arrays and is not constant is an input.

    `sized` is whether the inputs are declared with their sizes.
    """

    def declaration(name: str) -> onnx.ValueInfoProto | None:
        given = name in arrays and name not in constants
        return declared(name, arrays[name], sized=sized) if given else None

    names = (onnx.ValueInfoProto(name=name) for name in outputs)
    return part(model, nodes, names, declaration, constants)


def array_of(tensor: onnx.TensorProto) -> Array:
    """The elements of a tensor in a dtype that an element type has."""
    return np.asarray(numpy_helper.to_array(tensor))


_MEMORY = 1 << 28
"""How many bytes the values of a part should have."""

_FIRST_PART, _LARGEST_PART = 8, 128
"""How many nodes the first part has, and any part at most."""

_MOST_PATTERNS = 24
"""How many kinds of values that an optimizer hides are tried one by one."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node with its values in a run.

    Attributes:
        audited: The node, its operands and results.
        scope: All values that it can read, by name.
        unobserved: Whether the run has no result of it, because an optimizer joined it with the
            node that reads it, or removed it.
    """

    audited: Audited
    scope: Mapping[str, Array | None]
    unobserved: bool = False


@dataclass
class Observation(ABC):
    """A graph with the values of a run.

    Attributes:
        settings: How ONNX Runtime runs parts of it.
        runs: The process that does.
        path: The nodes in whose bodies the graph is.
        unlike: The outputs for which the observed run has other bits.
        recomputed: What computes the values that the run has not, by their names.
    """

    model: onnx.ModelProto
    feeds: Mapping[str, Array]
    settings: Settings
    runs: IsolatedRuns
    path: tuple[str, ...] = ()
    outputs: Results = field(default_factory=dict)
    unlike: tuple[str, ...] = ()
    recomputed: dict[str, Audited] = field(default_factory=dict)

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """Each node with its values.

        Raises:
            SonnxError: There are no values.
        """

    def step_of(
        self,
        node: onnx.NodeProto,
        there: Set[str],
        value: Callable[[str], Array | None],
        computed: dict[str, Array | None],
    ) -> Step:
        """A node with its values by name; `computed` gets its results if none of them is there."""
        scope = {name: value(name) for name in names_needed(node)}
        unobserved = there.isdisjoint(node.output)
        if unobserved:
            computed |= self._computed_alone(node, scope)
        operands, results = (
            [value(name) if name else None for name in names] for names in (node.input, node.output)
        )
        joined = {name: self.recomputed[name] for name in node.input if name in self.recomputed}
        version = versions(self.model).get(node.domain, 1)
        audited = Audited(node, version, operands, results, self.path, joined)
        if unobserved:
            self.recomputed.update(dict.fromkeys(filter(None, node.output), audited))
        return Step(audited, scope, unobserved)

    def _computed_alone(
        self, node: onnx.NodeProto, scope: Mapping[str, Array | None]
    ) -> dict[str, Array | None]:
        """The results of a node; None for those that are no tensors or cannot be computed."""
        names = [name for name in node.output if name]
        given = {name: array for name, array in scope.items() if array is not None}
        if len(given) < len(scope):
            return dict.fromkeys(names)
        constants = constants_of(self.model.graph)
        for sized in (False, True):
            made = _observed_part(self.model, [node], names, given, constants, sized=sized)
            feeds = {value.name: given[value.name] for value in made.graph.input}
            outcome = self.runs.run(made, feeds)
            if not isinstance(outcome, Failed):
                return {name: outcome.get(name) for name in names}
        return dict.fromkeys(names)


class ObservedGraph(Observation):
    """A graph without functions, and a run of it; `steps` sets the outputs."""

    def steps(self) -> Iterator[Step]:
        """Run the graph, and give its nodes in their order with their values, which it then drops.

        Raises:
            SonnxError: It does not run.
        """
        self.outputs = self._require_results(self._run(self.model))
        optimized = self._observable()
        yield from _Walk(self, optimized).steps()

    def _run(self, model: onnx.ModelProto, names: Iterable[str] = ()) -> Outcome:
        return self.runs.run(model, self.feeds, self.settings, tuple(names))

    @staticmethod
    def _require_results(outcome: Outcome) -> Results:
        if isinstance(outcome, Failed):
            raise SonnxError(Advice("the model does not run: ", outcome.reason))
        return outcome

    def _optimized(self, model: onnx.ModelProto) -> onnx.ModelProto:
        found = self.runs.optimize(model, self.settings)
        if isinstance(found, Failed):
            raise SonnxError(f"the optimized model cannot be looked at: {found.reason}")
        return without_repeated_constants(found)

    def _observable(self) -> onnx.ModelProto:
        """The optimized graph with as many values of the original as leave its outputs alone."""
        optimized = self._optimized(self.model)
        hidden = self._hidden(optimized)
        if not hidden:
            return optimized
        shown = hidden if self._same_with(hidden) else self._harmless(hidden)
        return self._optimized(_showing(self.model, shown)) if shown else optimized

    def _hidden(self, optimized: onnx.ModelProto) -> tuple[str, ...]:
        """The results of nodes that the optimized graph no longer has."""
        there = set(_available(optimized.graph))
        names = (name for node in self.model.graph.node for name in node.output)
        return tuple(name for name in names if name and name not in there)

    def _same_with(self, shown: Sequence[str]) -> bool:
        outcome = self._run(_showing(self.model, shown), self.outputs)
        return not isinstance(outcome, Failed) and not differing(outcome, self.outputs)

    def _harmless(self, hidden: Sequence[str]) -> tuple[str, ...]:
        """The hidden values that can be shown, chosen by the operators that give and read them."""
        readers: dict[str, set[str]] = {}
        for node in self.model.graph.node:
            for name in names_needed(node):
                readers.setdefault(name, set()).add(node.op_type)
        patterns: dict[tuple[str, frozenset[str]], list[str]] = {}
        for node in self.model.graph.node:
            for name in node.output:
                if name in hidden:
                    pattern = node.op_type, frozenset(readers.get(name, ()))
                    patterns.setdefault(pattern, []).append(name)
        groups = list(patterns.values())[:_MOST_PATTERNS]
        shown = [name for group in groups if self._same_with(group) for name in group]
        return tuple(shown) if shown and self._same_with(shown) else ()


def _available(graph: onnx.GraphProto) -> Iterator[str]:
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


def _showing(model: onnx.ModelProto, names: Iterable[str]) -> onnx.ModelProto:
    """The model with more outputs."""
    made = deepcopy(model)
    present = {value.name for value in made.graph.output}
    for name in names:
        if name not in present:
            made.graph.output.add(name=name)
    return made


class _Walk:
    """Runs an optimized graph part by part, and gives the nodes of the original graph."""

    def __init__(self, observed: ObservedGraph, optimized: onnx.ModelProto) -> None:
        self._observed, self._optimized = observed, optimized
        self._nodes = list(optimized.graph.node)
        self._pending = deque(observed.model.graph.node)
        self._folded = constants_of(optimized.graph)
        self._constants = self._folded | constants_of(observed.model.graph)
        self._there = set(_available(optimized.graph))
        self._values: dict[str, Array | None] = dict(observed.feeds)
        self._uses: Counter[str] = Counter()
        for node in (*self._nodes, *self._pending):
            self._uses.update({*names_needed(node), *node.output})

    def steps(self) -> Iterator[Step]:
        """The nodes of the original graph, each with its values."""
        yield from self._ready()
        start, size = 0, _FIRST_PART
        while start < len(self._nodes):
            stop = min(start + size, len(self._nodes))
            start, weight = self._run_part(start, stop)
            size = max(1, min(_LARGEST_PART, 2 * size, size * _MEMORY // max(weight, 1)))
            yield from self._ready()
        if self._pending:
            names = ", ".join(sorted({node.op_type for node in self._pending}))
            raise SonnxError(
                f"the values of {len(self._pending)} nodes ({names}) were not observed"
            )

    def _run_part(self, start: int, stop: int) -> tuple[int, int]:
        """Run some nodes; return the number of the next one, and the bytes of their values."""
        outputs = [value.name for value in self._observed.model.graph.output]
        while True:
            nodes = self._nodes[start:stop]
            computed = {name for node in nodes for name in node.output if name}
            later = {name for node in self._nodes[stop:] for name in names_needed(node)}
            original = {
                name for node in self._pending for name in (*names_needed(node), *node.output)
            }
            wanted = sorted(computed & (later | original | set(outputs)))
            results = self._run(nodes, wanted)
            carried = [name for name, array in results.items() if array is None and name in later]
            if not carried:
                break
            # A sequence or a map cannot be an input of the next part.
            readers = [
                number
                for number, node in enumerate(self._nodes)
                if not set(carried).isdisjoint(names_needed(node))
            ]
            stop = max(readers) + 1
        for node in nodes:
            self._release({*names_needed(node), *node.output})
        for name, array in results.items():
            final = self._observed.outputs.get(name)
            if final is not None and not same(array, final):
                self._observed.unlike += (name,)
                array = final  # noqa: PLW2901 - what the run gave is what counts
            self._values[name] = array
        weight = sum(array.nbytes for array in results.values() if array is not None)
        return stop, weight

    def _run(self, nodes: Sequence[onnx.NodeProto], wanted: Sequence[str]) -> Results:
        """Run these nodes alone; if that fails, the whole graph for their values."""
        if not wanted:
            return {}
        arrays = {name: array for name, array in self._values.items() if array is not None}
        observed = self._observed
        settings = Settings(providers=observed.settings.providers, native=observed.settings.native)
        for sized in (False, True):
            # Some operators are refused if the size of an operand is open, as sizes of a Resize.
            made = _observed_part(self._optimized, nodes, wanted, arrays, self._folded, sized=sized)
            feeds = {value.name: arrays[value.name] for value in made.graph.input}
            outcome = observed.runs.run(made, feeds, settings)
            if not isinstance(outcome, Failed):
                return outcome
        outcome = self._run_whole(wanted, settings)
        if isinstance(outcome, Failed):
            first = nodes[0]
            raise SonnxError(
                f"the values from {first.op_type} '{first.name}' on could not be observed: "
                f"{outcome.reason}"
            )
        return outcome

    def _run_whole(self, wanted: Sequence[str], settings: Settings) -> Outcome:
        """Values of the optimized graph as outputs of all of it.

        For nodes that run only with what is known of the values before them.
        """
        observed = self._observed
        made = _showing(self._optimized, wanted)
        given = {value.name for value in made.graph.input}
        feeds = {name: array for name, array in observed.feeds.items() if name in given}
        return observed.runs.run(made, feeds, settings, tuple(wanted))

    def _ready(self) -> Iterator[Step]:
        """The nodes whose values are there, up to the first one without."""
        while self._pending and self._is_ready(self._pending[0]):
            node = self._pending.popleft()
            step = self._observed.step_of(node, self._there, self._value, self._values)
            missing = [name for name in node.output if name and not self._is_known(name)]
            self._values.update(dict.fromkeys(missing))
            yield step
            self._release({*names_needed(node), *node.output})

    def _is_ready(self, node: onnx.NodeProto) -> bool:
        there = (name for name in node.output if name in self._there)
        return all(map(self._is_known, (*names_needed(node), *there)))

    def _is_known(self, name: str) -> bool:
        return name in self._values or name in self._constants

    def _value(self, name: str) -> Array | None:
        """What the run had or a graph stores; None if neither is known."""
        if name in self._values:
            return self._values[name]
        constant = self._constants.get(name)
        return None if constant is None else array_of(constant)

    def _release(self, names: Iterable[str]) -> None:
        """Drop values that no node will need."""
        for name in names:
            self._uses[name] -= 1
            if self._uses[name] <= 0:
                self._values.pop(name, None)
                self._observed.recomputed.pop(name, None)
