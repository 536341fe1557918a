"""`benchmark.py audit`: audits of models at two levels of ONNX Runtime's optimizer."""

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import onnx
from benchmarks import report

from real_models.feeds import UnknownInput, make_feeds, trials_for
from real_models.measurement import RunsInNoTrial
from real_models.table import Figures, Measurement
from sonnx_ort import Audit, SonnxError, audit
from sonnx_ort.runs.audit.verdicts import NodeAudit, Verdict
from sonnx_ort.runs.isolated_run import Level

_LEVELS = ("none", "all")
_VERDICTS = " / ".join(f"{{{{{{level}}[{verdict}]:,}}}}" for verdict in Verdict)
_EXPLANATION = """\
Nodes that ran, by what their results are at each level of ONNX Runtime's optimizer: exact /
admitted / outside / not known, and the seconds that the audit took."""


def figures(audits: Mapping[str, Audit], seconds: Mapping[str, float]) -> Figures:
    """The audit of a model at each level, and the seconds that each took."""
    counts = {name: {str(v): n for v, n in made.counts.items()} for name, made in audits.items()}
    nodes = {f"nodes {name}": made.nodes for name, made in audits.items()}
    taken = {f"s {name}": each for name, each in seconds.items()}
    return {"nodes": len(audits["none"].nodes), **counts, **nodes, **taken}


def _measure(path: Path, options: argparse.Namespace) -> Figures:
    model = onnx.load(path, load_external_data=False)

    def timed(feeds: Mapping[str, Any], level: str) -> tuple[Audit, float]:
        start = time.perf_counter()
        made = audit(path, feeds, level=Level(level), samples=options.samples)
        return made, time.perf_counter() - start

    for trial in trials_for(model):
        feeds = make_feeds(model, trial)
        try:
            first = timed(feeds, _LEVELS[0])
        except SonnxError as error:
            if "does not run" not in str(error):
                raise
            continue
        made = [first, *(timed(feeds, level) for level in _LEVELS[1:])]
        audits, seconds = zip(*made, strict=True)
        return figures(
            dict(zip(_LEVELS, audits, strict=True)), dict(zip(_LEVELS, seconds, strict=True))
        )
    raise RunsInNoTrial("it runs in no trial")


def summary(found: Sequence[Figures]) -> Iterator[str]:
    """The sums over all models and the figures of each operator, in lines."""
    for level in _LEVELS:
        nodes = [node for each in found for node in each[f"nodes {level}"]]
        counts = Counter(node.verdict for node in nodes)
        shares = ", ".join(f"{counts[v]:,} {v} ({counts[v] / len(nodes):.1%})" for v in Verdict)
        slowest = max(found, key=itemgetter(f"s {level}"))
        yield (
            f"Level {level}: {len(nodes):,} nodes of {len(found)} models: {shares}. Slowest: "
            f"{slowest['model']}, {slowest[f's {level}']:.1f} s.\n"
        )
        yield _operators(nodes)


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


MEASUREMENT = Measurement(
    "audit",
    "Audit the models of other people's packages, unoptimized and optimized.",
    None,
    _EXPLANATION,
    {
        "nodes": "{nodes:,}",
        "none": _VERDICTS.format(level="none"),
        "s none": "{s none:.1f}",
        "all": _VERDICTS.format(level="all"),
        "s all": "{s all:.1f}",
    },
    _measure,
    (SonnxError, RunsInNoTrial, UnknownInput),
    summary,
    {"--samples": {"type": int, "default": 100, "help": "as for sonnx-ort audit"}},
)
run = MEASUREMENT.run
