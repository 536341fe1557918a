"""Hold the entries of the traceability to the texts they quote.

`scripts/traceability.py --against CHECKOUT` reads each text in the commit that is followed from a
clone of its repository. It lists quotations that the text does not have, entries that stand
elsewhere in it, lines that demand something and have no entry, and other lines that belong to none;
it ends with exit status 1 if there is one, and with 2 if an entry is unusable. Texts that the
clone does not have are named.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from environment import exit_status, run_in_environment

run_in_environment()

from tracing.comparing import Comparison, UnreadableText, compare, read_text
from tracing.entries import UnusableEntry, read_documents

from sonnx_ort.profile.source import TEXTS

_KINDS = {
    "absent": "not in the text",
    "moved": "elsewhere in the text",
    "new": "demanded, without an entry",
    "uncovered": "without an entry",
}


def run(arguments: Sequence[str]) -> int:
    """Compare all entries with their texts."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--against", type=Path, required=True, metavar="CHECKOUT")
    parser.add_argument(
        "--only", default="", metavar="TITLE", help="texts with this in their title"
    )
    options = parser.parse_args(arguments)
    quotations = sentences = compared = findings = 0
    try:
        documents = read_documents()
    except UnusableEntry as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for document in documents:
        text = TEXTS.get(document.name)
        if text is None or options.only not in document.name:
            continue
        try:
            found = compare(document, read_text(text, options.against))
        except UnreadableText as error:
            print(f"{document.name}: not compared: {error}")
            continue
        print(*_listed(document.name, found), sep="\n")
        compared += 1
        quotations += sum(len(entry.quotations) for entry in document.entries)
        sentences += found.sentences
        findings += sum(len(getattr(found, kind)) for kind in _KINDS)
    print(
        f"{compared} texts compared: {quotations} quotations, {sentences} sentences, "
        f"{findings} findings"
    )
    return 1 if findings or not compared else 0


def _listed(name: str, found: Comparison) -> list[str]:
    lines = [
        f"  {words}: {finding}"
        for kind, words in _KINDS.items()
        for finding in getattr(found, kind)
    ]
    return [f"{name}: {len(lines)} findings in {found.sentences} sentences", *lines]


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
