"""Lets solvers decide what takes them long, and writes it down.

`PYTHONPATH=tests:scripts python -m support.proofs.decisions` does what is not done yet.

What they decided of which graph is written down; that is not done again. Given are operators with
types, such as "Div float16", or none for all.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.rounding import Rounding, counterexample, digest

RECORD = Path(__file__).resolve().parents[2] / "proofs" / "decided.json"

_SECONDS = 7200

Entry = dict[str, str | float]


def _by_bitwuzla(claim: z3.BoolRef) -> bool:
    return counterexample(claim, _SECONDS) is None


def _by_z3(claim: z3.BoolRef) -> bool:
    solver = z3.Solver()
    solver.set("timeout", _SECONDS * 1000)
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


CASES: dict[str, tuple[str, Callable[[z3.BoolRef], bool]]] = {
    "Div float16": ("bitwuzla", _by_bitwuzla),
    "Sub bfloat16": ("z3-solver", _by_z3),
}
"""By operator and type the package that decides it."""


def decide(case: str) -> bool:
    """Have a claim decided, unless it is; give whether it is proved."""
    operator, kind = case.split()
    rounding = Rounding(operator, ElementType(kind))
    package, by_solver = CASES[case]
    graph = digest(rounding.emitted)
    if recorded().get(case, {}).get("graph") == graph:
        return True
    start = time.monotonic()
    if not by_solver(rounding.claim()):
        print(f"{case}: not proved by {package}")
        return False
    seconds = round(time.monotonic() - start)
    entry: Entry = {"graph": graph, "solver": f"{package} {version(package)}", "seconds": seconds}
    record = recorded() | {case: entry}
    RECORD.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", "utf-8")
    return True


def recorded() -> dict[str, Entry]:
    """What has been decided, by operator and type."""
    if not RECORD.is_file():
        return {}
    record: dict[str, Entry] = json.loads(RECORD.read_text("utf-8"))
    return record


if __name__ == "__main__":
    sys.exit(0 if all(decide(case) for case in sys.argv[1:] or CASES) else 1)
