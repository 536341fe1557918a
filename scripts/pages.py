"""Write the documentation with what is made from code and tests: `python3 scripts/pages.py`.

Copies docs/ to build/docs, and puts the traceability, the requirements, the configuration index,
the reference of the commands, the bounds of changes, the mutants that were tried and the ages of
records there in the place of the lines `<!-- made: NAME -->`, within seconds. With
`--results JUNIT ...` it puts in the results of verification too, from the files that
`python3 scripts/test.py --junit-xml JUNIT` writes of runs of the commit that is checked out. Its
exit status is 1 if a test failed, or one of a requirement did not run, and 2 if a file is of no
such run.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import ages
from environment import ROOT, exit_status, run_in_environment
from mutation import shown as mutants

run_in_environment()

from command_reference import reference
from qualifying import configuration, requirements, results
from qualifying.runs import UnusableRun, read_run, sources
from tracing import page
from tracing.entries import read_documents
from tracing.marks import by_entry, find_marks
from tracing.shown import recorded

from docs import PAGES
from sonnx_ort.reporting.bounds_table import bounds_table

DOCUMENTATION = ROOT / "docs"
"""The pages as they are written by hand."""

PLACE = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)
"""The line in a page that what is made takes the place of."""


def run(arguments: Sequence[str]) -> int:
    """Write the pages, with the results of runs if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--results", type=Path, nargs="+", metavar="JUNIT", default=[])
    return write_pages(PAGES, parser.parse_args(arguments).results)


def write_pages(folder: Path, files: Sequence[Path] = ()) -> int:
    """Write all pages to a folder, which is made anew.

    Returns:
        1 if a test failed, or one of a requirement did not run; 2 if a file cannot be used.
    """
    documents, marks = read_documents(), by_entry(find_marks())
    demanded = requirements.requirements(documents, marks)
    now = sources() if files else {}
    try:
        runs = [read_run(file, now) for file in files]
    except UnusableRun as error:
        print(error, file=sys.stderr)
        return 2
    verified = results.verify(demanded, runs)
    write(
        folder,
        {
            "traceability": page.text(documents, marks, recorded()),
            **requirements.tables(demanded),
            **configuration.tables(),
            "bounds": bounds_table(),
            "mutants": mutants.table(),
            "reference": reference(),
            "results": results.text(verified, runs, list(configuration.read_procedures())),
        },
    )
    if not runs:
        return 0
    for each in verified:
        for test, end in each.failing.items():
            print(f"{each.requirement.number}: {end}: {test}")
    return 0 if results.has_passed(verified, runs) else 1


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Copy the documentation to a folder, which is made anew, and put in what is made."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCUMENTATION, folder)
    for path in folder.rglob("*.md"):
        text = path.read_text("utf-8")
        if PLACE.search(text):
            parts = PLACE.split(text)
            of_page = {**made, "ages": ages.table(text)}
            parts[1::2] = [of_page[name] for name in parts[1::2]]
            path.write_text("".join(parts), "utf-8")


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
