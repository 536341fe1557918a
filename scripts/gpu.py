"""Try the native backend on a GPU: `python3 scripts/gpu.py`.

Compares it there with the python backend on the CPU, on random models and feeds, and prints how
long a guarded Div takes compared with a plain one. Runs in this Python if sonnx_ort is installed in
it, else in the environment `.venv`, which it makes first if there is none. The environment has no
package for a GPU: install sonnx_ort somewhere else and put onnxruntime-gpu in the place of
onnxruntime there. Where there is no GPU it says that nothing ran on one, and ends with status 0.
"""

import sys

from environment import exit_status, run_with_package

if __name__ == "__main__":
    sys.exit(exit_status(lambda: run_with_package("providers", sys.argv[1:])))
