"""Measure whether long use takes more and more memory: `python3 scripts/measure_memory.py`.

100,000 runs of one session, a fourth of which break a rule, and 10,000 sessions with two runs each,
with both backends, each in a process of its own. The figures are written to
docs/records/memory.json; a second call leaves out what stands there.
"""

import sys

from environment import exit_status, run_with_package

if __name__ == "__main__":
    sys.exit(exit_status(lambda: run_with_package("endurance", sys.argv[1:])))
