"""One thing is changed in a certified enforced model or its certificate; no false one is accepted.

Models of few nodes, with inputs at the ends of their types. `campaigns.py certificates` tries more.
"""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from support.chosen_cases import trials
from support.soundness.changed_certificates import CHANGES
from support.soundness.isolated import run_attempts, tally_of

DEFAULT = 30
MODELS = int(os.environ.get("SONNX_ORT_GRAPHS", str(4 * DEFAULT))) // 4
ATTEMPT = "support.soundness.changed_certificates:attempt"
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(once: Callable[..., Any], part_of_trials: int) -> Lines:
    numbers = trials(part_of_trials, MODELS)
    found: Lines = once("changed_certificates", lambda: run_attempts(ATTEMPT, numbers, 2, 60))
    return found


@pytest.fixture(scope="module")
def counts(lines: Lines) -> Counter[str]:
    return tally_of(lines)


def test_every_model_is_tried(lines: Lines) -> None:
    assert [line for line in lines if "result" not in line] == []


def test_no_changed_certificate_is_accepted_and_false(lines: Lines) -> None:
    false = [(line["number"], what) for line in lines for what in line.get("result", {})
             if ": false" in what]  # fmt: skip
    assert false == []


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(MODELS < DEFAULT, reason="too few models to tell")
def test_changes_are_of_many_kinds_and_most_are_rejected(counts: Counter[str]) -> None:
    forged = {what: n for what, n in counts.items() if ":" in what and "as it is" not in what}
    assert sum(forged.values()) == CHANGES * counts["models"]
    assert counts["models"] > MODELS // 2
    assert len({what.partition(":")[0] for what in forged}) > 20
    rejected = sum(n for what, n in forged.items() if what.endswith(": rejected"))
    assert sum(forged.values()) // 2 < rejected < sum(forged.values())
