"""One look at the inputs for all nodes whose shapes rest on their agreement.

    Shape(x), Shape(y) -> Gather -> Equal -> Where(equal, Shape(x), -code) -> Reshape(x) -> x

Every input that is concerned can only be reached through such a `Reshape`.
"""

from collections.abc import Sequence
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.agreement import Agreement, InputAxis
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Rule
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_MANY = 8
"""Of more nodes than this, a name says only how many there are."""


def guard_inputs(nodes: StandardNodes, agreements: Sequence[Agreement]) -> dict[ir.Value, ir.Value]:
    """Let inputs through where they agree.

    Args:
        nodes: Takes the new nodes.
        agreements: What the inputs have to agree on.

    Returns:
        For each input that is concerned, itself behind its guard.
    """
    concerned = dict.fromkeys(place.value for a in agreements for place in a.axes)
    shapes = {value: nodes.shape(value) for value in concerned}
    kept = [(agreement, _all_equal(nodes, agreement.axes, shapes)) for agreement in agreements]
    guarded = {}
    for value, shape in shapes.items():
        own = [(a, equal) for a, equal in kept if any(p.value is value for p in a.axes)]
        agreed = reduce(
            lambda one, other: nodes.add("And", [one, other], "agreed"), [e for _, e in own]
        )
        agreement = own[0][0]
        rule = _broken_rule(agreement.holders[0])
        decided = nodes.add(
            "Where", [agreed, shape, nodes.constant([-rule.code], "code")], "shape_or_code"
        )
        name = _name(value, agreement, rule)
        guarded[value] = nodes.add("Reshape", [value, decided], f"{value.name}_agreed", name=name)
    return guarded


def _all_equal(
    nodes: StandardNodes, axes: Sequence[InputAxis], shapes: dict[ir.Value, ir.Value]
) -> ir.Value:
    first, *others = (
        nodes.add(
            "Gather",
            [shapes[place.value], nodes.constant([place.axis], "axis")],
            "size",
            {"axis": 0},
        )
        for place in axes
    )
    equal = [nodes.add("Equal", [first, other], "equal") for other in others]
    return reduce(lambda one, other: nodes.add("And", [one, other], "all_equal"), equal)


def _broken_rule(node: ExaminedNode) -> Rule:
    """The rule that the node breaks where the inputs do not agree."""
    return next(
        o.rule
        for o in node.obligations
        if o.status is Status.RUNTIME and isinstance(o.rule.requirement, SameShape)
    )


def _name(value: ir.Value, agreement: Agreement, rule: Rule) -> str:
    holder = agreement.holders[0].target
    others = dict.fromkeys(f"'{p.value.name}'" for p in agreement.axes if p.value is not value)
    labels = [f"{n.target.operator.name} '{n.target.label}'" for n in agreement.resting]
    shown = ", ".join(labels) if len(labels) <= _MANY else f"{len(labels)} nodes"
    against = f" with {', '.join(others)}" if others else ""
    return (
        f"{guard_name(holder.operator.name, holder.label, [rule])}; input '{value.name}' has to "
        f"agree{against} on '{agreement.symbol}' for {shown}"
    )
