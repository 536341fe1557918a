"""`benchmark.py profile`: what the whole profile says of models, and how long a check takes."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean

from benchmarks.turns import Turn, ratio_of, seconds_of, take_turns

from real_models.table import Figures, Measurement, listed, total
from sonnx_ort import Report, SonnxError, check
from sonnx_ort.options import DEFAULT, PROFILE
from sonnx_ort.profile.catalog import OperatorStanding
from sonnx_ort.profile.rule import Rule, Subject

_STATUSES = "{0[proved]:,} / {0[runtime]:,} / {0[violated]:,}"

_EXPLANATION = """\
Nodes by what the profile has for their operators; obligations that are proved / decided in runs /
violated, without those of the graph, for the default operators and for the whole profile; broken
rules on the graph; and how many times as long a check of the profile takes as one of the default
operators: that of the shortest times / the median turn by turn."""


def figures(reports: Mapping[str, Report], turns: Sequence[Turn]) -> Figures:
    """What a check of a model gives, for both choices of operators, and the seconds of turns."""
    standings = Counter(reports[PROFILE].standings)
    violated = reports[PROFILE].violations
    return {
        "nodes": standings.total(),
        "standings": standings,
        **{name: _statuses(made) for name, made in reports.items()},
        "on_graph": sum(_is_on_graph(o.rule) for o in violated),
        "graph": Counter(o.rule.id for o in violated if _is_on_graph(o.rule)),
        "rules": Counter(o.rule.id for o in violated if not _is_on_graph(o.rule)),
        "us": seconds_of(turns, PROFILE).times(1e6 / standings.total()),
        "times": ratio_of(turns, PROFILE, DEFAULT),
    }


def _statuses(made: Report) -> Counter[str]:
    """The obligations about operators, by their statuses."""
    return Counter(o.status.value for o in made.enforced if not _is_on_graph(o.rule))


def _is_on_graph(rule: Rule) -> bool:
    return rule.requirement.subject is Subject.GRAPH


def _measure(path: Path, options: argparse.Namespace) -> Figures:
    checks = {
        operators: partial(check, path, operators=operators, forecast=False)
        for operators in (DEFAULT, PROFILE)
    }
    reports = {operators: made() for operators, made in checks.items()}
    return figures(reports, take_turns(checks, options.seconds, DEFAULT, fewest=3))


def summary(found: Sequence[Figures]) -> Iterator[str]:
    """The sums over all models, in lines."""
    nodes, standings = total(found, "nodes"), total(found, "standings")
    shares = (
        f"{standings[s.value]:,} {s.value} ({standings[s.value] / nodes:.1%})"
        for s in OperatorStanding
    )
    yield f"{len(found)} models with {nodes:,} nodes: {'; '.join(shares)}."
    for operators in (DEFAULT, PROFILE):
        counts = _STATUSES.format(total(found, operators))
        yield f"Obligations of operators={operators!r}: {counts}."
    yield f"Broken rules on the graph: {listed(total(found, 'graph'))}."
    yield f"Broken rules on operators: {listed(total(found, 'rules'))}."
    ratio = geometric_mean(each["times"].median for each in found)
    yield f"Geometric mean of the times, median turn by turn: {ratio:.2f}."


MEASUREMENT = Measurement(
    "profile",
    "Say what the whole profile demands of the models of other people's packages.",
    0.5,
    _EXPLANATION,
    {
        "nodes": "{nodes:,}",
        **{s.value: f"{{standings[{s.value}]:,}}" for s in OperatorStanding},
        **{name: _STATUSES.replace("0[", f"{name}[") for name in (DEFAULT, PROFILE)},
        "graph": "{on_graph}",
        "us a node": "{us:.0f}",
        "times": "{times:.2f}",
    },
    _measure,
    (SonnxError,),
    summary,
)
run = MEASUREMENT.run
