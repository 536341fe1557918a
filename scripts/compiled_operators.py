"""Write custom_ops/compiled/operators.inc: `python3 scripts/compiled_operators.py`.

It lists the operators, types and rules of the compiled kernels, from the profile. A test fails if
it is outdated, and so does an installation of it.
"""

import sys

from environment import ROOT, exit_status, run_in_environment

run_in_environment()

from sonnx_ort.custom_ops.compiled.catalog import table

PATH = ROOT / "custom_ops/compiled/operators.inc"
"""The file that it writes."""


def main() -> int:
    """Write the file."""
    PATH.write_text(table(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
