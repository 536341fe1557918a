"""What a contract presumes of a model, and what a model was conformed for."""

import json
from typing import Any

from onnx import GraphProto, ModelProto, ValueInfoProto

from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.facts.sizes import NAME, Rejected, require
from sonnx_ort.facts.types import name_of_type
from sonnx_ort.profile.both_contracts import ASSUMED_CONTRACT, both
from sonnx_ort.profile.contract import Contract, contract_document, contract_from_json, is_size
from sonnx_ort.profile.contract_rules import ShapeDemand, shape_demands


def require_contract(graph: GraphProto, contract: Contract) -> None:
    """Reject a contract that no file can have, or of values that no node computes.

    Raises:
        Rejected: It is none of this model.
    """
    inputs = {value.name: value for value in graph.input}
    nodes = (node for each in graphs_of(graph) for node in each.node)
    values = {*inputs, *(name for node in nodes for name in node.output)}
    limited = [entry.value for entry in contract.values]
    stated = [entry.input for entry in contract.shapes]
    named = [size.name for size in contract.sizes]
    outputs, states = {value.name for value in graph.output}, contract.states
    carried = [state.input for state in states]
    for state in states:
        known = state.input in inputs and state.output in outputs and contract.keeps(state)
        require(known, f"'{state.input}' is no state that '{state.output}' carries on")
    typed = [each.input for each in contract.types]
    for each in contract.types:
        own = inputs.get(each.input, ValueInfoProto()).type.tensor_type.elem_type
        require(
            own and name_of_type(own) == each.dtype,
            f"'{each.input}' is not declared as {each.dtype}",
        )
    for names in (limited, stated, named, carried, typed):
        require(len(names) == len(set(names)), "the contract names something twice")
    for name in limited:
        require(name in values, f"the contract names '{name}', which the graph does not have")
    for name in stated:
        require(name in inputs, f"the contract gives a shape to '{name}', which is no input")
    for entry in contract.shapes:
        declared = _declared_axes(inputs[entry.input])
        fits = declared is None or len(declared) == len(entry.axes)
        require(fits, f"the contract gives '{entry.input}' another rank")
        for axis in entry.axes:
            named += [axis] if isinstance(axis, str) else []
            require(isinstance(axis, str | None) or is_size(axis), f"{axis} is no size")
    for name in named:
        require(NAME.fullmatch(name), f"'{name}' is no name of a size")
    for size in contract.sizes:
        numbers = (size.least, size.most, size.multiple_of)
        require(
            all(map(is_size, numbers)) and size.multiple_of and size.sizes,
            f"'{size.name}' has no size",
        )


def require_premises(model: ModelProto, contract: Contract) -> None:
    """Reject a certificate that does not have the contract within which its model was conformed.

    Beyond it the model gives other results than its original.

    Raises:
        Rejected: The metadata of the model has another contract, or one that cannot be read.
    """
    axes = {value.name: _declared_axes(value) for value in model.graph.input}
    for entry in model.metadata_props:
        if entry.key != ASSUMED_CONTRACT:
            continue
        try:
            own = contract_from_json(entry.value)
            known = contract_document(own) == json.loads(entry.value)
            kept = both(contract, own, axes) == contract
        except Exception as error:
            raise Rejected(f"the contract of the conformed model: {error!r}") from error
        require(known, "the contract of the conformed model has something that is not known")
        require(kept, "the model was conformed within a contract, which the certificate lacks")


def demands_on_shapes(graph: GraphProto, contract: Contract) -> dict[str, ShapeDemand]:
    """What a contract demands of the shapes of inputs, by their names."""
    if not contract.limits_sizes:
        return {}
    declared = ((value.name, _declared_axes(value)) for value in graph.input)
    return dict(shape_demands(contract, declared))


def _declared_axes(value: ValueInfoProto) -> tuple[int | str | None, ...] | None:
    """The declared axes of an input; None if it may be of any rank."""
    if not value.type.tensor_type.HasField("shape"):
        return None
    return tuple(map(_axis, value.type.tensor_type.shape.dim))


def _axis(dimension: Any) -> int | str | None:
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value) if dimension.dim_value >= 0 else None
    return str(dimension.dim_param) if NAME.fullmatch(dimension.dim_param) else None
