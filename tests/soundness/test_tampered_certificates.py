"""What is changed in a certificate, or in a model that it certifies, is rejected or harmless.

Harmless is what says nothing new, fails in every run that failed before, and gives the original's
results in all others. Models are also changed field by field, whatever that means, and all that the
checker concludes of such a model is held against runs of it. And certificates are forged: the
strongest that the checker accepts of files that mean two things, each held to runs of them, where
elements lie in a file that no digest covers with other elements too.
`SONNX_ORT_GRAPHS=1000 pytest tests/soundness/test_tampered_certificates.py` tries more models than
the default; each is changed 20 times, and forged 12 times.
"""

import contextlib
import hashlib
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from sonnx_ort import SonnxError
from sonnx_ort.checker import FORMAT, Model, Rejected, check, established
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.checker.guards import require_guarded
from sonnx_ort.checker.obligations import conclude, rules_of
from sonnx_ort.profile.options import Edition
from support.chosen_cases import trials
from support.derived import facts
from support.examined import enforced_with_certificate
from support.graphs import parse
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.certified_runs import misfits_of
from support.soundness.changed_certificates import results_of_runs
from support.soundness.forgeries import FORGERIES, Files, other_contents
from support.soundness.held import require_kept, with_all_values
from support.soundness.isolated import how_it_ends, run_attempts, tally_of

FORGED = 12
"""How often each model is forged."""

_OPERATORS = ("Div", "Sub", "Softmax")
_EDITIONS = ("typed", "preliminary")
_SAFE = ({"Div.int.C1", "Div.int.C2"}, {"Div.R5", "Div.int.C2"})
"""What demands, in an edition each, that a division of integers does not end the process."""

_RUNS = 4
_FALSE = {
    "require_same_results,": "other results",
    "require_kept,": "a rule is broken",
    "require_no_misfit,": "a fact is wrong",
}
"""What is wrong, by what finds it."""

Feeds = Mapping[str, Array]
Certificate = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Forgery:
    """What the checker accepts.

    Attributes:
        original: The file of the model.
        enforced: The file of the enforced model; None for a certificate of the model alone.
        certificate: The certificate.
        files: The further files of the models.
        feeds: The inputs of the runs.
    """

    original: bytes
    enforced: bytes | None
    certificate: Certificate
    files: Files
    feeds: list[Feeds]


def attempt_of_forgeries(number: int) -> dict[str, int]:
    """Forge certificates of a model; counts what became of each kind of forgery."""
    rng = random.Random(f"forged {number}")  # noqa: S311 - no cryptography
    ort.set_default_logger_severity(4)
    model = _model(rng)
    feeds = [_feeds(rng, model) for _ in range(_RUNS)]
    enforced = [None, model.SerializeToString()]
    with contextlib.suppress(SonnxError):
        enforced.append(
            enforced_with_certificate(
                model.SerializeToString(), edition=rng.choice(_EDITIONS), operators=_OPERATORS
            )[0]
        )
    counts = Counter[str]()
    for _ in range(FORGED):
        what, outcome = _tried(rng, model, rng.choice(enforced), feeds)
        counts[f"{what}: {outcome}"] += 1
    return dict(counts)


def _tried(
    rng: random.Random, model: onnx.ModelProto, enforced: bytes | None, feeds: list[Feeds]
) -> tuple[str, str]:
    """What is forged, and what becomes of it: "rejected", "harmless" or "false" and why."""
    original, other = onnx.ModelProto(), onnx.ModelProto()
    original.CopyFrom(model)
    change, seed = rng.choice(FORGERIES), rng.random()
    changed = [original, other]
    if enforced is None or rng.random() < 0.5:
        other.CopyFrom(original)
    else:
        other.MergeFromString(enforced)
        changed = [other]
    for each in changed:
        what, files = change(random.Random(seed), each, rng)  # noqa: S311
    content = original.SerializeToString()
    beside = None if enforced is None else other.SerializeToString()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write(files)
        try:
            certificate = _strongest(content, beside, rng.choice(_EDITIONS))
            check(content, certificate, beside)
        except Rejected:
            return what, "rejected"
        return what, _outcome_of(Forgery(content, beside, certificate, files, feeds))


