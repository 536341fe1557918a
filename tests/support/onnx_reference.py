"""The cases of the onnx package, and what they give enforced: the bits of ONNX Runtime."""

import copy
import unittest
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.runner import Runner

import sonnx_ort
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.terms.operand import Shape
from support.onnx_backend import Start, Trace, backend_of, run_with_any_types
from support.onnx_record import NODE_BY_NODE, OPTIMIZED, REFUSED, SAME, UNOPTIMIZED
from support.sessions import on_one_thread, set_for
from support.soundness.arrays import Array
from support.soundness.evaluator import value_of
from support.soundness.node_cases import node_cases
from support.soundness.rules import breaks, broken_by_node, decided_rules

_CPU = "_cpu"


@dataclass(frozen=True, slots=True)
class DryRun:
    """What came of a case.

    Attributes:
        verdict: "passes", "differs" from the outputs that the case expects, or "fails" to run.
        error: What it failed with, or differs in.
        trace: What was run.
    """

    verdict: str
    error: Exception | None
    trace: Trace


class Suite:
    """The cases of the onnx package.

    Attributes:
        names: The cases, in order.
    """

    def __init__(self) -> None:
        """Register them."""
        self._trace = Trace()
        self._start: Start = plain
        with patch.object(loader, "load_node_model_tests", node_cases):
            classes = Runner(backend_of(self._started, self._trace)).test_cases.values()
        tests_by_name = {
            name.removesuffix(_CPU): test
            for tests in classes
            for name, test in vars(tests).items()
            if name.endswith(_CPU)
        }
        self._tests = dict(sorted(tests_by_name.items()))
        self.names = tuple(self._tests)

    def try_case(self, name: str, start: Start) -> DryRun:
        """Run a case as the onnx package does."""
        self._start = start
        self._trace.model = None
        self._trace.feeds, self._trace.outputs = [], []
        verdict, found = "passes", None
        try:
            self._tests[name](None)
        except unittest.SkipTest as skipped:
            raise AssertionError(f"{name} was skipped: {skipped}") from skipped
        except AssertionError as error:
            verdict, found = "differs", error
        except Exception as error:  # noqa: BLE001 - whatever fails, the other cases are tried
            ran = len(self._trace.outputs) == len(self._trace.feeds) > 0
            verdict, found = "differs" if ran else "fails", error
        trace = Trace(self._trace.model, list(self._trace.feeds), list(self._trace.outputs))
        return DryRun(verdict, found, trace)

    def _started(self, model: onnx.ModelProto) -> ort.InferenceSession:
        return self._start(model)


def plain(model: onnx.ModelProto) -> ort.InferenceSession:
    """Start a session of ONNX Runtime, in which nothing is optimized."""
    return ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))


def optimized(backend: str) -> Start:
    """Give what starts one with the optimizers that a backend's own sessions leave switched on."""

    def start(model: onnx.ModelProto) -> ort.InferenceSession:
        return ort.InferenceSession(model.SerializeToString(), set_for(backend, "all"))

    return start


_ABOUT_TYPES, _ABOUT_SHAPES = ".R2", ".R1"

