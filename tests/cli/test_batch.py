"""Models that are checked together: which, and that none keeps another from being checked."""

import datetime as dt
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.cli.batch import ModelToCheck, check_models, find_models, with_waivers
from sonnx_ort.errors import SonnxError
from sonnx_ort.options import Choices, choose_demands
from support.graphs import binary_model

CHOICES = Choices(choose_demands("typed", "reject", "default"), Backend.PYTHON)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "none").mkdir()
    onnx.save(binary_model("Div", "float", [3], [3]), tmp_path / "kept.onnx")
    onnx.save(binary_model("Div", "float", [3], [1]), tmp_path / "inner" / "broken.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"hello")
    (tmp_path / "notes.txt").write_text("no model", encoding="utf-8")
    return tmp_path


def test_folder_stands_for_the_models_in_and_below_it(folder: Path) -> None:
    found = [str(folder / name) for name in ("bad.onnx", "inner/broken.onnx", "kept.onnx")]
    assert find_models([str(folder)]) == found


def test_files_stay_as_they_are_given_and_come_once(folder: Path) -> None:
    kept = str(folder / "kept.onnx")
    assert find_models(["none.txt", kept, "-", kept]) == ["none.txt", kept, "-"]


def test_folder_without_a_model_is_an_error(folder: Path) -> None:
    with pytest.raises(SonnxError) as caught:
        find_models([str(folder), str(folder / "none")])
    assert str(caught.value) == f"there is no .onnx file in the folder '{folder / 'none'}'"


def test_every_model_is_checked_whatever_becomes_of_the_others(folder: Path) -> None:
    names = find_models([str(folder)])
    seen: list[str] = []
    models = [ModelToCheck(name, CHOICES) for name in names]
    bad, broken, kept = check_models(models, before_each=seen.append)
    assert seen == names
    assert bad.report is None
    assert bad.error.startswith(f"'{folder / 'bad.onnx'}' is text; give a model")
    assert broken.report is not None
    assert broken.report.to_json() == sonnx_ort.check(broken.name, operators="default").to_json()
    assert kept.report is not None
    assert kept.report.ok


def test_waivers_are_for_one_violation_of_all_models(folder: Path) -> None:
    waiver = sonnx_ort.Waiver("Div.float.R1", "the_node", "reason", "who", dt.date.max)
    names = [str(folder / "kept.onnx"), str(folder / "inner/broken.onnx")]
    models = [ModelToCheck(name, CHOICES) for name in names]
    kept, broken = with_waivers(models, check_models(models), [waiver])
    assert broken.report is not None
    assert (len(broken.report.waived), broken.report.ok) == (1, True)
    assert kept.report is not None
    assert kept.report.waived == ()


def test_rules_are_chosen_for_each_model(folder: Path) -> None:
    chosen = {"kept.onnx": "Div.float.R1", "inner/broken.onnx": "Div.float.R2"}
    models = [
        ModelToCheck(str(folder / name), CHOICES, frozenset({rule}))
        for name, rule in chosen.items()
    ]
    checked = with_waivers(models, check_models(models))
    for model, rule in zip(checked, chosen.values(), strict=True):
        assert model.report is not None
        assert [o.rule.id for o in model.report.obligations] == [rule]
        assert sum(model.report.left_out.counts.values()) == 2
