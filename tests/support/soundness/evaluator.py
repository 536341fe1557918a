"""Evaluates the original graph node by node: the oracle of what a run may do.

Div, Sub and Broadcast are computed and judged here; control flow and calls are followed here; all
other nodes go through `onnx.reference`. A node that fails does not end the evaluation: its outputs
are marked, and what depends on them is left out, so that every failure is found whatever the order
in which a runtime takes independent nodes.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.reference import ReferenceEvaluator

from support.soundness import rules

Array = npt.NDArray[Any]

LARGEST = 2_000
"""Tensors of more elements end an evaluation."""

LONGEST = 8
"""Loops of more iterations end an evaluation."""


class Abandoned(Exception):  # noqa: N818 - no error of the model
    """A run would take too much memory or time, or end the process inside ONNX Runtime."""


class LeafError(Exception):
    """A node other than Div, Sub and Broadcast cannot be computed."""


class Missing:
    """Stands for a value that a failure keeps from being computed."""


Value = Array | Missing
Environment = dict[str, Value]


@dataclass(frozen=True)
class Visit:
    """A Div, Sub or Broadcast as a run reaches it.

    Attributes:
        node: The label of the node, with the path of its calls.
        operator: Its operator.
        operands: Its operands.
        live: Whether an output of the model depends on it.
    """

    node: str
    operator: str
    operands: tuple[Array, ...]
    live: bool


Decide = Callable[[Visit], list[Array] | Missing]
"""Gives the outputs of a visited node, or that it fails."""


@dataclass
class Evaluation:
    """One evaluation of a model.

    Attributes:
        model: The original model.
        decide: What becomes of a Div, Sub or Broadcast.
        uncertain: Whether something failed of which a runtime may think otherwise.
    """

    model: onnx.ModelProto
    decide: Decide
    uncertain: bool = False
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
        """Evaluate a graph or a body.

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
        needed = needed_nodes(nodes, wanted) if live else frozenset()
        for index, node in enumerate(nodes):
            outputs = self.node(node, environment, path, live=index in needed)
            for name, value in zip(node.output, outputs, strict=False):
                if isinstance(value, np.ndarray) and value.size > LARGEST:
                    raise Abandoned(name)
                environment[name] = value

    def node(
        self, node: onnx.NodeProto, environment: Environment, path: str, *, live: bool
    ) -> Sequence[Value]:
        """Evaluate a node.

        Args:
            node: The node.
            environment: The values that it can see.
            path: The path of calls that led here.
            live: Whether an output of the model depends on it.
        """
        inputs = [environment[name] if name else None for name in node.input]
        if any(isinstance(value, Missing) for value in inputs):
            return _all_missing(node)
        arrays = [value for value in inputs if not isinstance(value, Missing)]
        if node.op_type in ("If", "Loop", "Scan"):
            return self._control_flow(node, arrays, environment, path, live=live)
        function = self._functions.get((node.domain, node.op_type))
        if function is not None:
            local: Environment = dict(zip(function.input, arrays, strict=True))  # type: ignore[arg-type]
            inner = f"{path}{node.name}/"
            self._nodes(function.node, local, function.output, inner, live=live)
            return [local[name] for name in function.output]
        if node.op_type in ("Div", "Sub", "Broadcast"):
            operands = tuple(array for array in arrays if array is not None)
            decided = self.decide(Visit(path + node.name, node.op_type, operands, live))
            return _all_missing(node) if isinstance(decided, Missing) else decided
        try:
            return compute_leaf(node, arrays, self._opset)
        except LeafError:
            return self._unknown(node)

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
        bodies = {a.name: a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH}
        match node.op_type, arrays:
            case "If", [condition] if condition is not None and condition.size == 1:
                taken = bodies["then_branch" if condition.item() else "else_branch"]
                return self.graph(taken, dict(environment), path, live=live)
            case "Loop", [trips, condition, *states] if trips is not None and trips.size == 1:
                run = functools.partial(self.graph, bodies["body"], path=path, live=live)
                return self._loop(node, run, trips, condition, states, environment)
            case "Scan", _:
                run = functools.partial(self.graph, bodies["body"], path=path, live=live)
                return self._scan(node, run, arrays, environment)
            case _:
                return self._unknown(node)

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
                return self._unknown(node)
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
                return _all_missing(node)
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


