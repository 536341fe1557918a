"""Write down what `rewrite` makes of small models: `python3 scripts/record_emitted.py`.

Writes anew what stands after each model in tests/enforcing/emitted. The tests compare with it:
look at what has changed in it before you keep it.
"""

import importlib
import sys

from environment import ROOT, run_in_environment

if __name__ == "__main__":
    run_in_environment()
    # The models and how they are written down belong to the tests.
    sys.path.append(str(ROOT / "tests"))
    sys.exit(importlib.import_module("support.emitted").run(sys.argv[1:]))
