"""Forges certificates by single changes, and runs what the checker accepts.

Whatever is accepted must give the original's results, end no process that it says is safe, and
break no rule that it certifies. Attempts are for `support.soundness.isolated`.
"""

import contextlib
import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.checker import Model, Rejected, check, established, read_certificate
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.guards import require_guarded
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.profile.contract import contract_of
from sonnx_ort.profile.graph import is_of_contract
from support.derived import facts
from support.examined import enforced_with_certificate
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.certified_models import MAKERS, Feeds, Subject, feeds_of
from support.soundness.certified_runs import misfits_of
from support.soundness.held import require_kept, with_all_values
from support.soundness.isolated import how_it_ends
from support.soundness.single_changes import Certificate, change_certificate, change_model

CHANGES = 30
"""How often each model is changed."""

_RUNS = 24
_WHY = {
    "_require_same,": "other results",
    "require_kept,": "a rule is broken",
    "_require_hidden,": "a rule is broken",
    "_require_contract,": "a contract is broken",
    "_require_no_misfit,": "a fact is wrong",
}
"""What is wrong, by what finds it."""


@dataclass(frozen=True, slots=True)
class Forgery:
    """What the checker accepts, and the inputs of runs."""

    subject: Subject
    enforced: bytes
    certificate: Certificate
    feeds: list[Feeds]


def attempt(number: int) -> dict[str, int]:
    """Forge certificates of a model and of what enforces it; count what becomes of each."""
    rng = random.Random(f"changed {number}")  # noqa: S311 - no cryptography
    ort.set_default_logger_severity(4)
    subject = rng.choice(MAKERS)(rng)
    content = subject.model.SerializeToString()
    try:
        enforced, made = enforced_with_certificate(
            content,
            edition=rng.choice(("typed", "typed", "preliminary")),
            operators=subject.operators,
            contract=subject.contract,
        )
    except sonnx_ort.SonnxError:
        return {"refused": 1}
    certificate: Certificate = dict(read_certificate(made.to_json().encode()))
    feeds = [feeds_of(rng, subject) for _ in range(_RUNS)]
    plain = Forgery(subject, enforced, certificate, feeds)
    counts = Counter({"models": 1, f"as it is: {_outcome(plain)}": 1})
    for _ in range(CHANGES):
        what, outcome = _tried(rng, plain)
        counts[f"{what}: {outcome}"] += 1
    return dict(counts)


def _tried(rng: random.Random, plain: Forgery) -> tuple[str, str]:
    """What was changed, and what became of it."""
    model, changed = onnx.load_model_from_string(plain.enforced), None
    while changed is None:
        change = change_model if rng.random() < 0.6 else change_certificate
        changed = change(rng, plain.subject.model, model, plain.certificate)
    what, other, certificate = changed
    content, enforced = plain.subject.model.SerializeToString(), other.SerializeToString()
    certificate = certificate | {"enforced": hashlib.sha256(enforced).hexdigest()}
    try:
        if change is change_model and rng.random() < 0.6:
            certificate = _strongest(certificate, content, enforced)
        check(content, certificate, enforced)
    except Rejected:
        return what, "rejected"
    return what, _outcome(Forgery(plain.subject, enforced, certificate, plain.feeds))


def _strongest(certificate: Certificate, content: bytes, enforced: bytes) -> Certificate:
    """The same that claims all that the checker concludes of the models, or finds guarded.

    Raises:
        Rejected: It cannot compare them.
    """
    contract = contract_of(certificate.get("contract", []))
    known = established(onnx.load_model_from_string(content), contract)
    without = established(onnx.load_model_from_string(content)) if contract else known
    other = onnx.load_model_from_string(enforced)
    beside, before = Enforced(known, other), Enforced(without, other)
    found: dict[str, list[list[str]]] = {"obligations": [], "guarded": [], "unknown": []}
    for name in ("obligations", "guarded", "waived", "unknown"):
        for entry in certificate[name]:
            own = before if is_of_contract(entry[1]) else beside
            found[_holder(known, own, entry)].append(entry)
    return certificate | found | {"waived": []}


