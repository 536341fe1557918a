"""The figures as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
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
            _figure(measurement, subject) for measurement in measurements for subject in SUBJECTS
        ],
        "targets": [_outcome(target, measurements) for target in TARGETS],
    }


def _figure(measurement: Measurement, subject: str) -> dict[str, Any]:
    return {
        "subject": subject,
        **asdict(measurement.setting),
        "turns": measurement.count(subject),
        "seconds": asdict(measurement.seconds(subject)),
        "ratio_to_native": asdict(measurement.ratio(subject)),
    }


def _outcome(target: Target, measurements: Sequence[Measurement]) -> dict[str, Any]:
    figure = target.figure(measurements)
    return {
        "target": target.sentence,
        "limit": target.limit,
        "figure": None if figure is None else asdict(figure),
        "reached": None if figure is None else target.reached(figure),
    }
