"""The command: sweeps what is not yet in the record, and keeps it after each block."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from records import RECORDS, versions_of, write_record

from units.sweep import OPERATORS, Sweep

RECORD = RECORDS / "units.json"
"""What was counted."""


def run(arguments: Sequence[str]) -> int:
    """Sweep all floats of each operator; a record of other versions is begun anew.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description="By how many units Log and Acos miss.")
    parser.parse_args(arguments)
    record = read(RECORD)
    for operator in OPERATORS:
        sweep = Sweep(operator)
        while (told := entry(record, operator))["floats"] < sweep.floats:
            _add(told, sweep.block(told["floats"]))
            write_record(RECORD, record)
        print(operator, told["units"])
    return 0


def read(path: Path) -> dict[str, Any]:
    """The record, or an empty one where there is none of these versions."""
    versions = versions_of(("onnxruntime", "numpy"))
    if path.is_file():
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if record["versions"] == versions:
            return record
    return {"versions": versions, "operators": {}}


def entry(record: dict[str, Any], operator: str) -> dict[str, Any]:
    """What a record has of an operator."""
    told: dict[str, Any] = record["operators"].setdefault(operator, {"floats": 0, "units": {}})
    return told


def _add(told: dict[str, Any], counted: Counter[int]) -> None:
    units = Counter({int(unit): count for unit, count in told["units"].items()}) + counted
    told["units"] = {str(unit): units[unit] for unit in sorted(units)}
    told["floats"] += counted.total()
