"""A Scan whose body reads the state that it gives."""

import numpy as np
import numpy.typing as npt
import onnx

from support.graphs import parse


def subtracting(state: str, declared: str) -> onnx.ModelProto:
    """Make a Scan that subtracts `y` from its state again and again, and reads what it gives.

    Args:
        state: How the first state is declared.
        declared: How the outputs of the body are.
    """
    return parse(
        f"({state} s, float[n] x, float[] y) => (float[] last, float[] all) {{"
        " last, all = Scan<num_scan_inputs = 1, body = step (float[] before, float[] element)"
        f" => ({declared} after, {declared} out) {{"
        " after = Sub(before, y) out = Neg(after) }>(s, x) }"
    )


def feeds_of(
    state: tuple[int, ...], subtracted: tuple[int, ...]
) -> dict[str, npt.NDArray[np.float32]]:
    """Give such a Scan two iterations."""
    return {
        "s": np.full(state, 5, np.float32),
        "x": np.ones(2, np.float32),
        "y": np.ones(subtracted, np.float32),
    }
