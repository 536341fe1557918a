"""`campaigns.py accuracy`: how far results of functions of one operand are from the exact ones.

ONNX Runtime computes all 2^32 floats, all 65,536 numbers of float16 and some 300,000 doubles, each
by every function of one operand whose rule of intervals reads the table of accuracies. Results are
compared with those of double, in double with enclosures. Findings are kept in
docs/records/accuracy.json, by version of ONNX Runtime, and the table of the package is made from
all that are complete. Half an hour on one core for each version; `--every 16` tries a sixteenth of
the floats.

For another version of ONNX Runtime, install it into a folder by `pip install --no-deps --target
FOLDER onnxruntime==VERSION`, and name the folder in the variable PYTHONPATH.
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import onnxruntime
from accuracy.arguments import DTYPES
from accuracy.findings import empty
from accuracy.functions import FUNCTIONS
from accuracy.sweeps import Sweep
from accuracy.table import TABLE, loaded, stored, table_of
from ages import sources_of
from records import RECORDS, Record, make_parser, steps, today, versions_of

from sonnx_ort.loading.saving import write_text

RECORD = RECORDS / "accuracy.json"
"""What was found."""

_PIECES_PER_STEP = 1 << 10


def sweeps() -> list[Sweep]:
    """All of them, small types first."""
    types = sorted(DTYPES, key=lambda name: name == "float")
    return [Sweep(function, kind) for kind, function in product(types, FUNCTIONS)]


def measure(
    sweep: Sweep, record: Record, entries: dict[str, Any], seconds: float, every: int = 1
) -> None:
    """Go on with a sweep as long as there is time, and keep the record.

    Args:
        sweep: The sweep.
        record: The record.
        entries: The entries of its version of ONNX Runtime.
        seconds: How many seconds there are.
        every: Of float, compute one of so many pieces, unless the sweep has begun with others.
    """
    found = stored(empty(rises=FUNCTIONS[sweep.function].rises))
    new = {"done": 0, "of": sweep.count, "every": 1, "differing": None, "found": found}
    if sweep.element_type == "float":
        new["every"] = every
    entry = entries[str(sweep)] = new | entries.get(str(sweep), {})
    finding = loaded(entry["found"])
    # The short tensors count as one argument more.
    total = sweep.count + 1
    for _ in steps(str(sweep), total, lambda: int(entry["done"]), seconds):
        if entry["done"] == sweep.count:
            entry["differing"] = sweep.add_short(finding)
            entry["done"] += 1
        for _ in range(_PIECES_PER_STEP):
            if entry["done"] >= sweep.count:
                break
            x = sweep.arguments(entry["done"])
            sweep.add(finding, x, sweep.computed(x), rising=True)
            entry["done"] = min(entry["done"] + x.size * entry["every"], sweep.count)
        entry["found"], entry["date"] = stored(finding), today()
        record.write()


def run(arguments: Sequence[str]) -> int:
    """Go on with every sweep that is not complete, and make the table of the package.

    Returns:
        The exit status: 0, or 2 if others made what is recorded of this version.
    """
    parser = make_parser(__doc__, RECORD, only="", seconds=math.inf)
    parser.add_argument(
        "--table", type=Path, default=TABLE, help="the table that is made, %(default)s"
    )
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        help="of float, compute one of so many pieces, where a sweep begins; %(default)s",
    )
    options = parser.parse_args(arguments)
    record = Record(options.record)
    label = onnxruntime.__version__
    here = versions_of(("numpy", "python-flint"), sources_of("accuracy.json"))
    made_by = {"onnxruntime": label, **here}
    if options.anew or label not in record:
        record[label] = {"made_by": made_by, "sweeps": {}}
    if record[label]["made_by"] != made_by:
        print(f"{options.record} has {label} of other versions. Begin it again with --anew.")
        return 2
    for sweep in sweeps():
        if options.only not in str(sweep):
            continue
        if not sweep.has_kernel:
            print(f"{sweep}: {label} has no kernel", flush=True)
            continue
        measure(sweep, record, record[label]["sweeps"], options.seconds, options.every)
        entry = record[label]["sweeps"][str(sweep)]
        scales = ", ".join(
            f"{s} {float(entry['found'][s]):.4g}" for s in ("result", "argument", "one")
        )
        print(f"{sweep}: {entry['done']:,} of {entry['of'] + 1:,}; units: {scales}", flush=True)
    write_text(options.table, table_of(record))
    return 0