def _strongest(content: bytes, enforced: bytes | None, edition: str) -> Certificate:
    """A certificate of all that the checker concludes, and finds guarded.

    Raises:
        Rejected: It reads none of the models.
    """
    try:
        known = established(onnx.load_model_from_string(content))
        beside = None
        if enforced is not None:
            beside = Enforced(known, onnx.load_model_from_string(enforced))
        entries = [*_entries(known, beside, edition)]
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"it cannot be followed: {error!r}") from error
    found = {name: [entry for kind, entry in entries if kind == name] for name, _ in entries}
    made = {"format": FORMAT, "model": _digest(content)}
    made["obligations"] = found.get("obligations", [])
    if enforced is not None:
        made |= {name: found.get(name, []) for name in ("guarded", "unknown")}
        made |= {"waived": [], "edition": edition, "operators": sorted(_OPERATORS)}
        made["enforced"] = _digest(enforced)
    return made


def _entries(
    known: Model, beside: Enforced | None, edition: str
) -> Iterator[tuple[str, list[str]]]:
    for node in _nodes(known.proto):
        output = next(filter(None, node.output), "")
        for rule in sorted(rule.id for rule in rules_of(known.node(output), Edition(edition))):
            yield _holder(known, beside, output, rule), [output, rule]


def _holder(known: Model, beside: Enforced | None, output: str, rule: str) -> str:
    """In which list of a certificate an obligation can stand."""
    with contextlib.suppress(Rejected):
        conclude(known, output, rule)
        return "obligations"
    with contextlib.suppress(Rejected):
        if beside is not None:
            require_guarded(known, beside, output, rule)
            return "guarded"
    return "unknown"


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """The nodes of the operators, those of branches as well."""
    for graph in graphs_of(model.graph):
        yield from (node for node in graph.node if not node.domain and node.op_type in _OPERATORS)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(files: Files) -> None:
    for name, content in files.items():
        Path(name).write_bytes(content)


def _outcome_of(forgery: Forgery) -> str:
    """Run the files of a forgery, with all that may lie beside them."""
    outcomes = [_outcome_in(forgery, forgery.files)]
    for number in range(2 if any(forgery.files.values()) else 0):
        files = {name: other_contents(each)[number] for name, each in forgery.files.items()}
        outcomes.append(_outcome_in(forgery, files))
    return max(outcomes, key=lambda found: found.startswith("false"))


def _outcome_in(forgery: Forgery, files: Files) -> str:
    _write(files)
    for run in (_run_enforced, _hold):
        ended = how_it_ends(run, forgery)
        if ended.startswith("status"):
            false = run is _hold or _is_safe(forgery)
            return "false, the process ends" if false else "harmless"
        if ended:
            return (
                "harmless"
                if ended.startswith("_NoRun")
                else f"false, {_FALSE.get(ended.split()[2], ended)}"
            )
    return "harmless"


def _is_safe(forgery: Forgery) -> bool:
    """Whether no division of integers can end the process, by what the certificate says."""
    said = _said(forgery.certificate)
    divisions = (n for n in _nodes(Model(_loaded(forgery)).proto) if n.op_type == "Div")
    found = [said.get(node.output[0], set()) for node in divisions]
    return bool(found) and all(any(one <= rules for one in _SAFE) for rules in found)


def _said(certificate: Certificate) -> dict[str, set[str]]:
    said: dict[str, set[str]] = {}
    for output, rule in (*certificate["obligations"], *certificate.get("guarded", ())):
        said.setdefault(output, set()).add(rule)
    return said


def _loaded(forgery: Forgery) -> onnx.ModelProto:
    return onnx.load_model_from_string(forgery.original)


