"""Make the pictures of pages that the documentation shows: `python3 scripts/pictures.py`.

Writes docs/report.png, which shows the HTML report of examples/data/cnn.onnx, by a headless
Chromium. With `--check` it writes nothing, and its exit status is 1 if a picture shows another page
than is made today. A picture has the digest of its page, without the numbers of versions, in its
file; so no pixels are compared, which differ from one Chromium to the next.
"""

import argparse
import hashlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from environment import ROOT, exit_status, run_in_environment

if __name__ == "__main__":
    run_in_environment()

PICTURE = ROOT / "docs" / "report.png"
"""The picture of a report."""

MODEL = ROOT / "examples" / "data" / "cnn.onnx"
"""The model of the report: that of the first hour."""

_WIDTH, _HEIGHT = 1400, 900
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_VERSION = re.compile(r"\b\d+(?:\.\d+)+\b")
_START = b"\x89PNG\r\n\x1a\n"
_KEY = b"Page\0"


def run(arguments: Sequence[str]) -> int:
    """Make the picture, or say whether it is of today's page."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help="only say which are out of date")
    check = parser.parse_args(arguments).check
    page = report_page()
    if check:
        fresh = digest_in(PICTURE.read_bytes()) == digest_of(page)
        if not fresh:
            print(f"{PICTURE.relative_to(ROOT)} shows an older page: run scripts/pictures.py")
        return 0 if fresh else 1
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        print("Chromium is not installed.", file=sys.stderr)
        return 2
    PICTURE.write_bytes(with_digest(_shot(browser, page), digest_of(page)))
    return 0


def report_page() -> str:
    """The HTML report of the model, as the command writes it beside the model."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(MODEL, folder)
        command = ("check", MODEL.name, "--format", "html", "-o", "report.html")
        # Exit status 1: the model violates the profile, which the picture is to show.
        subprocess.run([sys.executable, "-m", "sonnx_ort", *command], cwd=folder, check=False)
        return (Path(folder) / "report.html").read_text("utf-8")


def _shot(browser: str, page: str) -> bytes:
    """A picture of the top of a page."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.png"
        source.write_text(page, "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += [f"--window-size={_WIDTH},{_HEIGHT}", f"--user-data-dir={folder}/profile"]
        options += [f"--screenshot={target}", source.as_uri()]
        subprocess.run([browser, *options], check=True, capture_output=True, timeout=120)
        return target.read_bytes()


def digest_of(page: str) -> str:
    """The digest of a page, whatever versions of packages it names."""
    return hashlib.sha256(_VERSION.sub("", page).encode()).hexdigest()


def with_digest(png: bytes, digest: str) -> bytes:
    """A picture with a digest in front of its end.

    Raises:
        ValueError: It is no PNG.
    """
    *others, (end, _) = _chunks(png)
    if end != b"IEND":
        raise ValueError("the picture has no end")
    kept = [(kind, data) for kind, data in others if not _is_digest(kind, data)]
    return _START + b"".join(
        _chunk(kind, data) for kind, data in (*kept, (b"tEXt", _KEY + digest.encode()), (end, b""))
    )


def digest_in(png: bytes) -> str:
    """The digest that a picture has; empty if it has none.

    Raises:
        ValueError: It is no PNG.
    """
    found = (data.removeprefix(_KEY) for kind, data in _chunks(png) if _is_digest(kind, data))
    return next(found, b"").decode()


def _is_digest(kind: bytes, data: bytes) -> bool:
    return kind == b"tEXt" and data.startswith(_KEY)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a PNG: their kinds and contents."""
    if not png.startswith(_START):
        raise ValueError("the picture is no PNG")
    at = len(_START)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    sys.exit(exit_status(lambda: run(sys.argv[1:])))
