"""Compare the entries of the traceability with the documents: `scripts/trace_documents.py FOLDER`.

Says with exit status 1 which quotations the documents in the folder do not have, and of which of
their lines no entry quotes a part. The documents are not in this repository. Of the drafts of which
only the constraints have entries, those that are not in the folder are left out.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import exit_status, run_in_environment

run_in_environment()

from traceability import entries


def run(arguments: Sequence[str]) -> int:
    """Compare the entries with the documents."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args(arguments).folder
    # Of drafts that are excerpted, whoever compares need not have them all.
    there = [d for d in entries.read_documents() if not d.excerpts or (folder / d.file).is_file()]
    found = [
        *entries.false_quotations(there, folder),
        *(
            f"{document.file}: no entry quotes: {line}"
            for document in there
            if not document.excerpts
            for line in entries.lines_without_entry(document, folder)
        ),
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
