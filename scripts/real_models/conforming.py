"""`benchmark.py conform`: what `conform` mends in models, and what that costs in a run."""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from benchmarks import report
from benchmarks.turns import Spread, Turn, ratio_of

from real_models.comparison import (
    Comparison,
    ModelNotTried,
    Outcome,
    compare_forms,
    start_session,
    timed,
    timed_in_first,
)
from real_models.feeds import DryRun, make_feeds, trials_for
from real_models.table import Measurement
from sonnx_ort import Conformed, Obligation, SonnxError
from sonnx_ort.conforming.change import Safety
from sonnx_ort.conformity import conform_file
from sonnx_ort.options import DEFAULT
from sonnx_ort.profile.catalog import OPERATORS

_ORIGINAL, _CONFORMED = "original", "conformed"

_EXPLANATION = """\
Violations of the whole profile before conforming and after it; changes and nodes added; trials in
which every output has the same bits, both without optimizations, and the largest deviation of the
others, in parts of the largest number of an output; and how many times as long the conformed model
takes, enforced by a backend, as the original with the same options: that of the shortest
times / the median turn by turn. Operators of which a rule is violated still are not enforced."""


@dataclass(frozen=True, slots=True)
class ConformedModel:
    """What conforming did to a model, whether it gives the same, and the seconds of its turns."""

    name: str
    conformed: Conformed[onnx.ModelProto]
    comparisons: Sequence[Comparison]
    turns: Sequence[Turn]

    @property
    def before(self) -> list[Obligation]:
        """What is violated in the model as it is."""
        return [*self.conformed.before.violations]

    @property
    def after(self) -> list[Obligation]:
        """What is violated in the conformed model."""
        return [*self.conformed.report.violations]

    @property
    def ratio(self) -> Spread | None:
        """How many times as long the enforced, conformed model takes; None if it does not run."""
        return ratio_of(self.turns, _CONFORMED, _ORIGINAL) if self.turns else None

    def row(self) -> report.Row:
        """Its row in the table."""
        outcomes = Counter(comparison.outcome for comparison in self.comparisons)
        compared = outcomes.total() - outcomes[Outcome.ORIGINAL_FAILS]
        ratio = self.ratio
        deviation = max((c.deviation for c in self.comparisons), default=0.0)
        return {
            "model": self.name,
            "before": f"{len(self.before):,}",
            "after": f"{len(self.after):,}",
            "changes": f"{len(self.conformed.changes):,}",
            "nodes added": f"{sum(len(c.added) for c in self.conformed.changes):,}",
            "identical": f"{outcomes[Outcome.IDENTICAL]} of {compared}",
            "deviation": f"{deviation:.1e}" if deviation else "0",
            "times": "-" if ratio is None else report.both(ratio, 2),
        }


def _look_at(name: str, path: Path, options: argparse.Namespace) -> ConformedModel:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "conforming.onnx"
        conformed = conform_file(path, target, rounding=options.rounding)
        form = (target, "", DEFAULT)
        trials = trials_for(onnx.load(path))
        comparisons = compare_forms((path, "", DEFAULT), [form], trials)[form]
        alike = Outcome.IDENTICAL, Outcome.DIFFERENT
        ran = [each.trial for each in comparisons if each.outcome in alike]
        enforced = enforceable(conformed)
        how = path, target, enforced, options
        turns = timed_in_first(ran, _time, *how)
        return ConformedModel(name, conformed, comparisons, turns)


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


def summary(found: Sequence[ConformedModel]) -> str:
    """The sums over all models, in lines."""
    before = Counter(o.rule.id for each in found for o in each.before)
    after = Counter(o.rule.id for each in found for o in each.after)
    rounding = sum(
        change.safety is Safety.ROUNDING for each in found for change in each.conformed.changes
    )
    mended = before.total() - after.total()
    outcomes = Counter(c.outcome for each in found for c in each.comparisons)
    without = sum(not each.after for each in found)
    ratios = [each.ratio for each in found if each.ratio is not None]
    changes = sum(len(each.conformed.changes) for each in found)
    lines = [
        f"{len(found)} models: {before.total():,} violations before, {after.total():,} after.",
        f"{mended / before.total():.1%} mended, by {changes:,} changes; {rounding:,} round.",
        f"Models without any that is left: {without}.",
        f"Trials: {', '.join(f'{count} {outcome}' for outcome, count in outcomes.items())}.",
    ]
    if ratios:
        means = report.means(ratios)
        lines.append(f"Geometric means of the times over {len(ratios)} models: {means}.")
    changed = [rule for rule, _ in before.most_common()] + [r for r in after if r not in before]
    counts = ", ".join(f"{rule} {before[rule]:,} -> {after[rule]:,}" for rule in changed)
    return "\n".join([*lines, f"By rule: {counts}."])


run = Measurement(
    "conform",
    "Conform the models of other people's packages, and compare and time them.",
    1.0,
    _EXPLANATION,
    _look_at,
    (SonnxError, ModelNotTried),
    summary,
    {
        "--rounding": {"action": "store_true", "help": "make changes that round too"},
        "--backend": {"default": "native", "help": "what enforces the conformed model"},
    },
).run
