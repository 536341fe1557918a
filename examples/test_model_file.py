"""Tests of a model's file, as they would stand in the project that makes it: needs `pytest`.

`pytest test_model_file.py` reads `model.onnx` in the folder where it is called.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import sonnx_ort

Demand = Callable[[Path], None]


@pytest.fixture
def demand_conformity() -> Demand:
    """Give a function that fails the test with every violation that a model has."""

    def demand(model: Path) -> None:
        violations = sonnx_ort.check(model, broadcast="explicit").violations
        lines = [f"{v.rule.id} at {v.operator} '{v.node}': {v.evidence}" for v in violations]
        if lines:
            pytest.fail("\n".join([f"{model} breaks the SONNX profile:", *lines]), pytrace=False)

    return demand


def test_model_keeps_the_profile(demand_conformity: Demand) -> None:
    demand_conformity(Path("model.onnx"))
