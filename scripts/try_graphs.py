"""Try random graphs: `python3 scripts/try_graphs.py`.

Makes graphs by number, lets both backends enforce them, runs them, and compares every verdict and
result with the exact oracle and with each other, in child processes: what
tests/soundness/test_random_graphs.py does with some hundred. What came of them is recorded in
docs/records/random_graphs.json; a further call goes on behind the last number.
"""

import sys

from environment import ROOT, exit_status, run_with_package

if __name__ == "__main__":
    # The graphs and what is asked of them belong to the tests.
    sys.path.append(str(ROOT / "tests"))
    sys.exit(exit_status(lambda: run_with_package("graph_trials", sys.argv[1:])))
