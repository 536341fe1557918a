"""`operators`, and `explain` for operators without rules: what SONNX has for each of ONNX."""

import onnx
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import OPERATOR_SET, OPERATORS
from sonnx_ort.reporting.explanation import explain_any, list_operators

OF_ONNX = {
    f"{s.domain}::{s.name}" if s.domain else s.name
    for s in onnx.defs.get_all_schemas()
    if s.domain in ("", "ai.onnx.ml") and not s.deprecated
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
     "float16, with --rounding, sums may be rounded in another order.")),
    ("LogSoftmax",
     f"LogSoftmax {OUTSIDE} --rounding writes it as ONNX defines it, by other operators."),
    ("HardSigmoid", (f"HardSigmoid {OUTSIDE} writes it by operators of the profile: for double, "
     "float results keep their bits; for float16, with --rounding, up to 2^-10 apart.")),
    ("NonZero", (f"NonZero {OUTSIDE} cannot write it otherwise: how many elements it gives depends "
     "on those that it reads.")),
    ("Dropout", (f"Dropout {OUTSIDE} removes it where it is certain not to train. Export the model "
     "without it, or accept it with a waiver.")),
    ("MatMul",
     "MatMul has rules that a document or a draft of SONNX states. sonnx-ort conform can "),
])  # fmt: skip
def test_explanation_says_what_binds_an_operator(name: str, said: str) -> None:
    assert " ".join(explain_any(name).split()).startswith(said)


def test_rules_are_explained_as_ever() -> None:
    assert explain_any("gr1").startswith("GR1: Sparse tensors are not supported.\n")


def test_unknown_name_is_one_sentence() -> None:
    with pytest.raises(SonnxError) as caught:
        explain_any("Trnspose")
    assert str(caught.value) == (
        "there is no rule and no operator 'Trnspose' (did you mean 'Transpose'?); "
        "`sonnx-ort explain` lists all rules, `sonnx-ort operators` all operators"
    )
