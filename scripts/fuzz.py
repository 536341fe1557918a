"""Try models that nobody would make: `python3 scripts/fuzz.py`.

Hypothesis mutates bundled, random and hand-made models, and `check`, `rewrite` and sessions of both
backends get them, in child processes with limits of time and memory. Each has to end in a result or
a `SonnxError`. What came of them is recorded in docs/records/fuzzing.json; a second call goes on
where the first one was stopped. A model that fails ends it: the smallest such model is written to
build/fuzzing. `--only NUMBER` tries the batch of a number again, and records nothing.
"""

import sys

from environment import ROOT, exit_status, run_with_package

if __name__ == "__main__":
    # Random graphs are made by the tests.
    sys.path.append(str(ROOT / "tests"))
    sys.exit(exit_status(lambda: run_with_package("fuzzing.campaign", sys.argv[1:])))
