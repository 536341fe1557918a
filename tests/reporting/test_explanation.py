"""What is said of each rule and restriction."""

import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS
from sonnx_ort.reporting.explanation import explain, list_rules

LABELS = ["source", "keeps", "breaks", "to mend"]


@pytest.mark.parametrize(
    ("identifier", "text"),
    [
        (
            "Div.float.R1",
            (
                "Div.float.R1: Tensors A, B and C must have the same shape.\n"
                "  source:  SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16 [R1]\n"
                "  keeps:   A (2, 3), B (2, 3)\n"
                "  breaks:  A (2, 3), B (3,)\n"
                '  to mend: rewrite with broadcast="explicit", which inserts a Broadcast, or give '
                "both one shape"
            ),
        ),
        (
            "Div.int.C1",
            (
                "Div.int.C1: No element of B is zero.\n"
                "  source:  SONNX Div, typed edition, section INT8, INT16, INT32 "
                "(added by sonnx_ort)\n"
                "  keeps:   A [6, 9], B [3, 2]\n"
                "  breaks:  A [6, 9], B [3, 0]\n"
                "  to mend: keep zeros out of the divisor, for example with Where or Max"
            ),
        ),
        (
            "GR1",
            (
                "GR1: Sparse tensors are not supported.\n"
                "  source:  SONNX, general restrictions, whole graph [GR1]\n"
                "  keeps:   B an initializer\n"
                "  breaks:  B a sparse_initializer\n"
                "  to mend: store the tensor densely"
            ),
        ),
        (
            "GR4",
            (
                "GR4: No attribute is left to its default value.\n"
                "  source:  SONNX, general restrictions, whole graph [GR4]\n"
                "  keeps:   Softmax(x, axis=-1)\n"
                "  breaks:  Softmax(x), for which ONNX assumes axis=-1\n"
                "  to mend: rewrite with make_explicit=True, which writes the defaults down"
            ),
        ),
    ],
)
def test_explanation(identifier: str, text: str) -> None:
    assert explain(identifier) == text


@pytest.mark.parametrize("identifier", [*RULES, *RESTRICTIONS])
def test_explanation_has_all_parts(identifier: str) -> None:
    first, *rest = explain(identifier).splitlines()
    assert first.startswith(f"{identifier}: ")
    assert [line.partition(":")[0].strip() for line in rest] == LABELS
    assert all(line.partition(":")[2].strip() for line in rest)


@pytest.mark.parametrize("spelling", ["div.int.c1", "DIV.INT.C1", "Div.Int.C1"])
def test_case_of_an_id_is_no_matter(spelling: str) -> None:
    assert explain(spelling) == explain("Div.int.C1")


@pytest.mark.parametrize("identifier", ["Div.R9", "", "Div", "Div.int.C1 ", "*"])
def test_unknown_rule(identifier: str) -> None:
    with pytest.raises(SonnxError) as caught:
        explain(identifier)
    assert str(caught.value) == (
        f"there is no rule '{identifier}'; `sonnx-ort explain` lists all rules"
    )


def test_list_has_one_line_for_each_rule_and_restriction() -> None:
    lines = list_rules().splitlines()
    assert [line.split()[0] for line in lines] == [*RULES, *RESTRICTIONS]
    starts = {len(line) - len(line.split(maxsplit=1)[1]) for line in lines}
    assert len(starts) == 1


def test_no_two_rules_share_an_id() -> None:
    assert not set(RULES) & set(RESTRICTIONS)
