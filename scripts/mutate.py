"""Try the mutants of the package: `python3 scripts/mutate.py`.

mutmut makes each change that it knows to each function of the profile, of the kernels, of the
analysis and of the rewriting, one at a time, and runs the tests that call it, which have to fail.
What came of them is recorded in docs/records/mutants.json; a second call tries what survived, and
what has changed since. Those that do what the original does are listed in
scripts/mutation/equivalents.toml. Ends with status 1 if another one survives.
"""

import sys

from environment import exit_status, run_with_package

if __name__ == "__main__":
    sys.exit(exit_status(lambda: run_with_package("mutation.command", sys.argv[1:])))
