"""Try the native backend on a GPU: `python3 scripts/gpu.py`.

Compares it there with the python backend on the CPU, on random models and feeds, and prints how
long a guarded Div takes compared with a plain one. Runs in this Python if sonnx_ort is installed in
it, else in the environment `.venv`, which it makes first if there is none. The environment has no
package for a GPU: install sonnx_ort somewhere else and put onnxruntime-gpu in the place of
onnxruntime there. Where there is no GPU it says that nothing ran on one, and ends with status 0.
"""

import importlib.util
import sys

from python_version import require_supported_python

require_supported_python()

from environment import ROOT, Environment, prepare  # noqa: E402 - an old Python cannot read it
from installation import exit_status  # noqa: E402


def main() -> int:
    """Try it here or in the environment; give the exit status."""
    if importlib.util.find_spec("sonnx_ort") is not None:
        # Imported only now, because it needs sonnx_ort.
        from providers.command import run  # noqa: PLC0415

        return run(sys.argv[1:])
    environment = Environment(ROOT)
    prepare(environment)
    return environment.call(["python", __file__, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(exit_status(main))
