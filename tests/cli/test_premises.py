"""Every command that loads a conformed model says what it was conformed for."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import Contract, SizeContract
from support.command import command, output, refusal
from support.graphs import parse

CUT = """(float[n,4] x) => (float[p,4] z) <int64[1] s = {0}, int64[1] e = {9}, int64[1] a = {0}>
    { [cut] z = Slice(x, s, e, a) }"""
SAID = 'inputs within the contract [{"size": "n", "range": [5, 5]}]'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    five = Contract(sizes=(SizeContract("n", 5, 5),))
    onnx.save(parse(CUT), "m.onnx")
    onnx.save(sonnx_ort.conform(parse(CUT), contract=five).model, "c.onnx")
    np.save("x9.npy", np.zeros((9, 4), np.float32))


@pytest.mark.parametrize(
    "line",
    [
        "rewrite c.onnx -o e.onnx --backend native",
        "conform c.onnx -o d.onnx",
        "certify c.onnx -o proofs.json",
        "run c.onnx --backend native",
        "audit c.onnx --format json",
        "repeat c.onnx --runs 1",
        "contract c.onnx -o envelope.toml",
        "diff m.onnx c.onnx --quiet",
    ],
)
def test_command_says_it_on_standard_error(line: str) -> None:
    done = command(*line.split())
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == f"sonnx-ort: c.onnx was conformed for: {SAID}"


def test_check_says_it_in_its_report() -> None:
    assert f"  conformed for: {SAID}" in output("check", "c.onnx").splitlines()
    several = output("check", "c.onnx", "c.onnx")
    assert f"c.onnx: conformed for: {SAID}" in several.splitlines()


def test_record_of_a_rewrite_without_the_contract_still_holds() -> None:
    made = command("rewrite", "c.onnx", "-o", "e.onnx", "--backend", "native", "--record", "r.json")
    assert made.returncode == 0
    kept = command("verify", "e.onnx", "r.json")
    assert kept.stdout.endswith("no difference\nnext: sonnx-ort run e.onnx\n")
    again = command("verify", "c.onnx", "r.json", "--original")
    assert again.stdout.endswith("no difference\n")


def test_run_beyond_it_breaks_the_contract() -> None:
    done = command("run", "c.onnx", "--input", "x=x9.npy", "--backend", "native")
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith("sonnx-ort: Input 'x' breaks Contract.sizes: ")


def test_damaged_one_is_told_once() -> None:
    model = onnx.load("c.onnx")
    model.metadata_props[0].value = "["
    onnx.save(model, "damaged.onnx")
    said = refusal("rewrite", "damaged.onnx", "-o", "e.onnx")
    assert said.startswith("sonnx-ort: the metadata entry 'sonnx_ort.assumed_contract' cannot be")
    assert len(said.splitlines()) == 1
