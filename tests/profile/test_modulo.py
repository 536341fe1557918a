"""What ONNX demands of the attribute fmod of a Mod."""

import pytest

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Judgement, Status
from sonnx_ort.terms.operand import Operand

RULE = "Mod.float.fmod"


def judged(element_type: str | None, version: int, **attributes: int) -> Judgement | None:
    """How the rule decides a node; None if it does not bind it."""
    operands = [Operand(name, name, "input", element_type) for name in ("A", "B")]
    bound = OPERATORS["Mod"].rules_of_node(Edition.TYPED, operands, attributes, version)
    found = (rule for rule in bound if rule.id == RULE)
    return next((rule.judge(("A", "B"), operands)[0] for rule in found), None)


@pytest.mark.satisfies("Mod.float.fmod")
@pytest.mark.parametrize(
    ("element_type", "version", "attributes", "judgement"),
    [
        ("float", 13, {"fmod": 1}, Judgement(Status.PROVED, "the attribute fmod is 1")),
        ("float", 13, {"fmod": 0}, Judgement(Status.VIOLATED, "the attribute fmod is 0")),
        ("float16", 10, {}, Judgement(Status.VIOLATED, "the attribute fmod is 0")),
        ("double", 28, {"fmod": 0}, None),
        ("int32", 13, {"fmod": 0}, None),
        (
            *(None, 13, {"fmod": 0}),
            Judgement(Status.RUNTIME, "the type of A is unknown; ONNX Runtime rejects a violation"),
        ),
    ],
)
def test_remainder_of_floats_takes_the_sign_of_the_dividend(
    element_type: str | None,
    version: int,
    attributes: dict[str, int],
    judgement: Judgement | None,
) -> None:
    assert judged(element_type, version, **attributes) == judgement
