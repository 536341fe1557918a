"""`campaigns.py graphs`: random graphs.

Makes graphs by number, lets each backend enforce them, runs them, and compares every verdict and
result with the exact oracle and with each other, in child processes: what
tests/soundness/test_random_graphs.py does with some hundred. docs/records/random_graphs.json has
how many were tried, and which disagreed; a further call goes on after the last
number. What disagreed is written to build/random_graphs, with the smallest such graph.
"""

import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ages import sources_of
from environment import ROOT
from records import RECORDS, Record, add, make_parser, steps, versions_of

RECORD = RECORDS / "random_graphs.json"
_FOUND = ROOT / "build" / "random_graphs"
_TRIALS = "support.soundness.trials"
_PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy")
_SOURCES = sources_of("random_graphs.json")
_BATCH = 1000
"""How many graphs are tried before the record is written."""


class Graphs(Record):
    """A record of the graphs that were tried, by their numbers from 0 on.

    Each of its parts has those that were tried with the same versions and sources, from `first` on:
    how often what was seen, of all operators together, and the numbers of those that disagreed.
    """

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        """Read the record, or begin it."""
        super().__init__(path, anew=anew, graphs=0, parts=[])

    def add(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Count what came of further graphs, as `support.soundness.isolated` gives it.

        Those of other versions or sources begin a new part.
        """
        made_by = versions_of(_PACKAGES, _SOURCES)
        if not self["parts"] or self["parts"][-1]["made_by"] != made_by:
            part = {"made_by": made_by, "first": self["graphs"], "graphs": 0}
            self["parts"].append(part | {"counts": {}, "failures": []})
        counts = Counter[str]()
        for line in lines:
            seen = line.get("result", {})
            counts.update({name: count for name, count in seen.items() if ":" not in name})
        failures = [line["number"] for line in lines if "result" not in line]
        found = {"graphs": len(lines), "counts": counts, "failures": failures}
        add(self["parts"][-1], found)
        self["graphs"] += len(lines)


def run(arguments: Sequence[str]) -> int:
    """Go on until so many graphs have been tried; give 1 if anything disagreed."""
    parser = make_parser(__doc__, RECORD, count=100_000, processes=1, seconds=math.inf)
    options = parser.parse_args(arguments)
    isolated = importlib.import_module("support.soundness.isolated")
    record = Graphs(options.record, anew=options.anew)
    for _ in steps("graphs", options.count, lambda: record["graphs"], options.seconds):
        first = record["graphs"]
        numbers = range(first, min(first + _BATCH, options.count))
        lines = isolated.run_attempts(f"{_TRIALS}:attempt", numbers, options.processes)
        record.add(lines)
        record.write()
        for failure in isolated.failures_of(lines, f"{_TRIALS}:shrunk"):
            print(failure)
            _FOUND.mkdir(parents=True, exist_ok=True)
            name = failure.partition(":")[0]
            (_FOUND / f"{name}.txt").write_text(f"{failure}\n", "utf-8")
    failed = sum(len(part["failures"]) for part in record["parts"])
    print(f"{record['graphs']} graphs, {failed} disagreed: {options.record}")
    return 1 if failed else 0
