"""`sonnx-ort check` and `explain`: output and exit status; check and rewrite agree."""

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from support.graphs import binary_model

HINT = 'rewrite with broadcast="explicit", which inserts a Broadcast of B from (1,) to (3,)'


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sonnx_ort", *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Path]:
    made = {
        "proved": binary_model("Div", "float", [3], [3], c_shape=[3]),
        "runtime": binary_model("Div", "float", ["n"], ["m"], c_shape=["n"]),
        "violated": binary_model("Div", "float", [3], [1], c_shape=[3]),
    }
    for name, proto in made.items():
        onnx.save(proto, tmp_path / f"{name}.onnx")
    return {name: tmp_path / f"{name}.onnx" for name in made}


@pytest.mark.parametrize(
    ("name", "options", "status"),
    [
        ("proved", [], 0),
        ("proved", ["--fail-on", "runtime"], 0),
        ("runtime", [], 0),
        ("runtime", ["--fail-on", "runtime"], 1),
        ("violated", [], 1),
        ("violated", ["--broadcast", "explicit"], 0),
        ("violated", ["--edition", "preliminary"], 1),
    ],
)
def test_exit_status(models: dict[str, Path], name: str, options: list[str], status: int) -> None:
    done = command("check", models[name], *options)
    assert (done.returncode, done.stderr) == (status, "")


def test_json_is_the_documented_form(models: dict[str, Path]) -> None:
    report = json.loads(command("check", models["violated"], "--format", "json").stdout)
    assert list(report) == [
        *("format", "model", "versions", "edition", "broadcast", "ok", "counts"),
        *("obligations", "findings", "not_covered"),
    ]
    assert report["format"] == "sonnx_ort.report/1"
    assert report["counts"] == {"proved": 2, "runtime": 0, "violated": 1}
    assert report["obligations"][2] == {
        "rule": "Div.float.R1",
        "operator": "Div",
        "node": "the_node",
        "path": [],
        "status": "violated",
        "evidence": "axis 0 has size 3 in A and 1 in B",
        "hint": HINT,
        "operands": [
            {
                "letter": letter,
                "value": letter,
                "origin": "input",
                "element_type": "float",
                "shape": [size],
                "constant": False,
            }
            for letter, size in (("A", 3), ("B", 1))
        ],
    }


def test_unusable_file(tmp_path: Path) -> None:
    done = command("check", tmp_path / "none.onnx")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"sonnx-ort: there is no file '{tmp_path / 'none.onnx'}'\n"


def test_explain() -> None:
    done = command("explain", "Div.int.C2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Div.int.C2: Every quotient is representable: ")


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_check_and_rewrite_agree(name: str, edition: str, broadcast: str) -> None:
    path = sonnx_ort.models.path(name)
    report = sonnx_ort.check(path, edition=edition, broadcast=broadcast)
    try:
        sonnx_ort.rewrite(path, edition=edition, broadcast=broadcast)
        rejected = None
    except sonnx_ort.ModelRejected as error:
        rejected = error.report
    assert (rejected is None) == report.ok
    if rejected is not None:
        assert rejected.to_json() == report.to_json()
