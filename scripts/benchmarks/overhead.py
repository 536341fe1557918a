"""What is plotted: the overhead of each subject against the number of elements."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.subject import BASELINES, SESSION, SUBJECTS
from benchmarks.table import number

_LEFT_OUT = BASELINES | {SESSION}
"""What others are compared with, and what would lie on the line of the native backend."""


class NoFigures(Exception):  # noqa: N818 - reads as what happened
    """A file holds nothing to plot; the message says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """The overhead of one subject.

    Attributes:
        subject: Its name.
        points: The median ratio for each number of elements, in ascending order.
    """

    subject: str
    points: Mapping[int, float]

    @property
    def title(self) -> str:
        """What people call it."""
        return SUBJECTS[self.subject].title


@dataclass(frozen=True, slots=True)
class Panel:
    """All lines of one element type.

    Attributes:
        element_type: The numpy name of the element type.
        lines: One for each subject, in the order of the tables.
    """

    element_type: str
    lines: Sequence[Line]

    def sentence(self) -> str:
        """Say in words what the lines show at their ends."""
        return f"{self.element_type}: {', '.join(_course(line) for line in self.lines)}."


def read_panels(file: Path) -> list[Panel]:
    """Read what `operators --json` wrote.

    Args:
        file: The file.

    Returns:
        One panel for each element type, in the order of the file.

    Raises:
        NoFigures: It holds no figures of single nodes on one thread.
    """
    try:
        figures = json.loads(file.read_text(encoding="utf-8"))["figures"]
        panels = _panels([f for f in figures if (f["nodes"], f["threads"]) == (1, 1)])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoFigures(
            f"'{file}' does not hold the figures that 'operators --json' writes: {error!r}"
        ) from error
    if not panels:
        raise NoFigures(f"'{file}' holds no figures of a single Div on one thread")
    return panels


def _panels(figures: Sequence[Mapping[str, Any]]) -> list[Panel]:
    panels = []
    for element_type in dict.fromkeys(str(figure["element_type"]) for figure in figures):
        of_type = [f for f in figures if f["element_type"] == element_type]
        lines = [
            Line(name, _points(f for f in of_type if f["subject"] == name))
            for name in SUBJECTS
            if name not in _LEFT_OUT
        ]
        panels.append(Panel(element_type, [line for line in lines if line.points]))
    return panels


def _points(figures: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    points = {int(f["elements"]): float(f["ratio"]["median"]) for f in figures}
    return dict(sorted(points.items()))


def _course(line: Line) -> str:
    first, last = min(line.points), max(line.points)
    ends = f"{number(line.points[first])} at {first:,}"
    return f"{line.title} {ends} to {number(line.points[last])} at {last:,}"
