"""Archives and folders that others made: what is too large or leads elsewhere is not read."""

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.vectors.places import (
    AGAIN,
    MOST_ALTOGETHER,
    MOST_BYTES,
    MOST_OF_DIRECTORY,
    filling,
    opened,
)
from sonnx_ort.vectors.suite import MANIFEST, vectors

MEBIBYTE = 1 << 20


def archive(path: Path, *files: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files:
            told = zipfile.ZipInfo(name)
            told.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(told, content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SonnxError) as refused:
        next(vectors(path))
    text = str(refused.value)
    assert text.endswith(f"; {AGAIN}")
    return text.removesuffix(f"; {AGAIN}")


def claiming(path: Path, size: int) -> Path:
    """Change the size that the directory of an archive has of its last file."""
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\1\2")
    struct.pack_into("<L", content, place + 24, size)
    path.write_bytes(content)
    return path


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["folder", "archive.zip"])
def test_what_is_put_into_a_place_is_read_from_it(name: str, tmp_path: Path) -> None:
    contents = {"a.json": b"{}", "b/c/zeros": bytes(MEBIBYTE)}
    with filling(tmp_path / name) as put:
        for path, content in contents.items():
            put(path, content)
    with opened(tmp_path / name) as place:
        assert [path for path in (*contents, "b/other") if (place / path).exists()] == [*contents]
        assert {path: (place / path).read_bytes() for path in contents} == contents


def test_archive_is_packed_and_the_same_whenever_it_is_made(tmp_path: Path) -> None:
    with filling(tmp_path / "archive.zip") as put:
        put("zeros", bytes(MEBIBYTE))
    with zipfile.ZipFile(tmp_path / "archive.zip") as made:
        (told,) = made.infolist()
    assert (told.compress_type, told.date_time) == (zipfile.ZIP_DEFLATED, (1980, 1, 1, 0, 0, 0))
    assert told.compress_size < MEBIBYTE // 100


def test_file_that_unpacks_to_too_many_bytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.zip", (MANIFEST, bytes(MOST_BYTES + 1)))
    assert path.stat().st_size < MEBIBYTE
    expected = f"'{path}/{MANIFEST}' has 33,554,433 bytes; a file of vectors has 33,554,432 at most"
    assert peak(lambda: refusal(path)) < MEBIBYTE
    assert refusal(path) == expected


def test_file_that_claims_too_many_bytes_is_refused(tmp_path: Path) -> None:
    path = claiming(archive(tmp_path / "claims.zip", (MANIFEST, b"{}")), MOST_BYTES + 1)
    assert refusal(path).startswith(f"'{path}/{MANIFEST}' has 33,554,433 bytes; ")


