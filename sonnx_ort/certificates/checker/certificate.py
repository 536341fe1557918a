"""Checks a certificate, step by step."""

import hashlib
from collections.abc import Mapping
from typing import Any

import onnx

from .model import Model
from .sizes import Rejected, require

FORMAT = "sonnx_ort.certificate/1"


def check(content: bytes, certificate: Mapping[str, Any]) -> str:
    """Check the certificate of a model.

    Args:
        content: The file of the model.
        certificate: The certificate, read from JSON.

    Returns:
        How many obligations hold in every run, as a sentence.

    Raises:
        Rejected: It proves less than it says, or is of another model.
    """
    require(isinstance(certificate, dict), "it is no certificate")
    require(certificate.get("format") == FORMAT, f"the format is not {FORMAT}")
    digest = hashlib.sha256(content).hexdigest()
    require(certificate.get("model") == digest, "it is the certificate of another model")
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise Rejected(f"the model cannot be read: {error}") from error
    model = Model(proto)
    for value, kind, claim in certificate["steps"]:
        found = model.follow(value, kind)
        require(found == claim, f"the {kind} of '{value}' is {found}, not {claim}")
    for output, rule in certificate["obligations"]:
        model.conclude(output, rule)
    return f"{len(certificate['obligations'])} obligations hold in every run"
