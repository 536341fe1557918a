"""`benchmark.py audit`: audits of models at two levels of ONNX Runtime's optimizer."""

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from benchmarks import report

from real_models.feeds import DryRun, UnknownInput, make_feeds, trials_for
from real_models.measurement import RunsInNoTrial
from real_models.table import Measurement
from sonnx_ort import Audit, SonnxError, audit
from sonnx_ort.comparing.isolated_run import Level
from sonnx_ort.comparing.verdicts import NodeAudit, Verdict

_LEVELS = ("none", "all")
_EXPLANATION = """\
Nodes that ran, by what their results are at each level of ONNX Runtime's optimizer: exact /
admitted / outside / not known, and the seconds that the audit took."""


@dataclass(frozen=True, slots=True)
class AuditedModel:
    """A model, its audit at each level, and the seconds that each took."""

    name: str
    audits: Mapping[str, Audit]
    seconds: Mapping[str, float]

    def row(self) -> report.Row:
        """Its row in the table."""
        cells = {"model": self.name, "nodes": f"{len(self.audits['none'].nodes):,}"}
        for level, made in self.audits.items():
            cells[level] = " / ".join(f"{count:,}" for count in made.counts.values())
            cells[f"s {level}"] = f"{self.seconds[level]:.1f}"
        return cells


def _look_at(name: str, path: Path, options: argparse.Namespace) -> AuditedModel:
    samples = options.samples
    model = onnx.load(path, load_external_data=False)
    trials = iter(trials_for(model))
    audits: dict[str, Audit] = {}
    seconds: dict[str, float] = {}
    trial = next(trials, None)
    while trial is not None:
        try:
            audits["none"], seconds["none"] = _timed(path, model, trial, "none", samples)
            break
        except SonnxError as error:
            if "does not run" not in str(error):
                raise
            trial = next(trials, None)
    if trial is None:
        raise RunsInNoTrial("it runs in no trial")
    for level in _LEVELS[1:]:
        audits[level], seconds[level] = _timed(path, model, trial, level, samples)
    return AuditedModel(name, audits, seconds)


def _timed(
    path: Path, model: onnx.ModelProto, trial: DryRun, level: str, samples: int
) -> tuple[Audit, float]:
    feeds = make_feeds(model, trial)
    start = time.perf_counter()
    made = audit(path, feeds, level=Level(level), samples=samples)
    return made, time.perf_counter() - start


def summary(found: Sequence[AuditedModel]) -> str:
    """The sums over all models and the figures of each operator, in lines."""
    lines = []
    for level in _LEVELS:
        nodes = [node for each in found for node in each.audits[level].nodes]
        counts = Counter(node.verdict for node in nodes)
        shares = ", ".join(f"{counts[v]:,} {v} ({counts[v] / len(nodes):.1%})" for v in Verdict)
        slowest = max(found, key=lambda each: each.seconds[level])
        lines.append(
            f"Level {level}: {len(nodes):,} nodes of {len(found)} models: {shares}. Slowest: "
            f"{slowest.name}, {slowest.seconds[level]:.1f} s.\n"
        )
        lines.append(_operators(nodes))
    return "\n".join(lines)


def _operators(nodes: Sequence[NodeAudit]) -> str:
    heads = [*map(str, Verdict), "units admitted", "units outside"]
    groups: dict[str, list[NodeAudit]] = {}
    for node in nodes:
        groups.setdefault(node.operator, []).append(node)
    rows = []
    for name, group in sorted(groups.items()):
        counts = Counter(node.verdict for node in group)
        units = (_largest(group, verdict) for verdict in (Verdict.ADMITTED, Verdict.OUTSIDE))
        numbers = [*(counts[v] for v in Verdict), *units]
        rows.append({"operator": name} | {h: f"{n:,}" for h, n in zip(heads, numbers, strict=True)})
    return report.markdown_table(rows)


def _largest(nodes: Sequence[NodeAudit], verdict: Verdict) -> int:
    worst = (node.worst for node in nodes if node.verdict is verdict)
    return max((element.units or 0 for element in worst if element is not None), default=0)


run = Measurement(
    "audit",
    "Audit the models of other people's packages, unoptimized and optimized.",
    None,
    _EXPLANATION,
    _look_at,
    (SonnxError, RunsInNoTrial, UnknownInput),
    summary,
    {"--samples": {"type": int, "default": 100, "help": "as for sonnx-ort audit"}},
).run
