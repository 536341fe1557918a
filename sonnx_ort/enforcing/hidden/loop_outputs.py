"""Lets no more be known of what the bodies of Loops return than before enforcement.

If a Loop makes no iteration, ONNX Runtime gives its output the shape that it has inferred of the
body's output when the session started; an open size is 0. Enforcement hides shapes, and declares
others. So such an output is declared with what was known of it before; and where more is known now,
the value is returned through a Loop without iterations, whose output has no shape of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.analysis.values.graph_node import collected_by_loops
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.values.value_types import ValueTypes
from sonnx_ort.enforcing.hidden.body_outputs import BodyOutput
from sonnx_ort.enforcing.hidden.shapes import LOOP_OF_BFLOAT16, hide_shape
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.loading.traversal import GraphIndex, index_of
from sonnx_ort.ort.inference import inferred_beside_declarations, merged, says_more
from sonnx_ort.terms.operand import Shape


@dataclass(frozen=True, slots=True)
class LoopOutput(BodyOutput):
    """An output of a Loop's body whose values the Loop collects.

    Attributes:
        declared: What the file declares of its shape.
        known: What ONNX Runtime knew of its shape before enforcement; None if not even the rank.
    """

    declared: ir.Shape | None
    known: ir.Shape | None


def declare_outputs(index: GraphIndex, facts: Facts) -> Sequence[LoopOutput]:
    """Declare outputs as ONNX Runtime knows them, in place.

    A run may contradict it. `Inference` models what is inferred from it, so no proof rests on it.

    Args:
        index: What the model has.
        facts: What is known of its values.
    """
    known = facts.collected()
    collected = dict.fromkeys(collected_by_loops(index.nodes))
    declared: dict[ir.Value, ir.Shape | None] = {}
    for value in collected:
        inferred = known.get(value, ir.TypeAndShape(value.type, None))
        shape = _unless_false(value.shape, inferred.shape, facts.shape(value))
        declared[value], value.shape = value.shape, shape
        value.type = value.type or inferred.type
    return [
        LoopOutput(body, place, declared[value], value.shape)
        for body in index.graphs
        for place, value in enumerate(body.outputs)
        if value in collected
    ]


def hide_further_knowledge(
    model: ir.Model, outputs: Sequence[LoopOutput], groups: Groups, *, sparing: bool
) -> None:
    """Return those outputs through a Loop of which more is known than before.

    If `sparing`, nothing is declared anew of what follows without: a certificate has to establish
    it.
    """
    if not outputs:
        return
    for output in outputs:
        output.value.shape = output.known
    values = [output.value for output in outputs]
    inferred = inferred_beside_declarations(model, values, ValueTypes(model), index_of(model.graph))
    for output in outputs:
        value, nodes = output.value, groups.nodes(str(output.value.name))
        further = says_more(inferred.get(value), output.known)
        if not further or not _can_be_hidden(value.type, nodes):
            if sparing and not says_more(
                output.known, merged(output.declared, inferred.get(value))
            ):
                value.shape = output.declared
            continue
        value.shape = None
        given = hide_shape(nodes, value)
        given.type, given.shape = value.type, output.known
        output.return_instead(given, nodes, groups)


def _unless_false(
    declared: ir.Shape | None, known: ir.Shape | None, certain: Shape | None
) -> ir.Shape | None:
    """The inferred shape, with wrong sizes corrected unless the file declares them.

    Wrong sizes follow from other declarations, which are not written again.
    """
    if known is None or certain is None:
        return known
    if len(known) != len(certain):
        return declared
    own = declared if declared is not None and len(declared) == len(known) else [None] * len(known)
    return ir.Shape(list(map(_size_unless_false, own, known, certain)))


def _size_unless_false(
    declared: int | ir.SymbolicDim | None, known: int | ir.SymbolicDim, certain: object
) -> int | ir.SymbolicDim:
    inferred = isinstance(known, int) and not isinstance(declared, int)
    return certain if inferred and isinstance(certain, int) else known


def _can_be_hidden(kind: ir.TypeProtocol | None, nodes: StandardNodes) -> bool:
    data_type = None if kind is None else kind.dtype
    return data_type is not ir.DataType.BFLOAT16 or nodes.opset >= LOOP_OF_BFLOAT16
