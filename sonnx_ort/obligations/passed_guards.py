"""What nodes that come before have made certain for a node, in every run that reaches it.

What is computed from the result of an enforced node is computed only where that node kept its
rules. Its operands and its result have one shape there, and a divisor that it looked at has no
zero; a size that met a 1 behind a Broadcast, or that a Conv gave to a spatial axis, is not 0.
Nothing rests on a node that a run may skip, or that ONNX Runtime may leave out: the node lies
on the way to the operands, and only by operators that read the elements of what comes from it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_, or_

import onnx_ir as ir

from sonnx_ort.knowledge.shapes.catalog import reads_elements_of, rule_for
from sonnx_ort.knowledge.shapes.elementwise import like_first
from sonnx_ort.obligations.examined_node import ExaminedNode, operands_fit
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.operand import Dimension, Shape, broadcast_shape, has_known_sizes
from sonnx_ort.profile.requirements.broadcasting import aligned_axes, fit_in_every_run
from sonnx_ort.profile.rule import DecidedByOperands, Status, Subject

_SPATIAL = 2
"""The axes of a Conv before its spatial ones: examples and filters."""


class PassedGuards:
    """Goes through a model's nodes in their order, and remembers what they make certain.

    Sets of nodes and of values are the bits of integers.
    """

    def __init__(self, version: int, shape: Callable[[ir.Value], Shape | None]) -> None:
        """Start before the first node.

        Args:
            version: The version of the standard operators that the model imports.
            shape: Gives the certain shape of a value.
        """
        self._version = version
        self._shape = shape
        self._labels: list[str] = []
        self._holder: dict[ir.Value, int] = {}
        self._values: list[ir.Value] = []
        self._behind: dict[ir.Value, int] = {}
        self._bits: dict[ir.Value, int] = {}
        self._shaped_like: dict[ir.Value, int] = {}
        self._decided: dict[tuple[Hashable, tuple[ir.Value, ...]], int] = {}
        self._positive: dict[Dimension, int] = {}

    def follow(self, node: ir.Node) -> None:
        """Go past a node that no rule binds.

        Args:
            node: The node.
        """
        rule = rule_for(node, self._version)
        if rule is None:
            return
        passed = self._nodes_before(node.inputs[index] for index in reads_elements_of(node))
        if node.op_type == "Conv":
            # Its kernel refuses an image with no room for a filter.
            own = self._holds(f"Conv '{node.name or node.outputs[0].name}'")
            passed |= own
            self._note_positive((self._shape(node.outputs[0]) or ())[_SPATIAL:], own)
        if passed:
            self._behind.update(dict.fromkeys(node.outputs, passed))
        if rule.shapes is like_first and node.inputs[0] is not None:
            self._shaped_like[node.outputs[0]] = self._alike(node.inputs[0])
            self._holder[node.outputs[0]] = self._holder.get(node.inputs[0], -1)

    def settle(self, examined: ExaminedNode) -> ExaminedNode:
        """Take for proved what nodes that come before have made certain.

        Args:
            examined: The node, with its obligations.
        """
        settled = tuple(self._settled(o, examined) for o in examined.obligations)
        if settled == examined.obligations:
            return examined
        plan = examined.broadcast
        if plan is not None:
            plan = replace(plan, fits=operands_fit(settled))
        return replace(examined, obligations=settled, broadcast=plan, rests_on_guards=True)

    def record(self, examined: ExaminedNode) -> None:
        """Go past a node that rules bind, and that a run passes only if it keeps them.

        Args:
            examined: The node, with its obligations.
        """
        target = examined.target
        own = self._holds(f"{target.operator.name} '{target.label}'")
        passed = self._nodes_before(target.inputs) | own
        self._behind.update(dict.fromkeys(target.node.outputs, passed))
        if target.operator is not BROADCAST:
            alike = map(self._alike, self._of_the_result_shape(examined))
            self._shaped_like[target.output] = reduce(or_, alike, 0)
            alone = len(target.inputs) == 1
            last = self._holder.get(target.inputs[0], -1) if alone else len(self._labels) - 1
            self._holder[target.output] = last
        for obligation in examined.obligations:
            key = _decided_by(obligation, examined)
            if key is not None:
                self._decided[key] = self._decided.get(key, 0) | own
        for sizes in _axes_that_may_clash_at_0(examined):
            if 1 in sizes:
                self._note_positive(sizes, own)

    def _settled(self, obligation: Obligation, examined: ExaminedNode) -> Obligation:
        if obligation.status is not Status.RUNTIME:
            return obligation
        evidence = None
        subject = obligation.rule.requirement.subject
        if subject is Subject.EQUAL_SHAPES:
            evidence = self._equal_shapes(examined)
        elif subject is Subject.COMMON_SHAPE:
            evidence = self._no_size_of_0(examined)
        else:
            key = _decided_by(obligation, examined)
            if key is not None:
                evidence = self._decided_before(key, examined)
        if evidence is None:
            return obligation
        return replace(obligation, status=Status.PROVED, evidence=evidence)

    def _equal_shapes(self, examined: ExaminedNode) -> str | None:
        if examined.broadcast is not None or _known_to_the_optimizer(examined):
            return None
        inputs = examined.target.inputs
        common = reduce(and_, map(self._alike, inputs))
        if not common:
            return None
        holder = max(self._holder.get(value, -1) for value in inputs)
        if holder >= 0:
            return f"{self._labels[holder]}, which comes before, holds them to one shape"
        value = self._values[common.bit_length() - 1]
        return f"all have the shape of '{value.name}'"

    def _no_size_of_0(self, examined: ExaminedNode) -> str | None:
        """Why no size of 0 meets one of 1, if nothing else keeps the operands apart."""
        before = self._nodes_before(examined.target.inputs)
        axes = list(_axes_that_may_clash_at_0(examined))
        open_sizes = [set(sizes) - {1} for sizes in axes]
        if not axes or any(len(sizes) != 1 for sizes in open_sizes):
            return None
        holders = [self._positive.get(size, 0) & before for (size,) in open_sizes]
        if not all(holders):
            return None
        last = max(holder.bit_length() - 1 for holder in holders)
        return f"no size that meets a 1 is 0: {self._labels[last]}, which comes before, has passed"

    def _holds(self, label: str) -> int:
        """The bit of one more node that later ones may rest on."""
        self._labels.append(label)
        return 1 << (len(self._labels) - 1)

    def _note_positive(self, sizes: Iterable[Dimension], own: int) -> None:
        for size in sizes:
            self._positive[size] = self._positive.get(size, 0) | own

    def _decided_before(
        self, key: tuple[Hashable, tuple[ir.Value, ...]], examined: ExaminedNode
    ) -> str | None:
        before = self._decided.get(key, 0) & self._nodes_before(examined.target.inputs)
        if not before:
            return None
        names = " and ".join(f"'{value.name}'" for value in key[1])
        label = self._labels[before.bit_length() - 1]
        return f"{label}, which comes before, has looked at {names}"

    def _of_the_result_shape(self, examined: ExaminedNode) -> Sequence[ir.Value]:
        """The operands that have the shape of the result in every run that goes on."""
        inputs = examined.target.inputs
        if examined.broadcast is not None:
            pairs = zip(inputs, examined.broadcast.expanded, strict=True)
            return [value for value, expanded in pairs if not expanded]
        subjects = (o.rule.requirement.subject for o in examined.obligations)
        if Subject.EQUAL_SHAPES in subjects:
            return inputs
        rule = rule_for(examined.target.node, self._version)
        return inputs[:1] if rule is not None and rule.shapes is like_first else ()

    def _nodes_before(self, values: Iterable[ir.Value | None]) -> int:
        return reduce(or_, (self._behind.get(v, 0) for v in values if v is not None), 0)

    def _alike(self, value: ir.Value) -> int:
        """The values of which one has the shape, itself among them."""
        if value not in self._bits:
            self._bits[value] = 1 << len(self._values)
            self._values.append(value)
        return self._bits[value] | self._shaped_like.get(value, 0)


def _axes_that_may_clash_at_0(examined: ExaminedNode) -> Iterator[tuple[Dimension, ...]]:
    """The sizes on each axis of a Broadcast that are not known to fit; none if a shape is in doubt.

    A size that only its name tells could be another one elsewhere.
    """
    plan = examined.broadcast
    if plan is None or plan.alignment is not None or any(examined.mistakable):
        return
    operands = plan.operands
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands) or any(o.scalar_inputs for o in operands):
        return
    for _, sizes in aligned_axes(shapes):
        if not fit_in_every_run(operands, sizes):
            certain = all(operands[0].certain(size) for size in sizes)
            yield sizes if certain else (None,)


def _known_to_the_optimizer(examined: ExaminedNode) -> bool:
    """Whether ONNX Runtime may know the shape of the result.

    It leaves out the node and the guards before it then, if only the Shape of the result is read.
    """
    common = broadcast_shape(*(operand.shape for operand in examined.operands))
    shapes = [*(operand.shape for operand in examined.operands), common]
    return any(map(has_known_sizes, shapes)) or any(examined.mistakable)


def _decided_by(
    obligation: Obligation, examined: ExaminedNode
) -> tuple[Hashable, tuple[ir.Value, ...]] | None:
    """What a run decides, and the values that decide it; None if it depends on more than these."""
    requirement = obligation.rule.requirement
    looked_at = obligation.status is Status.RUNTIME and requirement.subject is Subject.ELEMENTS
    if not looked_at or not isinstance(requirement, DecidedByOperands):
        return None
    target = examined.target
    names = target.operand_names
    return requirement.decides, tuple(
        value
        for name, value in zip(names, target.inputs, strict=True)
        if name in requirement.deciding
    )
