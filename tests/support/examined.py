"""What the product and its checker of certificates find of models in memory."""

from collections.abc import Iterable
from typing import Any

import onnx

from sonnx_ort.analysis.certificates import Certificate, names_of_values
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.backends import Backend
from sonnx_ort.checker import Model, Rejected, established
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.options import DEFAULT, Choices, choose_demands
from sonnx_ort.pipeline import (
    apply,
    certified_if_asked_for,
    examine,
    load,
    plan,
)
from sonnx_ort.profile.contract import NO_CONTRACT, Contract
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.rule import Subject
from sonnx_ort.reporting import checked_models
from sonnx_ort.reporting.checked_models import GraphOutline


def examined(
    model: ModelSource, demands: Demands, *, complete: bool = False, waivers: Iterable[Waiver] = ()
) -> Examination:
    """Load and examine a model."""
    choices = Choices(demands, Backend.PYTHON, waivers=tuple(waivers))
    return examine(load(model, choices), complete=complete).examination


def check_with_outline(
    model: ModelSource,
    edition: str = "typed",
    broadcast: str = "reject",
    operators: str | Iterable[str] = "default",
    contract: Contract = NO_CONTRACT,
) -> tuple[Report, GraphOutline]:
    """Check a model, and describe its graph."""
    demands = choose_demands(edition, broadcast, operators, contract)
    return checked_models.check_with_outline(model, Choices(demands, Backend.PYTHON))


def enforced_with_certificate(
    content: bytes,
    *,
    edition: str = "typed",
    operators: str | Iterable[str] = DEFAULT,
    contract: Contract = NO_CONTRACT,
) -> tuple[bytes, Certificate]:
    """The file of the model that enforces a model, and the certificate of both.

    Args:
        content: The file of the model.
        edition: The edition.
        operators: The operators to enforce.
        contract: What its values may be.

    Raises:
        SonnxError: The model violates the profile, or cannot be certified.
    """
    demands = choose_demands(edition, "reject", operators, contract)
    choices = Choices(demands, Backend.NATIVE, certified=True)
    certified = certified_if_asked_for(examine(load(content, choices)))
    proofs: Any = certified.proofs
    proto = apply(plan(certified)).to_proto()
    enforced = require_serializable(proto)
    sha256 = certified.loaded.model.sha256
    return enforced, proofs.certificate_of_enforced(sha256, proto, enforced, demands)


def concluded_by_checker(
    content: bytes, edition: str, operators: Iterable[str]
) -> frozenset[tuple[str, str]]:
    """The labels of nodes, and the ids of the rules that the checker concludes of them.

    Those that ONNX Runtime holds are left out: it refuses a run that breaks one.

    Args:
        content: The file of a model.
        edition: The edition.
        operators: The operators that are enforced.
    """
    choices = Choices(choose_demands(edition, "reject", operators), Backend.NATIVE)
    loaded = load(content, choices)
    try:
        known = established(onnx.load_model_from_string(content))
    except Rejected:
        return frozenset()
    names = names_of_values(loaded.model.graph_model.graph, known)
    concluded = set[tuple[str, str]]()
    for node in examine(loaded, complete=True).examination.nodes:
        outputs = [names[output] for output in node.ruled.node.outputs if output in names]
        for obligation in node.found if outputs else ():
            rule, held = obligation.rule.id, obligation.rule.requirement.subject is Subject.HELD
            if not held and _is_concluded(known, outputs[0], rule):
                concluded.add((node.ruled.label, rule))
    return frozenset(concluded)


def _is_concluded(known: Model, output: str, rule: str) -> bool:
    try:
        conclude(known, output, rule)
    except Rejected:
        return False
    return True
