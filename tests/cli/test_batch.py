"""Models that are checked together: which, and that none keeps another from being checked."""

import datetime as dt
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from google.protobuf.json_format import MessageToJson

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.cli.batch import ModelToCheck, check_models, with_waivers
from sonnx_ort.cli.found_models import find_models
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


def below(folder: Path) -> list[str]:
    """What stands for a folder, by the names below it."""
    return [Path(name).relative_to(folder).as_posix() for name in find_models([str(folder)])]


@pytest.mark.parametrize(("name", "is_model"), [
    ("m.ONNX", True), ("m.onnxtxt", True), ("m.OnnxText", True), ("m.onnxjson", True),
    (".hidden.onnx", True), (".hidden/m.onnx", True),
    ("m.onnx_data", False), ("m.onnx.data", False), ("m.pb", False), ("m.json", False),
])  # fmt: skip
def test_names_tell_which_files_of_a_folder_are_models(
    tmp_path: Path, name: str, is_model: bool
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    (tmp_path / "z.onnx").touch()
    assert below(tmp_path) == [*([name] if is_model else []), "z.onnx"]


def test_links_to_folders_are_followed_and_lead_round_in_no_circle(folder: Path) -> None:
    linked = folder / "none"
    (linked / "up").symlink_to(folder, target_is_directory=True)
    (linked / "inside").symlink_to(folder / "inner", target_is_directory=True)
    assert below(linked) == ["inside/broken.onnx", "up/bad.onnx", "up/kept.onnx"]


def test_link_that_leads_nowhere_is_no_usable_model(tmp_path: Path) -> None:
    (tmp_path / "lost.onnx").symlink_to(tmp_path / "none.onnx")
    (name,) = find_models([str(tmp_path)])
    (model,) = check_models([ModelToCheck(name, CHOICES)])
    assert model.error == f"there is no file '{name}'"


def test_pipe_in_a_folder_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "z.onnx").touch()
    assert below(tmp_path) == ["z.onnx"]


@pytest.mark.parametrize("name", ["m.ONNXTXT", "m.OnnxJson", "m.ONNX"])
def test_endings_in_capital_letters_are_those_in_small_ones(tmp_path: Path, name: str) -> None:
    model = binary_model("Div", "float", [3], [3])
    form = {"m.ONNXTXT": onnx.printer.to_text, "m.OnnxJson": MessageToJson}.get(name)
    content = model.SerializeToString() if form is None else form(model).encode()
    (tmp_path / name).write_bytes(content)
    (model,) = check_models([ModelToCheck(str(tmp_path / name), CHOICES)])
    assert model.error == ""


def test_folder_without_a_model_is_an_error(folder: Path) -> None:
    with pytest.raises(SonnxError) as caught:
        find_models([str(folder), str(folder / "none")])
    assert str(caught.value) == (
        f"there is no model in the folder '{folder / 'none'}': no name ends with .onnx, .onnxtxt, "
        ".onnxtext or .onnxjson"
    )


def test_folder_that_cannot_be_read_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scan(path: Path) -> Iterator[os.DirEntry[str]]:
        if Path(path).name == "inner":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", scan)
    with pytest.raises(SonnxError) as caught:
        find_models([str(folder)])
    assert str(caught.value) == f"the folder '{folder / 'inner'}' cannot be read: Permission denied"


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
