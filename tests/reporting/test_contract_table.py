"""The contract on the page of a report: its file, its digest, and what it allows."""

import hashlib
import json
import re
from pathlib import Path

import jsonschema
import onnx
import pytest

from sonnx_ort import Contract, ShapeContract, SizeContract, StateContract, ValueContract
from sonnx_ort.profile.contract import TypeContract
from sonnx_ort.reporting.contract_table import contract_table
from support.command import command
from support.graphs import parse

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs/report.schema.json").read_text(encoding="utf-8")
)

ENTRIES = {
    "a range with its message": (
        Contract((ValueContract("x", (0, 0.5), "scale it"),)),
        [["value 'x'", "0 to 0.5", "scale it"]],
    ),
    "numbers without a range": (Contract((ValueContract("x"),)), [["value 'x'", "finite", ""]]),
    "whole numbers": (
        Contract((ValueContract("x", (0, 9), whole=True),)),
        [["value 'x'", "whole numbers, 0 to 9", ""]],
    ),
    "a range for each index": (
        Contract((ValueContract("x", ((0, 1), (-2, 2)), axis=1),)),
        [["value 'x'", "by index on axis 1: 0 to 1; -2 to 2", ""]],
    ),
    "axes": (
        Contract(shapes=(ShapeContract("x", ("batch", 3, None)),)),
        [["shape of 'x'", "[batch, 3, any]", ""]],
    ),
    "sizes": (
        Contract(sizes=(SizeContract("n", 1, 1), SizeContract("h", 32, 640, 32, "resize"))),
        [["size n", "1", ""], ["size h", "32 to 640, a multiple of 32", "resize"]],
    ),
    "a type": (Contract(types=(TypeContract("x", "int64"),)), [["type of 'x'", "int64", ""]]),
    "a state, which its output keeps": (
        Contract((ValueContract("h", (-1, 1)),), states=(StateContract("h", "h_out"),)),
        [
            ["value 'h'", "-1 to 1", ""],
            ["value 'h_out'", "-1 to 1", ""],
            ["state 'h'", "what 'h_out' gave in the run before", ""],
        ],
    ),
    "names that are markup": (
        Contract((ValueContract("<b>", (0, 1)),)),
        [["value '&lt;b&gt;'", "0 to 1", ""]],
    ),
}


@pytest.mark.parametrize("what", ENTRIES)
def test_table_says(what: str) -> None:
    contract, rows = ENTRIES[what]
    found = re.findall("<tr>(<td>.*?)</tr>", contract_table(contract).replace("&#x27;", "'"))
    assert [re.findall("<td><bdi>(.*?)</bdi></td>", row) for row in found] == rows


def test_page_names_the_file_and_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Relu(x) }"), "m.onnx")
    Path("use.toml").write_text("[inputs.x]\nrange = [0, 1]\n", encoding="utf-8")
    digest = hashlib.sha256(Path("use.toml").read_bytes()).hexdigest()
    command("check", "m.onnx", "--contract", "use.toml", "--format", "html", "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<dt>Contract</dt><dd><bdi>use.toml</bdi></dd>" in page
    assert f"<dt>SHA-256 of the contract</dt><dd><bdi>{digest}</bdi></dd>" in page
    assert f'"contract_file":{{"name":"use.toml","sha256":"{digest}"}}' in page
    assert "<section><h2>Contract</h2>" in page
    document = command("check", "m.onnx", "--contract", "use.toml", "--format", "json").stdout
    jsonschema.validate(json.loads(document), SCHEMA)
    command("check", "m.onnx", "--format", "html", "-o", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<section><h2>Contract</h2>" not in page
    assert "contract_file" not in page
