"""Measure by how many units in the last place Log and Acos miss: `scripts/measure_units.py`.

ONNX Runtime computes all positive floats, and for Acos those between -1 and 1; each result is
compared with that of double, rounded to float. Takes some minutes. Counts are kept in
docs/records/units.json, block by block: it can be interrupted, and goes on where it stopped.
"""

import sys

from environment import exit_status, run_with_package

if __name__ == "__main__":
    sys.exit(exit_status(lambda: run_with_package("units", sys.argv[1:])))
