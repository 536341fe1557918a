"""Tables of what rules decide, in the notation of their examples.

    Concat.C2 Other.C2
      X0 (2, 3), X1 (0, 3), axis=0 -> proved: the shapes differ on axis 0 at most
      X0 (2, 3), X1 ?, axis=0 -> runtime: the rank of X1 is unknown

A rule or several, and below them operands and attributes, each with the status and the evidence, or
with why a run violates the rule. "held" is what ONNX Runtime decides in a run. A line goes on in
lines that are indented further.
"""

import re
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import Judgement, Requirement, Status, Violation
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.examples import read

_HELD = "; ONNX Runtime rejects a violation"


def judged(table: str, named: Mapping[str, Requirement] | None = None) -> list[object]:
    """Each rule as its node has it, what is known of its operands, and what that decides.

    Args:
        table: The table.
        named: Requirements that stand in it in the places of rules, by name.
    """
    found = []
    for name, requirement, operands, said in _rows(table, named):
        status, _, evidence = said.partition(": ")
        evidence = evidence.format(scalars=SCALAR_INPUTS)
        if status == "held":
            status, evidence = "runtime", evidence + _HELD
        decided = Judgement(Status(status), evidence)
        found.append(pytest.param(requirement, operands, decided, id=name))
    return found


def violated(table: str) -> list[object]:
    """Each rule as its node has it, the operands of a run, and its violation; None for "kept".

    What is said ends with ` @ 1: 4, 5` if the second entry breaks the rule, by these elements.
    """
    return [
        pytest.param(
            requirement,
            [np.zeros(o.shape or ()) if o.constant is None else o.constant for o in operands],
            None if said == "kept" else _violation(said),
            id=name,
        )
        for name, requirement, operands, said in _rows(table, None)
    ]


def _violation(said: str) -> Violation:
    reason, _, found = said.partition(" @ ")
    if not found:
        return Violation(reason)
    entry, _, values = found.partition(": ")
    return Violation(reason, (int(entry),), tuple(map(int, values.split(", "))))


def _rows(
    table: str, named: Mapping[str, Requirement] | None
) -> Iterator[tuple[str, Requirement, list[Operand], str]]:
    rules: list[str] = []
    for line in re.sub(r"\n {6,}", " ", table).strip("\n").splitlines():
        if not line.startswith(" "):
            rules = line.split()
            continue
        given, _, said = line.strip().partition("-> ")
        operands, attributes = read(given)
        for rule in rules:
            own = RULES[rule].of_node(attributes).requirement if named is None else named[rule]
            yield f"{rule}: {given}", own, operands, said
