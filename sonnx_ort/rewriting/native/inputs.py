"""Puts inputs of a model behind what its nodes need of them.

There is one look at the inputs for all nodes whose shapes rest on their agreement:

    Shape(x), Shape(y) -> Gather -> Equal -> Where(equal, Shape(x), -code) -> Reshape(x) -> x

Every input that is concerned can only be reached through such a `Reshape`.
"""

from collections.abc import Mapping, Sequence
from functools import reduce

import onnx_ir as ir

from sonnx_ort.analysis.agreement import Agreement, InputAxis, find_agreements, settle
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.rewriting.hidden_shapes import hide_declarations, readers_of, scalars_behind
from sonnx_ort.rewriting.native.record import GroupRecorder, Original
from sonnx_ort.rewriting.replacement import Uses, put_behind_inputs, uses_of
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_MANY = 8
"""Of more nodes than this, a name says only how many there are."""


def prepare_inputs(
    model: ir.Model, examination: Examination, names: ValueNames, recorder: GroupRecorder
) -> Sequence[ExaminedNode]:
    """Guard inputs where that decides the shapes of several nodes, and hide false declarations.

    Args:
        model: The model; changed in place.
        examination: All that the profile demands of it.
        names: Gives names to new values.
        recorder: Takes down what is added.

    Returns:
        The nodes with what is left to enforce.
    """
    opset = model.opset_imports[STANDARD_DOMAIN]

    def put_behind(nodes: StandardNodes, behind: Mapping[ir.Value, ir.Value], uses: Uses) -> None:
        pairs = tuple((str(v.name), str(guarded.name)) for v, guarded in behind.items())
        recorder.record(nodes.nodes, Original(None, inputs=pairs))
        put_behind_inputs(model.graph, uses, nodes.nodes, behind)

    scalars = scalars_behind(examination.nodes, examination.facts)
    if scalars:
        uses = readers_of(scalars)
        nodes = StandardNodes(names, "inputs", opset)
        put_behind(nodes, hide_declarations(nodes, scalars), uses)
    agreements = find_agreements(model, examination.nodes, examination.facts)
    if agreements:
        uses = uses_of(place.value for agreement in agreements for place in agreement.axes)
        nodes = StandardNodes(names, "inputs", opset)
        put_behind(nodes, _guard_inputs(nodes, agreements), uses)
    resting = {id(node) for agreement in agreements for node in agreement.resting}
    return [settle(n) if id(n) in resting else n for n in examination.nodes]


def _guard_inputs(
    nodes: StandardNodes, agreements: Sequence[Agreement]
) -> dict[ir.Value, ir.Value]:
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
        if o.status is Status.RUNTIME and o.rule.requirement.subject is Subject.EQUAL_SHAPES
    )


def _name(value: ir.Value, agreement: Agreement, rule: Rule) -> str:
    holder = agreement.holders[0].target
    others = dict.fromkeys(f"'{p.value.name}'" for p in agreement.axes if p.value is not value)
    labels = [f"{n.target.operator.name} '{n.target.label}'" for n in agreement.resting]
    shown = ", ".join(labels) if len(labels) <= _MANY else f"{len(labels)} nodes"
    return (
        f"{guard_name(holder.operator.name, holder.label, [rule])}; input '{value.name}' has to "
        f"agree with {', '.join(others)} on '{agreement.symbol}' for {shown}"
    )
