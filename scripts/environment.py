"""The virtual environments of this repository: `.venv`, made from its lock file, and others.

Needs the standard library only: nothing else is there yet. nox would have to be installed first,
with its hashes as here, and would only take the place of the list in checks.py.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions of Python that are supported."""

THIS_PYTHON = "{}.{}".format(*sys.version_info)
"""The version of the Python that runs this."""

# An older Python reads this file and what imports it up to here, so that it can say what is wrong.
if THIS_PYTHON not in PYTHONS:
    sys.stderr.write(f"sonnx_ort needs Python 3.11 to 3.14, this is {THIS_PYTHON}.\n")
    sys.exit(2)

import tomllib

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

LOCKS = {
    "locked": "requirements.lock",
    "runtime": "requirements.runtime.lock",
    "lowest": "requirements.lowest.lock",
}
"""The file of the repository that pins packages, by their versions; none pins the newest ones."""

NEWEST = {"newest": ("dev", "[oracle]"), "docs": ("docs", ""), "wheels": ("wheels", None)}
"""The group and the extras of the newest packages, by the environments that no file pins.

Without extras, None, the project itself is not installed.
"""

_Command = tuple[str | Path, ...]


class EnvironmentNotMade(Exception):  # noqa: N818 - reads as what happened
    """The environment could not be made; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The virtual environment of a repository.

    Attributes:
        root: The repository's folder.
        versions: The packages' versions: those of the lock file ("locked"; "runtime" has of these
            what runs the package, without the kernels), the oldest supported ones ("lowest"), or
            the newest there are ("newest"; "docs" has what builds the site, "wheels" the wheels).
        python: The version of its Python, one of `PYTHONS`; that of this process by default.
    """

    root: Path = ROOT
    versions: str = "locked"
    python: str = THIS_PYTHON

    @property
    def folder(self) -> Path:
        """The environment's own folder."""
        versions = "" if self.versions == "locked" else f"-{self.versions}"
        python = "" if self.python == THIS_PYTHON else f"-{self.python}"
        return self.root / f".venv{versions}{python}"

    @property
    def commands(self) -> Path:
        """The folder of its commands."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def lock(self) -> Path:
        """The file that pins every package that is installed in it, but for the newest ones."""
        return self.root / LOCKS[self.versions]

    def prepare(self, *, fresh: bool = False) -> None:
        """Make the environment, unless it is finished and what it was made from is the same.

        Args:
            fresh: Make it in any case, which takes newer packages than the newest that it has.

        Raises:
            EnvironmentNotMade: There is no such Python, or a command failed; the next call begins
                again.
        """
        stamp, made_from = self.folder / "sonnx_ort.stamp", self._made_from()
        has_python = shutil.which("python", path=str(self.commands)) is not None
        if has_python and not fresh and stamp.is_file() and stamp.read_text("utf-8") == made_from:
            return
        python = find_python(self.python)
        takes = "half a minute" if self.versions == "runtime" else "a minute or two"
        print(f"Making the environment {self.folder.name}: {takes}.", flush=True)
        make, install = self._tools(python)
        if self.versions in LOCKS:
            commands = [
                (*install, "--require-hashes", "-r", self.lock),
                (*install, "--no-deps", "--no-build-isolation", "-e", self.root),
            ]
        else:
            group, extras = NEWEST[self.versions]
            project = () if extras is None else ("-e", f"{self.root}{extras}")
            commands = [(*install, *self._group(group), *project)]
        # Compiling the kernels takes longer than all else.
        variables: dict[str, Any] = {}
        if self.versions == "runtime":
            variables["SONNX_ORT_WITHOUT_KERNELS"] = "1"
        if "PIP_INDEX_URL" in os.environ:
            variables["UV_DEFAULT_INDEX"] = os.environ["PIP_INDEX_URL"]
        for command in (make, *commands):
            if self.call(command, None, **variables) != 0:
                raise EnvironmentNotMade(
                    f"The environment {self.folder.name} could not be made; the lines above say "
                    "why. Where the package registry is not reached, check the network, or name "
                    "a mirror in the variable PIP_INDEX_URL."
                )
        # Written last: an environment without it is not finished.
        stamp.write_text(made_from, "utf-8")

    def _tools(self, python: str) -> tuple[_Command, _Command]:
        """The commands that make an environment and install packages: of uv where it is there.

        Source packages would need a compiler, and build requirements that no hash pins.
        """
        uv = find_uv()
        if uv is None:
            pip = (self.commands / "python", "-I", "-m", "pip", "install", "-q")
            # Compiling everything when it is installed takes as long as installing it.
            options = ("--disable-pip-version-check", "--no-compile", "--only-binary=:all:")
            return (python, "-I", "-m", "venv", "--clear", self.folder), (*pip, *options)
        # The environment has pip, with which developers install more.
        make = (uv, "-q", "venv", "--clear", "--seed", "--no-project", "--python", python)
        # To uv the sources of the project are a package, too.
        only = ("--only-binary=:all:", "--no-binary=sonnx_ort")
        return (*make, self.folder), (uv, "-q", "pip", "install", "--python", self.folder, *only)

    def call(
        self,
        command: Sequence[str | Path],
        folder: Path | None = None,
        *,
        activated: bool = True,
        **variables: str,
    ) -> int:
        """Run a command.

        Args:
            command: The program, by the name or path that it has in the environment, and its
                arguments.
            folder: Where it runs; where this process runs by default.
            activated: Whether it finds the environment's other commands by their names.
            **variables: Variables of its environment, unless this process has them.

        Returns:
            Its exit status, 128 plus the signal's number if a signal ended it.
        """
        variables |= os.environ
        if activated:
            variables["VIRTUAL_ENV"] = str(self.folder)
            path = [str(self.commands), variables.get("PATH", os.defpath)]
            variables["PATH"] = os.pathsep.join(path)
        # A pip that is configured to install for the user refuses to install here.
        variables["PIP_USER"] = "0"
        variables.pop("PYTHONPATH", None)
        variables.pop("PYTHONHOME", None)
        program, *arguments = command
        with subprocess.Popen(
            [self.commands / program, *arguments], cwd=folder, env=variables
        ) as process:
            try:
                status = process.wait()
            except KeyboardInterrupt:
                process.wait()  # it is interrupted as well, and ends in its own way
                raise
        return status if status >= 0 else 128 - status

    def _group(self, name: str) -> list[str]:
        """The packages of a group of pyproject.toml, which the pip of Python 3.11 cannot read."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))
        packages = []
        for entry in project["dependency-groups"][name]:
            packages += [entry] if isinstance(entry, str) else self._group(entry["include-group"])
        return packages

    def _made_from(self) -> str:
        """A digest of everything that decides what is in the environment."""
        digest = hashlib.sha256(f"{self.python} {self.folder}".encode(errors="replace"))
        pinning = [self.lock] if self.versions in LOCKS else []
        # What compiles the kernels, and their sources.
        building = [*self.root.glob("setup.py"), *self.root.glob("custom_ops/compiled/*.*[ch]")]
        for file in (*pinning, self.root / "pyproject.toml", *sorted(building)):
            digest.update(file.read_bytes())
        return digest.hexdigest()


