"""What the guards of earlier nodes settle, in every run that reaches a node.

A run of the enforced model checks it there, and not again. Without guards nothing holds it, so that
it is not proved of the model as it is.

The result of an enforced node exists only if the node kept its rules. Then its operands and its
result have the same shape, a divisor that it checked has no zeros, and a size that met a 1 in a
Broadcast, or that a Conv computed for a spatial axis, is not 0. A guard counts only if no run can
skip it and ONNX Runtime cannot remove it: it must be on the path to the operands, through operators
that read the elements of their inputs.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode, operands_fit
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.values.graph_node import reads_elements_of, rule_for
from sonnx_ort.facts.operators import like_first
from sonnx_ort.loading.traversal import label_of
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.requirements.broadcasting import aligned_axes, fit_in_every_run
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.rule import Status, Subject
from sonnx_ort.terms.numbers import NumberSet
from sonnx_ort.terms.operand import Dimension, Shape

_SPATIAL = 2
"""Number of axes of a Conv before the spatial ones: batch and channels."""


class PassedGuards:
    """Visits the nodes of a model in order, and records what their guards guarantee.

    Sets of guards and of values are bit masks.
    """

    def __init__(self, version: int, shape: Callable[[ir.Value], Shape | None]) -> None:
        """Start before the first node; `shape` gives the certain shape of a value."""
        self._version = version
        self._shape = shape
        self._labels: list[str] = []
        self._shape_guard: dict[ir.Value, int] = {}
        self._guards_of: dict[ir.Value, int] = {}
        self._bits: dict[ir.Value, int] = {}
        self._shaped_like: dict[ir.Value, int] = {}
        self._decided: dict[tuple[Hashable, tuple[ir.Value, ...]], int] = {}
        self._positive: dict[Dimension, int] = {}

    def visit(self, node: ir.Node) -> None:
        """Visit a node that enforces no rules."""
        rule = rule_for(node, self._version)
        if rule is None:
            return
        passed = self._guards_before(node.inputs[index] for index in reads_elements_of(node))
        if node.op_type == "Conv":
            own = self._add_guard(f"Conv '{label_of(node)}'")
            passed |= own
            self._note_image(node, own)
        self._guards_of.update(dict.fromkeys(node.outputs, passed))
        if rule.shapes is like_first and node.inputs[0] is not None:
            self._shaped_like[node.outputs[0]] = self._with_same_shape(node.inputs[0])
            self._shape_guard[node.outputs[0]] = self._shape_guard.get(node.inputs[0], -1)

    def prove(self, examined: ExaminedNode) -> ExaminedNode:
        """Settle runtime obligations of a node by the guards of earlier nodes.

        That a Broadcast fits is proved: it stands in the enforced model alone, as its guards do.
        """
        proved = tuple(self._with_proof(o, examined) for o in examined.obligations)
        if proved == examined.obligations:
            return examined
        plan = examined.broadcast
        if plan is not None:
            plan = replace(plan, fits=operands_fit(proved))
        return replace(examined, obligations=proved, broadcast=plan, proof_uses_guards=True)

    def record(self, examined: ExaminedNode) -> None:
        """Visit an enforced node: a run continues after it only if its rules are kept."""
        ruled = examined.ruled
        own = self._add_guard(f"{ruled.operator.name} '{ruled.label}'")
        passed = self._guards_before(ruled.inputs) | own
        self._guards_of.update(dict.fromkeys(ruled.node.outputs, passed))
        if ruled.operator is not BROADCAST:
            same_shape = map(self._with_same_shape, self._of_the_result_shape(examined))
            self._shaped_like[ruled.output] = reduce(or_, same_shape, 0)
            unary = len(ruled.inputs) == 1
            last = self._shape_guard.get(ruled.inputs[0], -1) if unary else len(self._labels) - 1
            self._shape_guard[ruled.output] = last
        for obligation in examined.obligations:
            decision = _decided_by(obligation, examined)
            if decision is not None:
                self._decided[decision] = self._decided.get(decision, 0) | own
        for sizes in _axes_that_may_clash_at_0(examined):
            if 1 in sizes:
                self._note_positive(sizes, own)
        if ruled.operator.name == "Conv":
            self._note_image(ruled.node, own)

    def _with_proof(self, obligation: Obligation, examined: ExaminedNode) -> Obligation:
        if not obligation.left_to_the_run:
            return obligation
        evidence = None
        subject = obligation.rule.requirement.subject
        if subject is Subject.EQUAL_SHAPES:
            evidence = self._equal_shapes(examined)
        elif subject is Subject.COMMON_SHAPE:
            evidence = self._no_size_of_0(examined)
        else:
            decision = _decided_by(obligation, examined)
            if decision is not None:
                evidence = self._decided_before(decision, examined)
        if evidence is None:
            return obligation
        if subject is Subject.COMMON_SHAPE:
            return replace(obligation, status=Status.PROVED, evidence=evidence)
        return replace(obligation, evidence=evidence, checked_before=True)

    def _equal_shapes(self, examined: ExaminedNode) -> str | None:
        if examined.broadcast is not None or any(examined.may_be_misinferred):
            return None
        inputs = examined.ruled.inputs
        common = reduce(and_, map(self._with_same_shape, inputs))
        if not common:
            return None
        guard = max(self._shape_guard.get(value, -1) for value in inputs)
        if guard < 0:
            return None
        return f"{self._labels[guard]}, which comes before, requires one shape for them"

    def _no_size_of_0(self, examined: ExaminedNode) -> str | None:
        """Evidence that no size of 0 meets a 1, if operands can only be incompatible that way."""
        before = self._guards_before(examined.ruled.inputs)
        axes = list(_axes_that_may_clash_at_0(examined))
        open_sizes = [set(sizes) - {1} for sizes in axes]
        if not axes or any(len(sizes) != 1 for sizes in open_sizes):
            return None
        guards = [self._positive.get(size, 0) & before for (size,) in open_sizes]
        if not all(guards):
            return None
        last = max(guard.bit_length() - 1 for guard in guards)
        return (
            f"no size of 0 meets a 1, because {self._labels[last]}, which comes before, has passed"
        )

    def _add_guard(self, label: str) -> int:
        """Register a guard and return its bit."""
        self._labels.append(label)
        return 1 << (len(self._labels) - 1)

    def _note_image(self, node: ir.Node, own: int) -> None:
        """Note the sizes after a Conv, whose kernel rejects an image smaller than a filter."""
        self._note_positive((self._shape(node.outputs[0]) or ())[_SPATIAL:], own)

    def _note_positive(self, sizes: Iterable[Dimension], own: int) -> None:
        for size in sizes:
            self._positive[size] = self._positive.get(size, 0) | own

    def _decided_before(
        self, decision: tuple[Hashable, tuple[ir.Value, ...]], examined: ExaminedNode
    ) -> str | None:
        before = self._decided.get(decision, 0) & self._guards_before(examined.ruled.inputs)
        if not before:
            return None
        names = " and ".join(f"'{value.name}'" for value in decision[1])
        label = self._labels[before.bit_length() - 1]
        return f"{label}, which comes before, has checked {names}"

    def _of_the_result_shape(self, examined: ExaminedNode) -> Sequence[ir.Value]:
        """The operands that have the shape of the result in every run that continues."""
        inputs = examined.ruled.inputs
        if examined.broadcast is not None:
            pairs = zip(inputs, examined.broadcast.expanded, strict=True)
            return [value for value, expanded in pairs if not expanded]
        subjects = (o.rule.requirement.subject for o in examined.obligations)
        if Subject.EQUAL_SHAPES in subjects:
            return inputs
        rule = rule_for(examined.ruled.node, self._version)
        return inputs[:1] if rule is not None and rule.shapes is like_first else ()

    def _guards_before(self, values: Iterable[ir.Value | None]) -> int:
        return reduce(or_, (self._guards_of.get(v, 0) for v in values if v is not None), 0)

    def _with_same_shape(self, value: ir.Value) -> int:
        """The bits of the values that have the shape of this one, including itself."""
        if value not in self._bits:
            self._bits[value] = 1 << len(self._bits)
        return self._bits[value] | self._shaped_like.get(value, 0)


def _axes_that_may_clash_at_0(examined: ExaminedNode) -> Iterator[tuple[Dimension, ...]]:
    """The sizes on each axis of a Broadcast not known to fit; none if a shape is uncertain.

    A size known only by an uncertain symbol is None.
    """
    plan = examined.broadcast
    if plan is None or plan.alignment is not None or any(examined.may_be_misinferred):
        return
    operands = plan.operands
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands) or any(o.scalar_inputs for o in operands):
        return
    for _, sizes in aligned_axes(shapes):
        if not fit_in_every_run(operands, sizes):
            certain = all(operands[0].certain(size) for size in sizes)
            yield sizes if certain else (None,)


def _decided_by(
    obligation: Obligation, examined: ExaminedNode
) -> tuple[Hashable, tuple[ir.Value, ...]] | None:
    """What a run checks, and the values that decide it; None if other values matter too."""
    requirement, ruled = obligation.rule.requirement, examined.ruled
    if not obligation.left_to_the_run or not isinstance(requirement, OnElements):
        return None
    if not requirement.checked or not isinstance(requirement.numbers, NumberSet):
        return None
    given = zip(ruled.operand_names, ruled.inputs, strict=True)
    return requirement.numbers, tuple(v for name, v in given if name == requirement.checked)
