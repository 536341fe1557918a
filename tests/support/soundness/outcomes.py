"""Whether two backends did the same in a run."""

from collections.abc import Sequence

import numpy as np

import sonnx_ort
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Subject
from support.soundness.arrays import Array

Outcome = Sequence[Array | None] | Exception

_BELIEVED = (
    "Subgraph must have the shape set for all outputs",
    "attempting to re-use buffer",
    "pre-allocated output OrtValues on a model with dynamic output shapes",
)
"""What ONNX Runtime says where it needs a shape that it does not infer, or infers a wrong one.

A Scan needs the shapes of its body's outputs. Memory is given from one tensor to another, and to a
Scan's outputs in advance, by inferred shapes; those of an ArgMax of nothing, and of a PRelu whose
second operand is the larger, are others. A custom operator hides what is inferred.
"""


def refused_for_its_shapes(outcome: Outcome, *, lies: bool) -> bool:
    """Whether ONNX Runtime ended a run for what it believes of shapes, or knows nothing of.

    Args:
        outcome: What the run gave, or raised.
        lies: Whether the model claims what is not so.
    """
    if not isinstance(outcome, Exception) or isinstance(outcome, sonnx_ort.ContractViolation):
        return False
    return lies or any(said in str(outcome) for said in _BELIEVED)


def assert_alike(one: Outcome, other: Outcome, *, uncertain: bool) -> None:
    """Assert that backends agree: both runs fail, or their outputs are of the same bits.

    Where ONNX Runtime may differ from ONNX, it leaves elements as it found them in memory, so that
    no bits can be compared, and nothing that rests on them. What it refuses by itself, it leaves
    out of one session and not of the other where nobody reads the elements.

    Args:
        one: What a run gave with one backend, or raised.
        other: The same with the other one.
        uncertain: Whether ONNX Runtime may differ from ONNX in this run.
    """
    if uncertain and any(_rests_on_elements(o) or _is_its_own(o) for o in (one, other)):
        return
    # Two errors may differ: which of several nodes fails first is open.
    failed = [isinstance(outcome, Exception) for outcome in (one, other)]
    assert failed[0] == failed[1], f"{one!r} and {other!r}"
    if isinstance(one, Exception) or isinstance(other, Exception):
        return
    for index, (first, second) in enumerate(zip(one, other, strict=True)):
        told = f"output {index}: {first!r} and {second!r}"
        if uncertain:
            assert _shape(first) == _shape(second), told
        else:
            assert _bits(first) == _bits(second), told


def _rests_on_elements(outcome: Outcome) -> bool:
    if not isinstance(outcome, sonnx_ort.ContractViolation):
        return False
    return RULES[outcome.rule].requirement.subject is Subject.ELEMENTS


def _is_its_own(outcome: Outcome) -> bool:
    """Whether ONNX Runtime refused, and no guard."""
    violated = isinstance(outcome, sonnx_ort.ContractViolation)
    return isinstance(outcome, Exception) and not violated and "SONNX" not in str(outcome)


def _shape(array: Array | None) -> tuple[int, ...] | None:
    """The shape of a tensor that holds something; ONNX leaves some of others open."""
    return None if array is None or array.size == 0 else array.shape


def _bits(array: Array | None) -> object:
    """Type, shape and bits of a tensor; one NaN is as good as another."""
    # ONNX Runtime gives None for an If whose branch it has folded into an empty constant.
    if array is None or array.size == 0:
        return None
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.dtype, array.shape, array.tobytes()