class _NoRun(Exception):  # noqa: N818 - no error of ours
    """ONNX Runtime refuses the model or each run."""


def _outcomes(content: bytes, feeds: Iterable[Feeds]) -> list[list[Array] | None]:
    """What runs of a model give; None for those that fail."""
    # Files beside a model are found by its own path.
    Path("model.onnx").write_bytes(content)
    try:
        session = ort.InferenceSession("model.onnx", on_one_thread("none"))
    except Exception as error:
        raise _NoRun from error
    return results_of_runs(session, feeds)


def _run_enforced(forgery: Forgery) -> None:
    _outcomes(forgery.enforced or forgery.original, forgery.feeds)


def _hold(forgery: Forgery) -> None:
    """Hold each run of the enforced model to the original, and the rules to its operands."""
    found = _outcomes(forgery.enforced or forgery.original, forgery.feeds)
    feeds = [each for each, results in zip(forgery.feeds, found, strict=True) if results]
    right = _outcomes(forgery.original, feeds)
    for given, expected in zip(filter(None, found), right, strict=True):
        require_same_results(given, expected)
    exposed, names = with_all_values(forgery.original)
    model = established(_loaded(forgery))
    claimed = facts(model)
    # Which rules an edition has is said by the certificate of an enforced model alone.
    said, edition = _said(forgery.certificate), forgery.certificate.get("edition", "")
    for each, values in zip(feeds, _outcomes(exposed.SerializeToString(), feeds), strict=True):
        if values is None:
            continue
        results = dict(zip(names, values, strict=True)) | dict(each)
        require_no_misfit([*misfits_of(exposed, each, claimed, results)])
        for node in exposed.graph.node:
            rules = said.get(next(filter(None, node.output), ""), set())
            for one in [edition] if edition else _EDITIONS:
                require_kept(node, rules, results, model.version, one)


