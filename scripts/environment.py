"""The virtual environment `.venv` of this repository, made from its lock file.

Uses the standard library only: nothing else is there yet.
"""

import enum
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import installation
from installation import EnvironmentNotMade

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

Run = Callable[[Sequence[str | Path]], None]
"""Runs a command; raises EnvironmentNotMade if it fails."""


class State(enum.Enum):
    """What is to be done about an environment, and why."""

    READY = "The environment in {} is ready."
    MISSING = "There is no environment in {} yet."
    UNFINISHED = "The environment in {} is not finished."
    OUTDATED = "The environment in {} is from another lock file, Python or folder."
    OTHER_PROJECT = "pyproject.toml has changed since the environment in {} was made."


@dataclass(frozen=True, slots=True)
class Environment:
    """The virtual environment of a repository.

    Attributes:
        root: The repository's folder.
        lowest: Whether it holds the oldest supported versions of the packages, not the newest.
    """

    root: Path
    lowest: bool = False

    @property
    def folder(self) -> Path:
        """The environment's own folder."""
        return self.root / (".venv-lowest" if self.lowest else ".venv")

    @property
    def commands(self) -> Path:
        """The folder of its commands."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.commands / ("python.exe" if os.name == "nt" else "python")

    @property
    def lock(self) -> Path:
        """The file that pins every package that is installed in it."""
        return self.root / ("requirements.lowest.lock" if self.lowest else "requirements.lock")

    @property
    def stamp(self) -> Path:
        """The file in it that says what it was made from; written last, so that it is finished."""
        return self.folder / "sonnx_ort.stamp"

    def state(self) -> State:
        """Compare the environment with what it would be made from now."""
        if not self.folder.exists():
            return State.MISSING
        if not (self.stamp.is_file() and self.python.is_file()):
            return State.UNFINISHED
        made_from = self.stamp.read_text("utf-8", errors="surrogateescape").splitlines()
        *packages, project = self._sources()
        if made_from[: len(packages)] != packages:
            return State.OUTDATED
        return State.READY if made_from[len(packages) :] == [project] else State.OTHER_PROJECT

    def write_stamp(self) -> None:
        """Mark the environment as finished."""
        text = "".join(f"{line}\n" for line in self._sources())
        self.stamp.write_text(text, "utf-8", errors="surrogateescape")

    def _sources(self) -> list[str]:
        """One line for each thing that it is made from, the project last."""
        return [
            "python {}.{}".format(*sys.version_info),
            f"folder {self.folder}",  # an environment does not survive being moved
            f"lock {_sha256(self.lock)}",
            f"project {_sha256(self.root / 'pyproject.toml')}",
        ]

    def call(self, command: Sequence[str | Path], folder: Path | None = None) -> int:
        """Run a command as if the environment were activated.

        Args:
            command: The program, by the name or path that it has in the environment, and its
                arguments.
            folder: Where it runs; where this process runs by default.

        Returns:
            Its exit status, 128 plus the signal's number if a signal ended it.
        """
        program, *arguments = command
        variables = installation.clean_variables()
        variables["VIRTUAL_ENV"] = str(self.folder)
        variables["PATH"] = os.pathsep.join([str(self.commands), variables.get("PATH", os.defpath)])
        with subprocess.Popen(
            [self.commands / program, *arguments], cwd=folder, env=variables
        ) as process:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                process.wait()  # it is interrupted as well, and ends in its own way
                raise
        return status if status >= 0 else 128 - status


def prepare(environment: Environment, *, fresh: bool = False, run: Run = installation.run) -> None:
    """Make the environment, as far as it is not ready, and say what is done.

    Args:
        environment: The environment.
        fresh: Make it again even if it is ready.
        run: Runs the commands that make it.

    Raises:
        EnvironmentNotMade: It could not be made; the next call begins again.
    """
    state = environment.state()
    if state is State.READY and not fresh:
        return
    told = state.value.format(environment.folder.name)
    # Without its stamp an environment counts as unfinished, whatever happens from here on.
    if environment.stamp.is_file():
        environment.stamp.unlink()
    try:
        if fresh or state is not State.OTHER_PROJECT:
            exists = environment.folder.exists()
            _say(f"{told} Making it anew." if exists else told)
            _install_packages(environment, run)
        else:
            _say(told)
        _install_project(environment, run)
    except KeyboardInterrupt as interrupt:
        raise EnvironmentNotMade(
            "Interrupted. The environment is not finished; the next run makes it anew."
        ) from interrupt
    environment.write_stamp()
    _say("The environment is ready.")


def _install_packages(environment: Environment, run: Run) -> None:
    _say(f"Making a virtual environment in {environment.folder}.")
    run([sys.executable, "-m", "venv", "--clear", environment.folder])
    _say(
        f"Installing the packages of {environment.lock.name} into it, each checked against its "
        "hash. This takes a minute or two."
    )
    # Source packages would need a compiler, and build requirements that no hash pins.
    run([*_pip(environment), "--require-hashes", "--only-binary=:all:", "-r", environment.lock])


def _install_project(environment: Environment, run: Run) -> None:
    _say("Installing sonnx_ort itself into it, so that it runs from this folder.")
    run([*_pip(environment), "--no-deps", "--no-build-isolation", "-e", environment.root])


def _pip(environment: Environment) -> list[str | Path]:
    quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
    return [environment.python, "-m", "pip", "install", *quiet]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _say(sentence: str) -> None:
    print(sentence, flush=True)
