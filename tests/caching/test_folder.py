"""The folder of results: who may write it, and what is found in it."""

import os
import stat
from pathlib import Path

import pytest

from sonnx_ort.caching.folder import Folder
from sonnx_ort.errors import SonnxError

KEY, OTHER = "report-1", "report-2"

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_content_is_found_under_its_key(path: Path) -> None:
    Folder(path).keep(KEY, b"one\ntwo\0")
    assert Folder(path).find(KEY) == b"one\ntwo\0"
    assert Folder(path).find(OTHER) is None


def test_later_content_replaces_an_earlier_one(path: Path) -> None:
    folder = Folder(path)
    folder.keep(KEY, b"one")
    folder.keep(KEY, b"two")
    assert folder.find(KEY) == b"two"
    assert [each.name for each in path.iterdir()] == [KEY]


def test_deleted_folder_is_made_again(path: Path) -> None:
    Folder(path).keep(KEY, b"one")
    (path / KEY).unlink()
    path.rmdir()
    assert Folder(path).find(KEY) is None


DAMAGES = {
    "a changed byte": lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
    "a missing end": lambda whole: whole[:-3],
    "only a beginning": lambda whole: whole[:10],
    "nothing": lambda _: b"",
    "more": lambda whole: whole + b"x",
    "another format": lambda whole: whole.replace(b"cache/1", b"cache/2"),
    "zeros": lambda whole: bytes(len(whole)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_file_counts_as_missing(path: Path, damage: str) -> None:
    folder = Folder(path)
    folder.keep(KEY, b"content")
    file = path / KEY
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert folder.find(KEY) is None


def test_file_of_another_key_counts_as_missing(path: Path) -> None:
    folder = Folder(path)
    folder.keep(KEY, b"content")
    (path / KEY).rename(path / OTHER)
    assert folder.find(OTHER) is None


@posix
def test_new_folder_is_for_its_user_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        Folder(path / "inner")
    finally:
        os.umask(before)
    assert stat.S_IMODE((path / "inner").stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_folder_that_others_may_write_is_refused(path: Path, mode: int) -> None:
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(SonnxError) as raised:
        Folder(path)
    assert str(raised.value) == (
        f"others may write the cache '{path}', and could put any result into it; name a new "
        f"folder, or empty this one and type: chmod 700 {path}"
    )


@posix
def test_folder_that_others_may_only_read_is_used(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)
    Folder(path).keep(KEY, b"one")


@posix
def test_folder_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Folder(path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(SonnxError) as raised:
        Folder(path)
    assert str(raised.value) == (
        f"the cache '{path}' belongs to another user, who could put any result into it; name a "
        "folder of your own"
    )


def test_file_in_place_of_the_folder_is_refused(path: Path) -> None:
    path.write_text("", encoding="utf-8")
    with pytest.raises(SonnxError, match=r"' is a file; name a folder, which may be new$"):
        Folder(path)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_name_that_no_folder_can_have_is_refused(path: Path, name: str) -> None:
    with pytest.raises(SonnxError, match=r"cannot be made: .*; name another folder, or leave out"):
        Folder(path / name)


def test_folder_that_cannot_be_written_is_refused_before_any_work(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SonnxError) as raised:
        folder.require_writable()
    assert str(raised.value) == (
        f"the cache '{path}' cannot be written: it can only be read; name another folder, or "
        "leave out the cache"
    )


def test_full_disk_is_said_and_leaves_what_was_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(path)
    folder.keep(KEY, b"one")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(SonnxError) as raised:
            folder.keep(KEY, b"two")
    assert str(raised.value) == (
        f"the cache '{path}' cannot be written: No space left on device; name another folder, or "
        "leave out the cache"
    )
    assert folder.find(KEY) == b"one"
    assert [each.name for each in path.iterdir()] == [KEY]


def test_folder_in_place_of_a_file_cannot_be_read(path: Path) -> None:
    folder = Folder(path)
    (path / KEY).mkdir()
    with pytest.raises(SonnxError, match=r"^the cache '.*' cannot be read: "):
        folder.find(KEY)
