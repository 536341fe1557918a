"""The figures as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measurement import Measurement
from benchmarks.subject import SUBJECTS
from benchmarks.target import TARGETS, Target


def record(
    machine: Mapping[str, str], command: str, measurements: Sequence[Measurement]
) -> dict[str, Any]:
    """Put everything that was measured into one JSON object.

    Args:
        machine: What it was measured on.
        command: The command that measured it.
        measurements: What was measured.
    """
    return {
        "machine": dict(machine),
        "command": command,
        "figures": [
            _figure(measurement, subject)
            for measurement in measurements
            for subject in measurement.subjects
        ],
        "targets": [_outcome(target, measurements) for target in TARGETS],
    }


def write_json(file: Path, figures: Mapping[str, Any]) -> None:
    """Write figures to a file.

    Args:
        file: The file; what it holds is replaced.
        figures: What to write.
    """
    file.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _figure(measurement: Measurement, subject: str) -> dict[str, Any]:
    return {
        "subject": subject,
        **asdict(measurement.setting),
        "turns": measurement.count(subject),
        "seconds": asdict(measurement.seconds(subject)),
        "baseline": SUBJECTS[subject].baseline,
        "ratio": asdict(measurement.ratio(subject)),
        "added_microseconds_per_node": asdict(measurement.added_microseconds_per_node(subject)),
    }


def _outcome(target: Target, measurements: Sequence[Measurement]) -> dict[str, Any]:
    figure = target.figure(measurements)
    return {
        "target": target.sentence,
        "limit": target.limit,
        "figure": None if figure is None else asdict(figure),
        "reached": None if figure is None else target.reached(figure),
    }
