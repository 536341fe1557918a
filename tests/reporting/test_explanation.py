"""What is said of each rule and restriction, and of each operator of ONNX."""

from collections.abc import Callable

import onnx
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import OPERATOR_SET, OPERATORS, RULES
from sonnx_ort.profile.rule import Rule
from sonnx_ort.reporting.explanation import explain, explain_any, list_operators, list_rules

LABELS = ["source", "text", "stated", "later", "kernels", "why", "keeps", "breaks", "to fix"]
"""The parts of an explanation; not all rules have a text, a later tag or wrong kernels."""


@pytest.mark.parametrize(("identifier", "text"), [
    ("Div.float.R1",
     ("Div.float.R1: Tensors A, B and C must have the same shape.\n  source:  SONNX Div, typed "
      "edition, section FP16, FP32, FP64, BFLOAT16 [R1]\n  stated:  in these words\n  later:   "
      "E_DIV_FLOAT_CONSTR_A_0010\n  why:     ONNX Runtime 1.32.0 silently broadcasts, even two "
      "inputs that are declared with the same symbol. It has no kernel for bfloat16. The "
      "smallest int32 or int64 divided by -1 ends the process (SIGFPE); for int8 and int16 the "
      "result wraps. A zero divisor of any integer type fails in the run. A constant one fails "
      "when the session starts, with an error that does not name the node.\n  keeps:   A (2, 3), "
      "B (2, 3)\n  breaks:  A (2, 3), B (3,)\n  to fix:  rewrite with broadcast=\"explicit\", "
      "which expands the operands, or give both one shape")),
    ("Div.int.C1",
     ("Div.int.C1: No element of B is zero.\n  source:  SONNX Div, draft of the working group "
      "(August 2026), Inputs, B, Constraints [E_DIV_INT_CONSTR_B_0030]\n  stated:  in substance, "
      "in our words. The typed edition leaves its section on integers to be completed. The draft "
      "states it as a formula. Its error conditions call the result of a zero divisor dependent "
      "on the implementation.\n  why:     ONNX Runtime 1.32.0 silently broadcasts, even two "
      "inputs that are declared with the same symbol. It has no kernel for bfloat16. The "
      "smallest int32 or int64 divided by -1 ends the process (SIGFPE); for int8 and int16 the "
      "result wraps. A zero divisor of any integer type fails in the run. A constant one fails "
      "when the session starts, with an error that does not name the node.\n  keeps:   A [6, 9], "
      "B [3, 2]\n  breaks:  A [6, 9], B [3, 0]\n  to fix:  keep zeros out of the divisor, for "
      "example with Where or Max")),
    ("GR1",
     ("GR1: Sparse tensors are not supported.\n  source:  SONNX, general restrictions, General "
      "restrictions [GR1]\n  stated:  in substance, in our words. The typed document of Div says "
      "so of its operator, as RG1.\n  why:     ONNX Runtime 1.32.0 silently stores a sparse "
      "initializer densely: an element that the file omits is 0.\n  keeps:   B an initializer\n  "
      "breaks:  B a sparse_initializer\n  to fix:  store the tensor densely")),
    ("GR4",
     ("GR4: No attribute is left to its default value.\n  source:  SONNX, general restrictions, "
      "General restrictions [GR4]\n  stated:  in substance, in our words. REQ-OP-070 of the "
      "requirements says the same. An optional input counts as an attribute if ONNX gives it a "
      "default, since versions of an operator have moved attributes to inputs.\n  why:     A "
      "model that violates it computes the same, but its meaning depends on more than the file "
      "and the profile.\n  keeps:   Softmax(x, axis=-1)\n  breaks:  Softmax(x), for which ONNX "
      "assumes axis=-1\n  to fix:  write it into the model; rewrite with make_explicit=True does "
      "so if the schema has a default")),
])  # fmt: skip
def test_explanation(identifier: str, text: str) -> None:
    address = RULES[identifier].source.text.address
    expected = text.replace("\n  stated:", f"\n  text:    {address}\n  stated:", 1)
    assert explain(identifier) == expected