def require_same_results(given: list[Array], expected: list[Array] | None) -> None:
    """Hold the results of an enforced model to those of its original."""
    assert expected is not None, "the original does not run"
    for one, other in zip(given, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"{one}, not {other}"
        assert one.tobytes() == other.tobytes(), f"{one}, not {other}"


def require_no_misfit(misfits: list[str]) -> None:
    """Hold what is derived to a run."""
    assert not misfits, misfits[0]


_SHAPES = (("n", "n"), ("n", "m"), ("2", "2"), ("2", "m"), ("2, 3", "2, 3"))


def _model(rng: random.Random) -> onnx.ModelProto:
    """A model that has what a forgery of each kind needs."""
    kind = rng.choice(("float", "int32"))
    one, other = rng.choice(_SHAPES)
    divisor = rng.choice(("{3, 3}", "{1, 2}", "{-1, 4}"))
    parts = {
        "a": f"""a = If(b) <then_branch = t () => ({kind}[{one}] p) {{ p = Div(x, y) }},
                           else_branch = e () => ({kind}[{one}] q) {{ q = Div(y, x) }}>""",
        "d": f"c = Constant<value = {kind}[2] {divisor}>() d = Div(w, c)",
        "e": "e = Div(x, y)",
        "h": "h = Sub(x, y)",
        "s": f"s = Softmax{rng.choice(('', '<axis = 1>'))}(u)",
        "r": "k, l = sonnx.Broadcast(f, g) r = Div(k, l)",
    }
    chosen = [name for name in "adehs" if rng.random() < 0.7] or ["d"]
    broadcasts = rng.random() < 0.2
    chosen += ["r"] if broadcasts else []
    outputs = ", ".join(f"{'float' if name == 's' else kind}[] {name}" for name in chosen)
    text = f"""({kind}[{one}] x, {kind}[{other}] y, {kind}[2] w, bool b, float[2, 3, 2] u,
        {kind}[3, 1] f, {kind}[1, 4] g) => ({outputs}) {{ {"  ".join(map(parts.get, chosen))} }}"""
    return parse(text, opset=rng.choice((13, 17)), domains={"sonnx": 1} if broadcasts else None)


def _feeds(rng: random.Random, model: onnx.ModelProto) -> Feeds:
    sizes: dict[str, int] = {}
    feeds: dict[str, Array] = {}
    same = rng.random() < 0.6
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [
            size.dim_value or sizes.setdefault("" if same else size.dim_param, rng.randint(1, 3))
            for size in kind.shape.dim
        ]
        shape = [2 if same and each.dim_param and any(_fixed(model)) else size
                 for each, size in zip(kind.shape.dim, shape, strict=True)]  # fmt: skip
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        numbers = (0, 1, 2, 3, -1, np.iinfo(np.int32).min)
        array = np.array([rng.choice(numbers) for _ in range(int(np.prod(shape)))], np.int64)
        feeds[value.name] = array.reshape(shape).astype(dtype)
    return feeds


def _fixed(model: onnx.ModelProto) -> list[int]:
    """The fixed sizes of the first operands."""
    return [size.dim_value for v in model.graph.input[:2] for size in v.type.tensor_type.shape.dim]


MODELS = int(os.environ.get("SONNX_ORT_GRAPHS", "120"))
MODULE = "support.soundness.tampered"
Lines = list[dict[str, Any]]
KINDS = ("nodes", "graph")


@pytest.fixture(scope="module", params=KINDS)
def lines(request: pytest.FixtureRequest, once: Callable[..., Any], part_of_trials: int) -> Lines:
    attempt = f"{MODULE}:attempt_of_{request.param}"
    numbers = trials(part_of_trials, MODELS)
    found: Lines = once(f"tampered_{request.param}", lambda: run_attempts(attempt, numbers, 2))
    return found


def test_what_is_accepted_is_harmless(lines: Lines) -> None:
    assert [line for line in lines if "result" not in line] == []


@pytest.mark.usefixtures("first_part")
def test_most_changes_are_rejected(lines: Lines) -> None:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update({k: v for k, v in (line.get("result") or {}).items() if isinstance(v, int)})
    assert counts["accepted"] > MODELS // 20
    assert counts["rejected"] > 2 * counts["harmless"]


@pytest.fixture(scope="module")
def fields(once: Callable[..., Any], part_of_trials: int) -> Lines:
    attempt, numbers = f"{MODULE}:attempt_of_fields", trials(part_of_trials, MODELS)
    found: Lines = once("tampered_fields", lambda: run_attempts(attempt, numbers, 2))
    return found


def test_what_is_concluded_of_changed_fields_is_true(fields: Lines) -> None:
    assert [line for line in fields if "result" not in line] == []


@pytest.mark.usefixtures("first_part")
def test_changed_fields_are_worth_looking_at(fields: Lines) -> None:
    counts = tally_of(fields)
    assert counts["held"] > MODELS
    assert counts["rejected"] > MODELS


@pytest.fixture(scope="module")
def forgeries(once: Callable[..., Any], part_of_trials: int) -> Lines:
    attempt = "soundness.test_tampered_certificates:attempt_of_forgeries"
    numbers = trials(part_of_trials, MODELS)
    found: Lines = once("forged_certificates", lambda: run_attempts(attempt, numbers, 2))
    return found


def test_no_forged_certificate_is_accepted(forgeries: Lines) -> None:
    assert [line for line in forgeries if "result" not in line] == []
    assert [outcome for outcome in tally_of(forgeries) if ": false" in outcome] == []


@pytest.mark.usefixtures("first_part")
def test_forgeries_are_of_every_kind(forgeries: Lines) -> None:
    kinds = {outcome.split()[0] for outcome in tally_of(forgeries)}
    assert kinds == {"repeated", "exchanged", "elements", "function", "nothing:"}
    assert sum(tally_of(forgeries).values()) == MODELS * FORGED
