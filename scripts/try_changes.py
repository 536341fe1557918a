"""`campaigns.py changes`: what changes of `conform` make of single nodes, and what runs give.

Makes nodes of each operator by number: all versions, types, values of attributes, sizes and
elements, also such as no document admits. Each is conformed, safely and with changes that round,
and runs beside the original, without optimizations and with all of them. A failure is a run that
fails or is refused no more, another bit, type, shape, input or output, or more violations than
before.

A record in docs/records has how many were tried and which failed. A further call goes on after the
last number. `--first NUMBER` tries others from there on, and records nothing.
"""

import importlib
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ages import sources_of
from records import RECORDS, Record, add, make_parser, steps, versions_of

_ATTEMPT = "support.soundness.changed_nodes:attempt"
_SHRUNK = "support.soundness.changed_nodes:shrunk"
_PACKAGES = ("onnxruntime", "onnx", "onnx-ir", "numpy")
_SOURCES = sources_of("changes.json")
_BATCH = 200
"""How many nodes are tried before the record is written."""

_UNRECORDED = -1


class Changes(Record):
    """A record of the nodes that were tried, by their numbers from 0 on.

    Each of its parts has those that were tried with the same versions and sources.
    """

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        """Read the record, or begin it."""
        super().__init__(path, anew=anew, nodes=0, parts=[])

    def add(self, lines: Sequence[dict[str, Any]]) -> None:
        """Count what came of further nodes, as `support.soundness.isolated` gives it."""
        made_by = versions_of(_PACKAGES, _SOURCES)
        if not self["parts"] or self["parts"][-1]["made_by"] != made_by:
            part = {"made_by": made_by, "first": self["nodes"], "nodes": 0}
            self["parts"].append(part | {"counts": {}, "failures": []})
        counts = Counter[str]()
        for line in lines:
            counts.update(line.get("result", {}))
        failures = [str(line["number"]) for line in lines if "result" not in line]
        found = {"nodes": len(lines), "counts": counts, "failures": failures}
        add(self["parts"][-1], found)
        self["nodes"] += len(lines)


def run(arguments: Sequence[str]) -> int:
    """Try changes; give 1 if anything failed."""
    taken = {"count": 10_000, "processes": 1, "seconds": math.inf, "first": _UNRECORDED}
    options = make_parser(__doc__, RECORDS / "changes.json", **taken).parse_args(arguments)
    unrecorded = options.first != _UNRECORDED
    first = options.first if unrecorded else 0
    record = Changes(Path("/dev/null") if unrecorded else options.record, anew=options.anew)
    isolated = importlib.import_module("support.soundness.isolated")
    for _ in steps("changes", options.count, lambda: record["nodes"], options.seconds):
        done = record["nodes"]
        numbers = range(first + done, first + min(done + _BATCH, options.count))
        lines = isolated.run_attempts(_ATTEMPT, numbers, options.processes)
        record.add(lines)
        if not unrecorded:
            record.write()
        for failure in isolated.failures_of(lines, _SHRUNK):
            print(failure)
    return _told(record)


def _told(record: Changes) -> int:
    """Print what came of all; give 1 if anything failed."""
    counts = sum((Counter(part["counts"]) for part in record["parts"]), Counter[str]())
    failures = [failure for part in record["parts"] for failure in part["failures"]]
    for what, count in sorted(counts.items()):
        print(f"{count:9,} {what}")
    print(f"{record['nodes']:,} nodes, {len(failures)} failed")
    return 1 if failures else 0
