"""Build the release in dist/, and try it as its users get it: `python3 scripts/release.py`.

Makes the environment `.venv` first if there is none. The wheel is made from the source
distribution, and installed with what it asks for, and nothing else, in an environment of its own:
what the project needs and does not ask for is missing there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from distributions import Distributions, build_distributions
from environment import ROOT, Environment, exit_status

FORMATS = ("text", "json", "sarif", "junit", "html")
"""The forms of a report, each of which may need files of the package."""

_VERSION_AND_MODEL = """
import sonnx_ort
print(sonnx_ort.__version__)
print(sonnx_ort.models.path("digits"))
"""


def main() -> int:
    """Build, install and try; give the exit status of the first command that fails."""
    environment = Environment()
    environment.prepare()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            built = build_distributions(environment.commands / "python", ROOT, folder / "built")
            for line in _try(built, environment.lock, folder):
                print(line, flush=True)
        except subprocess.CalledProcessError as error:
            print(error.output or "", error, sep="\n", file=sys.stderr)
            return 1
        _keep(built, ROOT / "dist")
    return 0


def constraints(lock: str) -> str:
    """Take the versions out of a lock file, for pip to install no others.

    Hashes are left out: with them pip asks for those of the packages that the wheel only names.

    Args:
        lock: The content of the lock file.
    """
    pins = (line.removesuffix("\\").strip() for line in lock.splitlines())
    return "".join(f"{pin}\n" for pin in pins if pin and pin[0] not in "-#")


def _try(built: Distributions, lock: Path, folder: Path) -> Iterator[str]:
    """Install the wheel and run its commands elsewhere; say of each that it ended as it has to."""
    environment, elsewhere = folder / "environment", folder / "elsewhere"
    elsewhere.mkdir()
    versions = folder / "constraints.txt"
    versions.write_text(constraints(lock.read_text("utf-8")), "utf-8")
    _run([sys.executable, "-I", "-m", "venv", environment], elsewhere)
    commands = environment / ("Scripts" if os.name == "nt" else "bin")
    python = (commands / "python", "-I")
    pip = (*python, "-m", "pip", "--disable-pip-version-check")
    _run([*pip, "install", "-q", "--only-binary=:all:", "-c", versions, built.wheel], elsewhere)
    _run([*pip, "check"], elsewhere)
    yield f"{built.wheel.name} is installed with what it asks for."
    version, model = _run([*python, "-c", _VERSION_AND_MODEL], elsewhere).splitlines()[-2:]
    if not Path(model).is_relative_to(environment):
        raise subprocess.CalledProcessError(1, "import sonnx_ort", f"{model} is not of the wheel")
    yield f"sonnx_ort {version} is imported from the environment."
    command = commands / "sonnx-ort"
    for backend in ("python", "native"):
        _run([command, "demo", "--backend", backend], elsewhere)
        yield f"sonnx-ort demo --backend {backend} shows what it has to."
    for form in FORMATS:
        report = elsewhere / f"report.{form}"
        _run([command, "check", model, "--format", form, "-o", report], elsewhere)
        yield f"sonnx-ort check --format {form} writes {report.stat().st_size} bytes."


def _run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command that has to succeed, away from the sources; give what it wrote.

    Raises:
        CalledProcessError: It failed.
    """
    return subprocess.run(
        command,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    ).stdout


def _keep(built: Distributions, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in (built.source, built.wheel):
        shutil.copy(file, folder)


if __name__ == "__main__":
    sys.exit(exit_status(main))
