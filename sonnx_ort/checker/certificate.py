"""Checks a certificate: its form, its obligations, and the model that enforces them.

No proof is in a certificate. The checker derives all that follows of the model by its own rules,
and concludes each obligation from it.

The form of a certificate. A certificate is JSON:

    format       "sonnx_ort.certificate/3"
    model        the SHA-256 of the file of the model
    obligations  [output of a node, id of a rule] that hold in every run; of `Graph.finite` and of
                 rules of a contract, [value, id of the rule]

if an obligation rests on floats that a kernel computes:

    optimizers   {"off": names, "may_act": names} of optimizers of ONNX Runtime: the obligations
                 hold in every session in which those do not act that are off

if the values have a contract:

    contract     its entries; the obligations hold in every run whose values keep it

and if there is an enforced model:

    enforced     the SHA-256 of its file
    edition, operators   what it enforces
    guarded      [output, rule] that guards in the enforced model hold
    waived       [output, rule] that are violated, and accepted
    unknown      [output, rule] that are left to guards of which no form is known
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx

from sonnx_ort.checker.derived_model import established
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.obligations import LISTS, conclude
from sonnx_ort.facts.deriving import Watch
from sonnx_ort.facts.optimizers import MAY_ACT, MUST_BE_OFF
from sonnx_ort.facts.sizes import Rejected, require

FORMAT = "sonnx_ort.certificate/3"


class Malformed(Rejected):
    """What is no certificate; the message says why."""


def read_certificate(content: bytes) -> Mapping[str, Any]:
    """Read a certificate.

    Raises:
        Malformed: It is no certificate.
    """
    try:
        found = json.loads(
            content.decode(), object_pairs_hook=_each_once, parse_constant=_no_number
        )
        # A half of a surrogate pair is no text, and no message could show it.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error
    require_form(found)
    certificate: Mapping[str, Any] = found
    return certificate


def require_form(certificate: object) -> None:
    """Reject what has other entries than a certificate, or entries of another form.

    Raises:
        Malformed: It is no certificate.
    """
    if not isinstance(certificate, dict):
        raise Malformed("it is no object of JSON")
    if certificate.get("format") != FORMAT:
        raise Malformed(f"the format is not {FORMAT}; certify the model again")
    form = _FORM | _FORM_OF_ENFORCED if "enforced" in certificate else _FORM
    form = form | _FORM_OF_CONTRACT if "contract" in certificate else form
    form = form | _FORM_OF_OPTIMIZERS if "optimizers" in certificate else form
    for name in sorted(form.keys() - certificate.keys()):
        raise Malformed(f"the entry '{name}' is missing")
    for name in certificate.keys() - form.keys():
        raise Malformed(f"the entry {name!r} is not known")
    for name, is_formed in form.items():
        if not is_formed(certificate[name]):
            raise Malformed(f"the entry '{name}' has another form")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_entry(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _is_contract(value: Any) -> bool:
    # Only a certificate under a contract rests on what reads contracts.
    from sonnx_ort.profile.contract import contract_document, contract_of  # noqa: PLC0415

    try:
        contract = contract_of(value)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return bool(contract) and contract_document(contract) == value


def _are_optimizers(value: object) -> bool:
    match value:
        case {"off": [*off], "may_act": [*may_act], **further}:
            return not further and all(map(_is_text, (*off, *may_act)))
    return False


def _list_of(is_formed: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(is_formed, value))


_FORM: dict[str, Callable[[object], bool]] = {
    "format": _is_text,
    "model": _is_text,
    "obligations": _list_of(_is_entry),
}
_FORM_OF_CONTRACT: dict[str, Callable[[object], bool]] = {"contract": _is_contract}
_FORM_OF_OPTIMIZERS: dict[str, Callable[[object], bool]] = {"optimizers": _are_optimizers}
_FORM_OF_ENFORCED: dict[str, Callable[[object], bool]] = {
    "enforced": _is_text,
    "edition": lambda value: value in ("typed", "preliminary"),
    "operators": _list_of(_is_text),
    **dict.fromkeys(LISTS[1:], _list_of(_is_entry)),
}


def check(
    content: bytes,
    certificate: Mapping[str, Any],
    enforced: bytes | None = None,
    watch: Watch = iter,
) -> str:
    """Check the certificate of a model.

    Args:
        content: The file of the model.
        certificate: The certificate, read from JSON.
        enforced: The file of the enforced model, if the certificate has one.
        watch: Is given the nodes of the main graph, and may tell how many it gave.

    Returns:
        How many checks hold in every run, and why, as a sentence.

    Raises:
        Malformed: It is no certificate.
        Rejected: It proves less than it says, or is of another model.
    """
    require_form(certificate)
    proto = _read_model(content, certificate["model"], "model")
    wanted = "enforced" in certificate
    require(wanted or enforced is None, "it is no certificate of an enforced model")
    require(enforced is not None or not wanted, "the enforced model is missing")
    model = _established(proto, certificate.get("contract", ()), watch)
    for output, rule in certificate["obligations"]:
        conclude(model, output, rule)
    models = [model]
    if enforced is not None:
        # A certificate of one model rests on nothing that compares models.
        from sonnx_ort.checker.enforcement import require_enforced  # noqa: PLC0415

        other = _read_model(enforced, certificate["enforced"], "enforced model")
        models += require_enforced(proto, model, other, certificate, watch)
    off = ""
    if any(each.rests_on_numbers for each in models):
        _require_optimizers(certificate.get("optimizers"))
        off = "; the optimizers that it names must be off"
    return _sentence(certificate) + off


def _established(proto: onnx.ModelProto, contract: Sequence[Any], watch: Watch) -> Model:
    """What follows of a model within a contract, which has all that it was conformed for."""
    if not contract and not proto.metadata_props:
        return established(proto, watch=watch)
    from sonnx_ort.checker.premises import require_premises  # noqa: PLC0415
    from sonnx_ort.profile.contract import contract_of  # noqa: PLC0415

    read = contract_of(contract)
    model = established(proto, read, watch)
    require_premises(proto, read)
    return model


def _sentence(certificate: Mapping[str, Any]) -> str:
    """How many obligations hold, and why."""
    count = len(certificate["obligations"])
    if "enforced" not in certificate:
        under = " whose values keep the contract" if "contract" in certificate else ""
        return f"{count} checks hold in every run{under}"
    guarded, waived, unknown = (len(certificate[name]) for name in LISTS[1:])
    sentence = f"{count + guarded} checks hold in every run: {count} by proof, "
    sentence += f"{guarded} by guards"
    sentence += f"; {waived} are waived" if waived else ""
    sentence += f"; {unknown} are left to guards of unknown form" if unknown else ""
    return sentence


def _require_optimizers(entry: Mapping[str, Sequence[str]] | None) -> None:
    """Reject a certificate that lets optimizers act which form numbers that no rule knows."""
    if entry is None:
        raise Rejected(
            "it rests on floats that are computed, and does not say which optimizers must be off"
        )
    missing = sorted(set(MUST_BE_OFF).difference(entry["off"]))
    require(not missing, f"it does not say that {', '.join(missing)} must be off")
    unknown = sorted(set(entry["may_act"]).difference(MAY_ACT))
    require(not unknown, f"it says that {', '.join(unknown)} may act")


def _read_model(content: bytes, digest: object, name: str) -> onnx.ModelProto:
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
