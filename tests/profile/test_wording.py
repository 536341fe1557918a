"""Texts of rules and operators, which are found by the rule's id and which no verdict reads."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.profile import wording
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.source import Standing, Words
from sonnx_ort.profile.wording import Illustration, advice, description_of, text_of

FILES = sorted(wording.FOLDER.glob("*.toml"))


def named(file: Path) -> Iterator[str]:
    for names in tomllib.loads(file.read_text("utf-8")):
        yield from names.split()


def test_every_rule_and_operator_has_texts_and_no_other_has() -> None:
    found = sorted(name for file in FILES for name in named(file))
    assert found == sorted([*RULES, *OPERATORS])
    assert sorted(wording.files()) == found


@pytest.mark.parametrize("rule", RULES)
def test_texts_are_whole_sentences_and_examples_differ(rule: str) -> None:
    text = text_of(rule)
    for sentences in (text.sentence, text.source.remark, text.unenforced):
        assert not sentences or re.fullmatch(r"[A-Z`'].*[.?]", sentences)
    kept, broken, remedy = text.example.kept, text.example.broken, text.example.remedy
    assert kept != broken
    assert not remedy.endswith(".")


def test_operator_has_a_draft_if_a_source_states_one_of_its_rules() -> None:
    stated = {
        name
        for name, operator in OPERATORS.items()
        if any(rule.source.standing is Standing.STATED for rule in operator.all_rules())
    }
    assert {name for name, operator in OPERATORS.items() if operator.has_draft} == stated


WHOLE = """
[Made]
description = "Made up."

["Made.R1 Made.R2"]
sentence = "Elements are kept."
keeps = "X [1]"
breaks = "X [0]"
to_fix = "write {make_explicit}, or {broadcast=explicit}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of texts, empty."""
    monkeypatch.setattr(wording, "FOLDER", tmp_path)
    kept = (wording.files, wording._tables, text_of, description_of)
    for each in kept:
        each.cache_clear()
    yield tmp_path
    for each in kept:
        each.cache_clear()


def test_rules_that_say_the_same_share_a_table(folder: Path) -> None:
    (folder / "made.toml").write_text(WHOLE, "utf-8")
    first, second = text_of("Made.R1"), text_of("Made.R2")
    assert first == second
    source = first.source
    assert (first.sentence, source.standing, source.words) == (
        *("Elements are kept.", Standing.OWN, Words.OURS),
    )
    assert first.example == Illustration(
        "X [1]", "X [0]", 'write make_explicit=True, or broadcast="explicit"'
    )
    assert description_of("Made") == "Made up."


@pytest.mark.parametrize(("written", "section", "tag", "document", "standing"), [
    ('stated = "Inputs, X [C1]"\ndocument = "Paper"', "Inputs, X", "C1", "Paper", "stated"),
    ('stated = "Inputs, X"\ndocument = "Paper"', "Inputs, X", None, "Paper", "stated"),
    ('like = "Div"', "by analogy with Div", None, "SONNX Made", "by analogy"),
    ("", "none", None, "SONNX Made", "own"),
])  # fmt: skip
def test_source_is_where_it_is_stated(  # noqa: PLR0917 - a table
    written: str, section: str, tag: str | None, document: str, standing: str, folder: Path
) -> None:
    (folder / "made.toml").write_text(f"{WHOLE}{written}\n", "utf-8")
    source = text_of("Made.R1").source
    found = (source.section, source.tag, source.document, source.standing)
    assert found == (section, tag, document, standing)


@pytest.mark.parametrize(("texts", "message"), [
    ("", "Made.R1 has no texts: write a table of its name in {folder}"),
    (WHOLE.replace('keeps = "X [1]"\n', ""), "the texts of Made.R1 lack the entry 'keeps'"),
    (f'{WHOLE}hint = "none"\n', "the texts of Made.R1 have an unknown entry: hint"),
    (f'{WHOLE}\n["Made.R2"]\nsentence = "."\n', "Made.R2 has texts twice, again in made.toml"),
])  # fmt: skip
def test_texts_that_cannot_be_used_are_refused(texts: str, message: str, folder: Path) -> None:
    (folder / "made.toml").write_text(texts, "utf-8")
    with pytest.raises((KeyError, ValueError)) as refused:
        text_of("Made.R1")
    assert refused.value.args == (message.format(folder=folder),)


def test_option_in_a_text_is_advice_and_other_braces_are_text() -> None:
    found = advice("rewrite with {broadcast=explicit}, or {make_explicit}")
    assert isinstance(found, Advice)
    assert found.remedies == (Remedy("broadcast", "explicit"), Remedy("make_explicit"))
    assert found.in_command == "rewrite with --broadcast explicit, or --make-explicit"
    plain = advice("value={1.5}")
    assert (plain, type(plain)) == ("value={1.5}", str)
