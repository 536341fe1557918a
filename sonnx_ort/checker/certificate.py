"""Checks a certificate: its steps, its obligations, and the model that enforces the rest."""

import hashlib
from collections.abc import Mapping
from typing import Any

import onnx

from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.form import LISTS, require_form
from sonnx_ort.checker.guards import require_guarded
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.node import graphs_of
from sonnx_ort.checker.obligations import rules_of
from sonnx_ort.checker.reading import OWN_DOMAIN
from sonnx_ort.kernel.sizes import Rejected, require
from sonnx_ort.profile.options import Edition


def check(content: bytes, certificate: Mapping[str, Any], enforced: bytes | None = None) -> str:
    """Check the certificate of a model.

    Args:
        content: The file of the model.
        certificate: The certificate, read from JSON.
        enforced: The file of the enforced model, if the certificate has one.

    Returns:
        How many obligations hold in every run, and why, as a sentence.

    Raises:
        Malformed: It is no certificate.
        Rejected: It proves less than it says, or is of another model.
    """
    require_form(certificate)
    proto = _read(content, certificate["model"], "model")
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
    guarded, waived, unknown = (len(certificate[name]) for name in LISTS[1:])
    sentence = f"{count + guarded} obligations hold in every run: {count} by proof, "
    sentence += f"{guarded} by guards"
    sentence += f"; {waived} are waived" if waived else ""
    return sentence + (f"; {unknown} are left to guards of unknown form" if unknown else "")


def _read(content: bytes, digest: object, name: str) -> onnx.ModelProto:
    same = hashlib.sha256(content).hexdigest() == digest
    require(same, f"it is the certificate of another {name}")
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise Rejected(f"the {name} cannot be read: {error}") from error
    # Of a field that is there twice, a reader takes the last one.
    plain = proto.ByteSize() == len(content)
    require(plain, f"the file of the {name} has a field twice; write it again with onnx.save")
    return proto


def _require_all(model: Model, certificate: Mapping[str, Any]) -> None:
    """Reject a certificate that does not say of each rule that binds a node once what holds it."""
    said: dict[str, set[str]] = {}
    for name in LISTS:
        for output, rule in certificate[name]:
            once = rule not in said.setdefault(output, set())
            require(once, f"{rule} of the node of '{output}' is named twice")
            said[output].add(rule)
    for graph in graphs_of(model.proto.graph):
        for proto in graph.node:
            if proto.op_type in certificate["operators"] and proto.domain in ("", OWN_DOMAIN):
                output = next(name for name in proto.output if name)
                rules = rules_of(model.node(output), Edition(certificate["edition"]))
                bound = {rule.id for rule in rules}
                found = said.pop(output, set())
                place = f"of the node of '{output}'"
                missing, further = sorted(bound - found), sorted(found - bound)
                require(not missing, f"nothing is said of {' '.join(missing)} {place}")
                require(not further, f"{' '.join(further)} {place} does not bind it")
    require(not said, f"no node of the operators has the outputs {sorted(said)}")
