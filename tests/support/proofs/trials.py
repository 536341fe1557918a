"""Tries every pair of 16-bit floats: `PYTHONPATH=tests:scripts python -m support.proofs.trials`.

The graph that the native backend emits for an operator computes each of the 4,294,967,296 pairs in
ONNX Runtime, and each result has to be the nearest number, ties to even. That takes long; what is
done is written down, and the next call goes on there. Given are operators with types, such as
"Div bfloat16", or none for all.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from sonnx_ort.profile.element_type import ElementType
from support import ort_values
from support.proofs.exhaustion import PATTERNS, numbers, wrong
from support.proofs.rounding import Rounding
from support.sessions import on_one_thread

RECORD = Path(__file__).resolve().parents[2] / "proofs" / "rounding.json"
"""How many of the rows of each have been tried; a row is a first operand with every second one."""

CASES = ("Div bfloat16", "Mul bfloat16", "Sub bfloat16", "Div float16")

_ROWS_AT_ONCE = 8
_ROWS_BETWEEN_RECORDS = 1024

Entry = dict[str, str | int]


def attempt(case: str) -> bool:
    """Try what is not tried yet; give whether every result is right."""
    operator, name = case.split()
    kind = ElementType(name)
    model = Rounding(operator, kind).emitted
    entry = recorded().get(case, {})
    done = int(entry["rows"]) if entry.get("graph") == digest(model) else 0
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    second = np.tile(numbers(np.arange(PATTERNS), kind), _ROWS_AT_ONCE)
    while done < PATTERNS:
        first = np.repeat(numbers(np.arange(done, done + _ROWS_AT_ONCE), kind), PATTERNS)
        (found,) = ort_values.run(session, {"A": first, "B": second})
        misses = wrong(operator, first, second, np.asarray(found))
        if misses.any():
            place = int(np.argmax(misses))
            print(f"{case}: a wrong result of {first[place]} and {second[place]}")
            return False
        done += _ROWS_AT_ONCE
        if done % _ROWS_BETWEEN_RECORDS == 0:
            _record(case, {"graph": digest(model), "rows": done, "onnxruntime": ort.__version__})
            print(f"{case}: {done} of {PATTERNS} rows", flush=True)
    return True


def digest(model: onnx.ModelProto) -> str:
    """What tells a graph from others."""
    return hashlib.sha256(model.graph.SerializeToString(deterministic=True)).hexdigest()


def recorded() -> dict[str, Entry]:
    """What has been tried, by operator and type."""
    if not RECORD.is_file():
        return {}
    record: dict[str, Entry] = json.loads(RECORD.read_text("utf-8"))
    return record


def _record(case: str, entry: Entry) -> None:
    record = recorded() | {case: entry}
    RECORD.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(0 if all(attempt(case) for case in sys.argv[1:] or CASES) else 1)
