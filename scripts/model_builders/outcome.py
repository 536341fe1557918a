"""What has to come of a model: the exact oracle computes its enforced nodes, ONNX the others."""

from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import onnx
import restrictions
from onnx import helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from sonnx_ort import meaning as oracle
from sonnx_ort.meaning import elementwise
from sonnx_ort.models import Outputs, Rejection, RunViolation, StaticViolation
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST, E1
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]


def outcome(  # noqa: PLR0913 - keyword arguments
    model: onnx.ModelProto,
    inputs: Mapping[str, Array],
    edition: Edition,
    *,
    explicit: bool,
    operators: Collection[str],
    unneeded: Container[str] = frozenset(),
) -> Outputs | RunViolation:
    """Compute a model: its outputs, or the first rule that it breaks.

    Args:
        model: The model; nodes in functions are named as there, without the calls.
        inputs: Its inputs by name.
        edition: The edition of the profile.
        explicit: Whether operands of Div and Sub are broadcast.
        operators: The operators that are enforced.
        unneeded: Rules against kernels that do not count.
    """
    enforced: list[type[OpRun]] = [
        type(
            operator,
            (_ExactNode,),
            {
                "op_domain": DOMAIN if operator == BROADCAST.name else "",
                "edition": edition,
                "explicit": explicit,
                "unneeded": unneeded,
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
        # It takes a condition that is omitted for false.
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
    unneeded: ClassVar[Container[str]]

    def _run(self, *inputs: Array | None, **_: object) -> tuple[Array, ...]:
        """Compute the outputs, or raise `_Broken`."""
        operator = self.onnx_node.op_type
        attributes = {a.name: helper.get_attribute_value(a) for a in self.onnx_node.attribute}
        if operator not in elementwise.OPERATORS and operator in oracle.COMPUTED:
            return self._meant(inputs, attributes)
        operands = tuple(map(np.asarray, inputs))
        if operator == BROADCAST.name or self.explicit:
            operands = self._broadcast(*_aligned(operands, attributes))
        if operator == BROADCAST.name:
            return operands
        of_type = element_type_of(operands[-1])
        found = restrictions.outcome(
            operator, operands, of_type, self.edition, attributes, unneeded=self.unneeded
        )
        if isinstance(found, restrictions.Violation):
            raise self._broken(found, operator, operands)
        return (found,)

    def _meant(
        self, inputs: Sequence[Array | None], attributes: Mapping[str, Any]
    ) -> tuple[Array, ...]:
        """The outputs by the oracle's `meaning`, which knows no rules."""
        operator = self.onnx_node.op_type
        operands = [None if each is None else np.asarray(each) for each in inputs]
        read = {name: _read(value) for name, value in attributes.items()}
        version = int(self.run_params["opsets"][""])
        values = {n: None if isinstance(v, np.ndarray) else v for n, v in read.items()}
        # Without operands no run breaks a rule.
        for operand in [each for each in operands if each is not None][:1]:
            asked = operator, operands, element_type_of(operand), self.edition, values
            for _, found in restrictions.decided_in_run(*asked, version=version):
                if found is not None:
                    raise self._broken(found, operator, operands)
        results = oracle.meaning(operator, version, read, operands, self.edition)
        if not isinstance(results, tuple):
            raise TypeError(f"{operator} '{self.onnx_node.name}': {results.reason}")
        return tuple(result.nearest for result in results)[: len(self.onnx_node.output)]

    def _broadcast(self, *operands: Array) -> tuple[Array, ...]:
        repeated = restrictions.broadcast(*operands)
        if isinstance(repeated, restrictions.Violation):
            raise self._broken(repeated, BROADCAST.name, operands)
        return repeated

    def _broken(
        self, found: restrictions.Violation, operator: str, operands: Sequence[Array | None]
    ) -> _Broken:
        profiled = OPERATORS[operator]
        names = profiled.operand_names(len(operands))
        whole = profiled.elementwise or profiled.repeated_operand is not None
        checked = names if whole else profiled.checked_operands
        shapes = tuple(
            operand.shape
            for name, operand in zip(names, operands, strict=False)
            if operand is not None and name in checked
        )
        node = self.onnx_node.name
        return _Broken(RunViolation(found.rule, operator, node, shapes, found.index, found.values))


def _read(value: Any) -> Any:
    """The value of an attribute: a text, a tuple of values, an array or a number."""
    match value:
        case bytes():
            return value.decode()
        case list():
            return tuple(map(_read, value))
        case onnx.TensorProto():
            return numpy_helper.to_array(value)
    return value


def _aligned(operands: tuple[Array, ...], attributes: Mapping[str, Any]) -> tuple[Array, ...]:
    """Give the second operand the axes after `axis` that Div and Sub of opset 1 and 6 add."""
    if "axis" not in attributes:
        return operands
    a, b = operands
    return a, b.reshape(b.shape + (1,) * (a.ndim - attributes["axis"] - b.ndim))
