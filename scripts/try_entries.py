"""`campaigns.py entries`: faults in the code that entries of the traceability name.

Each rule of an entry is switched off, and each function that it names does otherwise, one at a
time: one of the entry's own tests has to fail. What came of it is recorded in
docs/records/entries.json, with the digests of the files that have the faults and the tests; a
second call tries what was not noticed, and what has changed since. The page of the traceability
says which test fails. Ends with status 1 if an entry has a fault that its tests do not notice, and
no reason why it is shown by review.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from environment import ROOT
from records import Record, make_parser, today, versions_of
from tracing.entries import read_documents
from tracing.marks import by_entry, find_marks
from tracing.shown import RECORD, Shown, demanded, digest_of

_PACKAGES = ("pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")
_PYTEST = (
    *("-m", "pytest", "-q", "-m", "not thorough and not models", "-p", "no:xdist"),
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "tracing.trials", "--faults"),
)
_VARIABLES = {
    "PYTHONPATH": os.pathsep.join([str(ROOT / "scripts"), str(ROOT)]),
    "SONNX_ORT_EXAMPLES": "20",
}
_LOG = ROOT / "build" / "entries.log"


def run(arguments: Sequence[str]) -> int:
    """Try faults and keep the record; give 1 if one is not noticed by the tests of its entry."""
    parser = make_parser(__doc__, RECORD, only="")
    options = parser.parse_args(arguments)
    documents, marks = read_documents(), by_entry(find_marks())
    wanted = demanded(documents, marks)
    record = Record(
        options.record, anew=options.anew, made_by=versions_of(_PACKAGES), sources={}, faults={}
    )
    shown = Shown(record)
    tried = {
        fault: left
        for fault, by_name in wanted.items()
        if options.only in fault
        and (left := {name: those for name, those in by_name.items() if not shown.by(fault, those)})
    }
    # Those of now: files may change while tests run.
    digest_of(
        {fault: [t for those in left.values() for t in those] for fault, left in tried.items()}
    )
    noticed = _noticed(tried)
    if noticed is None:
        print(f"The faults could not be tried; {_LOG.relative_to(ROOT)} says why.")
        return 2
    faults = {f: shown.current(f) for f in record["faults"] if f in wanted}
    for fault, tests in noticed.items():
        faults[fault] = sorted({*faults.get(fault, ()), *tests})
    record["faults"] = dict(sorted(faults.items()))
    record["sources"] = digest_of(record["faults"])
    record["date"] = today()
    record.write()
    missing = [each for each in Shown(record).missing(documents, marks) if options.only in each[1]]
    for name, fault in missing:
        print(f"{name}: no test of it fails with the fault {fault}")
    names = {name for fault in wanted if options.only in fault for name in wanted[fault]}
    unnoticed = len({name for name, _ in missing})
    print(f"{len(names)} entries and rules, {unnoticed} with a fault that no test of it notices")
    return 1 if missing else 0


def _noticed(tried: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, list[str]] | None:
    """The tests that notice each fault; None if they could not be run."""
    if not tried:
        return {}
    tests = sorted({test for left in tried.values() for those in left.values() for test in those})
    print(f"{len(tried)} faults with {len(tests)} tests:", flush=True)
    _LOG.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, _LOG.open("w", encoding="utf-8") as log:
        path = Path(folder, "faults.json")
        path.write_text(json.dumps(tried), "utf-8")
        variables = os.environ | _VARIABLES
        command: list[str | Path] = [sys.executable, *_PYTEST, path, *tests]
        done = subprocess.run(
            command, cwd=ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT, check=False
        )
        results = path.with_suffix(".results")
        if done.returncode or not results.is_file():
            return None
        found: dict[str, list[str]] = {fault: [] for fault in tried}
        for line in results.read_text("utf-8").splitlines():
            fault, test, noticed = json.loads(line)
            if noticed:
                found[fault].append(test)
    return found
