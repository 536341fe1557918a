"""Compares the native backend on an execution provider with the python backend on the CPU."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from environment import ROOT

OPERATORS = ("Div", "Sub", "Broadcast")
"""The operators that are tried."""

_SHOWN_LINES = 40


class BackendsDiffer(Exception):  # noqa: N818 - reads as what happened
    """The backends do not agree, or the process ended; the message is what it wrote last."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was compared.

    Attributes:
        models: How many models ran.
        runs: How many runs were compared.
        refused: How many of them broke a rule.
        assigned: How many Div and Sub nodes of an element type ran on a provider, by
            "Div float on CPUExecutionProvider".
    """

    models: int
    runs: int
    refused: int
    assigned: Mapping[str, int]

    def lines(self, operator: str) -> list[str]:
        """Put it into words.

        Args:
            operator: What was tried.
        """
        kept = self.runs - self.refused
        first = (
            f"{operator}: {self.models} models, {self.runs} runs; {kept} gave the same bits, "
            f"{self.refused} were refused with the same rule, operator and node"
        )
        return [first, *(f"    {count} {what}" for what, count in sorted(self.assigned.items()))]


def compare_backends(provider: str, operator: str, seed: int, models: int) -> Agreement:
    """Compare in a process of its own: an integer division that nothing stops can end it.

    Args:
        provider: The name of the execution provider for the native backend.
        operator: One of `OPERATORS`.
        seed: Decides the models and the feeds.
        models: How many models are made.

    Raises:
        BackendsDiffer: They do not agree.
    """
    done = subprocess.run(
        [
            sys.executable,
            *("-m", "support.provider_agreement", provider, operator, str(seed), str(models)),
        ],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join((f"{ROOT / 'tests'}", f"{ROOT / 'scripts'}"))},
    )
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-_SHOWN_LINES:])
        raise BackendsDiffer(f"exit status {done.returncode}\n{last}")
    return Agreement(**json.loads(done.stdout.splitlines()[-1]))
