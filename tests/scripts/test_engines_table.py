"""The table of engines: a row for each, with the numbers of its outcomes."""

from pathlib import Path

import onnxruntime
import pytest
from engines_table import ENGINES, main

from sonnx_ort.backends import Backend
from sonnx_ort.vectors.cases import cases
from sonnx_ort.vectors.suite import write
from support.pages import REPOSITORY


def test_table_has_the_columns_of_the_page_and_a_row_for_each_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    count = write(cases(["Squeeze"]), tmp_path / "vectors", 0).cases
    assert main(["onnxruntime", "onnx.reference", "--vectors", str(tmp_path / "vectors")]) == 0
    head, line, *rows = capsys.readouterr().out.splitlines()
    page = (REPOSITORY / "docs" / "how-to" / "vectors.md").read_text("utf-8").splitlines()
    assert page[page.index(head) + 1] == line
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells[0][0] == f"ONNX Runtime {onnxruntime.__version__}"
    assert cells[1][0].startswith("`onnx.reference` of onnx ")
    for _, number, *outcomes in cells:
        assert int(number) == count == sum(map(int, outcomes))


def test_engines_are_those_that_are_installed_with_sonnx_ort() -> None:
    assert {*ENGINES} == {
        "onnxruntime",
        "onnx.reference",
        *(f"sonnx_ort:{backend}" for backend in Backend),
    }
