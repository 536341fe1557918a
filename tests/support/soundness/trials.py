"""Numbered trials: a random model, what it is run with, and whether all agree about it.

A trial of a given number is the same everywhere. It can end the process, so a child process runs
it, and writes down what it is about to try:

    python -m support.soundness.trials FIRST LAST STEP
"""

import json
import logging
import random
import sys
import traceback
from dataclasses import dataclass

import onnx

from support.soundness.examination import Tally, examine
from support.soundness.models import Feeds, RandomModel, random_feeds, random_model

_FEEDS = 6


@dataclass(frozen=True)
class Trial:
    """What one trial tries.

    Attributes:
        model: The model.
        feeds: What it is run with.
        edition: The edition.
        broadcast: What becomes of operands of different shapes.
    """

    model: RandomModel
    feeds: tuple[Feeds, ...]
    edition: str
    broadcast: str

    def __str__(self) -> str:
        """Give all that is needed to look at it again."""
        shown = "\n".join(
            ", ".join(f"{n} = {a.dtype.name}{list(a.shape)} {a.tolist()}" for n, a in each.items())
            for each in self.feeds
        )
        text = onnx.printer.to_text(self.model.proto)
        return f"edition {self.edition}, broadcast {self.broadcast}\n{text}\n{shown}"


def make_trial(number: int) -> Trial:
    """Make the trial of a number.

    Args:
        number: Its number.
    """
    rng = random.Random(number)  # noqa: S311 - no cryptography
    edition = rng.choice(["typed", "preliminary"])
    broadcast = rng.choice(["reject", "explicit"])
    model = random_model(rng)
    others = (random_feeds(rng, model) for _ in range(_FEEDS - 1))
    return Trial(model, (model.nominal, *others), edition, broadcast)


def main() -> None:
    """Run trials; write a line of JSON before each, on each failure, and at the end."""
    logging.getLogger("sonnx_ort").disabled = True
    tally = Tally()
    for number in range(*map(int, sys.argv[1:])):
        _write(trying=number)
        trial = make_trial(number)
        try:
            examine(
                trial.model, trial.feeds, tally, edition=trial.edition, broadcast=trial.broadcast
            )
        except Exception:  # noqa: BLE001 - whatever fails, the other trials are run
            _write(failed=number, error=traceback.format_exc())
    _write(tally=tally.counts)


def _write(**line: object) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