def find_uv() -> str | None:
    """The program uv, where it is there."""
    return shutil.which("uv")


def find_python(version: str) -> str:
    """Find a Python of a version: on the PATH, or where uv or pyenv keep it.

    Raises:
        EnvironmentNotMade: There is none.
    """
    if version == THIS_PYTHON:
        return sys.executable
    candidates = [shutil.which(f"python{version}")]
    uv = find_uv()
    if uv is not None:
        found = captured([uv, "--quiet", "python", "find", "--no-project", version])
        candidates.append(found.stdout.strip())
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates += map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))
    for candidate in filter(None, candidates):
        if _version_of_python(candidate) == version:
            return candidate
    raise EnvironmentNotMade(
        f"There is no Python {version}, neither on the PATH nor one of uv or pyenv. Install it, "
        f"for example by: uv python install {version}"
    )


def _version_of_python(program: str) -> str:
    """The version that a program tells; pyenv puts names on the PATH that lead to none."""
    code = "import sys; print('{}.{}'.format(*sys.version_info))"
    try:
        return captured([program, "-I", "-c", code]).stdout.strip()
    except OSError:
        return ""


def captured(
    command: Sequence[str | Path],
    folder: Path | None = None,
    *,
    check: bool = False,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command that reads nothing, away from the sources, and keep all that it writes."""
    return subprocess.run(
        command,
        cwd=folder,
        env={n: value for n, value in os.environ.items() if n != "PYTHONPATH"} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=check,
    )


def run_in_environment() -> None:
    """Go on if this Python has sonnx_ort; else run the script in the environment, and end."""
    if importlib.util.find_spec("sonnx_ort") is None:
        sys.exit(exit_status(_run_script))


def _run_script() -> int:
    environment = Environment()
    environment.prepare()
    return environment.call(["python", *sys.argv])


def exit_status(command: Callable[[], int]) -> int:
    """Run a command of this repository, and end it with a sentence where it cannot go on.

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
