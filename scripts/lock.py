"""Pin the newest packages that pyproject.toml allows: `python3 scripts/lock.py`.

Writes requirements.lock, which serves every supported Python and platform. Needs `uv`.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
# Every package of the environment .venv, with the hashes of all its builds.
# Made from pyproject.toml by scripts/lock.py; not to be edited.
"""

CONSTRAINTS = """\
onnxruntime-extensions==0.15.0 ; sys_platform == 'win32'
onnxruntime-extensions>=0.15.2 ; sys_platform != 'win32'
"""
"""Of onnxruntime-extensions, releases after 0.15.0 have no builds for Windows."""

FOREIGN = re.compile(r"://|^-| @ ", re.MULTILINE)
"""What a lock file that serves everyone doesn't hold: addresses, paths and options of pip."""


class LockNotMade(Exception):  # noqa: N818 - reads as what happened
    """The packages could not be pinned; the message says why."""


def pin(project: Path, constraints: Path) -> str:
    """Ask uv for the newest packages that fit together.

    Args:
        project: The file pyproject.toml.
        constraints: A file with further requirements.

    Returns:
        The pinned requirements with their hashes.

    Raises:
        LockNotMade: uv is missing, failed, or wrote what holds on one machine only.
    """
    uv = shutil.which("uv")
    if uv is None:
        raise LockNotMade("uv is not installed: https://docs.astral.sh/uv")
    options = (
        *("--extra", "dev", "--constraints", constraints),
        *("--universal", "--python-version", "3.11", "--fork-strategy", "fewest"),
        *("--generate-hashes", "--no-build", "--no-config", "--upgrade"),
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
    """Write the lock file; give the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text(CONSTRAINTS, encoding="utf-8")
        try:
            pinned = pin(ROOT / "pyproject.toml", constraints)
        except LockNotMade as error:
            print(error, file=sys.stderr)
            return 2
    (ROOT / "requirements.lock").write_text(HEADER + pinned, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
