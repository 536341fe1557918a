"""The rules that the operands of a run break are found, and only those."""

from typing import Any

import numpy as np
import onnxruntime
import pytest

from sonnx_ort import audit
from sonnx_ort.options import choose_demands
from sonnx_ort.profile.source import Standing
from sonnx_ort.runs.audit.verdicts import Verdict, broken_rules
from support.graphs import parse

F, N = np.float32, np.int32


def found(operator: str, *operands: Any, broadcast: str = "reject", **attributes: Any) -> list[str]:
    demands = choose_demands("typed", broadcast, "profile")
    return [
        f"{each.rule.id}: {each.reason}"
        for each in broken_rules(operator, 21, attributes, operands, demands)
    ]


@pytest.mark.parametrize(("operator", "operands", "rules"), [
    ("Sub", (F([1]), F([2])), []),
    ("Sub", (F([1, 2]), F([2])), ["Sub.float.R1"]),
    ("Div", (N([1, 2]), N([3, 0])), ["Div.int.C1"]),
    ("Div", (N([1, 2]), N([0])), ["Div.int.R1", "Div.int.C1"]),
    ("Div", (np.int64([1, 2]), N([0])), ["Div.int.R2", "Div.int.R1"]),
    ("Slice", (F([1, 2]),), ["Slice.R1", "Slice.R3"]),
    ("Acos", (F([0.5, 2]),), ["Acos.float.C1"]),
    ("Transpose", (F([1]),), []),
])  # fmt: skip
def test_rules_that_operands_break(operator: str, operands: Any, rules: list[str]) -> None:
    assert [each.partition(":")[0] for each in found(operator, *operands)] == rules


@pytest.mark.parametrize(("version", "rules"), [("1.20.0", ["Min.int.C1"]), ("99.0.0", [])])
def test_rule_that_a_version_of_onnxruntime_does_not_need_is_not_broken(
    version: str, rules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime, "__version__", version)
    broken = found("Min", np.int64([3 * 10**9]), np.int64([0]))
    assert [each.partition(":")[0] for each in broken] == rules


def test_run_does_not_show_whether_operands_are_constants() -> None:
    """The rules of LSTM on constants are judged of the model, where the operands have origins."""
    weights = F([[[1]] * 4])
    assert not [each for each in found("LSTM", F([[[1]]]), weights, weights) if "constant" in each]


def test_explicit_broadcasting_needs_a_common_shape_only() -> None:
    assert found("Sub", F([[1, 2]]), F([[1], [2]]), broadcast="explicit") == []
    (rule,) = found("Sub", F([1, 2]), F([1, 2, 3]), broadcast="explicit")
    assert rule.startswith("Broadcast.E1: ")


def test_element_is_named() -> None:
    demands = choose_demands("typed", "reject", "profile")
    (broken,) = broken_rules("Div", 21, {}, [N([1, 2]), N([3, 0])], demands)
    assert (broken.index, broken.values) == ((1,), (2, 0))


def test_rules_of_other_operators_do_not_count() -> None:
    demands = choose_demands("typed", "reject", "Sub")
    assert [*broken_rules("Div", 21, {}, [N([1]), N([0])], demands)] == []


def test_difference_that_wraps_is_the_result_of_the_draft_and_breaks_our_rule() -> None:
    """The draft defines it, by its formula, and calls it an overflow."""
    made = parse(
        "(int32[2] x) => (float[2] y) <float s = {1}, int32 z = {100}>"
        " { y = DequantizeLinear(x, s, z) }",
        opset=21,
    )
    (node,) = audit(made, {"x": N([-(2**31), 2**31 - 1])}).nodes
    assert (node.verdict, node.undefined) == (Verdict.EXACT, 0)
    assert [broken.rule.id for broken in node.broken] == ["DequantizeLinear.C1"]
    assert node.broken[0].rule.source.standing is Standing.OWN
