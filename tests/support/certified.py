"""Models that are enforced with a certificate, in memory."""

from collections.abc import Iterable
from typing import Any

from sonnx_ort.backends import Backend
from sonnx_ort.certificates.making import Certificate
from sonnx_ort.options import DEFAULT, Choices, choose_demands
from sonnx_ort.pipeline import (
    apply,
    certified_if_asked_for,
    examine,
    load,
    plan,
    require_serializable,
)


def enforced_with_certificate(
    content: bytes, *, edition: str = "typed", operators: str | Iterable[str] = DEFAULT
) -> tuple[bytes, Certificate]:
    """The file of the model that enforces a model, and the certificate of both.

    Args:
        content: The file of the model.
        edition: The edition.
        operators: The operators to enforce.

    Raises:
        SonnxError: The model violates the profile, or cannot be certified.
    """
    demands = choose_demands(edition, "reject", operators)
    choices = Choices(demands, Backend.NATIVE, certified=True)
    certified = certified_if_asked_for(examine(load(content, choices)))
    proofs: Any = certified.proofs
    proto = apply(plan(certified)).to_proto()
    enforced = require_serializable(proto)
    sha256 = certified.loaded.model.sha256
    return enforced, proofs.certificate_of_enforced(sha256, proto, enforced, demands)
