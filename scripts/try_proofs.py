"""`campaigns.py fusions`, `contracts` and `sums`: what is proved of numbers, and what is computed.

Makes graphs under contracts by number, proves what can be proved of their values, and runs them at
the ends of their contracts in enforced sessions, in child processes. A run in which something
proved is not so is a failure; so is one that ends the process.

    fusions      nodes that optimizers join or fold, with weights at the ends of their types
    contracts    graphs of a few nodes, with contracts from one number to the ends of a type
    sums         sums of up to 100,000 terms, and products of integers that wrap

A record in docs/records has how many were tried, which failed and for what, and how often a plain
session of the original model, of which nothing is promised, computes something else, by the
optimizers that make it do so. A further call goes on after the last number. Of each kind of
failure, one is written to build/proofs, with the smallest such model. `--first NUMBER` tries others
from there on, and records nothing.
"""

import importlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ages import sources_of
from environment import ROOT
from records import RECORDS, Record, add, make_parser, steps, versions_of

_FOUND = ROOT / "build" / "proofs"
_MODULES = {
    "fusions": "support.soundness.fused_graphs",
    "contracts": "support.soundness.contracted_numbers",
    "sums": "support.soundness.long_sums",
}
"""Where the trials of each campaign are made."""

_PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy")
_BATCH = 500
"""How many graphs are tried before the record is written."""

_UNRECORDED = -1

Line = Mapping[str, Any]


class Proofs(Record):
    """A record of the graphs that were tried, by their numbers from 0 on.

    Each of its parts has those that were tried with the same versions and sources, from `first` on:
    how often what was seen, and the failures, each with its kind and number.
    """

    def __init__(self, campaign: str, path: Path, *, anew: bool = False) -> None:
        """Read the record of a campaign, or begin it."""
        super().__init__(path, anew=anew, graphs=0, parts=[])
        self._sources = sources_of(f"{campaign}.json")

    def add(self, lines: Sequence[Line]) -> None:
        """Count what came of further graphs, as `support.soundness.isolated` gives it.

        Those of other versions or sources begin a new part.
        """
        made_by = versions_of(_PACKAGES, self._sources)
        if not self["parts"] or self["parts"][-1]["made_by"] != made_by:
            part = {"made_by": made_by, "first": self["graphs"], "graphs": 0}
            self["parts"].append(part | {"counts": {}, "failures": []})
        add(self["parts"][-1], counted(lines))
        self["graphs"] += len(lines)


def counted(lines: Sequence[Line]) -> dict[str, Any]:
    """What came of graphs, as a record has it."""
    counts = Counter[str]()
    for line in lines:
        counts.update(line.get("result", {}))
    kind_of = importlib.import_module("support.soundness.proof_judge").kind_of
    failures = [f"{kind_of(line)} {line['number']}" for line in lines if "result" not in line]
    return {"graphs": len(lines), "counts": counts, "failures": failures}


def run_fusions(arguments: Sequence[str]) -> int:
    """Try nodes that optimizers join or fold; give 1 if anything failed."""
    return _run("fusions", arguments)


def run_contracts(arguments: Sequence[str]) -> int:
    """Try graphs of a few nodes; give 1 if anything failed."""
    return _run("contracts", arguments)


def run_sums(arguments: Sequence[str]) -> int:
    """Try long sums; give 1 if anything failed."""
    return _run("sums", arguments)


def _run(campaign: str, arguments: Sequence[str]) -> int:
    taken = {"count": 20_000, "processes": 1, "seconds": math.inf, "first": _UNRECORDED}
    parser = make_parser(__doc__, RECORDS / f"{campaign}.json", **taken)
    options = parser.parse_args(arguments)
    unrecorded = options.first != _UNRECORDED
    first = options.first if unrecorded else 0
    path = Path("/dev/null") if unrecorded else options.record
    record = Proofs(campaign, path, anew=options.anew)
    kinds: set[str] = set()
    for _ in steps(campaign, options.count, lambda: record["graphs"], options.seconds):
        done = record["graphs"]
        numbers = range(first + done, first + min(done + _BATCH, options.count))
        isolated = importlib.import_module("support.soundness.isolated")
        lines = isolated.run_attempts(f"{_MODULES[campaign]}:attempt", numbers, options.processes)
        record.add(lines)
        if not unrecorded:
            record.write()
        for kind, failure in _new_kinds(lines, kinds, campaign):
            print(failure)
            _FOUND.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "_", kind).strip("_")
            (_FOUND / f"{campaign}_{name}.txt").write_text(f"{failure}\n", "utf-8")
    return _told(record)


def _new_kinds(lines: Sequence[Line], kinds: set[str], campaign: str) -> Iterator[tuple[str, str]]:
    """The first failure of each kind that is not known yet, with the smallest such model."""
    isolated = importlib.import_module("support.soundness.isolated")
    kind_of = importlib.import_module("support.soundness.proof_judge").kind_of
    for line in lines:
        if "result" not in line and (kind := kind_of(line)) not in kinds:
            kinds.add(kind)
            (failure,) = isolated.failures_of([line], f"{_MODULES[campaign]}:shrunk")
            yield kind, failure


def _told(record: Proofs) -> int:
    """Print what came of all; give 1 if anything failed."""
    counts = sum((Counter(part["counts"]) for part in record["parts"]), Counter[str]())
    failures = [failure for part in record["parts"] for failure in part["failures"]]
    for what, count in sorted(counts.items()):
        print(f"{count:9,} {what}")
    for kind, count in Counter(failure.rpartition(" ")[0] for failure in failures).most_common():
        print(f"{count:9,} failed: {kind}")
    print(f"{record['graphs']} graphs, {len(failures)} failed")
    return 1 if failures else 0
