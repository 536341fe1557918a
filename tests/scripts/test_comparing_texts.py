"""Entries of the traceability are held to the state of the text that they quote."""

import dataclasses
import hashlib

import pytest
from environment import captured
from tracing.comparing import UnreadableText, compare, lines_of, plain, read_text
from tracing.entries import Document, Entry

from sonnx_ort.profile.source import TEXTS, Text, draft_of

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


def altered(**changes):
    return dataclasses.replace(DOCUMENT, entries=(dataclasses.replace(SHAPE, **changes), WHOLE))


def test_entries_that_the_text_has_give_no_finding():
    found = compare(DOCUMENT, CONTENT)
    assert (found.absent, found.moved, found.new, found.uncovered) == ((), (), (), ())
    assert found.sentences == 6


@pytest.mark.parametrize("sentence", ["A and D", "same shape … Tensors A"])
def test_quotation_that_the_text_lacks_is_absent(sentence):
    assert compare(altered(sentence=sentence), CONTENT).absent == (f"Div.R1: {sentence}",)


def test_entry_that_stands_elsewhere_has_moved():
    (moved,) = compare(altered(places=("Outputs",)), CONTENT).moved
    assert moved == "Div.R1: not at 'Outputs', but at ['Inputs, A, Constraints']"


def test_block_of_code_ends_where_no_language_is_named():
    text = "# Text\n```\na\n``\n```Python\n# b\n```\n# Behind\nc\n"
    places = [(line.place, line.words) for line in lines_of(text) if line.words]
    assert places == [("Text", "a"), ("Text", "Python"), ("Text", "# b"), ("Behind", "c")]


def test_demand_without_an_entry_is_new_even_in_a_place_that_is_covered():
    text = CONTENT + "- `[C3]` Value\n  - Statement: $B$ shall not be 0.\n"
    assert compare(DOCUMENT, text).new == (
        "24: Inputs, A, Constraints: - [C3] Value",
        "25: Inputs, A, Constraints: - Statement: B shall not be 0.",
    )


def test_other_line_without_an_entry_is_uncovered():
    text = CONTENT + "## Outputs\n\nThe quotient.\n"
    assert compare(DOCUMENT, text).uncovered == ("26: Outputs: The quotient.",)


def test_section_on_reals_counts_where_there_is_no_other():
    text = CONTENT.partition("# **Div** (float)")[0]
    document = Document("SONNX Div", ())
    assert compare(document, text).uncovered == ("9: Restrictions: No real is zero.",)


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


def test_draft_of_an_operator_without_one_is_unknown():
    assert draft_of("Abs").path.endswith("abs/abs.md")
    with pytest.raises(KeyError):
        draft_of("Erf")