def _holder(known: Model, beside: Enforced, entry: list[str]) -> str:
    with contextlib.suppress(Rejected):
        conclude(known, *entry)
        return "obligations"
    with contextlib.suppress(Rejected):
        require_guarded(known, beside, *entry)
        return "guarded"
    return "unknown"


def _outcome(forgery: Forgery) -> str:
    """What runs say: "harmless", or "false" and why."""
    for run in (_run, _hold):
        ended = how_it_ends(run, forgery)
        if ended.startswith("status"):
            safe = run is _hold or forgery.subject.deadly <= _said(forgery.certificate)
            return "false, the process ends" if safe else "harmless"
        if ended:
            return f"false, {_WHY.get(ended.split()[2], ended)}"
    return "harmless"


def _said(certificate: Certificate) -> set[tuple[str, str]]:
    entries = (*certificate["obligations"], *certificate["guarded"])
    return {(output, rule) for output, rule in entries}


def _outcomes(content: bytes, feeds: Iterable[Feeds]) -> list[list[Array] | None]:
    """What runs of a model give; None for those that fail."""
    try:
        session = ort.InferenceSession(content, on_one_thread("none"))
    except Exception:  # noqa: BLE001 - whatever it fails with
        return [None for _ in feeds]
    return results_of_runs(session, feeds)


def results_of_runs(
    session: ort.InferenceSession, feeds: Iterable[Feeds]
) -> list[list[Array] | None]:
    """What the runs of a session give; None for those that fail."""
    found: list[list[Array] | None] = []
    for each in feeds:
        try:
            found.append(list(session.run(None, dict(each))))
        except Exception:  # noqa: BLE001 - whatever it fails with
            found.append(None)
    return found


def _run(forgery: Forgery) -> None:
    _outcomes(forgery.enforced, forgery.feeds)


def _hold(forgery: Forgery) -> None:
    """Hold each run that passes to the original, and the rules and the contract to its values."""
    subject, certificate = forgery.subject, forgery.certificate
    content, said = subject.model.SerializeToString(), _said(certificate)
    outcomes = _outcomes(forgery.enforced, forgery.feeds)
    pairs = [(f, o) for f, o in zip(forgery.feeds, outcomes, strict=True) if o is not None]
    feeds = [each for each, _ in pairs]
    for (_, given), right in zip(pairs, _outcomes(content, feeds), strict=True):
        _require_same(given, right)
    exposed, names = with_all_values(content)
    contract = contract_of(certificate.get("contract", []))
    model = established(onnx.load_model_from_string(content), contract)
    claimed = facts(model)
    for each, values in zip(feeds, _outcomes(exposed.SerializeToString(), feeds), strict=True):
        _require_hidden(said, subject.hidden(each))
        if values is None:
            continue
        results = dict(zip(names, values, strict=True)) | dict(each)
        _require_contract(model, said, results)
        _require_no_misfit([*misfits_of(exposed, each, claimed, results)])
        for node in exposed.graph.node:
            found = {rule for output, rule in said if output in node.output}
            require_kept(node, found, results, model.version, certificate["edition"])


def _require_same(given: list[Array], right: list[Array] | None) -> None:
    assert right is not None, "the original does not run"
    for one, other in zip(given, right, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"{one}, not {other}"
        assert one.tobytes() == other.tobytes(), f"{one}, not {other}"


def _require_hidden(said: set[tuple[str, str]], broken: list[tuple[str, str]]) -> None:
    assert said.isdisjoint(broken), f"{broken} are certified, and broken"


def _require_contract(
    model: Model, said: set[tuple[str, str]], results: Mapping[str, np.ndarray]
) -> None:
    for value, rule in said:
        if is_of_contract(rule):
            requirement, names = model.demanded(value, rule)
            arrays = [results[name] for name in names]
            assert requirement.violation_of(names, arrays) is None, f"{rule} of {value} is broken"


def _require_no_misfit(misfits: list[str]) -> None:
    assert not misfits, misfits[0]