@pytest.mark.parametrize("identifier", list(RULES))
def test_explanation_has_all_parts(identifier: str) -> None:
    first, *rest = explain(identifier).splitlines()
    assert first.startswith(f"{identifier}: ")
    labels = [line.partition(":")[0].strip() for line in rest]
    rule = RULES[identifier]
    parts = {
        "text": rule.source.text,
        "later": rule.source.later_tag,
        "kernels": rule.needed_before,
    }
    assert labels == [label for label in LABELS if parts.get(label, label)]
    assert all(line.partition(":")[2].strip() for line in rest)


@pytest.mark.parametrize("spelling", ["div.int.c1", "DIV.INT.C1", "Div.Int.C1"])
def test_case_of_an_id_is_no_matter(spelling: str) -> None:
    assert explain(spelling) == explain("Div.int.C1")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Div.R9", "Div.R5"), ("", ""), ("Divide", "Div"), ("Div.int.C1 ", "Div.int.C1"), ("*", "")],
)
def test_unknown_name_is_answered_with_a_similar_one(name: str, meant: str) -> None:
    with pytest.raises(SonnxError) as caught:
        explain(name)
    question = f" (did you mean '{meant}'?)" if meant else ""
    assert str(caught.value) == (
        f"there is no rule '{name}'{question}; `sonnx-ort explain` lists all rules"
    )


def test_list_has_one_line_for_each_rule() -> None:
    lines = list_rules().splitlines()
    assert [line.split()[0] for line in lines] == list(RULES)
    starts = {len(line) - len(line.split(maxsplit=1)[1]) for line in lines}
    assert len(starts) == 1


@pytest.mark.parametrize(("rule", "standing", "words", "later_tag"), [
    ("Div.float.R1", "stated", "as written", "E_DIV_FLOAT_CONSTR_A_0010"),
    ("Div.float.RG1", "stated", "as written", "GR1"),
    ("Div.int.R1", "stated", "as written", None),
    ("Div.int.R2", "stated", "changed", None),
    ("Div.int.RG1", "stated", "ours", "GR1"),
    ("Div.int.C1", "stated", "ours", None),
    ("Div.int.C2", "own", "ours", None),
    ("Div.R4", "stated", "changed", None),
    ("Sub.R1", "stated", "changed", None),
    ("Sub.float.R2", "stated", "changed", None),
    ("Sub.int.R1", "stated", "as written", None),
    ("Broadcast.E1", "stated", "ours", None),
])  # fmt: skip
def test_rule_says_whose_it_is(rule: str, standing: str, words: str, later_tag: str | None) -> None:
    source = RULES[rule].source
    assert (source.standing, source.words, source.later_tag) == (standing, words, later_tag)


@pytest.mark.parametrize(("rule", "basis"), [
    ("Div.float.R1", "stated"), ("Div.int.C2", "ours"), ("Sub.float.R1", "stated"),
    ("Sub.float.R2", "stated"), ("And.bool.RG1", "follows"), ("Cast.R2", "ours"),
    ("ConvInteger.signs", "ours"), ("Squeeze.size", "follows"), ("GR1", "stated"),
    ("Sub.R1", "chosen"), ("Div.R5", "chosen"), ("Slice.R6", "chosen"),
    ("Reshape.allowzero.C3", "chosen"),
])  # fmt: skip
def test_rule_says_what_it_rests_on(rule: str, basis: str) -> None:
    assert RULES[rule].basis.value == basis


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_what_is_not_as_written_is_explained(rule: Rule) -> None:
    as_written = (rule.source.standing, rule.source.words) == ("stated", "as written")
    assert as_written or rule.source.remark.endswith(".")


OF_ONNX = {
    f"{s.domain}::{s.name}" if s.domain else s.name
    for s in onnx.defs.get_all_schemas_with_history()
}


