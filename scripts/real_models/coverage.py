"""`benchmark.py profile`: what the whole profile says of models, and how long a check takes."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean

from benchmarks import report
from benchmarks.turns import Spread, Turn, ratio_of, seconds_of, take_turns

from real_models.table import Measurement
from sonnx_ort import Report, SonnxError, check
from sonnx_ort.options import DEFAULT, PROFILE
from sonnx_ort.profile.rule import Rule, Subject

_EXPLANATION = """\
Nodes by what the profile has for their operators; obligations that are proved / decided in runs /
violated, without those of the graph, for the default operators and for the whole profile; broken
rules on the graph; and how many times as long a check of the profile takes as one of the default
operators: that of the shortest times / the median turn by turn."""


@dataclass(frozen=True, slots=True)
class ModelCoverage:
    """What a check of a model gives, for both choices of operators, and the seconds of turns."""

    name: str
    reports: Mapping[str, Report]
    turns: Sequence[Turn]

    @property
    def nodes(self) -> int:
        """The number of nodes, with those of subgraphs and functions."""
        return sum(self.standings.values())

    @property
    def standings(self) -> Mapping[str, int]:
        """The number of nodes by what the profile has for their operators."""
        return self.reports[PROFILE].standings

    def ratio(self) -> Spread:
        """How many times as long the check of the whole profile takes."""
        return ratio_of(self.turns, PROFILE, DEFAULT)

    def row(self) -> report.Row:
        """Its row in the table."""
        seconds = seconds_of(self.turns, PROFILE)
        return {
            "model": self.name,
            "nodes": f"{self.nodes:,}",
            **{words: f"{count:,}" for words, count in self.standings.items()},
            **{name: _counts([made]) for name, made in self.reports.items()},
            "graph": str(sum(_on_graph(self.reports[PROFILE]).values())),
            "us a node": report.both(seconds.times(1e6 / self.nodes), 0),
            "times": report.both(self.ratio(), 2),
        }


def _counts(reports: Sequence[Report]) -> str:
    """The obligations about operators: proved / decided in runs / violated."""
    counts = Counter(
        o.status.value for made in reports for o in made.enforced if not _is_on_graph(o.rule)
    )
    return f"{counts['proved']:,} / {counts['runtime']:,} / {counts['violated']:,}"


def _is_on_graph(rule: Rule) -> bool:
    return rule.requirement.subject is Subject.GRAPH


def _on_graph(made: Report) -> Counter[str]:
    """How many places break each rule on the graph."""
    return Counter(o.rule.id for o in made.violations if _is_on_graph(o.rule))


def _look_at(name: str, path: Path, options: argparse.Namespace) -> ModelCoverage:
    checks = {
        operators: partial(check, path, operators=operators) for operators in (DEFAULT, PROFILE)
    }
    reports = {operators: made() for operators, made in checks.items()}
    return ModelCoverage(name, reports, take_turns(checks, options.seconds, DEFAULT, fewest=3))


def summary(found: Sequence[ModelCoverage]) -> str:
    """The sums over all models, in lines."""
    nodes = sum(each.nodes for each in found)
    standings = Counter[str]()
    on_graph, rules = Counter[str](), Counter[str]()
    for each in found:
        standings.update(each.standings)
        on_graph += _on_graph(each.reports[PROFILE])
        rules += Counter(
            o.rule.id for o in each.reports[PROFILE].violations if not _is_on_graph(o.rule)
        )
    shares = "; ".join(f"{n:,} {words} ({n / nodes:.1%})" for words, n in standings.items())
    ratio = geometric_mean(each.ratio().median for each in found)
    lines = [
        f"{len(found)} models with {nodes:,} nodes: {shares}.",
        *(
            f"Obligations of operators={operators!r}: "
            f"{_counts([each.reports[operators] for each in found])}."
            for operators in (DEFAULT, PROFILE)
        ),
        f"Broken rules on the graph: {_listed(on_graph)}.",
        f"Broken rules on operators: {_listed(rules)}.",
        f"Geometric mean of the times, median turn by turn: {ratio:.2f}.",
    ]
    return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{rule} {count:,}" for rule, count in counts.most_common()) or "none"


run = Measurement(
    "profile",
    "Say what the whole profile demands of the models of other people's packages.",
    0.5,
    _EXPLANATION,
    _look_at,
    (SonnxError,),
    summary,
).run
