"""Evaluates the original graph node by node: the oracle of what a run may do.

The nodes of the profile's operators are handed to whoever judges them; control flow and calls are
followed here; all other nodes go through `onnx.reference`. A node that fails does not end the
evaluation: its outputs are marked, and what depends on them is left out, so that every failure is
found whatever the order in which a runtime takes independent nodes.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from restrictions import Violation

from sonnx_ort.profile.catalog import OPERATORS
from support.soundness.arrays import Array
from support.soundness.exact_results import NETWORKS, Enclosed, exact_results
from support.soundness.leaves import LARGEST, Abandoned, LeafError, compute_leaf
from support.soundness.rules import result_of

Functions = Mapping[tuple[str, str], onnx.FunctionProto]
"""Model-local functions by domain and name."""


def needed_nodes(
    nodes: Sequence[onnx.NodeProto], wanted: Sequence[str], functions: Functions
) -> frozenset[int]:
    """The positions of the nodes that outputs depend on.

    ONNX Runtime leaves out what only the shape is needed of, where it knows that shape.
    """
    return _needed(nodes, wanted, functions)[0]


def _needed(
    nodes: Sequence[onnx.NodeProto], wanted: Sequence[str], functions: Functions
) -> tuple[frozenset[int], set[str]]:
    """The positions, and the names of all values whose elements are needed."""
    names, needed = set(wanted), set()
    for index in reversed(range(len(nodes))):
        if names.intersection(nodes[index].output):
            needed.add(index)
            names |= _read(nodes[index], functions)
    return frozenset(needed), names


def _read(node: onnx.NodeProto, functions: Functions) -> set[str]:
    """The names of the values whose elements a node reads, in its subgraphs too."""
    if node.op_type in ("Shape", "Size"):
        return set()
    function = functions.get((node.domain, node.op_type))
    if function is not None:
        _, inner = _needed(function.node, function.output, functions)
        given = zip(node.input, function.input, strict=True)
        return {argument for argument, parameter in given if parameter in inner}
    names = set(node.input)
    for body in _subgraphs(node):
        names |= _needed(body.node, [output.name for output in body.output], functions)[1]
    return names


def _subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def operators_within(node: onnx.NodeProto, functions: Functions) -> set[str]:
    """The operator of a node, and those in its subgraphs and in the functions that it calls."""
    function = functions.get((node.domain, node.op_type))
    inner = [each for body in _subgraphs(node) for each in body.node]
    inner += function.node if function is not None else []
    return {node.op_type}.union(*(operators_within(each, functions) for each in inner))


LONGEST = 8
"""Loops of more iterations end an evaluation."""

_FATAL = frozenset({"Conv", "ConvInteger", "LSTM", "Loop", "MaxPool", "Mod", "Scan"})
"""The operators that end ONNX Runtime's process on some operands, where nothing is enforced."""


class Missing:
    """Stands for a value that a failure keeps from being computed."""


Value = Array | Enclosed | Missing
Environment = dict[str, Value]


@dataclass(frozen=True)
class Visit:
    """A node of an operator of the profile as a run reaches it.

    Attributes:
        node: The label of the node, with the path of its calls.
        operator: Its operator.
        operands: Its operands.
        live: Whether an output of the model depends on it.
        result: The name of its first output.
        places: The operands in their places, None for those that are left out.
        attributes: What attributes of the node say; lists of numbers and texts are sequences.
        version: The version of the standard operators.
        standard: Gives what ONNX computes of operands, which it broadcasts. It raises `LeafError`
            where that is not known, and `Abandoned` where it should not be run.
    """

    node: str
    operator: str
    operands: tuple[Array, ...]
    live: bool
    result: str
    places: tuple[Array | None, ...]
    attributes: Mapping[str, Any]
    version: int
    standard: Callable[[Sequence[Array]], list[Array]]


Decide = Callable[[Visit], Sequence[Value] | Missing]
"""Gives the outputs of a visited node, or that it fails; raises what `Visit.standard` raises."""


