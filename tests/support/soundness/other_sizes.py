"""Runs node cases in ONNX Runtime on inputs of other sizes, and tells where a shape does not fit.

A program for a child process, which some operators end: `python -m support.soundness.other_sizes
FIRST STEP TRIALS`. It writes the number of each case before it tries it.
"""

import random
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from support.soundness.node_cases import (
    fits,
    inferred_shapes,
    node_cases,
    symbols,
    tensors,
    with_symbols,
)

Array = npt.NDArray[Any]


def main() -> None:
    """Try every case from the first on, in steps."""
    first, step, trials = map(int, sys.argv[1:])
    ort.set_default_logger_severity(4)
    for number in range(first, len(node_cases()), step):
        print(f"case {number}", flush=True)
        try_case(number, trials)


def try_case(number: int, trials: int) -> None:
    """Run one case on other sizes.

    Args:
        number: The number of the case.
        trials: How often.
    """
    case = node_cases()[number]
    model, _ = with_symbols(case)
    model.ir_version = min(model.ir_version, 10)
    inputs = tensors(case.data_sets[0][0])
    shapes = inferred_shapes(model)
    arrays = [array for array in inputs if array is not None and array.dtype != object]
    names = [declared.name for declared in model.graph.input]
    if all(shape is None for shape in shapes) or not len(arrays) == len(inputs) == len(names):
        return
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options)
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime has no kernel for
        return
    rng = random.Random(number)  # noqa: S311 - no cryptography
    for _ in range(trials):
        changed = [_other_sizes(rng, array) for array in arrays]
        try:
            outputs = session.run(None, dict(zip(names, changed, strict=True)))
        except Exception:  # noqa: BLE001, S112 - sizes that the operator does not take
            continue
        sizes: dict[str, int] = {}
        for index, array in enumerate(changed):
            sizes.update(zip(symbols(index, array), array.shape, strict=True))
        for shape, output in zip(shapes, outputs, strict=True):
            if not fits(shape, output if isinstance(output, np.ndarray) else None, sizes):
                print(f"misfit {case.name}: {output.shape}, inferred {shape} with {sizes}")


def _other_sizes(rng: random.Random, array: Array) -> Array:
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


if __name__ == "__main__":
    main()
