"""A small suite, written once."""

from pathlib import Path

import pytest

from sonnx_ort.vectors.cases import cases
from sonnx_ort.vectors.suite import write

OPERATORS = ("Div", "MatMul", "Sigmoid", "Reshape", "LSTM")


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vectors of some operators."""
    folder = tmp_path_factory.mktemp("suite") / "vectors"
    write(cases(OPERATORS), folder, 0)
    return folder
