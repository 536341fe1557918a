"""`benchmark.py conform`: what `conform` mends in models, and what that costs in a run."""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
from benchmarks.turns import Turn, ratio_of

from real_models.comparison import (
    ModelNotTried,
    Outcome,
    compare_forms,
    identical,
    start_session,
    timed,
    timed_in_first,
)
from real_models.feeds import DryRun, make_feeds, trials_for
from real_models.table import Figures, Measurement, means, total
from sonnx_ort import Conformed, SonnxError
from sonnx_ort.conforming.change import Safety
from sonnx_ort.conforming.conformity import conform_file
from sonnx_ort.options import DEFAULT
from sonnx_ort.profile.catalog import OPERATORS

_ORIGINAL, _CONFORMED = "original", "conformed"

_EXPLANATION = """\
Violations of the whole profile before conforming and after it; changes and nodes added; trials in
which every output has the same bits, both without optimizations, and the largest deviation of the
others, in parts of the largest number of an output; and how many times as long the conformed model
takes, enforced by a backend, as the original with the same options: that of the shortest
times / the median turn by turn. Operators of which a rule is violated still are not enforced."""


def _measure(path: Path, options: argparse.Namespace) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "conforming.onnx"
        conformed = conform_file(path, target, rounding=options.rounding)
        form = (target, "", DEFAULT)
        trials = trials_for(onnx.load(path))
        comparisons = compare_forms((path, "", DEFAULT), [form], trials)[form]
        alike = Outcome.IDENTICAL, Outcome.DIFFERENT
        ran = [each.trial for each in comparisons if each.outcome in alike]
        turns = timed_in_first(ran, _time, path, target, enforceable(conformed), options)
    outcomes = Counter(comparison.outcome for comparison in comparisons)
    deviation = max((comparison.deviation for comparison in comparisons), default=0.0)
    changes = conformed.changes
    return {
        "before": Counter(o.rule.id for o in conformed.before.violations),
        "after": Counter(o.rule.id for o in conformed.report.violations),
        "violations": (len(conformed.before.violations), len(conformed.report.violations)),
        "changes": len(changes),
        "rounding": sum(change.safety is Safety.ROUNDING for change in changes),
        "added": sum(len(change.added) for change in changes),
        "outcomes": outcomes,
        "identical": identical(outcomes),
        "deviation": f"{deviation:.1e}" if deviation else "0",
        "times": ratio_of(turns, _CONFORMED, _ORIGINAL) if turns else None,
    }


def enforceable(conformed: Conformed[onnx.ModelProto]) -> str:
    """The operators of the profile of which no rule is violated in the conformed model."""
    violated = {o.operator for o, _ in conformed.remaining} & OPERATORS.keys()
    return ",".join(["profile", "-Graph", *(f"-{operator}" for operator in sorted(violated))])


def _time(
    path: Path, target: Path, operators: str, options: argparse.Namespace, trial: DryRun
) -> list[Turn]:
    def sessions() -> dict[str, Any]:
        return {
            _ORIGINAL: start_session(path, optimized=True, enforcing=True),
            _CONFORMED: start_session(target, options.backend, operators, optimized=True),
        }

    return timed(sessions, make_feeds(onnx.load(path), trial), options.seconds, _ORIGINAL)


def summary(found: Sequence[Figures]) -> Iterator[str]:
    """The sums over all models, in lines."""
    before, after = total(found, "before"), total(found, "after")
    changes, rounding = total(found, "changes"), total(found, "rounding")
    fixed = (before.total() - after.total()) / before.total()
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in total(found, "outcomes").items())
    yield f"{len(found)} models: {before.total():,} violations before, {after.total():,} after."
    yield f"{fixed:.1%} mended, by {changes:,} changes; {rounding:,} round."
    yield f"Models without any that is left: {sum(not each['after'] for each in found)}."
    yield f"Trials: {outcomes}."
    models, ratios = means(found, "times")
    if models:
        yield f"Geometric means of the times over {models} models: {ratios}."
    changed = [rule for rule, _ in before.most_common()] + [r for r in after if r not in before]
    counts = ", ".join(f"{rule} {before[rule]:,} -> {after[rule]:,}" for rule in changed)
    yield f"By rule: {counts}."


MEASUREMENT = Measurement(
    "conform",
    "Conform the models of other people's packages, and compare and time them.",
    1.0,
    _EXPLANATION,
    {
        "before": "{violations[0]:,}",
        "after": "{violations[1]:,}",
        "changes": "{changes:,}",
        "nodes added": "{added:,}",
        "identical": "{identical}",
        "deviation": "{deviation}",
        "times": "{times:.2f}",
    },
    _measure,
    (SonnxError, ModelNotTried),
    summary,
    {
        "--rounding": {"action": "store_true", "help": "make changes that round too"},
        "--backend": {"default": "native", "help": "what enforces the conformed model"},
    },
)
run = MEASUREMENT.run