def test_file_that_claims_fewer_bytes_than_it_has_is_read_no_further(tmp_path: Path) -> None:
    made = archive(tmp_path / "less.zip", (MANIFEST, b" " * (MOST_BYTES // 2) + b"{}"))
    path = claiming(made, 10)
    assert peak(lambda: refusal(path)) < MEBIBYTE
    assert refusal(path).startswith(f"'{path}/{MANIFEST}' is damaged: Bad CRC-32")


def test_files_that_claim_too_many_bytes_together_are_refused(tmp_path: Path) -> None:
    count = MOST_ALTOGETHER // MOST_BYTES + 1
    path = archive(tmp_path / "many.zip", *((f"computed/x/{n}", b"") for n in range(count)))
    content = bytearray(path.read_bytes())
    place = -1
    while (place := content.find(b"PK\1\2", place + 1)) >= 0:
        struct.pack_into("<L", content, place + 24, MOST_BYTES)
    path.write_bytes(content)
    assert refusal(path) == (
        f"'{path}' is no archive of vectors: its files have 301,989,888 bytes together, and "
        "vectors have 268,435,456 at most"
    )


def with_directory(path: Path, size: int) -> Path:
    """An archive that claims another size of its directory."""
    content = bytearray(archive(path, (MANIFEST, b"{}")).read_bytes())
    struct.pack_into("<L", content, content.rindex(b"PK\5\6") + 12, size)
    path.write_bytes(content)
    return path


def test_directory_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = with_directory(tmp_path / "large.zip", MOST_OF_DIRECTORY + 1)
    assert refusal(path) == (
        f"'{path}' lists more files than vectors are: its directory has 16,777,217 bytes, and "
        "vectors need 16,777,216 bytes at most"
    )


def test_directory_of_another_form_is_not_read(tmp_path: Path) -> None:
    """It would hold in another record how large it is."""
    path = archive(tmp_path / "large.zip", (MANIFEST, b"{}"))
    content = path.read_bytes()
    place = content.rindex(b"PK\5\6")
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
    path.write_bytes(content[:place] + locator + content[place:])
    assert refusal(path) == (
        f"'{path}' lists more files than vectors are: its directory has the form of ZIP64, and "
        "vectors need 16,777,216 bytes at most"
    )


def test_end_that_is_hidden_in_a_comment_is_not_taken_for_the_end(tmp_path: Path) -> None:
    """The directory that zipfile reads is the one whose size is looked at."""
    path = archive(tmp_path / "comment.zip", (MANIFEST, b"{}"))
    with zipfile.ZipFile(path, "a") as made:
        small = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 0)
        made.comment = small + b"x"
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\5\6")
    struct.pack_into("<L", content, place + 12, MOST_OF_DIRECTORY + 1)
    path.write_bytes(content)
    with zipfile.ZipFile(path) as read:
        assert read.namelist() == []
    with pytest.raises(SonnxError, match=r"^'.*comment\.zip' has no suite: "):
        next(vectors(path))


@pytest.mark.parametrize(("name", "fault"), [
    ("/etc/passwd", "'/etc/passwd' is no path inside of it"),
    ("../x", "'../x' is no path inside of it"),
    ("computed/../../x", "'computed/../../x' is no path inside of it"),
    ("computed//x", "'computed//x' is no path inside of it"),
    ("./x", "'./x' is no path inside of it"),
    ("C:/x", "'C:/x' is no path inside of it"),
    ("computed\\x", "'computed\\\\x' is no path inside of it"),
    ("/".join("a" * 9), "'a/a/a/a/a/a/a/a/a' is 9 levels deep"),
    ("a/" * 30_000 + "a", f"'{'a/' * 40}...' is 30001 levels deep"),
])  # fmt: skip
def test_name_that_leads_elsewhere_or_too_deep_is_refused(
    tmp_path: Path, name: str, fault: str
) -> None:
    path = archive(tmp_path / "names.zip", (MANIFEST, b"{}"), (name, b""))
    assert peak(lambda: refusal(path)) < MEBIBYTE
    assert refusal(path) == f"'{path}' is no archive of vectors: {fault}"


def test_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = archive(tmp_path / "twice.zip", (MANIFEST, b"{}"), (MANIFEST, b"[]"))
    assert refusal(path) == f"'{path}' is no archive of vectors: '{MANIFEST}' is there twice"


def test_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as made:
        told = zipfile.ZipInfo(MANIFEST)
        told.create_system, told.external_attr = 3, 0o120777 << 16
        made.writestr(told, "/etc/passwd")
    assert refusal(path) == f"'{path}' is no archive of vectors: '{MANIFEST}' is a link"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_is_refused(tmp_path: Path, method: int) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr(MANIFEST, "{}")
    assert refusal(path) == (
        f"'{path}' is no archive of vectors: '{MANIFEST}' is not compressed by deflate"
    )


def test_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "names.zip", ("é", b""))
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xff"))
    assert refusal(path).startswith(
        f"'{path}' is neither a folder nor a ZIP archive that can be read: "
    )


def test_large_file_of_a_folder_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / MANIFEST).open("wb") as file:
        file.truncate(1 << 40)
    assert peak(lambda: refusal(tmp_path)) < MEBIBYTE
    assert refusal(tmp_path).startswith(f"'{tmp_path / MANIFEST}' has 1,099,511,627,776 bytes; ")


def test_files_of_an_archive_that_no_case_names_are_left_alone(tmp_path: Path) -> None:
    path = archive(tmp_path / "other.zip", ("computed/", b""), ("notes/read me.txt", b"mine"))
    with opened(path) as place:
        assert (place / "notes" / "read me.txt").read_bytes() == b"mine"
        assert not (place / MANIFEST).exists()


def test_archive_with_a_wrong_byte_or_without_its_end_is_an_error_in_words(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr(MANIFEST, '{"cases": []}')
    whole = buffer.getvalue()
    path = tmp_path / "damaged.zip"
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(SonnxError):
            next(vectors(path))
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(SonnxError):
            next(vectors(path))
