"""Gets other releases of ONNX Runtime, each for a Python of its own. Nothing is installed.

`tests/end_to_end/test_other_runtimes.py` runs models that `rewrite` made in each of them.
"""

import tempfile
import zipfile
from pathlib import Path

from environment import ROOT
from real_models.packages import download

_PINNED = Path(__file__).with_suffix(".txt")
"""The releases, and a numpy, pinned with their hashes."""

_CACHE = ROOT / "build" / "other_runtimes"
"""Where they are kept in the repository, which ignores the folder."""

_LAST_WITH_OLDER_NUMPY = (1, 18)
"""The last release of ONNX Runtime that was built for numpy 1."""


def release_numbers(version: str) -> tuple[int, ...]:
    """A release such as "1.23.0" as numbers that can be compared."""
    return tuple(map(int, version.split(".")))


def _requirements() -> dict[str, str]:
    lines = _PINNED.read_text(encoding="utf-8").splitlines()
    return {line.split()[0]: line for line in lines if not line.startswith("#")}


RELEASES = sorted(
    (name.removeprefix("onnxruntime==") for name in _requirements() if name.startswith("onnx")),
    key=release_numbers,
)
"""The releases of ONNX Runtime, the oldest first."""


def folders_of(release: str) -> list[Path]:
    """The folders with the packages of a release, for `sys.path`; they are fetched if missing.

    Raises:
        RegistryUnreachable: There is no connection to the registry.
        PackagesNotFetched: They could not be downloaded.
    """
    wanted = [f"onnxruntime=={release}"]
    if release_numbers(release)[:2] <= _LAST_WITH_OLDER_NUMPY:
        wanted += [name for name in _requirements() if name.startswith("numpy")]
    return [_fetched(name) for name in wanted]


def _fetched(name: str) -> Path:
    folder = _CACHE / name
    if not folder.is_dir():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as temporary:
            requirements, unpacked = (
                Path(temporary, "requirements.txt"),
                Path(temporary, "unpacked"),
            )
            requirements.write_text(_requirements()[name], encoding="utf-8")
            download(requirements, Path(temporary))
            [wheel] = Path(temporary).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
            # Last, and at once: a folder that is there is complete.
            unpacked.rename(folder)
    return folder
