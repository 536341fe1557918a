"""The pictures of the documentation show what is made today."""

import pictures
import pytest
from pictures import PICTURE, digest_in, digest_of, with_digest


def test_picture_is_of_the_page_that_is_made_today() -> None:
    assert pictures.run(["--check"]) == 0


def test_older_picture_is_told(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr(pictures, "report_page", lambda: "another page")
    assert pictures.run(["--check"]) == 1
    said = "docs/report.png shows an older page: run scripts/pictures.py\n"
    assert capsys.readouterr().out == said


def test_digest_is_kept_in_the_picture_once() -> None:
    png = with_digest(with_digest(PICTURE.read_bytes(), "a" * 64), "b" * 64)
    assert digest_in(png) == "b" * 64
    assert b"a" * 64 not in png
    assert with_digest(png, digest_in(PICTURE.read_bytes())) == PICTURE.read_bytes()


@pytest.mark.parametrize("read", [digest_in, lambda png: with_digest(png, "")])
def test_other_file_is_refused(read) -> None:
    with pytest.raises(ValueError, match="the picture is no PNG"):
        read(b"GIF89a")


def test_versions_make_no_page_another_one() -> None:
    assert digest_of("onnx 1.23.2, 3 rules") == digest_of("onnx 1.20, 3 rules")
    assert digest_of("onnx 1.23.2, 3 rules") != digest_of("onnx 1.23.2, 4 rules")
