"""What follows from steps: obligations of nodes, and of values that keep a contract or are finite.

What a contract demands of a value is a premise of the steps behind it. In a certificate with an
enforced model it is an obligation as well, which follows from the contract of other values, or is
held by a guard wherever the value is read.
"""

from collections.abc import Iterator
from itertools import chain

from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.obligations import Established, conclude_of_node
from sonnx_ort.kernel.node import FLOATS
from sonnx_ort.kernel.sizes import Rejected
from sonnx_ort.profile.contract import (
    ShapeDemand,
    ValueContract,
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
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand, dimensions


def is_of_contract(rule: str) -> bool:
    """Whether a rule is one of contracts."""
    return rule.startswith(f"{CONTRACT}.")


def is_of_value(rule: str) -> bool:
    """Whether a rule binds values, and not nodes."""
    return rule == FINITE.id or is_of_contract(rule)


def obligations_of_contract(model: Model) -> Iterator[list[str]]:
    """The obligations that the contract of a model makes: each a value, and the id of a rule."""
    for name in model.demands:
        yield [name, WITHIN_SIZES.id]
    for entry in model.contract.values:
        for demand in entry.demands:
            yield [entry.value, contract_rule(demand).id]


def values_to_be_finite(model: Model, operators: list[str]) -> Iterator[str]:
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


def demand_on(model: Model, value: str, rule: str) -> tuple[OnElements | OnSizes, list[str]]:
    """What a rule demands of a value, and the values that decide it.

    Raises:
        Rejected: The rule does not bind the value.
    """
    if rule == FINITE.id:
        return finite_elements(value), [value]
    stated, sizes = model.contract.of(value), model.demands.get(value)
    entries: list[ValueContract | ShapeDemand] = [*(stated.demands if stated else ())]
    entries += [] if sizes is None else [sizes]
    entry = next((each for each in entries if contract_rule(each).id == rule), None)
    if entry is None:
        raise Rejected("the rule does not bind the value")
    names = [*entry.operands] if isinstance(entry, ShapeDemand) else [value]
    return contract_requirement(entry), names


def _conclude_value(model: Model, value: str, rule: str) -> None:
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


def _unguarded(model: Model, name: str, requirement: OnElements | OnSizes) -> Operand:
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


def conclude(model: Model, output: str, rule: str) -> None:
    """Conclude an obligation of a value, or of the node that has this output.

    Raises:
        Rejected: It does not follow.
    """
    model.require_kept_assumptions()
    of_value = is_of_value(rule)
    place = f"'{output}'" if of_value else f"the node of '{output}'"
    try:
        if of_value:
            _conclude_value(model, output, rule)
        else:
            conclude_of_node(model.node(output), rule)
    except Rejected as reason:
        raise Rejected(f"{rule} of {place} does not follow: {reason}") from reason
    except Exception as error:
        raise Rejected(f"{rule} of {place} cannot be followed: {error!r}") from error
