"""Puts inputs of a model behind what its nodes need of them."""

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.agreement import find_agreements, settle
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligations import Examination
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.rewriting.native.agreement import guard_inputs
from sonnx_ort.rewriting.native.record import GroupRecorder, Original
from sonnx_ort.rewriting.replacement import Uses, put_behind_inputs, uses_of
from sonnx_ort.rewriting.scalar_inputs import hide_declarations, readers_of, scalars_behind
from sonnx_ort.rewriting.standard_nodes import StandardNodes


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
    opset = model.opset_imports.get(STANDARD_DOMAIN, 1)

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
        put_behind(nodes, guard_inputs(nodes, agreements), uses)
    resting = {id(node) for agreement in agreements for node in agreement.resting}
    return [settle(n) if id(n) in resting else n for n in examination.nodes]
