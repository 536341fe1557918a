"""Checks a certificate: its head, its steps, its obligations, and the model that enforces the rest.

A certificate is JSON:

    format       "sonnx_ort.certificate/1"
    model        the SHA-256 of the file of the model
    steps        [value, "type", "shape" or "elements", what it is], each from those before
    obligations  [output of a node, id of a rule] that hold in every run

and if there is an enforced model:

    enforced     the SHA-256 of its file
    edition, operators   what it enforces
    guarded      [output, rule] that guards in the enforced model hold
    waived       [output, rule] that are violated, and accepted
    unknown      [output, rule] that are left to guards of which no form is known
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import onnx

from .enforced import Enforced
from .guards import require_guarded
from .model import Model
from .node import graphs_of
from .rules import rules_of
from .sizes import Rejected, require

FORMAT = "sonnx_ort.certificate/1"

_LISTS = ("obligations", "guarded", "waived", "unknown")


def check(content: bytes, certificate: Mapping[str, Any], enforced: bytes | None = None) -> str:
    """Check the certificate of a model.

    Args:
        content: The file of the model.
        certificate: The certificate, read from JSON.
        enforced: The file of the enforced model, if the certificate has one.

    Returns:
        How many obligations hold in every run, and why, as a sentence.

    Raises:
        Rejected: It proves less than it says, or is of another model.
    """
    require(isinstance(certificate, dict), "it is no certificate")
    require(certificate.get("format") == FORMAT, f"the format is not {FORMAT}")
    proto = _read(content, certificate.get("model"), "model")
    wanted = "enforced" in certificate
    require(wanted or enforced is None, "it is no certificate of an enforced model")
    require(enforced is not None or not wanted, "the enforced model is missing")
    model = Model(proto)
    for value, kind, claim in certificate["steps"]:
        found = model.follow(value, kind)
        require(found == claim, f"the {kind} of '{value}' is {found}, not {claim}")
    for output, rule in certificate["obligations"]:
        model.conclude(output, rule)
    count = len(certificate["obligations"])
    if enforced is None:
        return f"{count} obligations hold in every run"
    other = _read(enforced, certificate["enforced"], "enforced model")
    try:
        beside = Enforced(model, other)
        for output, rule in certificate["guarded"]:
            require_guarded(model.node(output), beside, output, rule)
        _require_all(model, certificate)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"the enforced model cannot be followed: {error!r}") from error
    guarded, waived, unknown = (len(certificate[name]) for name in _LISTS[1:])
    sentence = f"{count + guarded} obligations hold in every run: {count} by proof, "
    sentence += f"{guarded} by guards"
    sentence += f"; {waived} are waived" if waived else ""
    return sentence + (f"; {unknown} are left to guards of unknown form" if unknown else "")


def _read(content: bytes, digest: object, name: str) -> onnx.ModelProto:
    same = hashlib.sha256(content).hexdigest() == digest
    require(same, f"it is the certificate of another {name}")
    try:
        return onnx.load_model_from_string(content)
    except Exception as error:
        raise Rejected(f"the {name} cannot be read: {error}") from error


def _require_all(model: Model, certificate: Mapping[str, Any]) -> None:
    """Reject a certificate that does not say of each rule that binds a node once what holds it."""
    said: dict[str, set[str]] = {}
    for name in _LISTS:
        for output, rule in certificate[name]:
            once = rule not in said.setdefault(output, set())
            require(once, f"{rule} of the node of '{output}' is named twice")
            said[output].add(rule)
    for graph in graphs_of(model.proto.graph):
        for proto in graph.node:
            if proto.op_type in certificate["operators"] and proto.domain in (
                "",
                "ai.onnx",
                "sonnx",
            ):
                output = next(name for name in proto.output if name)
                bound = rules_of(model.node(output), certificate["edition"])
                found = said.pop(output, set())
                place = f"of the node of '{output}'"
                missing, further = sorted(bound - found), sorted(found - bound)
                require(not missing, f"nothing is said of {' '.join(missing)} {place}")
                require(not further, f"{' '.join(further)} {place} does not bind it")
    require(not said, f"no node of the operators has the outputs {sorted(said)}")
