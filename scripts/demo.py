"""Rewrite and run all bundled models: `python3 scripts/demo.py`.

Runs in this Python if it can import sonnx_ort and what that needs, else in the environment
`.venv-runtime`, which it makes first if there is none; the compiled kernels are not in it. With
`--backend compiled` it is the environment `.venv` of the tests. Arguments go to `sonnx-ort demo`.
"""

import importlib
import sys
import sysconfig
from pathlib import Path

from environment import Environment, exit_status


def main() -> int:
    """Run the command, in an environment that has what it needs; give its exit status."""
    try:
        importlib.import_module("sonnx_ort.cli.demo")
    except ImportError:
        environment = Environment(versions="locked" if "compiled" in sys.argv else "runtime")
        environment.prepare()
        return environment.call(["sonnx-ort", "demo", *sys.argv[1:]], activated=False)
    sys.argv[:1] = [str(Path(sysconfig.get_path("scripts"), "sonnx-ort")), "demo"]
    importlib.import_module("sonnx_ort.cli").main()
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
