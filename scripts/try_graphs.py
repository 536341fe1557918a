"""`campaigns.py graphs`: random graphs.

Makes graphs by number, lets each backend enforce them, runs them, and compares every verdict and
result with the exact oracle and with each other, in child processes: what
tests/soundness/test_random_graphs.py does with some hundred. docs/records/random_graphs.json has
how many were tried, and which disagreed; a further call goes on behind the last
number. What disagreed is written to build/random_graphs, with the smallest such graph.
"""

import importlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from environment import ROOT
from records import RECORDS, digest_of, make_parser, steps, today, versions_of, write_record

RECORD = RECORDS / "random_graphs.json"
_FOUND = ROOT / "build" / "random_graphs"
_TRIALS = "support.soundness.trials"
_PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy")
_SOURCES = ("sonnx_ort", "custom_ops", "tests/support/soundness")
_BATCH = 1000
"""How many graphs are tried before the record is written."""


@dataclass(slots=True)
class Part:
    """Graphs that were tried with the same versions and sources, by their numbers from `first` on.

    `counts` says how often what was seen, of all operators together, and `failures` has the
    numbers of the graphs that disagreed.
    """

    made_by: dict[str, str]
    first: int
    graphs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[int] = field(default_factory=list)
    date: str = ""

    @property
    def stop(self) -> int:
        """The number behind the last graph."""
        return self.first + self.graphs

    def add(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Count what came of further graphs, as `support.soundness.isolated` gives it."""
        for line in lines:
            self.graphs += 1
            seen = line.get("result", {})
            self.counts.update({name: count for name, count in seen.items() if ":" not in name})
            if "result" not in line:
                self.failures.append(line["number"])
        self.date = today()


class Record:
    """A file of parts, the newest last; begun where there is none."""

    def __init__(self, path: Path, *, anew: bool = False) -> None:
        self._path = path
        known = path.is_file() and not anew
        read = json.loads(path.read_text("utf-8"))["parts"] if known else []
        self.parts = [Part(**part | {"counts": Counter(part["counts"])}) for part in read]

    @property
    def graphs(self) -> int:
        """How many were tried: the numbers from 0 on."""
        return self.parts[-1].stop if self.parts else 0

    def current(self) -> Part:
        """The part of these versions and sources, a new one behind the last where that differs."""
        made_by = versions_of(_PACKAGES) | {"sources": digest_of(_SOURCES)}
        if not self.parts or self.parts[-1].made_by != made_by:
            self.parts.append(Part(made_by, first=self.graphs))
        return self.parts[-1]

    def save(self) -> None:
        """Write the file, whole or not at all."""
        parts = [asdict(p) | {"counts": dict(sorted(p.counts.items()))} for p in self.parts]
        write_record(self._path, {"graphs": self.graphs, "parts": parts})


def run(arguments: Sequence[str]) -> int:
    """Go on until so many graphs have been tried; give 1 if anything disagreed."""
    parser = make_parser(__doc__, RECORD, count=100_000, processes=1, seconds=math.inf)
    options = parser.parse_args(arguments)
    isolated = importlib.import_module("support.soundness.isolated")
    record = Record(options.record, anew=options.anew)
    for _ in steps("graphs", options.count, lambda: record.graphs, options.seconds):
        part = record.current()
        numbers = range(part.stop, min(part.stop + _BATCH, options.count))
        lines = isolated.run_attempts(f"{_TRIALS}:attempt", numbers, options.processes)
        part.add(lines)
        record.save()
        for failure in isolated.failures_of(lines, f"{_TRIALS}:shrunk"):
            print(failure)
            _FOUND.mkdir(parents=True, exist_ok=True)
            name = failure.partition(":")[0]
            (_FOUND / f"{name}.txt").write_text(f"{failure}\n", "utf-8")
    failed = [failure for part in record.parts for failure in part.failures]
    print(f"{record.graphs} graphs, {len(failed)} disagreed: {options.record}")
    return 1 if failed else 0
