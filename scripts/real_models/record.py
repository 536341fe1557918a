"""The figures of the real models as JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from real_models.table import ModelFigures, geometric_means


def record(
    machine: Mapping[str, str], command: str, figures: Sequence[ModelFigures]
) -> dict[str, Any]:
    """Put everything that was measured into one JSON object.

    Args:
        machine: What it was measured on.
        command: The command that measured it.
        figures: The models.
    """
    means = geometric_means(figures) if figures else {}
    return {
        "machine": dict(machine),
        "command": command,
        "models": [_model(figure) for figure in figures],
        "geometric_means": {name: asdict(mean) for name, mean in means.items()},
    }


def _model(figures: ModelFigures) -> dict[str, Any]:
    outcomes = Counter(str(comparison.outcome) for comparison in figures.comparisons)
    return {
        "model": figures.name,
        **asdict(figures.census),
        "outcomes": dict(outcomes),
        "ratios": {name: asdict(ratio) for name, ratio in figures.ratios().items()},
    }
