"""Runs the commands that make the environment, and says in a sentence why one failed."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

UNREACHABLE = r"(Connection|Timeout|Resolution|Reset|Proxy|SSL)Error|[Ff]ailed to connect"
"""What pip writes where there is no network, or no registry behind it."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        r"No module named '?(venv|ensurepip)\b|ensurepip is not available": (
            "This Python cannot make virtual environments: its module venv or ensurepip is "
            "missing. Install it (Debian and Ubuntu: the package python3-venv) and run the "
            "command again."
        ),
        UNREACHABLE: (
            "The package registry cannot be reached. Check the network and the proxy, or name a "
            "mirror in the variable PIP_INDEX_URL, and run the command again."
        ),
        r"DO NOT MATCH THE HASHES": (
            "A package differs from the one that requirements.lock pins; it was not installed. "
            "Check the registry or mirror that it came from."
        ),
        r"No matching distribution found": (
            "The package registry has no build of a pinned package for this Python and platform; "
            "the lines above name the package."
        ),
        r"No space left on device": ("The disk is full. Make room and run the command again."),
    }
)
"""What pip and venv write when they fail, and what it means; the first that fits counts."""

_NO_LEAKS = ("PYTHONPATH", "PYTHONHOME")


class EnvironmentNotMade(Exception):  # noqa: N818 - reads as what happened
    """The environment could not be made; the message says why and what to do."""


def explain(output: str) -> str:
    """Say why making the environment failed.

    Args:
        output: All that the failed command wrote.
    """
    for pattern, sentence in REASONS.items():
        if re.search(pattern, output):
            return sentence
    return "The environment could not be made. The last lines above say why."


def exit_status(command: Callable[[], int]) -> int:
    """Run a command of this repository, and end it with a sentence where it cannot go on.

    Args:
        command: Gives an exit status.

    Returns:
        That status; 2 if the environment could not be made, 130 if the user interrupted.
    """
    try:
        return command()
    except EnvironmentNotMade as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def clean_variables() -> dict[str, str]:
    """The variables of this process without those that change what a Python imports."""
    kept = {name: value for name, value in os.environ.items() if name not in _NO_LEAKS}
    # A pip that is configured to install for the user refuses to install into an environment.
    return kept | {"PIP_USER": "0"}


def run(command: Sequence[str | Path]) -> None:
    """Run a command and show what it writes.

    Args:
        command: The program and its arguments.

    Raises:
        EnvironmentNotMade: It failed or could not be started.
    """
    written: list[str] = []
    try:
        with subprocess.Popen(
            command,
            env=clean_variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                written.append(line)
    except OSError as error:
        raise EnvironmentNotMade(f"{command[0]} cannot be started: {error}") from error
    if process.returncode != 0:
        raise EnvironmentNotMade(explain("".join(written)))
