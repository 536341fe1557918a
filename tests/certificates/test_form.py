"""What is no certificate is refused in a sentence, before anything in it is followed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sonnx_ort import models
from sonnx_ort.checker import FORMAT, Malformed, check, read_certificate
from support.command import command

HEAD: dict[str, Any] = {"format": FORMAT, "model": "", "steps": [], "obligations": []}
ENFORCED: dict[str, Any] = {
    "enforced": "", "edition": "typed", "operators": ["Div"], "guarded": [], "waived": [],
    "unknown": [["z", "Div.float.R1"]],
}  # fmt: skip
STEPS = [["x", "type", "float"], ["x", "shape", [2, "n"]], ["k", "elements", []]]


@pytest.mark.parametrize("said", [{}, {"steps": STEPS}, ENFORCED])
def test_certificate_is_read(said: dict[str, Any]) -> None:
    text = json.dumps(HEAD | said).encode()
    assert read_certificate(text) == HEAD | said


TEXTS: Mapping[str, tuple[bytes, str]] = {
    "nothing": (b"", "Expecting value: line 1 column 1 (char 0)"),
    "no UTF-8": (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    "half of a pair of surrogates": (rb'{"format": "\ud800"}',
        "'utf-8' codec can't encode character '\\ud800' in position 12: surrogates not allowed"),
    "a key twice": (b'{"format": "", "format": ""}', "an object has a key twice"),
    "no number": (b'{"steps": [NaN]}', "NaN is no number of JSON"),
    "an infinite number": (b'{"steps": [-Infinity]}', "-Infinity is no number of JSON"),
    "a list": (b"[]", "it is no object of JSON"),
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
    "no list": ({"steps": {}}, another("steps")),
    "a step that is no list": ({"steps": ["abc"]}, another("steps")),
    "a step of two parts": ({"steps": [["x", "type"]]}, another("steps")),
    "a step of another kind": ({"steps": [["x", "rank", 2]]}, another("steps")),
    "a type that is no text": ({"steps": [["x", "type", 1]]}, another("steps")),
    "a shape that is no list": ({"steps": [["x", "shape", "n"]]}, another("steps")),
    "a size that is a flag": ({"steps": [["x", "shape", [True]]]}, another("steps")),
    "a size that is a fraction": ({"steps": [["x", "shape", [2.0]]]}, another("steps")),
    "an element that is nothing": ({"steps": [["x", "elements", [None]]]}, another("steps")),
    "a rule that is no text": ({"obligations": [["z", 1]]}, another("obligations")),
    "an obligation of three parts": ({"obligations": [["z"] * 3]}, another("obligations")),
    "two steps of one value": (
        {"steps": [["x", "shape", [2]], ["y", "shape", [2]], ["x", "shape", ["?1"]]]},
        "two steps give the shape of 'x'"),
    "a step twice": ({"steps": [["x", "type", "float"]] * 2}, "two steps give the type of 'x'"),
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
    assert "is no certificate: " in done.stderr
    assert "Traceback" not in done.stderr