def groups() -> dict[str, set[str]]:
    """The operators of each paragraph, by its first words."""
    found = {}
    for paragraph in list_operators().split("\n\n")[:-1]:
        head, *lines = paragraph.splitlines()
        found[head.partition(" (")[0]] = set(" ".join(lines).replace(",", "").split())
    return found


def test_every_operator_of_onnx_is_listed_once() -> None:
    listed = [name for names in groups().values() for name in names]
    assert len(listed) == len(set(listed))
    assert set(listed) == OF_ONNX | {"Broadcast"}


@pytest.mark.satisfies("Requirements.operators")
def test_operators_of_the_set_are_not_outside() -> None:
    outside = groups()["outside the profile"]
    assert not outside & OPERATOR_SET
    assert {"And", "Gelu", "ai.onnx.ml::Scaler"} <= outside
    assert groups()["in SONNX's operator set, bound by rules of sonnx_ort"] == {
        name for name in OPERATORS if name in OPERATOR_SET and not OPERATORS[name].has_draft
    }


@pytest.mark.parametrize("name", sorted(OF_ONNX))
def test_every_operator_of_onnx_is_explained(name: str) -> None:
    assert explain_any(name).startswith(f"{name} ")


OUTSIDE = (
    "is outside the profile: SONNX neither lists it nor has a draft of it, so each node of it "
    "violates Graph.operator_set. sonnx-ort conform"
)


@pytest.mark.parametrize(("name", "said"), [
    ("transpose", ("Transpose is in SONNX's operator set without a draft: the general restrictions "
     "alone bind it, and its meaning is that of ONNX.")),
    ("Einsum", (f"Einsum {OUTSIDE} writes it by operators of the profile: for double, float, "
     "float16, with --rounding, within 1 unit in the last place for each term of the sum of the "
     "magnitudes that are added, for finite inputs of which no step overflows or underflows.")),
    ("Mish",
     (f"Mish {OUTSIDE} --rounding writes it as ONNX defines it: the same numbers, for every input; "
      "ONNX Runtime computes it by the same operators.")),
    ("HardSigmoid", (f"HardSigmoid {OUTSIDE} writes it by operators of the profile: for float "
     "results keep their bits; for float16, with --rounding, within 1 unit in the last place of "
     "each result, or of 1 if that is larger, for every input.")),
    ("NonZero", (f"NonZero {OUTSIDE} cannot write it otherwise: how many elements it gives depends "
     "on those that it reads.")),
    ("Dropout", (f"Dropout {OUTSIDE} removes it where it is certain not to train. Export the model "
     "without it, or accept it with a waiver.")),
    ("Upsample", (f"Upsample {OUTSIDE.removesuffix(' sonnx-ort conform')} ONNX has deprecated it "
     "since version 10 of the standard operators. Export the model without it, or accept it with a "
     "waiver. Upsample the input tensor.")),
    ("MatMul",
     "MatMul has rules that a document or a draft of SONNX states. sonnx-ort conform can - "),
])  # fmt: skip
def test_explanation_says_what_binds_an_operator(name: str, said: str) -> None:
    assert " ".join(explain_any(name).split()).startswith(said)


def test_rules_are_explained_as_ever() -> None:
    assert explain_any("gr1").startswith("GR1: Sparse tensors are not supported.\n")


@pytest.mark.parametrize("explained", [explain, explain_any])
@pytest.mark.parametrize(("name", "beginning"), [("div.int", "Div.int."), ("GRAPH", "Graph.")])
def test_beginning_of_ids_explains_their_rules(
    explained: Callable[[str], str], name: str, beginning: str
) -> None:
    wanted = [explain(identifier) for identifier in RULES if identifier.startswith(beginning)]
    assert len(wanted) > 3
    assert explained(name) == "\n\n".join(wanted)


def test_unknown_name_is_one_sentence() -> None:
    with pytest.raises(SonnxError) as caught:
        explain_any("Trnspose")
    assert str(caught.value) == (
        "there is no rule and no operator 'Trnspose' (did you mean 'Transpose'?); "
        "`sonnx-ort explain` lists all rules, `sonnx-ort operators` all operators"
    )
