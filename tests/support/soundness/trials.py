"""Numbered trials: a random model, what it is run with, and how it is enforced.

A trial of a given number is the same everywhere. For `support.soundness.isolated`.
"""

import logging
import random

from sonnx_ort.profile.catalog import DEFAULT_OPERATORS, OPERATORS
from support.soundness.examination import DryRun, examine
from support.soundness.judge import Tally
from support.soundness.models import random_feeds, random_model
from support.soundness.shrinking import smallest

_RUNS = 6


def make_trial(number: int) -> DryRun:
    """Make the trial of a number."""
    rng = random.Random(number)  # noqa: S311 - no cryptography
    edition = rng.choice(["typed", "preliminary"])
    broadcast = rng.choice(["reject", "explicit"])
    operators = _operators(rng)
    made = random_model(rng)
    runs = (made.nominal, *(random_feeds(rng, made) for _ in range(_RUNS - 1)))
    return DryRun(made.proto, runs, made.lies, edition, broadcast, operators)


def _operators(rng: random.Random) -> frozenset[str]:
    """Those that are enforced; what ends ONNX Runtime's process by itself always is."""
    match rng.choice(["default", "default", "all", "all", "some"]):
        case "default":
            return DEFAULT_OPERATORS | {"Mod"}
        case "all":
            return frozenset(OPERATORS)
    chosen = rng.sample(sorted(OPERATORS), rng.randint(1, len(OPERATORS)))
    return frozenset({*chosen, "Div", "Mod", "Broadcast"})


def attempt(number: int) -> dict[str, int]:
    """Examine the trial of a number, and give what was looked at."""
    return _examined(make_trial(number))


def shrunk(number: int) -> str:
    """Give the smallest trial on which the same goes wrong as on that of a number."""
    return str(smallest(make_trial(number), _examined))


def _examined(trial: DryRun) -> Tally:
    # The kernels log each of the thousands of violations.
    logging.getLogger("sonnx_ort").disabled = True
    tally = Tally()
    examine(trial, tally)
    return tally
