"""Measures each case in a process of its own, and records the figures."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from records import RECORDS, today, versions_of, write_record
from rich.progress import Progress

from endurance.cases import CASES, LEFT_BEHIND, silence
from endurance.growth import ALLOWANCE, Growth, measure

RECORD = RECORDS / "memory.json"
CHOSEN = [(case, backend) for backend in ("python", "native") for case in CASES]
PACKAGES = ("onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir", "numpy")


def run(arguments: Sequence[str]) -> int:
    """Measure all cases, or one of them; give 1 if the memory grows."""
    parser = argparse.ArgumentParser(prog="measure_memory.py")
    parser.add_argument("--runs", type=int, default=100_000, help="runs of one session")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file with the figures")
    parser.add_argument(
        "--case", nargs=2, metavar=("CASE", "BACKEND"), help="measure this one here"
    )
    options = parser.parse_args(arguments)
    repetitions = {"runs": options.runs, "sessions": options.sessions}
    if options.case:
        case, backend = options.case
        silence()
        print(json.dumps(asdict(measure(CASES[case](backend), repetitions[case]))))
        return 0
    record = _begun(options.record)
    with Progress() as progress:
        for case, backend in progress.track(CHOSEN, description="cases"):
            name = f"{case}, {backend}"
            known = record["cases"].get(name, {})
            if known.get("repetitions") == repetitions[case]:
                continue
            growth = _measured(case, backend, repetitions[case])
            progress.console.print(f"{name}: {growth}", highlight=False)
            exceeds = growth.exceeds(LEFT_BEHIND[case])
            record["cases"][name] = asdict(growth) | {"grown": growth.grown, "exceeds": exceeds}
            record["date"] = today()
            write_record(options.record, record)
    return 1 if any(case["exceeds"] for case in record["cases"].values()) else 0


def _begun(path: Path) -> dict[str, Any]:
    """The record that is gone on with; a new one where other versions made it."""
    made_by = versions_of(PACKAGES)
    if path.is_file():
        known: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if known["made_by"] == made_by:
            return known
    return {
        "made_by": made_by,
        "date": "",
        "unit": "KiB",
        "allowance": ALLOWANCE,
        "left_behind": LEFT_BEHIND,
        "cases": {},
    }


def _measured(case: str, backend: str, repetitions: int) -> Growth:
    command = [sys.executable, sys.argv[0], "--case", case, backend, f"--{case}", str(repetitions)]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Growth(**json.loads(ended.stdout))
