"""Write what follows from the code in docs/qualification: `python3 scripts/qualification.py`.

These are the operational requirements, and the configuration index with the verification
procedures. `python3 scripts/qualification.py results JUNIT ...` writes the results of verification
instead, from the files that `python3 scripts/test.py --junit-xml JUNIT` writes of runs of the
commit that is checked out. Its exit status is 1 if a test failed, or one of a requirement did not
run, and 2 if a file is of no such run.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import ROOT, exit_status, run_in_environment

run_in_environment()

from qualifying import results
from qualifying.identity import PAGE, sources
from qualifying.pages import FOLDER, pages, read_procedures, requirements
from qualifying.runs import UnusableRun, read_run
from traceability.entries import read_documents
from traceability.page import by_entry, find_marks


def run(arguments: Sequence[str]) -> int:
    """Write the pages that follow from the code, or that of results."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command")
    of_results = commands.add_parser("results", help="write the results of runs of the tests")
    of_results.add_argument("files", type=Path, nargs="+", metavar="JUNIT")
    options = parser.parse_args(arguments)
    if options.command == "results":
        return write_results(options.files)
    for name, text in pages(read_documents(), by_entry(find_marks())).items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def write_results(files: Sequence[Path], page: Path = ROOT / PAGE) -> int:
    """Write the page of results.

    Returns:
        1 if a test failed, or one of a requirement did not run; 2 if a file cannot be used.
    """
    now = sources()
    try:
        runs = [read_run(file, now) for file in files]
    except UnusableRun as error:
        print(error, file=sys.stderr)
        return 2
    verified = results.verify(requirements(read_documents(), by_entry(find_marks())), runs)
    page.write_text(results.page(verified, runs, list(read_procedures())), encoding="utf-8")
    for each in verified:
        for test, end in each.failing.items():
            print(f"{each.requirement.number}: {end}: {test}")
    return 0 if results.has_passed(verified, runs) else 1


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