@dataclass
class Evaluation:
    """One evaluation of a model.

    Attributes:
        model: The original model.
        decide: What becomes of a node of an operator of the profile.
        uncertain: Whether something failed of which a runtime may think otherwise.
        left: The nodes in bodies that a runtime may run again, but not all is known of that.
    """

    model: onnx.ModelProto
    decide: Decide
    uncertain: bool = False
    left: set[str] = field(default_factory=set)
    _visited: list[str] = field(default_factory=list)
    _functions: dict[tuple[str, str], onnx.FunctionProto] = field(init=False)
    _opset: int = field(init=False)

    def __post_init__(self) -> None:
        """Find functions and opset."""
        self._functions = {(f.domain, f.name): f for f in self.model.functions}
        self._opset = next(o.version for o in self.model.opset_import if not o.domain)

    def outputs(self, feeds: Mapping[str, Array]) -> list[Value]:
        """Evaluate the main graph.

        Args:
            feeds: The inputs by name; initializers stand for those that are left out.

        Raises:
            Abandoned: The model should not be run on these.
        """
        return self.graph(self.model.graph, dict(feeds), "", live=True)

    def graph(
        self, graph: onnx.GraphProto, given: Environment, path: str, *, live: bool
    ) -> list[Value]:
        """Evaluate a graph or a subgraph.

        Args:
            graph: The graph.
            given: Its inputs, and all that it can see of graphs around it.
            path: The path of calls that led here: "" or "outer/inner/".
            live: Whether its outputs are needed.
        """
        environment = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer} | given
        wanted = [output.name for output in graph.output]
        self._nodes(graph.node, environment, wanted, path, live=live)
        return [environment[name] for name in wanted]

    def _nodes(
        self,
        nodes: Sequence[onnx.NodeProto],
        environment: Environment,
        wanted: Sequence[str],
        path: str,
        *,
        live: bool,
    ) -> None:
        needed = needed_nodes(nodes, wanted, self._functions) if live else frozenset()
        for index, node in enumerate(nodes):
            outputs = self.node(node, environment, path, live=index in needed)
            for name, value in zip(node.output, outputs, strict=False):
                if isinstance(value, np.ndarray) and value.size > LARGEST:
                    raise Abandoned(name)
                environment[name] = value

    def node(
        self, node: onnx.NodeProto, environment: Environment, path: str, *, live: bool
    ) -> Sequence[Value]:
        """Evaluate a node."""
        inputs = [environment[name] if name else None for name in node.input]
        if any(isinstance(value, Missing | Enclosed) for value in inputs):
            self.uncertain |= any(isinstance(value, Enclosed) for value in inputs)
            self._leave_out(node)
            return _all_missing(node)
        arrays = [value for value in inputs if not isinstance(value, Missing | Enclosed)]
        if node.op_type in ("If", "Loop", "Scan"):
            return self._control_flow(node, arrays, environment, path, live=live)
        function = self._functions.get((node.domain, node.op_type))
        if function is not None:
            local: Environment = dict(zip(function.input, arrays, strict=True))  # type: ignore[arg-type]
            inner = f"{path}{node.name}/"
            self._nodes(function.node, local, function.output, inner, live=live)
            return [local[name] for name in function.output]
        try:
            if node.op_type in OPERATORS:
                decided = self.decide(self._visit(node, arrays, path, live=live))
                return _all_missing(node) if isinstance(decided, Missing) else decided
            return compute_leaf(node, arrays, self._opset)
        except LeafError:
            return self._unknown(node)

    def _visit(
        self, node: onnx.NodeProto, arrays: Sequence[Array | None], path: str, *, live: bool
    ) -> Visit:
        operands = tuple(array for array in arrays if array is not None)

        def standard(given: Sequence[Array]) -> list[Array]:
            rest = iter(given)
            places = [None if array is None else next(rest) for array in arrays]
            return compute_leaf(node, places, self._opset)

        said = {a.name: value_of(a) for a in node.attribute}
        label = path + node.name
        self._visited.append(label)
        return Visit(
            node=label,
            operator=node.op_type,
            operands=operands,
            live=live,
            result=node.output[0],
            places=tuple(arrays),
            attributes=said,
            version=self._opset,
            standard=standard,
        )

    def _leave_out(self, node: onnx.NodeProto) -> None:
        """What ONNX Runtime can compute, and nobody here, must not end the process there."""
        if self.uncertain and not _FATAL.isdisjoint(operators_within(node, self._functions)):
            raise Abandoned(node.name)

    def _unknown(self, node: onnx.NodeProto) -> list[Value]:
        """Runtimes may differ here from `onnx.reference`, or ONNX leaves open what comes out."""
        self.uncertain = True
        return _all_missing(node)

    def _control_flow(
        self,
        node: onnx.NodeProto,
        arrays: Sequence[Array | None],
        environment: Environment,
        path: str,
        *,
        live: bool,
    ) -> Sequence[Value]:
        subgraphs = {a.name: a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}
        inner = functools.partial(self._subgraph, path=path, live=live)
        match node.op_type, arrays:
            case "If", [condition] if condition is not None and condition.size == 1:
                taken = subgraphs["then_branch" if condition.item() else "else_branch"]
                return inner(taken, dict(environment))
            case "Loop", [np.ndarray() as trips, condition, *states]:
                if trips.size != 1:
                    # ONNX Runtime reads the first of no elements
                    # (`tests/upstream/test_ends_of_the_process.py`).
                    raise Abandoned(node.name)
                run = functools.partial(inner, subgraphs["body"])
                repeat = functools.partial(
                    self._loop, node, run, trips, condition, states, environment
                )
                return self._repeated(repeat)
            case "Scan", _:
                run = functools.partial(inner, subgraphs["body"])
                return self._repeated(functools.partial(self._scan, node, run, arrays, environment))
            case _:
                return self._unknown(node)

    def _repeated(self, repeat: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """Run a body as often as that is known; else what is in it may run again."""
        before = len(self._visited)
        outputs = repeat()
        if self.uncertain and any(isinstance(value, Missing) for value in outputs):
            self.left.update(self._visited[before:])
        return outputs

    def _subgraph(
        self, graph: onnx.GraphProto, given: Environment, path: str, *, live: bool
    ) -> list[Value]:
        """Evaluate a subgraph; what is not known to the bit inside is not known outside."""
        outputs = self.graph(graph, given, path, live=live)
        self.uncertain |= any(isinstance(value, Enclosed) for value in outputs)
        return [Missing() if isinstance(value, Enclosed) else value for value in outputs]

    def _loop(  # noqa: PLR0917
        self,
        node: onnx.NodeProto,
        run: Callable[[Environment], list[Value]],
        trips: Array,
        condition: Array | None,
        states: Sequence[Array | None],
        environment: Environment,
    ) -> Sequence[Value]:
        (body,) = (a.g for a in node.attribute if a.name == "body")
        names = [declared.name for declared in body.input]
        carried: list[Value] = [state for state in states if state is not None]
        limit = int(trips.item())
        going = True if condition is None else bool(condition.item())
        collected: list[list[Value]] = []
        while going and len(collected) < limit:
            if len(collected) >= LONGEST:
                raise Abandoned(node.name)
            given: list[Value] = [np.array(len(collected)), np.array(going), *carried]
            after = run({**environment, **dict(zip(names, given, strict=True))})
            if any(isinstance(value, Missing) for value in after):
                return _all_missing(node)
            still = np.asarray(after[0])
            if still.size != 1:
                raise Abandoned(node.name)
            going = bool(still.item())
            carried = after[1 : 1 + len(carried)]
            collected.append(after[1 + len(carried) :])
        return [*carried, *self._stacked(node, collected, len(carried))]

    def _scan(
        self,
        node: onnx.NodeProto,
        run: Callable[[Environment], list[Value]],
        arrays: Sequence[Array | None],
        environment: Environment,
    ) -> Sequence[Value]:
        (body,) = (a.g for a in node.attribute if a.name == "body")
        (scanned,) = (a.i for a in node.attribute if a.name == "num_scan_inputs")
        names = [declared.name for declared in body.input]
        given = [array for array in arrays if array is not None]
        states: list[Value] = list(given[: len(given) - scanned])
        sequences = given[len(given) - scanned :]
        lengths = {len(sequence) if sequence.ndim else 0 for sequence in sequences}
        if len(lengths) > 1 or 0 in lengths:
            return self._unknown(node)
        collected: list[list[Value]] = []
        for index in range(lengths.pop()):
            inputs = [*states, *(sequence[index] for sequence in sequences)]
            after = run({**environment, **dict(zip(names, inputs, strict=True))})
            if any(isinstance(value, Missing) for value in after):
                self._leave_out(node)
                return _all_missing(node)
            if _other_ranks(body, states, after):
                raise Abandoned(node.name)
            if _shapes(after[: len(states)]) != _shapes(states):
                return self._unknown(node)
            states = after[: len(states)]
            collected.append(after[len(states) :])
        return [*states, *self._stacked(node, collected, len(states))]

    def _stacked(
        self, node: onnx.NodeProto, collected: list[list[Value]], states: int
    ) -> list[Value]:
        """The scan outputs; ONNX leaves open what they are without an iteration."""
        count = len(node.output) - states
        columns: list[list[Value]] = [list(column) for column in zip(*collected, strict=True)]
        stacked: list[Value] = []
        for column in columns or [[]] * count:
            if not column or len(set(_shapes(column))) > 1:
                self.uncertain = True
                stacked.append(Missing())
            else:
                stacked.append(np.stack([np.asarray(value) for value in column]))
        return stacked


def value_of(attribute: onnx.AttributeProto) -> Any:
    """What an attribute says; texts are decoded, and tensors are arrays."""
    value = onnx.helper.get_attribute_value(attribute)
    match value:
        case onnx.TensorProto():
            return onnx.numpy_helper.to_array(value)
        case bytes():
            return value.decode()
        case [bytes(), *_]:
            return [text.decode() for text in value]
    return value


def _all_missing(node: onnx.NodeProto) -> list[Value]:
    return [Missing()] * len(node.output)


def _shapes(values: Sequence[Value]) -> list[tuple[int, ...]]:
    return [np.asarray(value).shape for value in values]


def _other_ranks(body: onnx.GraphProto, states: Sequence[Value], after: Sequence[Value]) -> bool:
    """Whether a Scan's body gives other ranks than it takes or declares.

    Where the rank that ONNX Runtime expects is the smaller one, it does not survive the Scan
    (`tests/upstream/test_shapes.py`).
    """
    if [np.ndim(value) for value in after[: len(states)]] != [np.ndim(state) for state in states]:
        return True
    declared = [output.type.tensor_type for output in body.output]
    return any(
        tensor.HasField("shape") and len(tensor.shape.dim) != np.ndim(value)
        for tensor, value in zip(declared, after, strict=True)
    )


def lenient(visit: Visit) -> list[Array] | Missing:
    """What ONNX computes, which broadcasts; a zero divisor of an integer gives 0."""
    if visit.operator in NETWORKS:
        node = visit.operator, visit.version, visit.attributes
        found = exact_results(*node, visit.places)
        return [
            e.result.nearest if isinstance(e, Enclosed) else e for e in found or ()
        ] or Missing()
    if visit.operator not in {"Div", "Sub", "Broadcast"}:
        return visit.standard(visit.operands)
    try:
        operands = np.broadcast_arrays(*visit.operands)
    except ValueError:
        return Missing()
    if visit.operator == "Broadcast":
        return [np.array(operand) for operand in operands]
    a, b = operands
    if visit.operator == "Div" and a.dtype.kind in "iu":
        b = np.where(b == 0, b.dtype.type(1), b)
        b = np.where((b == -1) & (a == np.iinfo(a.dtype).min), b.dtype.type(1), b)
    result = result_of(visit.operator, [a, b], "typed")
    return Missing() if isinstance(result, Violation) else [result]
