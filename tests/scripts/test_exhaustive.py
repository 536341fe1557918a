"""scripts/exhaustive.py: what it expects, how it goes on, and what it has recorded."""

import json
import re

import exhaustive
import numpy as np
import pytest
from exhaustive import (
    PAIRS_PER_BLOCK,
    RECORD,
    Sessions,
    differing,
    expected_result,
    run,
    sweeps,
)

from sonnx_ort.oracle import outcome
from sonnx_ort.profile.element_type import ElementType
from support.pages import REPOSITORY
from support.values import all_pairs, from_bits, random_pairs, special_values

SWEEPS = pytest.mark.parametrize("chosen", list(sweeps()), ids=str)
RANDOM_PAIRS = 5_000_000


@SWEEPS
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


@pytest.mark.thorough
@SWEEPS
def test_random_pairs_are_rounded_correctly(chosen):
    generator = np.random.default_rng(5)
    a, b = generator.integers(0, 1 << 16, (2, RANDOM_PAIRS), np.uint16)
    found = Sessions(chosen).compare_pairs(a, b)
    assert {backend: differences.count for backend, differences in found.items()} == {
        "python": 0,
        "native": 0,
    }


def arguments(path, *others):
    return ["--record", str(path), "--only", "Sub float16", "--blocks", "1", *others]


def entry(path):
    (found,) = json.loads(path.read_text("utf-8"))["sweeps"].values()
    return found


def test_it_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path, blocks = tmp_path / "record.json", []
    compare = Sessions.compare
    monkeypatch.setattr(
        Sessions, "compare", lambda self, block: blocks.append(block) or compare(self, block)
    )
    assert [run(arguments(path)), run(arguments(path))] == [0, 0]
    assert blocks == [0, 1]
    assert entry(path)["pairs"] == 2 * PAIRS_PER_BLOCK
    assert entry(path)["differences"] == {"python": 0, "native": 0}


def test_difference_is_counted_and_shown(tmp_path, monkeypatch, capsys):
    def wrong(*choices):
        expected = expected_result(*choices)
        if not choices[2].view(np.uint16)[0]:
            expected[1] = 7
        return expected

    monkeypatch.setattr(exhaustive, "expected_result", wrong)
    path = tmp_path / "record.json"
    assert run(arguments(path)) == 1
    assert entry(path)["differences"] == {"python": 1, "native": 1}
    assert capsys.readouterr().out.endswith(
        "differences: 1 python, 1 native\n"
        "    python: A 0x0001, B 0x0000: 0x0001 and not 0x4700\n"
        "    native: A 0x0001, B 0x0000: 0x0001 and not 0x4700\n"
    )


def test_record_of_other_versions_is_refused_unless_it_is_begun_again(
    tmp_path, monkeypatch, capsys
):
    path = tmp_path / "record.json"
    assert run(arguments(path)) == 0
    other = exhaustive.versions() | {"onnxruntime": "1.0"}
    monkeypatch.setattr(exhaustive, "versions", lambda: other)
    assert run(arguments(path)) == 2
    assert "here are" in capsys.readouterr().out
    assert run(arguments(path, "--anew")) == 0
    assert json.loads(path.read_text("utf-8"))["versions"] == other


def test_page_tells_what_was_recorded():
    page = (REPOSITORY / "docs" / "exhaustive.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+ \w+ \w+) \| ([\d,]+) \| (\d+) \| (\d+) \| (\S+) \|$", page, re.MULTILINE
    )
    told = {
        name: (int(pairs.replace(",", "")), int(python), int(native), date)
        for name, pairs, python, native, date in rows
    }
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["sweeps"]
    assert told == {
        name: (e["pairs"], e["differences"]["python"], e["differences"]["native"], e["date"])
        for name, e in recorded.items()
    }
    assert told.keys() == {str(chosen) for chosen in sweeps()}
    assert {found[:3] for found in told.values()} == {(2**32, 0, 0)}
