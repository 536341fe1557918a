"""Which rules operands break, written down anew from the documents, apart from the product."""

from typing import Any

import numpy as np

from support.soundness.arrays import Array

Shape = tuple[int, ...]


def common_shape(shapes: list[Shape]) -> Shape | None:
    """The common shape by the document of Broadcast; None if E1 is broken.

    On each axis a size is the largest of the axis or 1: a 0 against a 1 breaks the rule.
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    largest = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    fits = all(
        size in (1, wanted) for sizes in padded for size, wanted in zip(sizes, largest, strict=True)
    )
    return largest if fits else None


def same_shape_rules(operator: str, dtype: np.dtype[Any], edition: str) -> tuple[str, ...]:
    """The ids of the rules that operands of two shapes break, in order of decision."""
    if edition == "typed":
        return (f"{operator}.{'int' if dtype.kind in 'iu' else 'float'}.R1",)
    return ("Div.R1", "Div.R4") if operator == "Div" else ("Sub.R1",)


def decided_rules(operator: str, a: Array, b: Array, edition: str) -> dict[str, bool]:
    """Each rule that a run can break, in order of decision, and whether operands break it.

    Args:
        operator: "Div" or "Sub".
        a: The first operand.
        b: The second operand; where its shape differs, rules about pairs of elements stand out.
        edition: "typed" or "preliminary".
    """
    differ = a.shape != b.shape
    decided = dict.fromkeys(same_shape_rules(operator, a.dtype, edition), differ)
    if operator != "Div":
        return decided
    zero_rule = "Div.int.C1" if edition == "typed" else "Div.R5"
    if a.dtype.kind not in "iu":
        return decided if edition == "typed" else decided | {zero_rule: False}
    decided[zero_rule] = bool((b == 0).any())
    if not differ:
        decided["Div.int.C2"] = _beyond_the_type(a, b)
    return decided


def _beyond_the_type(a: Array, b: Array) -> bool:
    if a.dtype.kind == "u":
        return False
    return bool(((a == np.iinfo(a.dtype).min) & (b == -1)).any())


def compute(operator: str, a: Array, b: Array, edition: str) -> Array:
    """The operator's result on operands of one shape that break no rule.

    Args:
        operator: "Div" or "Sub".
        a: The first operand.
        b: The second operand.
        edition: "typed" or "preliminary".
    """
    with np.errstate(all="ignore"):
        if operator == "Sub":
            return np.subtract(a, b)
        if a.dtype.kind in "iu":
            return _truncated(a, b)
        quotient = np.divide(a, b)
        return quotient if edition == "typed" else np.where(b == 0, a.dtype.type(np.inf), quotient)


def _truncated(a: Array, b: Array) -> Array:
    """Python's integers know no overflow, and `//` of magnitudes truncates."""
    quotients = [
        abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    ]
    return np.array(quotients, object).astype(a.dtype).reshape(a.shape)
