"""Puts a check behind each value whose elements have to be finite.

    node -> y      becomes      node -> y_unchecked -> (the backend's check) -> y

Whatever read the value before reads the checked one, which has its name.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.enforcing.backend import EnforcingBackend
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.obligations.finite import FiniteValue
from sonnx_ort.profile.finite import FINITE

Places = Sequence[tuple[FiniteValue, object, str]]
"""Values, each with its graph and its name, which it keeps when its node is replaced."""


def places_of(values: Sequence[FiniteValue]) -> Places:
    """Where values are, before any node is replaced.

    Raises:
        SonnxError: A value is computed by no node.
    """
    return [(checked, checked.node.graph, str(checked.value.name)) for checked in values]


def check_finite_values(model: ir.Model, backend: EnforcingBackend, places: Places) -> None:
    """Put the checks behind values, in place, when all nodes are enforced."""
    nodes = every_node(model.graph) if places else []
    values: dict[tuple[object, str], ir.Value] = {
        (node.graph, str(output.name)): output for node in nodes for output in node.outputs
    }
    for checked, graph, name in places:
        _check(backend, checked, values[graph, name])


def _check(backend: EnforcingBackend, checked: FiniteValue, value: ir.Value) -> None:
    name, nodes, uses = str(value.name), backend.nodes(str(value.name)), tuple(value.uses())
    graph, declared = value.graph, value.type
    if graph is None or (producer := value.producer()) is None:
        raise ValueError(f"no node computes '{name}'")
    given = backend.check_finite(nodes, checked, value)
    given.type = given.type or declared
    # Elsewhere ONNX Runtime could take a Shape from it, and leave out the check.
    given.shape = _shape_of_output(checked, value) if value.is_graph_output() else None
    given.doc_string = value.doc_string
    given.metadata_props.update(value.metadata_props)
    for node, index in uses:
        node.replace_input_with(index, given)
    for index, output in enumerate(graph.outputs):
        if output is value:
            graph.outputs[index] = given
    value.shape, value.doc_string = None, None
    value.metadata_props.clear()
    value.name, given.name = nodes.value("unchecked").name, name
    graph.insert_after(producer, nodes.nodes)
    backend.record((nodes, value, given), renamed=True)


def _shape_of_output(checked: FiniteValue, value: ir.Value) -> ir.Shape | None:
    """The shape to declare; a Scan does not run without that of what its body returns."""
    place = checked.obligation
    if value.shape is not None or not (place.path and place.path[-1].startswith("Scan '")):
        return value.shape
    if checked.operand.shape is None or checked.operand.scalar_inputs:
        raise SonnxError(
            f"{FINITE.id}: {place.place} computes '{checked.operand.value}', which the body "
            "returns and whose rank is unknown; declare its shape"
        )
    return ir.Shape([size if isinstance(size, int) else None for size in checked.operand.shape])
