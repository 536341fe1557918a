"""What kernels mean that compute nothing: each gives the shape of the tensor that it checks.

The python backend adds them: `sonnx::ConvOperands` reads the shapes of X, W and B, and gives that
of X. See `sonnx_ort.custom_ops.inspection`.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.inspection import CHECKED_ELEMENTS, CHECKED_SIZES, Inspection
from sonnx_ort.custom_ops.kernel import shapes_in
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.runs.audit.audited_node import Audited
from sonnx_ort.runs.audit.verdicts import NodeAudit, Verdict
from sonnx_ort.runs.isolated_run import Array

_INSPECTIONS: Mapping[str, Inspection] = {
    custom.name: custom for custom in CUSTOM_OPERATORS.values() if isinstance(custom, Inspection)
}
_OF_ELEMENTS, _OF_SIZES = CHECKED_ELEMENTS[0].name, CHECKED_SIZES.name


def judge_checking(audited: Audited) -> NodeAudit | None:
    """The audit of a kernel that checks operands and computes nothing; None of another node."""
    if audited.node.domain != DOMAIN or any(each is None for each in audited.operands):
        return None
    operands = [each for each in audited.operands if each is not None]
    shape = _shape(audited.node.op_type, operands)
    if shape is None:
        return None
    wanted = (np.array(shape, np.int64), np.array([len(shape)], np.int64))
    found = [*zip(audited.node.output, audited.results, wanted, strict=False)]
    wrong = [name for name, seen, each in found if seen is not None and not _same(seen, each)]
    size = sum(seen.size for _, seen, _ in found if seen is not None)
    return NodeAudit(
        audited.name,
        audited.operator,
        audited.path,
        Verdict.OUTSIDE if wrong else Verdict.EXACT,
        size,
        audited=size,
        reason=f"'{wrong[0]}' is not the shape of the operand" if wrong else "",
    )


def _same(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other)


def _shape(kernel: str, operands: Sequence[Array]) -> tuple[int, ...] | None:
    """The shape that a kernel gives; None if it gives something else."""
    if kernel == _OF_ELEMENTS:
        return operands[0].shape
    if kernel == _OF_SIZES:
        return shapes_in(*operands)[0]
    inspection = _INSPECTIONS.get(kernel)
    return None if inspection is None else inspection.shape_of(operands)
