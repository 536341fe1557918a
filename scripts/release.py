"""Build the release in dist/, and try it as its users get it: `python3 scripts/release.py`.

Makes the environment `.venv` first if there is none. The wheel is made from the source
distribution, and installed with what it asks for, and nothing else, in an environment of its own:
what the project needs and does not ask for is missing there. At last the sources are installed
there by the very line of the README. `--tag v1.2.3` refuses a tag that is not that of the version.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from distributions import Distributions, build_distributions
from environment import ROOT, Environment, captured, exit_status

FORMATS = ("text", "json", "sarif", "junit", "html", "github", "overlay")
"""The forms of a report, each of which may need files of the package."""

_INSTALLATION = re.compile(r"^(?: {4})?(pip install \.)(?= |$)", re.MULTILINE)
"""A line by which a page has its reader install a copy of the repository."""

_run = partial(captured, check=True)

_VERSION_AND_MODEL = """
import sonnx_ort
print(sonnx_ort.__version__)
print(sonnx_ort.models.path("digits_convolutional"))
"""


def main() -> int:
    """Build, install and try; give the exit status of the first command that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", help="the tag of the release, which has to be that of the version")
    tag = parser.parse_args().tag
    environment = Environment()
    environment.prepare()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            built = build_distributions(environment.commands / "python", ROOT, folder / "built")
            if tag not in {None, f"v{built.version}"}:
                print(f"The tag {tag} is not that of version {built.version}.", file=sys.stderr)
                return 2
            for line in _try(built, environment.lock, folder):
                print(line, flush=True)
        except subprocess.CalledProcessError as error:
            print(error.output or "", error, sep="\n", file=sys.stderr)
            return 1
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        (ROOT / "dist").mkdir()
        for file in (built.source, built.wheel):
            shutil.copy(file, ROOT / "dist")
    return 0


def constraints(lock: str) -> str:
    """Take the versions out of a lock file, for pip to install no others.

    Hashes are left out: with them pip asks for those of the packages that the wheel only names.
    """
    pins = (line.removesuffix("\\").strip() for line in lock.splitlines())
    return "".join(f"{pin}\n" for pin in pins if pin and pin[0] not in "-#")


def installations(page: str) -> list[str]:
    """Find the lines by which a page has its reader install a copy of the repository."""
    return _INSTALLATION.findall(page)


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
    version, model = _imported(python, environment, elsewhere)
    yield f"sonnx_ort {version} is imported from the environment."
    command = commands / "sonnx-ort"
    for backend in ("python", "native", "compiled"):
        _run([command, "demo", "--backend", backend], elsewhere)
        yield f"sonnx-ort demo --backend {backend} shows what it has to."
    for form in FORMATS:
        report = elsewhere / f"report.{form}"
        _run([command, "check", model, "--format", form, "-o", report], elsewhere)
        yield f"sonnx-ort check --format {form} writes {report.stat().st_size} bytes."
    (sources,) = (folder / "built" / "unpacked").iterdir()
    for line in installations((ROOT / "README.md").read_text("utf-8")):
        _run([*pip, "uninstall", "-q", "-y", "sonnx_ort"], elsewhere)
        program, *arguments = shlex.split(line)
        chosen: dict[str, Any] = {"PIP_CONSTRAINT": str(versions), "PIP_ONLY_BINARY": ":all:"}
        _run([commands / program, *arguments], sources, **chosen)
        version, _ = _imported(python, environment, elsewhere)
        yield f"{line} installs sonnx_ort {version}."


def _imported(python: Sequence[str | Path], environment: Path, elsewhere: Path) -> tuple[str, str]:
    """The version that an environment imports, and where it has a bundled model.

    Raises:
        CalledProcessError: It cannot be imported, or is not that of the environment.
    """
    done = _run([*python, "-c", _VERSION_AND_MODEL], elsewhere)
    version, model = done.stdout.splitlines()[-2:]
    if not Path(model).is_relative_to(environment):
        raise subprocess.CalledProcessError(1, "import sonnx_ort", f"{model} lies elsewhere")
    return version, model


if __name__ == "__main__":
    sys.exit(exit_status(main))
