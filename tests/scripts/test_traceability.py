"""Every demand and definition of the documents has its tests, and its place in the page."""

import dataclasses

import pytest
from tracing.entries import (
    Document,
    Entry,
    UnusableEntry,
    all_entries,
    own_rules,
    read_documents,
)
from tracing.page import Mark, by_entry, find_marks, marks_of, requirement, text

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.source import Standing

DOCUMENTS = read_documents()
MARKS = by_entry(find_marks())
OWN = own_rules(DOCUMENTS)
ENTRIES = {entry.id: entry for entry in all_entries(DOCUMENTS)}
GENERAL = "SONNX, general restrictions"


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if not e.not_applicable], ids=lambda e: e.id
)
def test_entry_that_applies_has_a_test(entry):
    assert MARKS.get(entry.id)


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if e.not_applicable], ids=lambda e: e.id
)
def test_entry_that_does_not_apply_has_none(entry):
    assert not MARKS.get(entry.id)


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.id)
def test_rule_of_this_project_has_a_test(rule):
    assert marks_of(rule, MARKS)


def test_marks_name_entries_or_rules_of_this_project():
    named = {name for name in MARKS if any(marks_of(rule, {name: [name]}) for rule in OWN)}
    assert named | ENTRIES.keys() >= MARKS.keys()
    assert not named & ENTRIES.keys()


def test_every_rule_has_an_entry_or_is_of_this_project():
    traced = {rule for entry in ENTRIES.values() for rule in entry.rules}
    assert traced | {rule.id for rule in OWN} == RULES.keys()


def test_page_has_each_entry_and_each_rule_of_this_project_once():
    headings = [line for line in text(DOCUMENTS, MARKS).splitlines() if line.startswith("#")]
    names = [*ENTRIES, *(rule.id for rule in OWN)]
    assert [h.removeprefix("### ") for h in headings if h.startswith("### ")] == names
    documents = [document.name for document in DOCUMENTS]
    titles = [h.removeprefix("## ") for h in headings if h.startswith("## ")]
    assert titles == [*documents, "Rules that no document states"]


def test_page_says_of_an_entry_where_it_stands_and_what_meets_and_shows_it():
    """All that an entry can have."""
    entry = Entry(
        "Div.R1",
        ("Restrictions", "Inputs"),
        "A must",
        also=("B too",),
        tag="R1",
        rules=("Div.R1",),
        code=("custom_ops/arithmetic.py",),
        met="It is so.",
    )
    other = Entry("Div.note", ("Notes",), "It follows", not_applicable="It announces.")
    tests = [
        Mark("Div.R1", "tests/test_it.py::test_one"),
        Mark("Div.R1", "tests/proofs/test_it.py"),
    ]
    made = text([Document("SONNX Div", (entry, other))], {"Div.R1": tests})
    assert made.startswith(
        f"""\
1 documents, 2 entries: 1 that apply, shown by 1 tests and 1 proofs, and 1 that do not.

## SONNX Div

### Div.R1

- **Where:** Restrictions; Inputs [R1]
- **Sentence:** `` A must ``
- **Also:** `` B too ``
- **Rule:** [`Div.R1`](rules/div.md#divr1): {RULES["Div.R1"].sentence}
- **Met:** It is so.
- **Code:** `{requirement("Div.R1")}`, `custom_ops/arithmetic.py`
- **Tests:** `tests/test_it.py::test_one`
- **Proofs:** `tests/proofs/test_it.py`

### Div.note

- **Where:** Notes
- **Sentence:** `` It follows ``
- **Not applicable:** It announces.

## Rules that no document states
"""
    )


def test_every_rule_that_a_document_states_has_an_entry_of_that_document():
    """That tensors are dense is demanded of all operators in one place."""
    stated = {
        (GENERAL if isinstance(rule.requirement, Dense) else rule.source.document, rule.id)
        for rule in RULES.values()
        if rule.source.standing is Standing.STATED
    }
    traced = {(d.name, rule) for d in DOCUMENTS for entry in d.entries for rule in entry.rules}
    traced |= {(GENERAL, rule) for _, rule in traced if isinstance(RULES[rule].requirement, Dense)}
    assert stated <= traced


DRAFTS = [d for d in DOCUMENTS if "draft of the working group (" in d.name]


