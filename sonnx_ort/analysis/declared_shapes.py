"""What holds only if the file declares true shapes.

ONNX Runtime takes declared shapes for true: it computes a Shape of them, and leaves out an Expand
to them. So what is proved of values behind a declared shape that is not proved holds once the model
is rewritten, which declares no such shape, and not before:

    (float[n, k] x) => (float[n, k] z) <float[3, 4] a> {
        a = Neg(x)  s = Shape(a)  o = ConstantOfShape(s)  z = Add(a, o)
    }

Both operands of Add have the shape (n, k), by the rules of the operators. A session of this file
takes s for [3, 4], and broadcasts an `a` of one element.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation, once_rewritten
from sonnx_ort.analysis.values.declarations import declared_shape, sizes_of
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.loading.declarations import declared_elsewhere
from sonnx_ort.loading.traversal import subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Status, Subject
from sonnx_ort.terms.operand import Operand, Shape, format_shape

Declared = tuple[ir.Value, Shape]
"""A value, and a shape that the file declares of it."""

Behind = Mapping[ir.Value, Declared]
"""What is declared without proof in front of each value, or of it itself."""


def unproved_shapes(
    inputs: Container[ir.Value], values: Sequence[ir.Value], facts: Facts
) -> dict[ir.Value, Shape]:
    """The declared shapes that say more than is certain, by the value; of a value, one of them.

    Args:
        inputs: The inputs of the model.
        values: All values of the model.
        facts: What is known of them.
    """
    elsewhere = declared_elsewhere(values)
    unproved = {}
    for value in filter(lambda value: value.name, values):
        # ONNX Runtime holds inputs and initializers to what is declared of them there.
        held = value in inputs or value.is_initializer()
        own = None if held else declared_shape(value)
        stated = [*([] if own is None else [own]), *map(sizes_of, elsewhere.get(value, ()))]
        for shape in stated:
            if not _is_proved(shape, facts, value):
                unproved[value] = shape
    return unproved


def _is_proved(stated: Shape, facts: Facts, value: ir.Value) -> bool:
    """Whether a value has the declared rank and sizes in every run; names of sizes say nothing."""
    actual = facts.shape(value)
    if actual is None or len(actual) != len(stated) or facts.depends_on_scalar_inputs(value):
        return False
    pairs = zip(stated, actual, strict=True)
    return all(own == size for own, size in pairs if isinstance(own, int))


def values_behind(graph: ir.Graph, unproved: Mapping[ir.Value, Shape]) -> Behind:
    """The values that depend on a value whose declared shape is not proved."""
    behind = {value: (value, stated) for value, stated in unproved.items()}
    if behind:
        _follow(graph, behind)
    return behind


def _follow(graph: ir.Graph, behind: dict[ir.Value, Declared]) -> None:
    """Follow the nodes of a graph in order, and the bodies of each before its results."""
    for node in graph:
        bodies = list(subgraphs_of(node))
        kind = node.op_type if node.domain == STANDARD_DOMAIN else ""
        # The shape of a condition decides no shape of a result.
        read = [value for value in node.inputs if value is not None] if kind != "If" else []
        if kind != "Loop":
            # ONNX Runtime gives a Loop's body no shapes of its states.
            _spread(read, (value for body in bodies for value in body.inputs), behind)
        for body in bodies:
            _follow(body, behind)
        returned = (value for body in bodies for value in body.outputs)
        _spread([*read, *returned], node.outputs, behind)


def _spread(
    read: Iterable[ir.Value], written: Iterable[ir.Value], behind: dict[ir.Value, Declared]
) -> None:
    """Note what is computed of values that are behind a declared shape."""
    source = next((behind[value] for value in read if value in behind), None)
    if source is not None:
        for value in written:
            behind.setdefault(value, source)


def is_behind(examined: ExaminedNode, behind: Behind) -> bool:
    """Whether a node reads or computes a value that depends on such a declared shape."""
    return not behind.keys().isdisjoint((*examined.ruled.inputs, *examined.ruled.node.outputs))


def without_declarations(examined: ExaminedNode, behind: Behind) -> ExaminedNode:
    """A node of which nothing is proved that holds only if declared shapes are true."""
    if not is_behind(examined, behind):
        return examined
    return replace(
        examined,
        obligations=tuple(_of_node(each, examined, behind) for each in examined.obligations),
    )


def _of_node(obligation: Obligation, examined: ExaminedNode, behind: Behind) -> Obligation:
    subject = obligation.rule.requirement.subject
    if obligation.status is not Status.PROVED or subject is Subject.HELD:
        return obligation
    about_shapes = subject in (Subject.EQUAL_SHAPES, Subject.COMMON_SHAPE)
    if about_shapes and examined.broadcast is not None:
        # It stands in the rewritten model alone.
        return obligation
    ruled = examined.ruled
    pairs = zip(obligation.operands, ruled.inputs, strict=True)
    known = [_undeclared(each) if value in behind else each for each, value in pairs]
    judgement, _ = obligation.rule.judge(ruled.operand_names, known)
    # A rule about equal shapes is about the results, too.
    told = [] if judgement.status is Status.PROVED else list(ruled.inputs)
    told += ruled.node.outputs if subject is Subject.EQUAL_SHAPES else []
    declared = next((behind[value] for value in told if value in behind), None)
    return obligation if declared is None else _resting(obligation, declared)


def value_without_declarations(checked: CheckedValue, behind: Behind) -> CheckedValue:
    """A value of which nothing is proved that holds only if declared shapes are true."""
    source = behind.get(checked.value)
    if source is None or checked.obligation.status is not Status.PROVED:
        return checked
    return replace(checked, obligation=_resting(checked.obligation, source))


def _undeclared(operand: Operand) -> Operand:
    """What is known of an operand whatever its shape is."""
    return replace(
        operand, shape=None, constant=None, sizes=None, bounds=None, range=None, alike=None
    )


def _resting(obligation: Obligation, declared: Declared) -> Obligation:
    """The obligation as one of runs, because its proof rests on a declared shape."""
    value, shape = declared
    said = f"'{value.name}' is declared {format_shape(shape)}, which is not proved"
    return replace(
        obligation,
        status=Status.RUNTIME,
        evidence=f"{obligation.evidence}; but {said}",
        rests_on_declaration=True,
        evidence_once_rewritten=obligation.evidence,
    )


def undeclared(obligation: Obligation) -> Obligation:
    """The obligation of a model that declares no shapes that are not proved."""
    if not obligation.evidence_once_rewritten:
        return obligation
    return once_rewritten(replace(obligation, evidence=obligation.evidence_once_rewritten))
