"""Requirements on the shapes of operands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import (
    VERSION,
    Attributes,
    AttributeValue,
    DependsOnAttributes,
    Judgement,
    NamesOperands,
    Requirement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.evaluation import Answer, Shapes, answer_in_run
from sonnx_ort.terms.language import Decided, Each, Tensor, Term
from sonnx_ort.terms.operand import (
    Operand,
    Shape,
)

AssumedAxes = tuple[tuple[int, int], ...]
"""The axes that ONNX assumes, each with the first version in which it does."""


@dataclass(frozen=True, slots=True)
class OnShapes(DependsOnAttributes, NamesOperands):
    """The shapes of operands are as a term demands.

    Attributes:
        operands: The names of the operands of the rule. Empty, if the term is about each of them.
        demand: Gives the term, from the attributes of the node by name.
        attributes: The names of the attributes that it depends on.
        held: Whether ONNX Runtime refuses the model, or each run, that breaks it, with an error, so
            that no guard is needed. `tests/soundness/test_waivable_rules.py` shows it.
        given: The attributes of the node, by name.
        term: What is demanded of the node.
        subject: The shape; what ONNX Runtime refuses, if it holds the demand.
    """

    operands: tuple[str, ...]
    demand: Callable[[Attributes], Term]
    attributes: tuple[str, ...] = ()
    held: bool = False
    given: tuple[tuple[str, AttributeValue], ...] = ()
    term: Term = field(init=False, compare=False)
    subject: Subject = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Make the term."""
        object.__setattr__(self, "term", self.demand(dict(self.given)))
        object.__setattr__(self, "subject", Subject.HELD if self.held else Subject.OWN_SHAPE)

    def of_node(self, attributes: Attributes) -> Requirement:
        """Give what is demanded of a node."""
        if not self.attributes:
            return self
        names = (*self.attributes, VERSION)
        given = ((name, attributes[name]) for name in names if name in attributes)
        return replace(self, given=tuple(given))

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Read the term of the known shapes."""
        answer = self._answer(operands, [operand.shape for operand in operands])
        if answer.holds is False:
            return violated(answer.words)
        if answer.holds:
            scalars = any(operand.scalar_inputs for operand in operands)
            if not scalars or self._answer(operands, [None] * len(operands)).holds:
                return proved(answer.words)
        remark = "; ONNX Runtime rejects a violation" if self.held else ""
        return at_run_time((SCALAR_INPUTS if answer.holds else answer.words) + remark)

    def _answer(self, operands: Sequence[Operand], shapes: Sequence[Shape | None]) -> Answer:
        by_name = {operand.name: operand for operand in operands}
        known = dict(zip(by_name, shapes, strict=True))
        certain = Shapes(known, lambda name, size: by_name[name].certain(size))
        return certain.answer(self.term)

    def violation_of(
        self, names: Sequence[str], arrays: Sequence[npt.NDArray[Any]]
    ) -> Violation | None:
        """Read the term of the shapes of arrays that have these names."""
        shapes = tuple(array.shape for array in arrays)
        answer = answer_in_run(self.term, tuple(names), shapes)
        return None if answer.holds else Violation(answer.words)


def on_shapes(
    operands: tuple[str, ...],
    demand: Callable[[Attributes], Term],
    attributes: tuple[str, ...] = (),
    *,
    held: bool = False,
) -> OnShapes:
    """The demand of a term."""
    return OnShapes(operands, demand, attributes, held)


def of_rank(rank: int, *, held: bool = False) -> OnShapes:
    """The demand that each operand that is given has a rank."""
    return on_shapes((), lambda _: Each(lambda x: x.rank == rank), held=held)


def axis_of(attributes: Attributes, assumed: AssumedAxes = ((1, 0),)) -> AttributeValue:
    """The attribute `axis` of a node, or the axis that ONNX assumes; None if there is none.

    Args:
        attributes: The attributes of the node, and the version of the standard operators.
        assumed: What is assumed if it is omitted, with the first version in which it is.
    """
    axis, version = attributes.get("axis"), attributes.get(VERSION, 1)
    if axis is None and isinstance(version, int):
        *_, axis = (None, *(own for since, own in assumed if since <= version))
    return axis


def on_axis(term: Callable[[int], Term], attributes: Attributes, assumed: AssumedAxes) -> Term:
    """The term about the axis of a node; without an axis it does not hold."""
    axis = axis_of(attributes, assumed)
    return term(axis) if isinstance(axis, int) else Decided(False, "the attribute axis is left out")


def has_axis(
    *, assumed: AssumedAxes = ((1, 0),), or_end: bool = False, held: bool = False
) -> OnShapes:
    """The demand that each operand has the axis of the node; `or_end` admits its rank too."""

    def demand(attributes: Attributes) -> Term:
        return on_axis(
            lambda axis: Each(lambda x: x.has_axis(axis, or_end=or_end)), attributes, assumed
        )

    return on_shapes((), demand, attributes=("axis",), held=held)


def axis_not_empty(name: str) -> OnShapes:
    """The demand that the axis of the node, 0 by default, has elements."""

    def demand(attributes: Attributes) -> Term:
        return on_axis(lambda axis: Tensor(name).size(axis) >= 1, attributes, ((1, 0),))

    return on_shapes((name,), demand, attributes=("axis",))