def _all_missing(node: onnx.NodeProto) -> list[Value]:
    return [Missing()] * len(node.output)


def _shapes(values: Sequence[Value]) -> list[tuple[int, ...]]:
    return [np.asarray(value).shape for value in values]


def compute_leaf(node: onnx.NodeProto, arrays: Sequence[Array | None], opset: int) -> list[Array]:
    """Compute a node through `onnx.reference`.

    Args:
        node: The node; it has no body.
        arrays: Its inputs.
        opset: The version of the standard operators.

    Raises:
        LeafError: It cannot be computed.
        Abandoned: It should not be run.
    """
    if _refused(node.op_type, arrays):
        raise LeafError(node.op_type)
    if _enlargement(node.op_type, arrays) > LARGEST or _ends_the_process(node.op_type, arrays):
        raise Abandoned(node.op_type)
    evaluator = _reference(node.SerializeToString(), opset)
    feeds = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
    try:
        with np.errstate(all="ignore"):
            outputs = evaluator.run(None, feeds)
    except Exception as error:
        raise LeafError(str(error)) from error
    return [np.asarray(output) for output in outputs]


def _refused(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether ONNX forbids operands that `onnx.reference` takes, or ONNX Runtime differs."""
    given = [array for array in arrays if array is not None]
    match operator, given:
        case "ReduceSum", [data, axes]:
            # ONNX Runtime leaves a size of 0 where it is counted from the end.
            return bool((axes < 0).any()) and data.size == 0
        case "Squeeze", [_, axes]:
            # ONNX Runtime takes an empty list for none at all.
            return axes.size == 0
        case "Tile", [data, repeats]:
            return repeats.shape != (data.ndim,)
        case "Slice", [_, *bounds]:
            return len({each.shape for each in bounds}) > 1
        case "Split", [data, sizes]:
            length = data.shape[0] if data.ndim else 0
            return int(sizes.sum()) != length or bool((sizes < 0).any())
    return False


def _ends_the_process(operator: str, arrays: Sequence[Array | None]) -> bool:
    """ONNX Runtime does not survive a Concat of an empty tensor of another rank."""
    return operator == "Concat" and len({a.ndim for a in arrays if a is not None}) > 1


def _enlargement(operator: str, arrays: Sequence[Array | None]) -> int:
    """How many elements the numbers in an operand ask for."""
    if operator not in ("Expand", "ConstantOfShape", "Tile"):
        return 0
    sizes = arrays[-1]
    assert sizes is not None
    return math.prod(max(1, abs(int(size))) for size in sizes.ravel())


@functools.lru_cache(maxsize=4096)
def _reference(serialized: bytes, opset: int) -> ReferenceEvaluator:
    node = onnx.NodeProto.FromString(serialized)
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = onnx.helper.make_graph([node], "leaf", inputs, outputs)
    return ReferenceEvaluator(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    )


def needed_nodes(nodes: Sequence[onnx.NodeProto], wanted: Sequence[str]) -> frozenset[int]:
    """The positions of the nodes that outputs depend on.

    ONNX Runtime leaves out what only the shape is needed of, where it knows that shape.

    Args:
        nodes: The nodes of one graph or function, in order.
        wanted: The names of its outputs.
    """
    names, needed = set(wanted), set()
    for index in reversed(range(len(nodes))):
        node = nodes[index]
        if names.intersection(node.output):
            needed.add(index)
            if node.op_type not in ("Shape", "Size"):
                names.update(node.input, captured(node))
    return frozenset(needed)


def captured(node: onnx.NodeProto) -> set[str]:
    """The names that a node's bodies read, be they their own or of graphs around them.

    Args:
        node: The node.
    """
    bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    names: set[str] = set()
    for body in bodies:
        names.update(output.name for output in body.output)
        for inner in body.node:
            names.update(inner.input, captured(inner))
    return names


def lenient(visit: Visit) -> list[Array] | Missing:
    """What ONNX computes, which broadcasts; a zero divisor of an integer gives 0.

    Args:
        visit: The node.
    """
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
    return [rules.compute(visit.operator, a, b, "typed")]
