"""What a refused run is told."""

import z3

from sonnx_ort.profile.rule import Rule
from support.proofs.run import Run


def told_first(run: Run, rule: Rule) -> z3.BoolRef:
    """Whether the first node that refuses is a guard of a rule, and tells its code.

    An Expand that is a guard tells it by its name alone.
    """
    told, before = [], []
    for name, refuses in run.refusals:
        if _speaks_of(name, rule):
            told.append(z3.And(refuses, z3.Not(z3.Or(before)), _asks_for(run, name, rule)))
        before.append(refuses)
    return z3.Or(told)


def _speaks_of(name: str, rule: Rule) -> bool:
    return f" {rule.code} {rule.id}" in name


def _asks_for(run: Run, name: str, rule: Rule) -> z3.BoolRef:
    return run.asks_for(name, rule.code) if name in run.asked else z3.BoolVal(True)
