"""Pin the packages that pyproject.toml allows: `python3 scripts/lock.py`.

Writes requirements.lock, with the newest, and requirements.lowest.lock, with the oldest versions of
those that pyproject.toml names. Both serve every supported Python and platform. Needs `uv`.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
# Every package of the environment {}, with the hashes of all its builds.
# Made from pyproject.toml by scripts/lock.py; not to be edited.
"""

CONSTRAINTS = """\
onnxruntime-extensions==0.15.0 ; sys_platform == 'win32'
onnxruntime-extensions>=0.15.2 ; sys_platform != 'win32'
"""
"""Of onnxruntime-extensions, releases after 0.15.0 have no builds for Windows."""

LOCKS = {
    "requirements.lock": (".venv", ("--upgrade",), CONSTRAINTS),
    "requirements.lowest.lock": (".venv-lowest", ("--resolution", "lowest-direct"), ""),
}
"""The environment that each file is for, what uv has to know, and further requirements."""

FOREIGN = re.compile(r"://|^-| @ ", re.MULTILINE)
"""What a lock file that serves everyone doesn't hold: addresses, paths and options of pip."""


class LockNotMade(Exception):  # noqa: N818 - reads as what happened
    """The packages could not be pinned; the message says why."""


def pin(project: Path, constraints: Path, resolution: Sequence[str]) -> str:
    """Ask uv for packages that fit together.

    Args:
        project: The file pyproject.toml.
        constraints: A file with further requirements.
        resolution: The options that choose the versions.

    Returns:
        The pinned requirements with their hashes.

    Raises:
        LockNotMade: uv is missing, failed, or wrote what holds on one machine only.
    """
    uv = shutil.which("uv")
    if uv is None:
        raise LockNotMade("uv is not installed: https://docs.astral.sh/uv")
    options: tuple[str | Path, ...] = (
        *("--extra", "dev", "--constraints", constraints),
        *("--universal", "--python-version", "3.11", "--fork-strategy", "fewest"),
        *("--generate-hashes", "--no-build", "--no-config", *resolution),
        *("--no-header", "--no-annotate", "--quiet"),
    )
    done = subprocess.run(
        [uv, "pip", "compile", project, *options], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise LockNotMade("uv could not pin the packages; see above.")
    if FOREIGN.search(done.stdout):
        raise LockNotMade(f"uv names what only this machine has:\n{done.stdout}")
    return done.stdout


def main() -> int:
    """Write the lock files; give the exit status."""
    for name, (environment, resolution, further) in LOCKS.items():
        with tempfile.TemporaryDirectory() as folder:
            constraints = Path(folder) / "constraints.txt"
            constraints.write_text(further, encoding="utf-8")
            try:
                pinned = pin(ROOT / "pyproject.toml", constraints, resolution)
            except LockNotMade as error:
                print(error, file=sys.stderr)
                return 2
        (ROOT / name).write_text(HEADER.format(environment) + pinned, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
