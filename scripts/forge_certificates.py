"""`campaigns.py certificates`: forged certificates.

Certifies small models and what enforces them, by number, changes one guard, entry or premise at a
time, and runs what the checker accepts, in child processes: what
tests/soundness/test_changed_certificates.py does with a few. docs/records/forged_certificates.json
has how many were forged, what became of them, and which models had one that was accepted and false;
a further call goes on after the last number.
"""

import importlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ages import sources_of
from records import RECORDS, Record, add, make_parser, steps, versions_of

RECORD = RECORDS / "forged_certificates.json"
_ATTEMPT = "support.soundness.changed_certificates:attempt"
_PACKAGES = ("onnxruntime", "onnx", "onnx-ir", "numpy")
_SOURCES = sources_of("forged_certificates.json")
_BATCH = 50
"""How many models are tried before the record is written."""
_SECONDS = 60
"""More than the changes of a model take."""


class Forged(Record):
    """A record of the models whose certificates were forged, by their numbers from 0 on.

    Each of its parts has those that were tried with the same versions and sources, from `first` on:
    how many certificates were forged, what became of each kind of change, and the numbers of the
    models of which a forgery was accepted that is false, or that could not be tried.
    """

    def add(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Count what came of further models, as `support.soundness.isolated` gives it.

        Those of other versions or sources begin a new part.
        """
        made_by = versions_of(_PACKAGES, _SOURCES)
        if not self["parts"] or self["parts"][-1]["made_by"] != made_by:
            part = {"made_by": made_by, "first": self["models"], "models": 0, "forged": 0}
            self["parts"].append(part | {"counts": {}, "failures": []})
        counts = sum((Counter(line.get("result")) for line in lines), Counter[str]())
        forged = sum(n for what, n in counts.items() if ":" in what and "as it is" not in what)
        failures = [line["number"] for line in lines if _is_failure(line)]
        found = {"models": len(lines), "forged": forged, "counts": counts, "failures": failures}
        add(self["parts"][-1], found)
        self["models"] += len(lines)


def _is_failure(line: Mapping[str, Any]) -> bool:
    return "result" not in line or any(": false" in what for what in line["result"])


def run(arguments: Sequence[str]) -> int:
    """Go on until so many models have been tried; give 1 if a false certificate was accepted."""
    parser = make_parser(__doc__, RECORD, count=1000, processes=1, seconds=math.inf)
    options = parser.parse_args(arguments)
    isolated = importlib.import_module("support.soundness.isolated")
    record = Forged(options.record, anew=options.anew, models=0, parts=[])
    for _ in steps("models", options.count, lambda: record["models"], options.seconds):
        first = record["models"]
        numbers = range(first, min(first + _BATCH, options.count))
        lines = isolated.run_attempts(_ATTEMPT, numbers, options.processes, _SECONDS)
        record.add(lines)
        record.write()
        for line in filter(_is_failure, lines):
            print(line)
    failed = sum(len(part["failures"]) for part in record["parts"])
    forged = sum(part["forged"] for part in record["parts"])
    print(f"{forged} forged, {failed} of {record['models']} models failed: {options.record}")
    return 1 if failed else 0
