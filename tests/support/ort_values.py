"""Runs on tensors of all twelve types, bfloat16 among them."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from sonnx_ort.ort.feeds import to_array, to_ort_value

Array = npt.NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def run(session: ort.InferenceSession, feeds: Mapping[str, Array]) -> list[Array | None]:
    """Run a model on arrays of any numeric type, bfloat16 too, and give all outputs."""
    values = {name: to_ort_value(array) for name, array in feeds.items()}
    return [to_array(value) for value in session.run_with_ort_values(None, values)]
