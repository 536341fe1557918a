"""Write a model card for the Hugging Face Hub, with a table of what `sonnx-ort check` found.

    sonnx-ort check model.onnx --format json -o report.json
    python hub_model_card.py report.json README.md

Nothing is uploaded.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

STATUSES = ("proved", "runtime", "violated")
HEADINGS = ("proved", "checked in each run", "violated")


def table(report: dict[str, Any]) -> str:
    """The number of checks of each rule by their status, in Markdown.

    Args:
        report: What `sonnx-ort check MODEL --format json` writes for one model.
    """
    rules: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for check in report["obligations"]:
        rules[check["rule"]][check["status"]] += 1
    rows: list[tuple[object, ...]] = [("rule", *HEADINGS), ("---", *["---:"] * len(STATUSES))]
    rows += [(f"`{rule}`", *(found[s] for s in STATUSES)) for rule, found in sorted(rules.items())]
    rows.append(("all", *(report["counts"][s] for s in STATUSES)))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def section(report: dict[str, Any]) -> str:
    """The section of a model card: the verdict, what was checked with what, and the table."""
    verdict = "keeps" if report["ok"] else "breaks"
    waived = f"; {report['waived']} violations are waived" if report["waived"] else ""
    return (
        f"## SONNX profile\n\n"
        f"The model {verdict} the {report['edition']} edition of the profile{waived}.\n\n"
        f"{table(report)}\n\n"
        f"Checked by sonnx_ort {report['versions']['sonnx_ort']}. "
        f"SHA-256 of the model: `{report['model']['sha256']}`"
    )


def main() -> None:
    """Read the report, and write the card."""
    from huggingface_hub import ModelCard, ModelCardData  # noqa: PLC0415 - the table needs it not

    source, target = map(Path, sys.argv[1:])
    report = json.loads(source.read_text("utf-8"))
    data = ModelCardData(library_name="onnx", tags=["onnx", "sonnx"])
    card = ModelCard(f"---\n{data.to_yaml()}\n---\n\n# The model\n\n{section(report)}\n")
    card.save(target)
    print(section(report))


if __name__ == "__main__":
    main()
