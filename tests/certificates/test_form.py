"""What is no certificate is refused in a sentence, before anything in it is followed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sonnx_ort import models
from sonnx_ort.checker import FORMAT, Malformed, check, read_certificate
from support.command import command

HEAD: dict[str, Any] = {"format": FORMAT, "model": "", "obligations": []}
ENFORCED: dict[str, Any] = {
    "enforced": "", "edition": "typed", "operators": ["Div"], "guarded": [], "waived": [],
    "unknown": [["z", "Div.float.R1"]],
}  # fmt: skip
ENTRIES_OF_NODES = [["z", "Div.float.R1"], ["z", "Div.float.R2"]]


@pytest.mark.parametrize("said", [{}, {"obligations": ENTRIES_OF_NODES}, ENFORCED])
def test_certificate_is_read(said: dict[str, Any]) -> None:
    text = json.dumps(HEAD | said).encode()
    assert read_certificate(text) == HEAD | said


TEXTS: Mapping[str, tuple[bytes, str]] = {
    "nothing": (b"", "Expecting value: line 1 column 1 (char 0)"),
    "no UTF-8": (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    "half of a pair of surrogates": (rb'{"format": "\ud800"}',
        "'utf-8' codec can't encode character '\\ud800' in position 12: surrogates not allowed"),
    "a key twice": (b'{"format": "", "format": ""}', "an object has a key twice"),
    "no number": (b'{"obligations": [NaN]}', "NaN is no number of JSON"),
    "an infinite number": (b'{"obligations": [-Infinity]}', "-Infinity is no number of JSON"),
    "a list": (b"[]", "it is no object of JSON"),
    "format 1": (b'{"format": "sonnx_ort.certificate/1"}',
        f"the format is not {FORMAT}; certify the model again"),
    "format 2": (b'{"format": "sonnx_ort.certificate/2"}',
        f"the format is not {FORMAT}; certify the model again"),
    "another format": (b'{"format": 1}', f"the format is not {FORMAT}; certify the model again"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_certificate_is_refused(name: str) -> None:
    text, message = TEXTS[name]
    with pytest.raises(Malformed) as caught:
        read_certificate(text)
    assert str(caught.value) == message


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(Malformed):
        read_certificate(b"[" * 200_000)


def another(name: str) -> str:
    return f"the entry '{name}' has another form"


ENTRIES: Mapping[str, tuple[dict[str, Any], str]] = {
    "an entry that is not known": ({"note": ""}, "the entry 'note' is not known"),
    "a part of an enforced model": ({"guarded": []}, "the entry 'guarded' is not known"),
    "an enforced model alone": ({"enforced": ""}, "the entry 'edition' is missing"),
    "a digest that is no text": ({"model": 1}, another("model")),
    "steps": ({"steps": []}, "the entry 'steps' is not known"),
    "no list": ({"obligations": {}}, another("obligations")),
    "an obligation that is no list": ({"obligations": ["abc"]}, another("obligations")),
    "an obligation of one part": ({"obligations": [["z"]]}, another("obligations")),
    "a rule that is no text": ({"obligations": [["z", 1]]}, another("obligations")),
    "an obligation of three parts": ({"obligations": [["z"] * 3]}, another("obligations")),
    "another edition": (ENFORCED | {"edition": "another"}, another("edition")),
    "operators in a text": (ENFORCED | {"operators": "Div"}, another("operators")),
    "guards that are no list": (ENFORCED | {"guarded": None}, another("guarded")),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_entries_of_another_form_are_refused(name: str) -> None:
    said, message = ENTRIES[name]
    with pytest.raises(Malformed) as caught:
        check(b"", HEAD | said)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", HEAD)
def test_missing_entry_is_refused(name: str) -> None:
    with pytest.raises(Malformed):
        check(b"", {key: value for key, value in HEAD.items() if key != name})


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a": 1, "a": 2}', b'{"format": NaN}', b"\xff"])
def test_what_is_no_certificate_is_unusable(text: bytes, tmp_path: Path) -> None:
    """Which is no rejection: the exit status is 2."""
    (tmp_path / "c.json").write_bytes(text)
    done = command("certify", models.path("div_open_sizes"), "--check", tmp_path / "c.json")
    assert done.returncode == 2
    assert done.stderr.startswith(f"sonnx-ort: '{tmp_path / 'c.json'}' is no certificate: ")
    assert "Traceback" not in done.stderr
