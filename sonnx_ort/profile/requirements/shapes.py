"""Requirements on the shapes of operands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS, Broadcastable
from sonnx_ort.profile.rule import (
    VERSION,
    Attributes,
    AttributeValue,
    DependsOnAttributes,
    Judgement,
    NamesOperands,
    Requirement,
    Status,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.language import Decided, Each, Tensor, Term
from sonnx_ort.terms.operand import (
    Operand,
    Shape,
    broadcast_shape,
    contradict,
    format_shape,
    format_size,
)
from sonnx_ort.terms.reading import Answer, Shapes, answer_in_run

_BROADCASTABLE = Broadcastable()


class SameShape:
    """All operands have the same rank and sizes, without broadcasting.

    Equal symbols prove equal sizes only if a single dimension declares the symbol: ONNX Runtime
    does not check that inputs with the same symbol have the same size.
    """

    subject = Subject.EQUAL_SHAPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' known shapes."""
        known = [operand for operand in operands if operand.shape is not None]
        pairs = (_judge_pair(a, b) for a, b in combinations(known, 2))
        judgements = [judgement for judgement in pairs if judgement is not None]
        for judgement in judgements:
            if judgement.status is Status.VIOLATED:
                return judgement
        unknown = " and ".join(o.name for o in operands if o.shape is None)
        if unknown and len(operands) > 1:
            return at_run_time(f"the rank of {unknown} is unknown")
        if judgements:
            return judgements[0]
        if len(operands) > 1 and operands[0].scalar_inputs:
            return at_run_time(SCALAR_INPUTS)
        return proved(_all_equal(operands))

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared shapes of results with the operands' shapes."""
        for result, operand in product(results, operands):
            if contradict(result.shape, operand.shape):
                return violated(
                    f"{result.name} is declared with shape {format_shape(result.shape)}, and "
                    f"{operand.name} has {format_shape(operand.shape)}"
                )
        return None

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the arrays' shapes."""
        first = arrays[0].shape
        if all(array.shape == first for array in arrays):
            return None
        shapes = dict.fromkeys(format_shape(array.shape) for array in arrays)
        return Violation(f"the shapes {' and '.join(shapes)} differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Name the operand to expand, or report incompatible shapes."""
        if _BROADCASTABLE.judge(operands).status is Status.VIOLATED:
            return "the shapes cannot be broadcast to each other; correct the model"
        from sonnx_ort.profile.wording import hint_to_expand

        return hint_to_expand(operands, operands)


class NoBroadcasting(SameShape):
    """Different shapes are forbidden even if ONNX could broadcast them."""

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """As `SameShape`, with evidence that names broadcasting as the reason."""
        judgement = super().judge(operands)
        common = broadcast_shape(*(operand.shape for operand in operands))
        return (
            violated(f"{judgement.evidence}; ONNX would broadcast to {format_shape(common)}")
            if (judgement.status == "violated" and common is not None)
            else judgement
        )


def _judge_pair(a: Operand, b: Operand) -> Judgement | None:
    """Compare two known shapes; None if they are equal in every run."""
    one, other = a.shape or (), b.shape or ()
    if len(one) != len(other):
        return violated(f"rank {len(one)} is not rank {len(other)}")
    pairs = list(enumerate(zip(one, other, strict=True)))
    for axis, (x, y) in pairs:
        if isinstance(x, int) and isinstance(y, int) and x != y:
            return violated(f"axis {axis} has size {x} in {a.name} and {y} in {b.name}")
    for axis, (x, y) in pairs:
        if x != y or x is None:
            sizes = f"{format_size(x)} in {a.name} and {format_size(y)} in {b.name}"
            return at_run_time(f"axis {axis} is {sizes}")
        if not a.certain(x):
            return at_run_time(
                f"axis {axis} is {x} in both, but several dimensions of the inputs are declared "
                "so, and ONNX Runtime does not require them to be equal"
            )
    return None


def _all_equal(operands: Sequence[Operand]) -> str:
    match len(operands):
        case 1:
            return "there is one operand"
        case 2:
            return f"both shapes are {format_shape(operands[0].shape)}"
        case _:
            return f"all shapes are {format_shape(operands[0].shape)}"


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
    """

    operands: tuple[str, ...]
    demand: Callable[[Attributes], Term]
    attributes: tuple[str, ...] = ()
    held: bool = False
    given: tuple[tuple[str, AttributeValue], ...] = ()
    term: Term = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Make the term."""
        object.__setattr__(self, "term", self.demand(dict(self.given)))

    @property
    def subject(self) -> Subject:
        """The subject of the requirement."""
        return Subject.HELD if self.held else Subject.OWN_SHAPE

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
