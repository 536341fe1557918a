"""Try every pair of 16-bit floats: `python3 scripts/exhaustive.py`.

Computes Div and Sub of all 2^32 pairs of float16 and of bfloat16 with both backends, compares every
bit with a correct rounding of its own, and keeps count in docs/records/exhaustive.json. It can be
interrupted at any time, and goes on where it stopped; a record of other versions of the packages it
refuses, unless `--anew` is given. Ends with status 1 if anything differs. Runs in this Python if
sonnx_ort is installed in it, else in the environment `.venv`, which it makes first if there is
none.
"""

import sys

from environment import exit_status, run_with_package

if __name__ == "__main__":
    sys.exit(exit_status(lambda: run_with_package("every_pair.sweep", sys.argv[1:])))
