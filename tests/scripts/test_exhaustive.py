"""Campaign of pairs: what it expects, how it goes on, and what it has recorded."""

import json
import re

import exhaustive
import numpy as np
import pytest
from exhaustive import (
    PAIRS_PER_BLOCK,
    RECORD,
    Sweep,
    differing,
    expected_result,
    model_of,
    run,
    sweeps,
)
from restrictions import outcome

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import special_values
from support.pages import REPOSITORY
from support.values import all_pairs, from_bits, random_pairs

SWEEPS = {backend: [sweep for sweep in sweeps() if sweep.backend is backend] for backend in Backend}
RANDOM_PAIRS = 5_000_000


@pytest.mark.parametrize("chosen", SWEEPS[Backend.PYTHON], ids=str)
def test_expected_results_are_the_oracles(chosen):
    kind = chosen.element_type
    pairs = (all_pairs(special_values(kind)), random_pairs(kind, 3000))
    a, b = (np.concatenate(operands) for operands in zip(*pairs, strict=True))
    expected = outcome(chosen.operator, (a, b), kind, chosen.edition)
    found = expected_result(chosen.operator, a, b, kind, chosen.edition)
    assert not differing(found, expected, kind).any()


@pytest.mark.parametrize(
    ("found", "expected", "differs"),
    [
        ([0x3C00], [0x3C00], False),
        ([0x3C01], [0x3C00], True),
        ([0x8000], [0x0000], True),
        ([0x7E00], [0xFE01], False),
        ([0x7D00], [0x7E00], True),
        ([0x7C00], [0x7E00], True),
    ],
    ids=["same", "one bit", "sign of zero", "quiet NaN", "signalling NaN", "infinity"],
)
def test_every_bit_counts_but_those_of_a_quiet_nan(found, expected, differs):
    kind = ElementType.FLOAT16
    assert differing(from_bits(found, kind), from_bits(expected, kind), kind).tolist() == [differs]


@pytest.mark.parametrize("chosen", SWEEPS[Backend.COMPILED], ids=str)
def test_sweeps_of_the_compiled_backend_run_its_kernels(chosen):
    choices = {"edition": chosen.edition, "backend": chosen.backend, "operators": chosen.operator}
    (node,) = sonnx_ort.rewrite(model_of(chosen), **choices).graph.node
    assert (node.domain, node.op_type) == ("sonnx.compiled", f"Checked{chosen.operator}")


@pytest.mark.thorough
@pytest.mark.parametrize("chosen", list(sweeps()), ids=str)
def test_random_pairs_are_rounded_correctly(chosen):
    generator = np.random.default_rng(5)
    a, b = generator.integers(0, 1 << 16, (2, RANDOM_PAIRS), np.uint16)
    assert chosen.compare_pairs(a, b)["differences"] == 0


SUB = "Sub float16 typed"


def arguments(path, *others, only=f"{SUB} python"):
    return ["--record", str(path), "--only", only, "--count", "1", *others]


def entries(path):
    return json.loads(path.read_text("utf-8"))


def test_it_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path, blocks = tmp_path / "record.json", []
    compare = Sweep.compare
    monkeypatch.setattr(
        Sweep, "compare", lambda self, block: blocks.append(block) or compare(self, block)
    )
    assert [run(arguments(path)), run(arguments(path))] == [0, 0]
    assert blocks == [0, 1]
    (entry,) = entries(path).values()
    assert (entry["pairs"], entry["differences"]) == (2 * PAIRS_PER_BLOCK, 0)


def test_difference_is_counted_and_shown(tmp_path, monkeypatch, capsys):
    def wrong(*choices):
        expected = expected_result(*choices)
        if not choices[2].view(np.uint16)[0]:
            expected[1] = 7
        return expected

    monkeypatch.setattr(exhaustive, "expected_result", wrong)
    path = tmp_path / "record.json"
    assert run(arguments(path, only=SUB)) == 1
    assert {name: entry["differences"] for name, entry in entries(path).items()} == {
        f"{SUB} {backend}": 1 for backend in Backend
    }
    assert capsys.readouterr().out == "".join(
        f"{SUB} {backend}: 4,194,304 of 4,294,967,296 pairs, differences: 1\n"
        "    A 0x0001, B 0x0000: 0x0001 and not 0x4700\n"
        for backend in Backend
    )


@pytest.fixture
def of_other_versions(tmp_path, monkeypatch):
    """A record of a sweep of the python backend, begun by another version of ONNX Runtime."""
    path = tmp_path / "record.json"
    here = exhaustive.versions()
    with monkeypatch.context() as patch:
        patch.setattr(exhaustive, "versions", lambda: here | {"onnxruntime": "1.0"})
        assert run(arguments(path)) == 0
    return path


def test_sweep_of_other_versions_is_refused(of_other_versions, capsys):
    before = of_other_versions.read_bytes()
    assert run(arguments(of_other_versions)) == 2
    told = capsys.readouterr().out
    assert f"{of_other_versions} has {SUB} python of sonnx_ort " in told
    assert "onnxruntime 1.0" in told
    assert f"here are sonnx_ort {exhaustive.versions()['sonnx_ort']}" in told
    assert of_other_versions.read_bytes() == before


def test_sweep_of_other_versions_is_begun_again_if_asked_for(of_other_versions):
    assert run(arguments(of_other_versions, "--anew")) == 0
    (entry,) = entries(of_other_versions).values()
    assert (entry["versions"], entry["pairs"]) == (exhaustive.versions(), PAIRS_PER_BLOCK)


@pytest.mark.parametrize("others", [[], ["--anew"]], ids=["go on", "anew"])
def test_sweeps_that_are_not_chosen_stay_as_they_are(others, of_other_versions):
    before = entries(of_other_versions)
    assert run(arguments(of_other_versions, *others, only=f"{SUB} compiled")) == 0
    after = entries(of_other_versions)
    assert after.pop(f"{SUB} compiled")["versions"] == exhaustive.versions()
    assert after == before


PAGE = (REPOSITORY / "docs" / "exhaustive.md").read_text(encoding="utf-8")


def rows(pattern):
    """The cells behind the first one, by the first one, of rows of the page."""
    found = re.findall(rf"^\| {pattern} \|$", PAGE, re.MULTILINE)
    return {name: cells for name, *cells in found}


def test_page_tells_what_was_recorded():
    told = {
        f"{sweep} {backend}": (int(pairs.replace(",", "")), int(count))
        for sweep, (pairs, *counts) in rows(
            r"(\w+ \w+ \w+) \| ([\d,]+) \| (\d+) \| (\d+) \| (\d+)"
        ).items()
        for backend, count in zip(Backend, counts, strict=True)
    }
    assert told == {
        name: (entry["pairs"], entry["differences"]) for name, entry in entries(RECORD).items()
    }
    assert told == {str(chosen): (2**32, 0) for chosen in sweeps()}


def test_page_tells_when_and_with_what_each_backend_ran():
    told = rows(r"(python|native|compiled|Mul, each backend) \| ([\d.]+) \| ([\d-]+)")
    of_mul = {name: entry for name, entry in entries(RECORD).items() if name.startswith("Mul")}
    others = {name: entry for name, entry in entries(RECORD).items() if name not in of_mul}
    by_backend = {b: [e for name, e in others.items() if name.endswith(b)] for b in Backend}
    for row, ran in {**by_backend, "Mul, each backend": of_mul.values()}.items():
        (version,) = {entry["versions"]["onnxruntime"] for entry in ran}
        assert told[row] == [version, max(entry["date"] for entry in ran)]
