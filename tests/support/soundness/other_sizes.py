"""Runs node cases in ONNX Runtime on inputs of other sizes, and tells where a shape does not fit.

Attempts for `support.soundness.isolated`: the number is that of the case.
"""

import os
import random

import numpy as np
import onnxruntime as ort

from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.node_cases import (
    inferred_shapes,
    misfit,
    node_cases,
    symbols,
    tensors,
    with_symbols,
)

TRIALS = int(os.environ.get("SONNX_ORT_TRIALS", "8"))

node_cases()
ort.set_default_logger_severity(4)


def attempt(number: int) -> list[str]:
    """Run one case on other sizes.

    Returns:
        What does not fit.
    """
    case = node_cases()[number]
    model, _ = with_symbols(case)
    model.ir_version = min(model.ir_version, 10)
    inputs = tensors(case.data_sets[0][0])
    shapes = inferred_shapes(model)
    arrays = [array for array in inputs if array is not None and array.dtype != object]
    names = [declared.name for declared in model.graph.input]
    if all(shape is None for shape in shapes) or not len(arrays) == len(inputs) == len(names):
        return []
    try:
        session = ort.InferenceSession(model.SerializeToString(), on_one_thread())
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime has no kernel for
        return []
    rng = random.Random(number)  # noqa: S311 - no cryptography
    found = []
    for _ in range(TRIALS):
        changed = [other_sizes(rng, array) for array in arrays]
        try:
            outputs = session.run(None, dict(zip(names, changed, strict=True)))
        except Exception:  # noqa: BLE001, S112 - sizes that the operator does not take
            continue
        sizes: dict[str, int] = {}
        for index, array in enumerate(changed):
            sizes.update(zip(symbols(index, array), array.shape, strict=True))
        misfits = misfit(shapes, outputs, sizes)
        if misfits:
            found.append(f"{case.name}: {misfits}")
    return found


def other_sizes(rng: random.Random, array: Array) -> Array:
    """Give a tensor other sizes: 0, 1, one less or twice as many."""
    for axis in range(array.ndim):
        match rng.choice(["one", "one", "none", "twice", "fewer", "same", "same", "same"]):
            case "one" if array.shape[axis]:
                array = np.take(array, [0], axis=axis)
            case "none":
                array = np.take(array, np.zeros(0, int), axis=axis)
            case "twice":
                array = np.repeat(array, 2, axis=axis)
            case "fewer" if array.shape[axis] > 1:
                array = np.take(array, range(array.shape[axis] - 1), axis=axis)
            case _:
                pass
    return np.array(array, order="C")
