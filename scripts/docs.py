"""Build the site of the documentation: `python3 scripts/docs.py`.

Writes it to build/site, where index.html opens in a browser. Needs the packages of the extra
`docs`, which the tests do without: `pip install -e '.[docs]'`. A warning fails the build. Arguments
go to mkdocs: `--site-dir FOLDER`.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Sequence

from environment import ROOT, exit_status

UNUSABLE = 2
"""The exit status where the packages are not installed."""


def build(arguments: Sequence[str] = ()) -> int:
    """Build the site, strictly."""
    if importlib.util.find_spec("material") is None:
        print("mkdocs-material is not installed: pip install -e '.[docs]'", file=sys.stderr)
        return UNUSABLE
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(exit_status(lambda: build(sys.argv[1:])))
