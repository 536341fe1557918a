"""What is changed in a certificate, or in a model that it certifies, is rejected or harmless.

Harmless is what says nothing new, fails in every run that failed before, and gives the original's
results in all others. Models are also changed field by field, whatever that means, and all that the
checker concludes of such a model is held against runs of it. And certificates are forged: the
strongest that the checker accepts of files that mean two things, each held to runs of them.
`SONNX_ORT_GRAPHS=1000 pytest tests/soundness/test_tampered_certificates.py` tries more models than
the default; each is changed 20 times, and forged 12 times.
"""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from support.soundness.forged import FORGED
from support.soundness.isolated import run_attempts, tally_of

MODELS = int(os.environ.get("SONNX_ORT_GRAPHS", "120"))
MODULE = "support.soundness.tampered"
Lines = list[dict[str, Any]]
KINDS = ("nodes", "graph")


@pytest.fixture(scope="module", params=KINDS)
def lines(request: pytest.FixtureRequest, once: Callable[..., Any]) -> Lines:
    attempt = f"{MODULE}:attempt_of_{request.param}"
    found: Lines = once(
        f"tampered_{request.param}", lambda: run_attempts(attempt, range(MODELS), 2)
    )
    return found


def test_what_is_accepted_is_harmless(lines: Lines) -> None:
    assert [line for line in lines if "result" not in line] == []


def test_most_changes_are_rejected(lines: Lines) -> None:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update({k: v for k, v in (line.get("result") or {}).items() if isinstance(v, int)})
    assert counts["accepted"] > MODELS // 20
    assert counts["rejected"] > 2 * counts["harmless"]


@pytest.fixture(scope="module")
def fields(once: Callable[..., Any]) -> Lines:
    attempt = f"{MODULE}:attempt_of_fields"
    found: Lines = once("tampered_fields", lambda: run_attempts(attempt, range(MODELS), 2))
    return found


def test_what_is_concluded_of_changed_fields_is_true(fields: Lines) -> None:
    assert [line for line in fields if "result" not in line] == []


def test_changed_fields_are_worth_looking_at(fields: Lines) -> None:
    counts = tally_of(fields)
    assert counts["held"] > MODELS
    assert counts["rejected"] > MODELS


@pytest.fixture(scope="module")
def forgeries(once: Callable[..., Any]) -> Lines:
    attempt = "support.soundness.forged:attempt_of_forgeries"
    found: Lines = once("forged_certificates", lambda: run_attempts(attempt, range(MODELS), 2))
    return found


def test_no_forged_certificate_is_accepted(forgeries: Lines) -> None:
    assert [line for line in forgeries if "result" not in line] == []
    assert [outcome for outcome in tally_of(forgeries) if ": false" in outcome] == []


def test_forgeries_are_of_every_kind(forgeries: Lines) -> None:
    kinds = {outcome.split()[0] for outcome in tally_of(forgeries)}
    assert kinds == {"repeated", "exchanged", "elements", "function", "nothing:"}
    assert sum(tally_of(forgeries).values()) == MODELS * FORGED
