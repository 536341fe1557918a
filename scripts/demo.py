"""Rewrite and run all bundled models: `python3 scripts/demo.py`.

Makes the environment `.venv` first if there is none. Arguments go to `sonnx-ort demo`.
"""

import sys

from environment import Environment, exit_status


def main() -> int:
    """Prepare the environment and run the command in it; give its exit status."""
    environment = Environment()
    environment.prepare()
    return environment.call(["sonnx-ort", "demo", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(exit_status(main))