@pytest.mark.parametrize("document", DRAFTS, ids=lambda d: d.name)
def test_place_of_a_rule_is_that_of_an_entry_with_it(document):
    """The source of a rule and the entry say the same of where the draft states it."""
    for identifier, rule in RULES.items():
        source = rule.source
        general = isinstance(rule.requirement, Dense)
        if source.document != document.name or source.standing is not Standing.STATED or general:
            continue
        entries = [entry for entry in document.entries if identifier in entry.rules]
        places = {(p.rpartition(": ")[2], e.tag) for e in entries for p in e.places}
        assert (source.section, source.tag) in places, identifier


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_tag_of_a_rule_is_that_of_an_entry_with_it(document):
    """Editions, and documents that are no drafts of operators, have tags that rules name."""
    for identifier, rule in RULES.items():
        if isinstance(rule.requirement, Dense):
            continue
        if rule.source.document != document.name or rule.source.tag is None:
            continue
        tags = {entry.tag for entry in document.entries if identifier in entry.rules}
        assert rule.source.tag in tags, identifier


def write(folder, content):
    (folder / "document.toml").write_text(f'document = "SONNX Div"\n\n{content}', encoding="utf-8")
    return folder


ENTRY = '[[entry]]\nid = "Div.R1"\nplaces = ["Restrictions"]\nsentence = "A must"\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ENTRY, "it has to name rules or code, or why it does not apply"),
        (
            f'{ENTRY}rules = ["Div.R1"]\nnot_applicable = "It is so."\n',
            "it has to name rules or code, or why it does not apply",
        ),
        (f'{ENTRY}rules = ["Div.R9"]\n', "there is no rule Div.R9"),
        (f'{ENTRY}code = ["sonnx_ort/no.py"]\n', "there is no file sonnx_ort/no.py"),
        (
            f'{ENTRY}code = ["custom_ops/arithmetic.py:no"]\n',
            "custom_ops/arithmetic.py defines no no",
        ),
        (
            '[[entry]]\nid = "Div.R1"\nplaces = ["Restrictions"]\nrules = ["Div.R1"]\n',
            "it has to quote a sentence, or be of whole places",
        ),
        (
            f'{ENTRY}rules = ["Div.R1"]\nwhole = true\n',
            "it has to quote a sentence, or be of whole places",
        ),
        (f'{ENTRY}rule = "Div.R1"\n', "'rule' is unknown"),
        (f'{ENTRY}rules = ["Div.R1"]\n' * 2, "there are two entries of this name"),
    ],
)
def test_unusable_entry_is_told_of(tmp_path, content, message):
    with pytest.raises(UnusableEntry) as caught:
        read_documents(write(tmp_path, content))
    assert str(caught.value) == f"Div.R1: {message}"


def test_marks_of_functions_and_classes_are_found(tmp_path):
    (tmp_path / "test_it.py").write_text(
        """
import pytest

@pytest.mark.satisfies("one", "two")
def test_function(): ...

@pytest.mark.satisfies("three")
class TestAll:
    @pytest.mark.satisfies("four")
    def test_method(self): ...
""",
        encoding="utf-8",
    )
    assert set(find_marks(tmp_path, tmp_path)) == {
        Mark("one", "test_it.py::test_function"),
        Mark("two", "test_it.py::test_function"),
        Mark("three", "test_it.py::TestAll"),
        Mark("four", "test_it.py::TestAll::test_method"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('@pytest.mark.satisfies("one")\ndef helper(): ...\n', "decorates no test"),
        ('pytestmark = pytest.mark.satisfies("one")\n', "decorates no test"),
        ("@pytest.mark.satisfies(ONE)\ndef test_it(): ...\n", "names an entry by no text"),
    ],
)
def test_mark_that_would_be_overlooked_is_an_error(tmp_path, text, message):
    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        find_marks(tmp_path, tmp_path)


def test_rule_that_claims_a_document_without_an_entry_is_not_one_of_this_project():
    """Otherwise a rule whose sentence nobody has quoted would count as traced."""
    (stated,) = (e for e in ENTRIES.values() if e.id == "Acos.draft.float.domain")
    documents = [
        dataclasses.replace(d, entries=tuple(e for e in d.entries if e is not stated))
        for d in DOCUMENTS
    ]
    assert "Acos.float.C1" in stated.rules
    assert own_rules(documents) == OWN


@pytest.mark.parametrize(
    ("name", "taken"), [("*.RG1", True), ("Cast.RG1", True), ("Cast.R2", False), ("Cast", False)]
)
def test_mark_names_rules_by_patterns(name, taken):
    mark = Mark(name, "tests/test_it.py::test_it")
    assert marks_of(RULES["Cast.RG1"], {name: [mark]}) == ([mark] if taken else [])
