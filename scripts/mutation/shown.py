"""What came of mutants, as a page shows it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ages import RECORDS, digests

from mutation.rooms import TESTS, by_room, place_of

_COLUMNS = (
    *("room", "tests", "files counted", "their mutants", "tried", "killed"),
    *("without an end", "equivalent", "survived"),
)
_COUNTS = ("killed", "timeouts", "equivalent")


def table(record: Path = RECORDS / "mutants.json") -> str:
    """What came of the mutants of each room, in Markdown; a file that has changed was not tried."""
    known: dict[str, Any] = json.loads(record.read_text("utf-8"))["files"]
    now = digests(map(place_of, TESTS), (".py",))
    rows = [f"| {' | '.join(_COLUMNS)} |", "| --- | --- " + "| ---: " * len(_COLUMNS[2:]) + "|"]
    for room, files in sorted(by_room(now).items()):
        entries = [known[f] for f in files if known.get(f, {}).get("source") == now[f]]
        tests = ", ".join(f"`{test}`" for test in TESTS[room])
        numbers = [f"{count:,}" if entries else "-" for count in counts(entries).values()]
        cells = [f"{len(entries)} of {len(files)}", *numbers]
        rows.append(f"| `{room}` | {tests} | {' | '.join(cells)} |")
    return "\n".join(rows)


def counts(entries: list[Mapping[str, Any]]) -> dict[str, int]:
    """How many mutants files have, how many of them were tried, and what came of these."""
    return {
        "mutants": sum(entry["mutants"] for entry in entries),
        "tried": sum(len(those) for entry in entries for those in entry["numbers"].values()),
        **{name: sum(entry[name] for entry in entries) for name in _COUNTS},
        "survivors": sum(len(entry["survivors"]) for entry in entries),
    }
