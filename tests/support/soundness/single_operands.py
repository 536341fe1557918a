"""Which rules about single operands are broken, written down anew from the drafts."""

from collections.abc import Mapping, Sequence

import numpy as np

from support.soundness.arrays import Array
from support.soundness.leaves import Abandoned

Attributes = Mapping[str, int | float]

OPERATORS = frozenset({"MatMul", "BatchNormalization", "Clip", "Slice", "ArgMax"})
"""The operators that such rules speak of; they are not element-wise."""


def decided_rules(
    operator: str, operands: Sequence[Array | None], attributes: Attributes
) -> dict[str, bool]:
    """Each rule that can be broken, in order of decision, and whether operands break it.

    Args:
        operator: One of `OPERATORS`.
        operands: The operands, None in the places of those that are left out.
        attributes: What attributes of the node say.
    """
    match operator, operands:
        case "MatMul", [np.ndarray() as a, np.ndarray() as b]:
            return {"MatMul.C1": a.ndim != 2 or b.ndim != 2}
        case "BatchNormalization", [*_, np.ndarray() as variance]:
            return {
                "BatchNormalization.R1": attributes.get("training_mode", 0) != 0,
                "BatchNormalization.C1": not attributes.get("epsilon", 1e-5) > 0,
                "BatchNormalization.C3": not bool((variance >= 0).all()),
            }
        case "Clip", [_, *bounds]:
            return {"Clip.C1": any(bound is not None and bound.shape != () for bound in bounds)}
        case "ArgMax", [np.ndarray() as data]:
            axis = int(attributes.get("axis", 0))
            empty = not -data.ndim <= axis < data.ndim or data.shape[axis] == 0
            return {"ArgMax.R4": axis < 0, "ArgMax.R5": empty}
        case "Slice", [np.ndarray() as data, *indices]:
            return _slice_rules(data, indices)
    raise AssertionError(f"{operator} of {len(operands)} operands")


def _slice_rules(data: Array, indices: Sequence[Array | None]) -> dict[str, bool]:
    starts, ends, axes, steps = [*indices, None, None, None, None][:4]
    rules = {"Slice.R1": axes is None, "Slice.R3": steps is None}
    if axes is not None:
        rules["Slice.R2"] = axes.size != data.ndim
    if starts is None or ends is None or axes is None or steps is None:
        return rules
    lengths = {index.size for index in (starts, ends, axes, steps)}
    missing = (axes < -data.ndim) | (axes >= data.ndim)
    if len(lengths) > 1 or missing.any() or not steps.all():
        # ONNX Runtime refuses it, if no guard has refused it before, by whatever rule.
        raise Abandoned("Slice")
    start_beyond = end_beyond = out_of_order = False
    for start, end, axis, step in zip(
        *(index.ravel().tolist() for index in (starts, ends, axes, steps)), strict=True
    ):
        size = data.shape[axis]
        start_beyond |= start not in range(-size, size)
        end_beyond |= not (-size <= end <= size if step > 0 else -size - 1 <= end <= size - 1)
        first, last = (place + size if place < 0 else place for place in (start, end))
        out_of_order |= first < last if step < 0 else first > last
    rules |= {"Slice.R8": start_beyond, "Slice.C2": end_beyond, "Slice.R6": out_of_order}
    return rules
