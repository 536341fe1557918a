"""The rules of operators that are not element-wise.

Sources: SONNX MatMul, C1 of both inputs; BatchNormalization, C3 of input_var; Clip, C1 of min and
max; Slice, R2, R6, R7 and R8 and C2 of the ends; ArgMax, R5. All are drafts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.domains import Violation
from sonnx_ort.oracle.elements import Attributes, Operands

Array = npt.NDArray[Any]


def single_operand_violation(
    operator: str, operands: Operands, attributes: Attributes
) -> Violation | None:
    """Find the first rule that the operands of a node violate; an omitted operand is None."""
    return next(single_operand_violations(operator, operands, attributes), None)


def single_operand_violations(
    operator: str, operands: Operands, attributes: Attributes
) -> Iterator[Violation]:
    """Find every violation, in the order of the rules; an omitted operand is None."""
    return _RULES[operator]([o for o in operands if o is not None], attributes)


def _matrices(operands: Sequence[Array], _: Attributes) -> Iterator[Violation]:
    if any(operand.ndim != 2 for operand in operands):
        yield Violation("MatMul.C1")


def _variances(operands: Sequence[Array], _: Attributes) -> Iterator[Violation]:
    for index, variance in enumerate(operands[4].astype(np.float64).tolist()):
        if not variance >= 0:
            yield Violation("BatchNormalization.C3", (index,), (variance,))


def _scalars(operands: Sequence[Array], _: Attributes) -> Iterator[Violation]:
    if any(bound.ndim for bound in operands[1:]):
        yield Violation("Clip.C1")


def _something(operands: Sequence[Array], attributes: Attributes) -> Iterator[Violation]:
    if operands[0].shape[int(attributes.get("axis", 0))] == 0:
        yield Violation("ArgMax.R5")
    for index, element in np.ndenumerate(operands[0].astype(np.float64)):
        if np.isnan(element):
            yield Violation("ArgMax.float.C1", index, (float(element),))


def _places(operands: Sequence[Array], _: Attributes) -> Iterator[Violation]:
    x, *indices = operands
    starts, ends, axes, steps = (index.tolist() for index in indices)
    sizes = [x.shape[axis] for axis in axes]
    if len(axes) != x.ndim:
        yield Violation("Slice.R2")
    if any(not -size <= start < size for start, size in zip(starts, sizes, strict=True)):
        yield Violation("Slice.R8")
    for end, size, step in zip(ends, sizes, steps, strict=True):
        below = 1 if step < 0 else 0
        if not -size - below <= end <= size - below:
            yield Violation("Slice.C2")
    for start, end, size, step in zip(starts, ends, sizes, steps, strict=True):
        first, last = (place + size if place < 0 else place for place in (start, end))
        if (last - first) * step < 0:
            yield Violation("Slice.R6")


_RULES: Mapping[str, Callable[[Sequence[Array], Attributes], Iterator[Violation]]] = (
    MappingProxyType(
        {
            "MatMul": _matrices,
            "BatchNormalization": _variances,
            "Clip": _scalars,
            "Slice": _places,
            "ArgMax": _something,
        }
    )
)
"""Per operator, a check of its rules in order."""

OPERATORS = frozenset(_RULES)
"""The operators that are not element-wise."""
