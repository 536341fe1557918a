"""Checks what a certificate says of an enforced model: what holds each rule that binds a node.

The checker loads this, and what compares models, for certificates of enforced models alone.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import onnx

from sonnx_ort.checker.derived_model import established
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.checker.guards import require_guarded, require_value_guarded
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.obligations import LISTS, is_of_value, rules_of
from sonnx_ort.checker.strict_reading import OWN_DOMAIN
from sonnx_ort.facts.deriving import Watch
from sonnx_ort.facts.node import FLOATS
from sonnx_ort.facts.sizes import Rejected, require
from sonnx_ort.profile.graph import FINITE, FINITE_OUTPUTS, FINITE_VALUES, is_of_contract
from sonnx_ort.profile.options import Edition


def require_enforced(
    proto: onnx.ModelProto,
    model: Model,
    other: onnx.ModelProto,
    certificate: Mapping[str, Any],
    watch: Watch,
) -> list[Model]:
    """Reject an enforced model that differs in more than guards, or does not hold what is said.

    Args:
        proto: The original.
        model: The same, of which is established what follows within the contract.
        other: The enforced model.
        certificate: The certificate of both.
        watch: Is given the nodes of the main graph.

    Returns:
        Further models of which was read what is established.

    Raises:
        Rejected: The certificate says more of the enforced model than follows.
    """
    try:
        without = [established(proto, watch=watch)] if certificate.get("contract") else []
        for each in without:
            _require_contract(model, Enforced(each, other), certificate)
        beside = Enforced(model, other)
        for output, rule in certificate["guarded"]:
            if not is_of_contract(rule):
                require_guarded(model, beside, output, rule)
        _require_all(model, certificate)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"the enforced model cannot be followed: {error!r}") from error
    return without


def _require_contract(model: Model, beside: Enforced, certificate: Mapping[str, Any]) -> None:
    """Reject a contract that neither proofs nor guards hold.

    Args:
        model: The model, of which is established what follows within the contract.
        beside: The enforced model beside what follows without the contract.
        certificate: The certificate.
    """
    for output, rule in certificate["guarded"]:
        if is_of_contract(rule):
            require_value_guarded(model, beside, output, rule)
    held = {tuple(entry) for name in LISTS[:2] for entry in certificate[name]}
    for value, rule in model.obligations_of_contract():
        require((value, rule) in held, f"nothing holds {rule} of '{value}'")


def _require_all(model: Model, certificate: Mapping[str, Any]) -> None:
    """Reject a certificate that does not say of each rule that binds a node once what holds it."""
    named: dict[str, set[str]] = {}
    of_values: set[tuple[str, str]] = set()
    for name in LISTS:
        for output, rule in certificate[name]:
            if is_of_value(rule):
                # Without a contract no rule of contracts binds a value.
                model.demanded(output, rule)
                require((output, rule) not in of_values, f"{rule} of '{output}' is named twice")
                of_values.add((output, rule))
                continue
            once = rule not in named.setdefault(output, set())
            require(once, f"{rule} of the node of '{output}' is named twice")
            named[output].add(rule)
    for value in _values_to_be_finite(model, certificate["operators"]):
        require((value, FINITE.id) in of_values, f"nothing is said of {FINITE.id} of '{value}'")
    for graph in graphs_of(model.proto.graph):
        for proto in graph.node:
            if proto.op_type in certificate["operators"] and proto.domain in ("", OWN_DOMAIN):
                output = next(name for name in proto.output if name)
                rules = rules_of(model.node(output), Edition(certificate["edition"]))
                bound = {rule.id for rule in rules}
                found = named.pop(output, set())
                place = f"of the node of '{output}'"
                missing, further = sorted(bound - found), sorted(found - bound)
                require(not missing, f"nothing is said of {' '.join(missing)} {place}")
                require(not further, f"{' '.join(further)} {place} does not bind it")
    require(not named, f"no node of the operators has the outputs {sorted(named)}")


def _values_to_be_finite(model: Model, operators: list[str]) -> Iterator[str]:
    """The values that have to be finite for these operators: all but those without floats.

    A value of which the type is not known may have floats.

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