_OF_THE_PROFILE = {element_type.dtype for element_type in ElementType}


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that is said to be broken.

    Attributes:
        rule: The rule's id.
        operator: The operator.
        node: How errors call the node.
        shapes: The shapes that it tells of the operands; None for one that it does not know.
    """

    rule: str
    operator: str
    node: str
    shapes: tuple[Shape | None, ...]


def breaches_of(error: Exception | None) -> list[Breach]:
    """What an error says is broken; nothing if it is of another kind."""
    match error:
        case sonnx_ort.ModelRejected():
            found = error.report.violations
            return [
                Breach(v.rule.id, v.operator, v.node, tuple(o.shape for o in v.operands))
                for v in found
            ]
        case sonnx_ort.ContractViolation():
            return [Breach(error.rule, error.operator, error.node, error.shapes or ())]
    return []


def unbroken(
    model: onnx.ModelProto, feeds: Mapping[str, Any], breaches: Sequence[Breach]
) -> list[str]:
    """Find the rules that operands keep, and say so of each.

    Args:
        model: The original model.
        feeds: What it is run with.
        breaches: What is said to be broken. In the body of another node, whose values are not
            looked at, it has to be a rule about shapes, and those that are told have to break it,
            or one about inputs that the node has not.
    """
    return list(_unbroken(model, feeds, breaches))


def _unbroken(
    model: onnx.ModelProto, feeds: Mapping[str, Any], breaches: Sequence[Breach]
) -> Iterator[str]:
    for breach in breaches:
        labels = {_label(node): node for node in model.graph.node}
        if breach.node in labels:
            node = labels[breach.node]
            operands = _operands(model, node, feeds)
            kept = not _breaks(breach.rule, node, operands, model)
            told = ", ".join(map(_told, operands))
        else:
            (node,) = (node for node in all_nodes(model) if _label(node) == breach.node)
            kept = not _said_to_break(breach, node)
            told = str(breach.shapes)
        if kept:
            yield f"{breach.operator} '{breach.node}' keeps {breach.rule}: {told}"


def _label(node: onnx.NodeProto) -> str:
    return node.name or f"(output {node.output[0]})"


def _told(operand: Array | None) -> str:
    return "nothing" if operand is None else f"{operand.dtype}{list(operand.shape)}"


def _said_to_break(breach: Breach, node: onnx.NodeProto) -> bool:
    """Whether a node breaks a rule, by the shapes that are told and by what it has of inputs."""
    shapes = breach.shapes
    by_node = broken_by_node(breach.rule, [name or None for name in node.input], _said(node))
    if by_node is not None:
        return by_node
    match breach.rule, [len(shape) for shape in shapes if shape is not None]:
        case "MatMul.C1", ranks:
            return set(ranks) != {2}
        case "Range.scalars", ranks:
            return set(ranks) != {0}
        case "Unsqueeze.A.rank", [_, rank]:
            return rank != 1
    return breach.rule.endswith(_ABOUT_SHAPES) and len(set(shapes)) > 1


def _said(node: onnx.NodeProto) -> dict[str, Any]:
    """What the attributes of a node say."""
    return {a.name: value_of(a) for a in node.attribute}


def _breaks(
    rule: str, node: onnx.NodeProto, operands: Sequence[Array | None], model: onnx.ModelProto
) -> bool:
    if rule == "LSTM.constant":
        stored = {tensor.name for tensor in model.graph.initializer}
        return not {name for name in node.input[1:] if name} <= stored
    attributes = _said(node)
    by_node = broken_by_node(rule, operands, attributes)
    if by_node is not None:
        return by_node
    if not OPERATORS[node.op_type].elementwise:
        return breaks(node.op_type, rule, operands, attributes)
    given = [operand for operand in operands if operand is not None]
    if rule.endswith(_ABOUT_SHAPES):
        return len({operand.shape for operand in given}) > 1
    if rule.endswith(_ABOUT_TYPES):
        types = {operand.dtype for operand in given}
        return len(types) > 1 or not types <= _OF_THE_PROFILE
    given = list(np.broadcast_arrays(*given))
    return decided_rules(node.op_type, given, "typed", attributes).get(rule, False)


def _operands(
    model: onnx.ModelProto, node: onnx.NodeProto, feeds: Mapping[str, Any]
) -> list[Array | None]:
    """What a node of a model reads in a run of plain ONNX Runtime; None where it reads nothing."""
    exposed = copy.deepcopy(model)
    del exposed.graph.output[:]
    names = [name for name in node.input if name]
    computed = [name for name in names if name not in feeds]
    known = dict(feeds)
    for position, name in enumerate(computed):
        exposed.graph.node.add(op_type="Identity", input=[name], output=[f"operand{position}"])
        exposed.graph.output.append(helper.make_empty_tensor_value_info(f"operand{position}"))
    if computed:
        session = ort.InferenceSession(exposed.SerializeToString(), on_one_thread("none"))
        known.update(zip(computed, run_with_any_types(session, feeds), strict=True))
    return [np.asarray(known[name]) if name else None for name in node.input]


def run_node_by_node(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Compute a model without optional values, sequences and bodies that read outer values."""
    known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer} | dict(feeds)
    for node in model.graph.node:
        known.update(zip(node.output, _outputs(model, node, known), strict=True))
    return [known[output.name] for output in model.graph.output]


def _outputs(
    model: onnx.ModelProto, node: onnx.NodeProto, known: Mapping[str, Any]
) -> list[np.ndarray[Any, Any]]:
    read = {name: np.asarray(known[name]) for name in node.input if name}
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)
        )
        for name, array in read.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
    alone = helper.make_model(
        helper.make_graph([node], "alone", inputs, outputs),
        opset_imports=model.opset_import,
        ir_version=model.ir_version,
    )
    session = ort.InferenceSession(alone.SerializeToString(), on_one_thread("none"))
    return run_with_any_types(session, read)


