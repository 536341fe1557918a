"""Write docs/traceability.md: `python3 scripts/trace_documents.py`.

With `--documents FOLDER`, where the specification documents lie, it compares the entries with them
instead, and says with exit status 1 which quotations they do not have, and of which of their lines
no entry quotes a part. The documents are not in this repository. Of the drafts of which only the
constraints have entries, those that are not in the folder are left out.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import exit_status, run_in_environment

run_in_environment()

from traceability import entries
from traceability.page import PAGE, by_entry, find_marks, page


def run(arguments: Sequence[str]) -> int:
    """Write the page, or compare the entries with the documents."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--documents", type=Path, metavar="FOLDER")
    folder = parser.parse_args(arguments).documents
    documents = entries.read_documents()
    if folder is None:
        PAGE.write_text(page(documents, by_entry(find_marks())), encoding="utf-8")
        return 0
    # Of drafts that are excerpted, whoever compares need not have them all.
    there = [d for d in documents if not d.excerpts or (folder / d.file).is_file()]
    found = [
        *entries.false_quotations(there, folder),
        *(
            f"{document.file}: no entry quotes: {line}"
            for document in there
            if not document.excerpts
            for line in entries.lines_without_entry(document, folder)
        ),
    ]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
