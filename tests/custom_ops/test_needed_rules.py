"""Kernels check a rule against kernels of ONNX Runtime where the installed version needs it."""

import numpy as np
import pytest

from sonnx_ort.custom_ops.failure_channel import LOG
from sonnx_ort.custom_ops.kernel import for_any_version, make_decision
from sonnx_ort.errors import ContractViolation
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition

INT64 = np.dtype(np.int64)
SMALLEST = -(2**63)


def refused(operator: str, operands: list[list[int]], runtime: str, edition: str) -> str | None:
    """The rule for which a kernel refuses operands; None if it does not."""
    found = OPERATORS[operator]
    decided = make_decision(
        found, lambda edition: found.rules(edition, Family.INTEGER), INT64, runtime
    )
    outputs = decided([np.array(o, INT64) for o in operands], "the_node", edition, {})
    if outputs is None:
        return None
    error = LOG.take(-int(np.asarray(outputs[1])[0]))
    assert isinstance(error, ContractViolation)
    return error.rule


@pytest.mark.parametrize(
    ("operator", "operands", "rule"),
    [
        ("Max", [[3], [3_000_000_000]], "Max.int.C1"),
        ("Min", [[3], [3_000_000_000]], "Min.int.C1"),
        ("Mod", [[SMALLEST], [-1]], "Mod.int.C2"),
    ],
)
def test_version_decides_what_is_checked(
    operator: str, operands: list[list[int]], rule: str
) -> None:
    for edition in Edition:
        assert refused(operator, operands, "1.31.1", edition.value) == rule
        assert refused(operator, operands, "1.32.0", edition.value) is None
        assert refused(operator, operands, "1.32.0", for_any_version(edition)) == rule


def test_rule_of_the_profile_is_checked_with_every_version() -> None:
    assert refused("Mod", [[1], [0]], "99.0.0", "typed") == "Mod.int.C1"
