"""Obligations of single values: that they keep a contract, and that they are finite.

What a contract demands of a value is a premise of the steps behind it. In a certificate with an
enforced model it is an obligation as well, which follows from the contract of other values, or is
held by a guard wherever the value is read.
"""

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from onnx import GraphProto, ValueInfoProto

from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.checker.obligations import Established
from sonnx_ort.kernel.node import FLOATS
from sonnx_ort.kernel.sizes import LARGEST, NAME, Rejected, require
from sonnx_ort.profile.contract import (
    Contract,
    ShapeDemand,
    ValueContract,
    shape_demands,
)
from sonnx_ort.profile.contract_rules import (
    CONTRACT,
    WITHIN_SIZES,
    OnSizes,
    contract_requirement,
    contract_rule,
)
from sonnx_ort.profile.graph import FINITE, FINITE_OUTPUTS, FINITE_VALUES, finite_elements
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.terms.operand import Operand, dimensions

if TYPE_CHECKING:
    from sonnx_ort.checker.model import Model


def is_of_value(rule: str) -> bool:
    """Whether a rule binds values, and not nodes."""
    return rule == FINITE.id or rule.startswith(f"{CONTRACT}.")


def require_contract(graph: GraphProto, contract: Contract) -> None:
    """Reject a contract that no file can have, or of values that the main graph does not have.

    Raises:
        Rejected: It is none of this model.
    """
    inputs = {value.name: value for value in graph.input}
    values = {*inputs, *(name for node in graph.node for name in node.output)}
    limited = [entry.value for entry in contract.values]
    stated = [entry.input for entry in contract.shapes]
    named = [size.name for size in contract.sizes]
    for names in (limited, stated, named):
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
            require(not isinstance(axis, int) or 0 <= axis <= LARGEST, f"{axis} is no size")
    for name in named:
        require(NAME.fullmatch(name), f"'{name}' is no name of a size")
    for size in contract.sizes:
        numbers = (size.least, size.most, size.multiple_of)
        possible = all(0 <= number <= LARGEST for number in numbers) and size.multiple_of
        require(possible and size.sizes, f"'{size.name}' has no size")


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


def obligations_of(contract: Contract, demands: dict[str, ShapeDemand]) -> Iterator[list[str]]:
    """The obligations that a contract makes: each a value, and the id of a rule."""
    for name in demands:
        yield [name, WITHIN_SIZES.id]
    for entry in contract.values:
        yield [entry.value, contract_rule(entry).id]


def values_to_be_finite(model: "Model", operators: list[str]) -> Iterator[str]:
    """The values that have to be finite for these operators: all that no step says have no floats.

    Args:
        model: The model.
        operators: What is enforced.
    """
    graphs = list(graphs_of(model.proto.graph))
    asked_for: list[str] = []
    if FINITE_VALUES in operators:
        nodes = [node for graph in graphs for node in graph.node]
        returned = (value.name for graph in graphs for value in graph.output)
        read = {*chain.from_iterable(node.input for node in nodes), *returned}
        asked_for += (name for node in nodes for name in node.output if name in read)
    if FINITE_OUTPUTS in operators:
        asked_for += (value.name for value in model.proto.graph.output)
    for name in dict.fromkeys(filter(None, asked_for)):
        if not model.knows("type", name) or model.known("type", name) in FLOATS:
            yield name


def demand_on(model: "Model", value: str, rule: str) -> tuple[OnElements | OnSizes, list[str]]:
    """What a rule demands of a value, and the values that decide it.

    Raises:
        Rejected: The rule does not bind the value.
    """
    if rule == FINITE.id:
        return finite_elements(value), [value]
    entry: ValueContract | ShapeDemand | None = model.contract.of(value)
    if rule == WITHIN_SIZES.id:
        entry = model.demands.get(value)
    bound: Rule | None = None if entry is None else contract_rule(entry)
    if entry is None or bound is None or bound.id != rule:
        raise Rejected("the rule does not bind the value")
    names = [*entry.operands] if isinstance(entry, ShapeDemand) else [value]
    return contract_requirement(entry), names


def conclude_value(model: "Model", value: str, rule: str) -> None:
    """Conclude an obligation of a value.

    Raises:
        Rejected: It does not follow, or only from itself.
    """
    requirement, names = demand_on(model, value, rule)
    if rule == FINITE.id:
        established = Established(value, value, model)
        judgement, unknown = requirement.judge([established]), established.unknown.get("range")
    else:
        operands = [_unguarded(model, name, requirement) for name in names]
        judgement, unknown = requirement.judge(operands), None
    if judgement.status is not Status.PROVED:
        why = f" ({unknown})" if unknown else ""
        raise Rejected(f"it is not proved: {judgement.evidence}{why}")


def _unguarded(model: "Model", name: str, requirement: OnElements | OnSizes) -> Operand:
    """What is known of a value without its own contract."""
    if isinstance(requirement, OnSizes):
        shape = model.unguarded("shape", name)
        model.require_true_claims(name)
        return Operand(name, name, "", shape=None if shape is None else dimensions(shape))
    element_type = model.known("type", name)
    if element_type in FLOATS:
        interval = model.unguarded("interval", name)
        known = None if interval is None else interval.whole
        return Operand(name, name, "", element_type, range=known)
    return Operand(name, name, "", element_type, bounds=model.unguarded("bounds", name))
