"""Build the release in dist/, and try it as its users get it: `python3 scripts/release.py`.

Makes the environment `.venv` first if there is none. The wheels are those of scripts/wheels.py for
Linux, and the one without kernels. That of this machine is installed with what it asks for, and
nothing else, in an environment of its own: what the project needs and does not ask for is missing
there. Then the one without kernels takes its place, and at last the sources do, by the very line of
the README. `--tag v1.2.3` refuses a tag that is not that of the version, addresses of the project
that are placeholders, and records that were made of other sources than these; without a tag they
are only named. The documentation with
what scripts/pages.py makes of code and tests goes into an archive; with `--results JUNIT ...` it
has the results of these runs of the tests, and is refused where they do not verify everything.
"""

import argparse
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ages import old
from environment import ROOT, Environment, captured, exit_status
from wheels import ANY, TARGETS, unpack

from docs import PAGES, write_pages

FORMATS = ("text", "json", "sarif", "junit", "html", "github", "overlay")
"""The forms of a report, each of which may need files of the package."""

BACKENDS = ("python", "native", "compiled")
"""What enforces the rules; without kernels the last does not run."""

ADDRESSED = ("pyproject.toml", "CITATION.cff")
"""The files that tell where the project is."""

PLACEHOLDER = "sonnx-ort.invalid"
"""The host in addresses that are not known yet. RFC 2606 reserves `.invalid`: it leads nowhere."""

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
    parser.add_argument(
        *("--results",),
        type=Path,
        nargs="+",
        metavar="JUNIT",
        default=[],
        help="files of `python3 scripts/test.py --junit-xml JUNIT`",
    )
    options = parser.parse_args()
    tag = options.tag
    version = runpy.run_path(str(ROOT / "sonnx_ort" / "versions.py"))["VERSION"]
    if tag not in {None, f"v{version}"}:
        print(f"The tag {tag} is not that of version {version}.", file=sys.stderr)
        return 2
    for heading, found, fault in (
        ("Addresses that are placeholders", placeholders(), "placeholders"),
        ("Records that are not of these sources", old(), "old records"),
    ):
        said = f"{heading}:\n{found}" if found else ""
        if said and tag is not None:
            print(f"{said}There is no release {tag} with {fault}.", file=sys.stderr)
            return 2
        print(said, end="", flush=True)
    status = write_pages(options.results)
    if status != 0:
        return status
    environment = Environment(versions="wheels")
    environment.prepare()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = folder / "built"
        building = ("python", ROOT / "scripts" / "wheels.py", "--into", built)
        status = environment.call([*building, *platforms(sys.platform), ANY])
        if status != 0:
            return status
        try:
            for line in _try(built, Environment().lock, folder):
                print(line, flush=True)
        except subprocess.CalledProcessError as error:
            print(error.output or "", error, sep="\n", file=sys.stderr)
            return 1
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(built, ROOT / "dist")
    print(f"{pack_pages(PAGES, ROOT / 'dist', version).name} has the documentation.")
    return 0


def placeholders(root: Path = ROOT) -> str:
    """The addresses of the project that are placeholders, a line each, with file and line."""
    return "".join(
        f"{name}:{number}: {line.strip()}\n"
        for name in ADDRESSED
        for number, line in enumerate((root / name).read_text("utf-8").splitlines(), start=1)
        if PLACEHOLDER in line
    )


def pack_pages(pages: Path, folder: Path, version: str) -> Path:
    """Put the pages of a version into an archive; give where it is."""
    name = folder / f"sonnx_ort-{version}-documentation"
    return Path(shutil.make_archive(str(name), "zip", pages.parent, pages.name))


def platforms(system: str) -> list[str]:
    """The platforms of a system, by its name in Python, for which there are wheels."""
    prefix = {"linux": "manylinux", "win32": "win"}.get(system, system)
    return [platform for platform in TARGETS if platform.startswith(prefix)]


def constraints(lock: str) -> str:
    """Take the versions out of a lock file, for pip to install no others.

    Hashes are omitted: with them pip asks for those of the packages that the wheel only names.
    """
    pins = (line.removesuffix("\\").strip() for line in lock.splitlines())
    return "".join(f"{pin}\n" for pin in pins if pin and pin[0] not in "-#")


def installations(page: str) -> list[str]:
    """Find the lines by which a page has its reader install a copy of the repository."""
    return _INSTALLATION.findall(page)


def _try(built: Path, lock: Path, folder: Path) -> Iterator[str]:
    """Install the wheels and run their commands elsewhere; say of each that it did what it has to.

    pip chooses the first wheel, so that it takes the name of that for the name of this machine.
    """
    environment, elsewhere = folder / "environment", folder / "elsewhere"
    elsewhere.mkdir()
    versions = folder / "constraints.txt"
    versions.write_text(constraints(lock.read_text("utf-8")), "utf-8")
    _run([sys.executable, "-I", "-m", "venv", environment], elsewhere)
    commands = environment / ("Scripts" if os.name == "nt" else "bin")
    python = (commands / "python", "-I")
    pip = (*python, "-m", "pip", "--disable-pip-version-check")
    only = ("--no-index", "--no-deps", "--only-binary=:all:", "--find-links", built)
    _run([*pip, "download", *only, "-d", folder / "chosen", "sonnx_ort"], elsewhere)
    (wheel,) = (folder / "chosen").iterdir()
    _run([*pip, "install", "-q", "--only-binary=:all:", "-c", versions, wheel], elsewhere)
    _run([*pip, "check"], elsewhere)
    yield f"{wheel.name} is installed with what it asks for."
    version, model = _imported(python, environment, elsewhere)
    yield f"sonnx_ort {version} is imported from the environment."
    command = commands / "sonnx-ort"
    for backend in ("python", "native") if wheel.match(f"*-{ANY}.whl") else BACKENDS:
        _run([command, "demo", "--backend", backend], elsewhere)
        yield f"sonnx-ort demo --backend {backend} shows what it has to."
    for form in FORMATS:
        report = elsewhere / f"report.{form}"
        options = ("--operators", "profile,-Graph", "--format", form, "-o", str(report))
        _run([command, "check", model, *options], elsewhere)
        yield f"sonnx-ort check --format {form} writes {report.stat().st_size} bytes."
    (wheel,) = built.glob(f"*-{ANY}.whl")
    _run([*pip, "install", "-q", "--no-deps", "--force-reinstall", wheel], elsewhere)
    _run([command, "demo", "--backend", "native"], elsewhere)
    yield f"{wheel.name} shows what it has to, and says:"
    yield _run([command, "--version"], elsewhere).stdout.splitlines()[-1]
    (source,) = built.glob("*.tar.gz")
    sources = unpack(source, folder)
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
