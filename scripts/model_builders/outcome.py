"""What has to come of a model: the exact oracle computes its enforced nodes, ONNX the others."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from sonnx_ort import oracle
from sonnx_ort.models import Outputs, Rejection, RunViolation, StaticViolation
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import VERSION

Array = npt.NDArray[Any]


def outcome(
    model: onnx.ModelProto,
    inputs: Mapping[str, Array],
    edition: Edition,
    *,
    explicit: bool,
    operators: Collection[str],
) -> Outputs | RunViolation:
    """Compute a model: its outputs, or the first rule that it breaks.

    Args:
        model: The model; nodes in functions are named as there, without the calls.
        inputs: Its inputs by name.
        edition: The edition of the profile.
        explicit: Whether operands of Div and Sub are broadcast.
        operators: The operators that are enforced.
    """
    enforced: list[type[OpRun]] = [
        type(
            operator,
            (_ExactNode,),
            {
                "op_domain": DOMAIN if operator == BROADCAST.name else "",
                "edition": edition,
                "explicit": explicit,
            },
        )
        for operator in operators
    ]
    evaluator = ReferenceEvaluator(_evaluable(model), new_ops=enforced)
    try:
        arrays = evaluator.run(None, dict(inputs))
    except _Broken as broken:
        return broken.violation
    return Outputs(dict(zip(evaluator.output_names, map(np.asarray, arrays), strict=True)))


def rejection(model: onnx.ModelProto, rules: Sequence[str]) -> Rejection:
    """What a rewrite refuses: each rule, of every node of its operator."""
    return Rejection(
        tuple(
            StaticViolation(rule, node.name)
            for node in model.graph.node
            for rule in rules
            if rule == E1.id or rule.partition(".")[0] == node.op_type
        )
    )


def element_type_of(array: Array) -> ElementType:
    """The element type of an array."""
    return next(t for t in ElementType if t.dtype == array.dtype)


def _evaluable(model: onnx.ModelProto) -> onnx.ModelProto:
    """Write out what ONNX's evaluator has no new operators in, or takes for something else."""
    inlined: onnx.ModelProto = inliner.inline_local_functions(model)
    for node in inlined.graph.node:
        # It takes a condition that is left out for false.
        if node.op_type == "Loop" and not node.input[1]:
            node.input[1] = "always"
            inlined.graph.initializer.append(numpy_helper.from_array(np.array(True), "always"))
    return inlined


class _Broken(Exception):  # noqa: N818 - reads as what happened
    """A node breaks a rule."""

    def __init__(self, violation: RunViolation) -> None:
        self.violation = violation


class _ExactNode(OpRun):
    """A node of an operator that is enforced; its class has the operator's name."""

    edition: ClassVar[Edition]
    explicit: ClassVar[bool]

    def _run(self, *inputs: Array, **_: object) -> tuple[Array, ...]:
        """Compute the outputs, or raise `_Broken`."""
        operator = self.onnx_node.op_type
        attributes = {a.name: helper.get_attribute_value(a) for a in self.onnx_node.attribute}
        operands = tuple(map(np.asarray, inputs))
        if operator == BROADCAST.name or self.explicit:
            operands = self._broadcast(*_aligned(operands, attributes))
        if operator == BROADCAST.name:
            return operands
        if operator not in oracle.OPERATORS:
            return self._by_meaning(inputs, attributes)
        profiled = OPERATORS[operator]
        of_type = element_type_of(operands[-1 if profiled.elementwise else 0])
        found = oracle.outcome(operator, operands, of_type, self.edition, attributes)
        if isinstance(found, oracle.Violation):
            names = profiled.operand_names(len(operands))
            checked = (
                operand
                for name, operand in zip(names, operands, strict=True)
                if profiled.elementwise or name in profiled.checked_operands
            )
            raise self._broken(found, operator, *checked)
        return (found,)

    def _by_meaning(
        self, inputs: Sequence[Array | None], attributes: Mapping[str, Any]
    ) -> tuple[Array, ...]:
        """Hold operands to the rules of the profile, of which `oracle.meaning` knows nothing."""
        operator = self.onnx_node.op_type
        version = self.run_params["opsets"][""]
        profiled = OPERATORS[operator]
        given = {
            name: operand
            for name, operand in zip(profiled.operand_names(len(inputs)), inputs, strict=True)
            if operand is not None
        }
        checked = profiled.operand_names(len(inputs))
        if profiled.repeated_operand is None:
            checked = profiled.checked_operands
        family = element_type_of(next(iter(given.values()))).family
        for rule in profiled.contracts[self.edition].get(family, ()):
            if not rule.in_run or not rule.binds_version(version):
                continue
            bound = rule.of_node({**attributes, VERSION: version}).requirement
            found = bound.violation(rule.select_operands(list(given), list(given.values())))
            if found is not None:
                shapes = tuple(given[name].shape for name in checked if name in given)
                node = self.onnx_node.name
                raise _Broken(
                    RunViolation(rule.id, operator, node, shapes, found.index, found.values)
                )
        results = oracle.meaning(operator, version, attributes, tuple(inputs), self.edition)
        if isinstance(results, oracle.Undefined):
            raise TypeError(f"the documents give {operator} no result: {results.reason}")
        return tuple(result.nearest for result in results)

    def _broadcast(self, *operands: Array) -> tuple[Array, ...]:
        repeated = oracle.broadcast(*operands)
        if isinstance(repeated, oracle.Violation):
            raise self._broken(repeated, BROADCAST.name, *operands)
        return repeated

    def _broken(self, found: oracle.Violation, operator: str, *operands: Array) -> _Broken:
        shapes = tuple(operand.shape for operand in operands)
        node = self.onnx_node.name
        return _Broken(RunViolation(found.rule, operator, node, shapes, found.index, found.values))


def _aligned(operands: tuple[Array, ...], attributes: Mapping[str, Any]) -> tuple[Array, ...]:
    """Give the second operand the axes behind `axis` that Div and Sub of opset 1 and 6 add."""
    if "axis" not in attributes:
        return operands
    a, b = operands
    return a, b.reshape(b.shape + (1,) * (a.ndim - attributes["axis"] - b.ndim))
