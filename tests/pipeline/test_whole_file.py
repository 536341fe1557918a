"""Files appear whole or not at all; defaults of what rewrites are the same."""

import inspect
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.saving import write_text, writing
from sonnx_ort.options import Choices


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_text_is_written_in_utf_8_and_readable_by_all(tmp_path: Path) -> None:
    target = tmp_path / "record.json"
    write_text(target, "für alle\n")
    assert target.read_bytes() == b"f\xc3\xbcr alle\n"
    assert target.stat().st_mode & 0o777 == 0o644
    assert os.umask(0o022) == 0o022


@pytest.mark.parametrize(
    ("error", "told"),
    [(OSError(28, "No space left on device"), "No space left on device"), (OSError("no"), "no")],
)
def test_text_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, told: str
) -> None:
    target = tmp_path / "record.json"
    monkeypatch.setattr(Path, "replace", Mock(side_effect=error))
    with pytest.raises(SonnxError) as caught:
        write_text(target, "text")
    assert str(caught.value) == f"'{target}' cannot be written: {told}"
    assert list(tmp_path.iterdir()) == []


def test_temporary_file_lies_beside_the_target(tmp_path: Path) -> None:
    with writing(tmp_path / "model.onnx") as file:
        (temporary,) = tmp_path.iterdir()
        assert temporary.name.startswith(".model.onnx.")
        file.write(b"all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_bytes() == b"all of it"


def test_error_is_told_where_the_temporary_file_is_gone(tmp_path: Path) -> None:
    def lose() -> None:
        (temporary,) = tmp_path.iterdir()
        temporary.unlink()
        raise RuntimeError("first")

    with pytest.raises(RuntimeError, match="first"), writing(tmp_path / "x"):
        lose()


def test_name_that_leaves_no_room_for_a_longer_one(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 255)
    write_text(target, "text")
    assert target.read_text(encoding="utf-8") == "text"


def test_text_that_is_no_unicode(tmp_path: Path) -> None:
    with pytest.raises(SonnxError, match="cannot be written: 'utf-8' codec can't encode"):
        write_text(tmp_path / "record.json", "\udcff")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [True, False], ids=["file", "nothing"])
def test_link_stays_and_leads_to_what_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "other").mkdir()
    place, link = tmp_path / "other" / "place", tmp_path / "link"
    if there:
        place.write_bytes(b"before")
    link.symlink_to(place)
    write_text(link, "after")
    assert link.is_symlink()
    assert place.read_bytes() == b"after"
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize(
    ("leads_to", "told"),
    [
        ("none/place", "there is no folder '{folder}/none'"),
        ("link", "Too many levels of symbolic links"),
    ],
)
def test_link_that_leads_nowhere(tmp_path: Path, leads_to: str, told: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(leads_to)
    with pytest.raises(SonnxError) as caught:
        write_text(link, "text")
    assert str(caught.value) == f"'{link}' cannot be written: {told.format(folder=tmp_path)}"
    assert list(tmp_path.iterdir()) == [link]


def test_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("place")
        with pytest.raises(SonnxError) as caught:
            write_text(Path("place"), "text")
    assert str(caught.value) == (
        "'place' cannot be written: it is no file, but a block device or a socket"
    )


DEFAULTS = {
    "edition": "typed",
    "broadcast": "reject",
    "operators": None,
    "backend": None,
    "make_explicit": False,
    "waivers": (),
    "conform": False,
}


def test_defaults() -> None:
    parameters = inspect.signature(Choices.of).parameters
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
