"""Write what follows from the code in docs/qualification: `python3 scripts/qualification.py`.

These are the operational requirements, and the configuration index with the verification
procedures.
"""

import sys

from environment import exit_status, run_in_environment

run_in_environment()

from qualifying.pages import FOLDER, pages
from traceability.entries import read_documents
from traceability.page import by_entry, find_marks


def run() -> int:
    """Write the pages."""
    for name, text in pages(read_documents(), by_entry(find_marks())).items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(run))
