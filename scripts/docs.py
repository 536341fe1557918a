"""Build the site of the documentation: `python3 scripts/docs.py`.

Writes it to build/site, where index.html opens in a browser, from the pages that scripts/pages.py
writes in the environment `.venv`. Makes the environment `.venv-docs` first, of the newest packages
of the group `docs`; with `--fresh`, of those of today. A warning fails the build. Other arguments
go to mkdocs: `--site-dir FOLDER`.
"""

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from environment import ROOT, Environment, exit_status

PAGES = ROOT / "build" / "docs"
"""The pages with what is made from code and tests, where mkdocs.yml has them."""

PACKAGE = ROOT / "build" / "package"
"""Where mkdocs.yml has mkdocstrings look for the sources."""


def main() -> int:
    """Prepare the environment, and build the site strictly."""
    parser = argparse.ArgumentParser(
        usage="%(prog)s [--fresh] [argument of mkdocs ...]", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--fresh", action="store_true", help="make the environment anew")
    options, arguments = parser.parse_known_args()
    status = write_pages()
    if status != 0:
        return status
    environment = Environment(versions="docs")
    environment.prepare(fresh=options.fresh)
    shutil.rmtree(PACKAGE, ignore_errors=True)
    lay_out_package(ROOT, PACKAGE)
    # With --quiet mkdocs counts no warning. Material announces another program in each build.
    command = ("python", "-m", "mkdocs", "build", "--strict", *arguments)
    return environment.call(command, ROOT, NO_MKDOCS_2_WARNING="1")


def write_pages(results: Sequence[Path] = ()) -> int:
    """Write the pages, which makes the environment of the tests; give the script's exit status."""
    command: list[str | Path] = [sys.executable, ROOT / "scripts" / "pages.py"]
    if results:
        command += ["--results", *results]
    return subprocess.run(command, check=False).returncode


def lay_out_package(root: Path, folder: Path) -> None:
    """Copy the sources to where an installation has them.

    mkdocstrings reads them without an import, and looks for each package inside the one above it.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    for package, source in project["tool"]["setuptools"]["package-dir"].items():
        target = folder.joinpath(*package.split("."))
        for file in (root / source).rglob("*.py"):
            copy = target / file.relative_to(root / source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


if __name__ == "__main__":
    sys.exit(exit_status(main))
