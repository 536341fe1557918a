"""The files of a release: the source distribution, and the wheels that it makes."""

import tarfile
from pathlib import Path

from environment import captured

_BUILD = "import sys; from setuptools import build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])"


def unpack(source: Path, folder: Path) -> Path:
    """Unpack a source distribution into a folder; give where its sources are."""
    with tarfile.open(source) as archive:
        # Python knows the filter from 3.11.4 on; what was just built needs none.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder / "unpacked")  # noqa: S202 (our own archive)
    (unpacked,) = (folder / "unpacked").iterdir()
    return unpacked


def build_source_distribution(python: Path, root: Path, folder: Path) -> Path:
    """Build the source distribution.

    Args:
        python: A Python that has setuptools.
        root: The sources.
        folder: Where it is written, and what building leaves behind.

    Raises:
        CalledProcessError: The sources make no distribution.
    """
    _build("build_sdist", python, root, folder)
    (source,) = folder.glob("*.tar.gz")
    return source


def build_wheel(python: Path, root: Path, folder: Path, **variables: str) -> Path:
    """Build the wheel of the sources as they are, with these variables of the environment.

    Other arguments and errors are as of `build_source_distribution`.
    """
    _build("build_wheel", python, root, folder, **variables)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _build(kind: str, python: Path, root: Path, folder: Path, **variables: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # setuptools puts all that it finds in an old build folder into the wheel, deleted files too.
    configuration = folder / "setuptools.cfg"
    configuration.write_text(
        f"[build]\nbuild_base = {folder / 'build'}\n[egg_info]\negg_base = {folder}\n",
        encoding="utf-8",
    )
    command: list[str | Path] = [python, "-I", "-c", _BUILD, kind, folder]
    captured(command, root, check=True, DIST_EXTRA_CONFIG=str(configuration), **variables)
