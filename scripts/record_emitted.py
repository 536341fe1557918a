"""Write down what `rewrite` makes of small models: `python3 scripts/record_emitted.py`.

Writes anew what stands behind each model in tests/enforcing/emitted. The tests compare with it:
look at what has changed in it before you keep it.
"""

import sys

from environment import ROOT, exit_status, run_with_package

if __name__ == "__main__":
    # The models and how they are written down belong to the tests.
    sys.path.append(str(ROOT / "tests"))
    sys.exit(exit_status(lambda: run_with_package("support.emitted", sys.argv[1:])))