class Reference:
    """A case in ONNX Runtime, without this project.

    Attributes:
        name: The case.
        model: Its model.
        unoptimized: What came of it at ORT_DISABLE_ALL.
    """

    def __init__(self, suite: Suite, name: str) -> None:
        """Run a case."""
        self._suite, self.name = suite, name
        self._refusals: dict[tuple[Breach, ...], str] = {}
        self.unoptimized = suite.try_case(name, plain)
        assert self.unoptimized.trace.model is not None, self.unoptimized.error
        self.model = self.unoptimized.trace.model

    def compared(self, trial: DryRun, backend: str, level: str) -> str:
        """Say in a word what enforcement made of the case, and behind it what is to be known."""
        breaches = tuple(breaches_of(trial.error))
        if breaches:
            return self._refused(breaches)
        if self.unoptimized.verdict == "fails":
            # What ONNX Runtime has no kernel of may have one when it is enforced.
            known = {"passes": "passes", "fails": "fails"}
            return known.get(trial.verdict, f"other: {trial.error}")
        if trial.verdict == "fails":
            return f"other: fails: {trial.error}"
        return self._compared_bits(_bits(trial.trace.outputs), backend, level)

    def _compared_bits(self, found: object, backend: str, level: str) -> str:
        """Find out whose bits they are.

        An optimizer may give other bits, and does so of the original model too. Each result in
        float16 is rounded where it is enforced, which ONNX Runtime does at the end of a chain of
        nodes only: then it has to have the bits that ONNX Runtime gives node by node.
        """
        if found == _bits(self.unoptimized.trace.outputs):
            return SAME
        if level != UNOPTIMIZED and found == self._optimized(backend):
            return OPTIMIZED
        if self._has_float16() and found == self._node_by_node:
            return NODE_BY_NODE
        units = _units_apart(found, _bits(self.unoptimized.trace.outputs))
        return f"other: {units} units of float16 apart" if units else "other: the bits differ"

    def _optimized(self, backend: str) -> object:
        return _bits(self._suite.try_case(self.name, optimized(backend)).trace.outputs)

    @cached_property
    def _node_by_node(self) -> object:
        feeds = self.unoptimized.trace.feeds
        return _bits([run_node_by_node(self.model, each) for each in feeds])

    def _has_float16(self) -> bool:
        tensors = (value.type.tensor_type for value in self.model.graph.input)
        return any(tensor.elem_type == onnx.TensorProto.FLOAT16 for tensor in tensors)

    def _refused(self, breaches: tuple[Breach, ...]) -> str:
        """Say for which rules it is refused; all backends are, most often for the same."""
        if breaches not in self._refusals:
            self._refusals[breaches] = self._judged(breaches)
        return self._refusals[breaches]

    def _judged(self, breaches: Sequence[Breach]) -> str:
        rules = ", ".join(sorted({breach.rule for breach in breaches}))
        if self.unoptimized.verdict != "fails":
            for feeds in self.unoptimized.trace.feeds:
                kept = unbroken(self.model, feeds, breaches)
                if kept:
                    return f"other: refused for {rules}, but {'; '.join(kept)}"
        return f"{REFUSED}{rules}"


def _units_apart(one: object, other: object) -> int | None:
    """By how many units in the last place results differ; None if others than float16 do."""
    match one, other:
        case [list(), list()]:
            pairs = [_units_apart(*pair) for pair in zip(one, other, strict=True)]
            return None if None in pairs else max(filter(None, pairs), default=0)
        case [("float16", shape, bytes() as bits), ("float16", wanted, bytes() as expected)]:
            apart = _ordered(bits) - _ordered(expected)
            return int(abs(apart).max(initial=0)) if shape == wanted else None
    return 0 if one == other else None


def _ordered(bits: bytes) -> np.ndarray[Any, Any]:
    """Numbers in float16 by their order; neighbours are one apart."""
    numbers = np.frombuffer(bits, np.int16).astype(np.int64)
    return np.where(numbers < 0, -(numbers & 0x7FFF), numbers)


def _bits(value: Any) -> object:
    """Types, shapes and bits of what a model gave."""
    match value:
        case None:
            return None
        case list() | tuple():
            return [_bits(element) for element in value]
        case dict():
            return sorted((repr(key), _bits(element)) for key, element in value.items())
    array = np.asarray(value)
    if array.dtype == object:
        return array.shape, repr(array.tolist())
    return str(array.dtype), array.shape, array.tobytes()
