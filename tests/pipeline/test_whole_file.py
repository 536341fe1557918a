"""Files appear whole or not at all."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.files import replacing, write_text


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
    monkeypatch.setattr(Path, "write_bytes", Mock(side_effect=error))
    with pytest.raises(SonnxError) as caught:
        write_text(target, "text")
    assert str(caught.value) == f"'{target}' cannot be written: {told}"
    assert list(tmp_path.iterdir()) == []


def test_temporary_file_lies_beside_the_target(tmp_path: Path) -> None:
    with replacing(tmp_path / "model.onnx") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".model.onnx.")
        temporary.write_bytes(b"all of it")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_error_is_told_where_the_temporary_file_is_gone(tmp_path: Path) -> None:
    def lose(temporary: Path) -> None:
        temporary.unlink()
        raise RuntimeError("first")

    with pytest.raises(RuntimeError, match="first"), replacing(tmp_path / "x") as temporary:
        lose(temporary)
