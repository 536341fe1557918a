"""Rewrite and run all bundled models: `python3 scripts/demo.py`.

Makes the environment `.venv` first if there is none. Arguments go to `sonnx-ort demo`.
"""

import sys

from python_version import require_supported_python

require_supported_python()

from environment import ROOT, Environment, prepare  # noqa: E402 - an old Python cannot read it
from installation import exit_status  # noqa: E402


def main() -> int:
    """Prepare the environment and run the command in it; give its exit status."""
    environment = Environment(ROOT)
    prepare(environment)
    return environment.call(["sonnx-ort", "demo", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(exit_status(main))
