"""Every demand of the documents has its tests, and is held to the text that it quotes."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache

import pytest
import traceability
from environment import captured
from traceability import (
    UnreadableText,
    compare,
    compare_examples,
    examples_of,
    lines_of,
    plain,
    read_text,
)
from tracing.entries import (
    Document,
    Entry,
    UnusableEntry,
    all_entries,
    own_rules,
    read_documents,
    requirement,
)
from tracing.faults import faults_of
from tracing.marks import Mark, by_entry, find_marks, marks_of
from tracing.page import text
from tracing.shown import Shown, digest_of, recorded

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.source import TEXTS, UNFOLLOWED, Standing, Text, draft_of

DOCUMENTS = read_documents()
OWN = own_rules(DOCUMENTS)
ENTRIES = {entry.id: entry for entry in all_entries(DOCUMENTS)}
GENERAL = "SONNX, general restrictions"


@cache
def found_marks() -> Mapping[str, Sequence[Mark]]:
    """The marks of all tests: to read these takes long, and no case is made of them."""
    return by_entry(find_marks())


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if not e.not_applicable], ids=lambda e: e.id
)
def test_entry_that_applies_has_a_test(entry):
    assert found_marks().get(entry.id)


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if e.not_applicable], ids=lambda e: e.id
)
def test_entry_that_does_not_apply_has_none(entry):
    assert not found_marks().get(entry.id)


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.id)
def test_rule_of_this_project_has_a_test(rule):
    assert marks_of(rule, found_marks())


SHOWN = recorded()


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if not e.not_applicable], ids=lambda e: e.id
)
def test_entry_names_what_can_be_done_otherwise_or_is_shown_by_review(entry):
    assert faults_of(entry) or entry.review


def test_a_test_of_each_entry_and_rule_fails_if_it_is_done_otherwise():
    """What this misses, `python3 scripts/campaigns.py entries` tries."""
    assert SHOWN.missing(DOCUMENTS, found_marks()) == []


def test_no_entry_is_shown_by_review_of_which_a_test_fails():
    without = [dataclasses.replace(e, review="") for e in ENTRIES.values()]
    missing = SHOWN.missing([Document("all", tuple(without))], found_marks())
    assert {e.id for e in ENTRIES.values() if e.review} <= {name for name, _ in missing}


def test_marks_name_entries_or_rules_of_this_project():
    named = {name for name in found_marks() if any(marks_of(rule, {name: [name]}) for rule in OWN)}
    assert named | ENTRIES.keys() >= found_marks().keys()
    assert not named & ENTRIES.keys()


def test_every_rule_has_an_entry_or_is_of_this_project():
    traced = {rule for entry in ENTRIES.values() for rule in entry.rules}
    assert traced | {rule.id for rule in OWN} == RULES.keys()


def test_page_has_each_entry_and_each_rule_of_this_project_once():
    headings = [
        line
        for line in text(DOCUMENTS, found_marks(), recorded()).splitlines()
        if line.startswith("#")
    ]
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
        code=("custom_ops/arithmetic.py:divide",),
        met="It is so.",
    )
    judged = Entry("Div.R2", ("Notes",), "C too", code=entry.code, review="It is judged.")
    other = Entry("Div.note", ("Notes",), "It follows", not_applicable="It announces.")
    tests = [
        Mark("Div.R1", "tests/test_it.py::test_one"),
        Mark("Div.R1", "tests/proofs/test_it.py"),
    ]
    documents = [Document("SONNX Div", (entry, judged, other))]
    faults = {"Div.R1 off": ["tests/test_it.py::test_one"]}
    sources = {**digest_of(faults), "README.md": "another"}
    made = text(documents, {"Div.R1": tests}, Shown({"faults": faults, "sources": sources}))
    own = len(own_rules(documents))
    assert made.startswith(
        f"""\
1 documents, 3 entries: 2 that apply, shown by 1 tests and 1 proofs, and 1 that do not.

Of {own + 2} entries and rules, 0 are shown by tests that fail if what the entry names does \
otherwise, 1 by review, and {own + 1} by neither.

**Some trials are old**: these files have changed since, and what they have was not tried again: \
`README.md`.

## SONNX Div

### Div.R1

