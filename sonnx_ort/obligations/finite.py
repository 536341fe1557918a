"""Finds the float values that `Graph.finite` is asked for, with one obligation each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import onnx_ir as ir

from sonnx_ort.errors import SonnxError
from sonnx_ort.knowledge.declarations import constant_tensor, declared_type
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.targets import label_of, nodes_with_paths
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from sonnx_ort.profile.finite import FINITE, FINITE_OUTPUTS, FINITE_VALUES
from sonnx_ort.profile.options import Demands
from sonnx_ort.profile.rule import Judgement, Status
from sonnx_ort.terms.operand import Operand


@dataclass(frozen=True, slots=True)
class FiniteValue:
    """A value whose elements have to be finite.

    Attributes:
        operand: What is known of it.
        may_be_misinferred: Whether ONNX Runtime may infer a wrong rank or wrong sizes.
    """

    value: ir.Value
    operand: Operand
    obligation: Obligation
    may_be_misinferred: bool

    @property
    def left_to_the_run(self) -> bool:
        """Whether each run has to check it; a waived constant is not checked."""
        return self.obligation.status is Status.RUNTIME

    @property
    def node(self) -> ir.Node:
        """The node that computes it.

        Raises:
            SonnxError: There is none, so that no guard can stand behind it.
        """
        producer = self.value.producer()
        if producer is None:
            raise SonnxError(
                f"{FINITE.id}: no node computes the output '{self.value.name}', so it cannot be "
                "checked; insert an Identity in front of it"
            )
        return producer

    @property
    def element_type(self) -> ElementType:
        """The type of its elements, proved or declared.

        Raises:
            SonnxError: It is neither.
        """
        element_type = ElementType.named(self.operand.element_type)
        if element_type is None:
            raise SonnxError(
                f"{FINITE.id}: the element type of '{self.value.name}', which "
                f"{self.obligation.place} computes, is unknown; declare it in value_info"
            )
        return element_type


def finite_values(model: ir.Model, facts: Facts, demands: Demands) -> tuple[FiniteValue, ...]:
    """Find the values that a caller wants to be finite, in the order of the graph.

    Args:
        model: A canonical model.
        facts: What is known of its values.
        demands: What the caller asks for.
    """
    asked_for: list[tuple[ir.Value, tuple[str, ...]]] = []
    if FINITE_VALUES in demands.operators:
        asked_for += _computed(model)
    if FINITE_OUTPUTS in demands.operators:
        asked_for += [(value, ()) for value in model.graph.outputs]
    return tuple(
        _finite_value(value, path, facts)
        for value, path in dict(asked_for).items()
        if _may_be_float(value, facts)
    )


def _computed(model: ir.Model) -> Iterator[tuple[ir.Value, tuple[str, ...]]]:
    """The values that nodes compute and that are read, each with the path of its node."""
    for node, path in nodes_with_paths(model):
        for value in node.outputs:
            if value.name and (value.is_graph_output() or any(value.uses())):
                yield value, path


def _may_be_float(value: ir.Value, facts: Facts) -> bool:
    kind = facts.element_type(value) or declared_type(value)
    return facts.may_be_tensor(value) and (kind is None or kind in FLOAT_TYPES)


def _finite_value(value: ir.Value, path: tuple[str, ...], facts: Facts) -> FiniteValue:
    (operand,) = facts.operands(("output",), (value,))
    if operand.element_type is None:
        # A session with types that do not match does not start.
        operand = replace(operand, element_type=declared_type(value))
    judgement = _judge(value, operand)
    node = value.producer()
    is_violated = judgement.status is Status.VIOLATED
    obligation = Obligation(
        FINITE,
        "" if node is None else node.op_type,
        "" if node is None else label_of(node),
        (operand,),
        judgement.status,
        judgement.evidence,
        "replace it by a large finite number" if is_violated else "",
        path,
    )
    return FiniteValue(value, operand, obligation, facts.may_be_misinferred(value))


def _judge(value: ir.Value, operand: Operand) -> Judgement:
    tensor = constant_tensor(value)
    known = operand if tensor is None else replace(operand, constant=tensor.numpy())
    return FINITE.requirement.judge([known])