- **Where:** Restrictions; Inputs [R1]
- **Sentence:** `` A must ``
- **Also:** `` B too ``
- **Rule:** [`Div.R1`](rules/div.md#divr1): {RULES["Div.R1"].sentence}
- **Met:** It is so.
- **Code:** `{requirement("Div.R1")}`, `custom_ops/arithmetic.py:divide`
- **Tests:** `tests/test_it.py::test_one`
- **Proofs:** `tests/proofs/test_it.py`
- **Fails if** `Div.R1` is switched off: `test_one`
- **Not shown:** that `custom_ops/arithmetic.py:divide` does otherwise

### Div.R2

- **Where:** Notes
- **Sentence:** `` C too ``
- **Code:** `custom_ops/arithmetic.py:divide`
- **By review:** It is judged.

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


@pytest.mark.parametrize(("content", "message"), [
    (ENTRY, "it has to name rules or code, or why it does not apply"),
    (f'{ENTRY}rules = ["Div.R1"]\nnot_applicable = "It is so."\n',
     "it has to name rules or code, or why it does not apply"),
    (f'{ENTRY}rules = ["Div.R9"]\n', "there is no rule Div.R9"),
    (f'{ENTRY}code = ["sonnx_ort/no.py"]\n', "there is no file sonnx_ort/no.py"),
    (f'{ENTRY}code = ["custom_ops/arithmetic.py:no"]\n',
     "custom_ops/arithmetic.py defines no no"),
    ('[[entry]]\nid = "Div.R1"\nplaces = ["Restrictions"]\nrules = ["Div.R1"]\n',
     "it has to quote a sentence, or be of whole places"),
    (f'{ENTRY}rules = ["Div.R1"]\nwhole = true\n',
     "it has to quote a sentence, or be of whole places"),
    (f'{ENTRY}rule = "Div.R1"\n', "'rule' is unknown"),
    (f'{ENTRY}rules = ["Div.R1"]\n' * 2, "there are two entries of this name"),
])  # fmt: skip
def test_unusable_entry_is_told_of(tmp_path, content, message):
    with pytest.raises(UnusableEntry) as caught:
        read_documents(write(tmp_path, content))
    assert str(caught.value) == f"Div.R1: {message}"


def test_marks_of_functions_and_classes_are_found(tmp_path):
    (tmp_path / "test_it.py").write_text(
        """
import pytest

@pytest.mark.satisfies("one five", "two")
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
        Mark("five", "test_it.py::test_function"),
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


CONTENT = """\
# Contents

- **Div** operator for type [real](#real)

# **Div** (real)

## Restrictions

No real is zero.

# **Div** (float)

## Inputs

### $\\text{A}$: tensor

Numerator.

#### Constraints
- `[C1]` <a id="C1"></a> Shape consistency
  - Statement: Tensors $A$ and $B$ must have the same shape.
- `[C2]` Type
  - Statement: See constraint [C1](#C1).
"""
SHAPE = Entry(
    "Div.R1",
    ("float: Inputs, A, Constraints",),
    "`[C1]` Shape … Tensors A and $B$ must have the same shape.",
    also=("[C2] Type",),
    rules=("Div.R1",),
)
WHOLE = Entry("Div.words", ("Inputs",), whole=True, not_applicable="It names the operands.")
DOCUMENT = Document("SONNX Div", (SHAPE, WHOLE))


KINDS = (
    *("not in the text", "tag not in the text", "elsewhere in the text"),
    *("demanded, without an entry", "without an entry"),
)


def found_in(document, text=CONTENT):
    return compare(document, text)[0]


def altered(**changes):
    return dataclasses.replace(DOCUMENT, entries=(dataclasses.replace(SHAPE, **changes), WHOLE))


def test_entries_that_the_text_has_give_no_finding():
    found, sentences = compare(DOCUMENT, CONTENT)
    assert (found, sentences) == ({key: [] for key in KINDS}, 6)


@pytest.mark.parametrize("sentence", ["A and D", "same shape … Tensors A"])
def test_quotation_that_the_text_lacks_is_absent(sentence):
    assert found_in(altered(sentence=sentence))["not in the text"] == [f"Div.R1: {sentence}"]


def test_tag_that_the_text_lacks_is_absent():
    assert found_in(altered(tag="C2"))["tag not in the text"] == []
    assert found_in(altered(tag="C9"))["tag not in the text"] == ["Div.R1: C9"]


EXAMPLES = """\
# **Div** (real, real)
## Examples
### Example 1: vectors
#### Case of two
# Signature
### `Example` 2 :
# **Div** (bool, float, float, bool)
### Another example
# **Div** (int8, int16, int32, int64)
### Example
"""


def test_headings_of_examples_have_the_types_of_their_section():
    assert [*examples_of(EXAMPLES)] == [
        *("real: Example 1", "real: Example 2", "bool, float: Another example", "Example"),
    ]


def test_examples_of_a_draft_are_those_of_the_suite():
    draft = dataclasses.replace(DOCUMENT, name=draft_of("Div").title)
    assert compare_examples(draft, EXAMPLES) == {
        "example without a case": ["Example", "bool, float: Another example"],
        "example not in the text": [
            *("float: Example 1", "float: Example 2", "int: Example 1", "int: Example 2"),
        ],
    }
    assert compare_examples(DOCUMENT, EXAMPLES) == {}


def test_example_with_a_reason_to_be_no_case_is_known():
    draft = dataclasses.replace(DOCUMENT, name=draft_of("Neg").title)
    content = "# **Neg** (real)\n### Example\n# **Neg** (int)\n### Example\n"
    assert compare_examples(draft, content)["example without a case"] == []


def test_entry_that_stands_elsewhere_has_moved():
    (moved,) = found_in(altered(places=("Outputs",)))["elsewhere in the text"]
    assert moved == "Div.R1: not at 'Outputs', but at ['Inputs, A, Constraints']"


def test_block_of_code_ends_where_no_language_is_named():
    text = "# Text\n```\na\n``\n```Python\n# b\n```\n# Behind\nc\n"
    places = [(line.place, line.words) for line in lines_of(text) if line.words]
    assert places == [("Text", "a"), ("Text", "Python"), ("Text", "# b"), ("Behind", "c")]


def test_demand_without_an_entry_is_new_even_in_a_place_that_is_covered():
    text = CONTENT + "- `[C3]` Value\n  - Statement: $B$ shall not be 0.\n"
    assert found_in(DOCUMENT, text)["demanded, without an entry"] == [
        "24: Inputs, A, Constraints: - [C3] Value",
        "25: Inputs, A, Constraints: - Statement: B shall not be 0.",
    ]


def test_other_line_without_an_entry_is_uncovered():
    text = CONTENT + "## Outputs\n\nThe quotient.\n"
    assert found_in(DOCUMENT, text)["without an entry"] == ["26: Outputs: The quotient."]


def test_section_on_reals_counts_where_there_is_no_other():
    text = CONTENT.partition("# **Div** (float)")[0]
    found = found_in(Document("SONNX Div", ()), text)
    assert found["without an entry"] == ["9: Restrictions: No real is zero."]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**Div** of $A[i]$ and [B](#b)", "Div of A[i] and B"),
        ('<span style="x">[E_DIV_A]</br></span>', "[E_DIV_A]"),
        (r"$\textbf{Div}(A,  B)$", "Div (A, B)"),
        ("_standard_ `kernel_shape`", "standard kernel_shape"),
    ],
)
def test_markup_and_blanks_make_no_difference(text, words):
    assert plain(text) == words


def test_headings_in_listings_are_lines():
    lines = list(lines_of("# Div\n```\n# no heading\n```\n"))
    assert [(line.number, line.place, line.words) for line in lines] == [(3, "Div", "# no heading")]


CONTENT_OF_TEXT = b"# Div\n"
TEXT = Text("SONNX Div", "a/b", "0" * 40, "2026-01-01", "", "div/div.md")


def git(folder, *arguments):
    return captured(["git", "-C", folder, *arguments], check=True).stdout.strip()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "div").mkdir()
    (tmp_path / "div" / "div.md").write_bytes(CONTENT_OF_TEXT)
    return tmp_path


def test_text_is_read_in_its_commit(folder):
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    git(folder, *identity, "commit", "--quiet", "--message=Add it")
    known = dataclasses.replace(TEXT, commit=git(folder, "rev-parse", "HEAD"))
    (folder / "div" / "div.md").write_text("changed since", encoding="utf-8")
    assert read_text(known, folder) == "# Div\n"


def test_text_is_read_from_a_folder(folder):
    known = dataclasses.replace(TEXT, sha256=hashlib.sha256(CONTENT_OF_TEXT).hexdigest())
    assert read_text(known, folder) == "# Div\n"


def test_text_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UnreadableText) as caught:
        read_text(TEXT, tmp_path)
    assert str(caught.value) == f"{tmp_path} has no commit {'0' * 12} with div/div.md"


def test_text_with_another_checksum_is_refused(folder):
    checksum = hashlib.sha256(CONTENT_OF_TEXT).hexdigest()
    with pytest.raises(UnreadableText) as caught:
        read_text(dataclasses.replace(TEXT, sha256="12"), folder)
    assert str(caught.value) == f"div/div.md has the checksum {checksum}, not 12"


def test_each_text_of_a_clone_has_a_checksum():
    """Only what an index of files alone has is without one."""
    without = {text.title.split(",")[0] for text in TEXTS.values() if not text.sha256}
    operators = ("Acos", "Conv", "ConvInteger", "DequantizeLinear", "Neg", "QuantizeLinear", "Sin")
    assert without == {f"SONNX {operator}" for operator in operators}


def test_each_text_that_no_rule_follows_has_a_reason():
    titles = {text.title for text in UNFOLLOWED}
    assert len(titles) == len(UNFOLLOWED)
    assert not titles & TEXTS.keys()
    assert all(text.unfollowed.endswith(".") for text in UNFOLLOWED)


def test_text_that_no_rule_follows_has_a_checksum_if_a_clone_has_it():
    without = {text.path for text in UNFOLLOWED if not text.sha256}
    assert without == {f"ops/{name}.md" for name in ("add", "div", "maxpool", "mul", "sub")}


@pytest.fixture
def compared(monkeypatch, folder, capsys):
    """Compares one text that is followed and one that is not; gives the status and the words."""
    followed = dataclasses.replace(TEXT, path="followed.md")
    (folder / "followed.md").write_text(CONTENT, encoding="utf-8")
    checksum = hashlib.sha256(CONTENT_OF_TEXT).hexdigest()
    other = dataclasses.replace(
        TEXT, title="SONNX notations", sha256=checksum, unfollowed="It names symbols."
    )
    monkeypatch.setattr(traceability, "read_documents", lambda: (DOCUMENT,))
    monkeypatch.setattr(traceability, "TEXTS", {followed.title: followed})
    monkeypatch.setattr(traceability, "UNFOLLOWED", (other,))

    def compare_all(*arguments):
        status = traceability.run(["--against", str(folder), *arguments])
        return status, capsys.readouterr().out.splitlines()

    return compare_all


END = "2 quotations, 6 sentences, 0 findings"


def test_all_texts_are_compared(compared):
    assert compared() == (0, [
        "SONNX Div: 0 findings in 6 sentences",
        f"1 texts compared: {END}; 1 others unchanged; 0 not compared",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("file", "title"), [("followed.md", "SONNX Div"), ("div/div.md", "SONNX notations")]
)
def test_text_that_is_not_compared_is_a_finding_unless_it_may_be_missing(
    compared, folder, file, title
):
    (folder / file).unlink()
    reason = f"{folder} has no commit {'0' * 12} with {file}"
    status, told = compared()
    assert (status, f"{title}: not compared: {reason}" in told) == (1, True)
    assert told[-1].endswith("; 1 not compared")
    status, told = compared("--without", title)
    assert (status, f"{title}: not compared, as it may be: {reason}" in told) == (0, True)
    assert told[-1].endswith("; 0 not compared")


def test_text_that_has_changed_is_not_compared(compared, folder):
    (folder / "div" / "div.md").write_text("changed since", encoding="utf-8")
    status, told = compared("--only", "notations")
    assert status == 1
    assert "has the checksum" in told[0]
    assert told[-1].endswith("; 0 others unchanged; 1 not compared")


def test_draft_of_an_operator_without_one_is_unknown():
    assert draft_of("Abs").path.endswith("abs/abs.md")
    with pytest.raises(KeyError):
        draft_of("Erf")
