"""Runs a natively enforced model where sonnx_ort is not: needs `onnxruntime` and `numpy` only.

`python plain_session.py MODEL` gives a model that divides A by B, vectors of int32, operands that
keep all rules and then a zero divisor.
"""

import sys

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail


def main(model: str) -> None:
    """Run the model twice.

    Args:
        model: Its file.
    """
    options = ort.SessionOptions()
    # What optimizers would put in the place of guards is not the model any more.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options)
    dividends = np.array([8, 9], np.int32)
    for divisors in ([2, 3], [2, 0]):
        try:
            (quotients,) = session.run(None, {"A": dividends, "B": np.array(divisors, np.int32)})
        except Fail as error:
            print("refused:", error)
        else:
            print("quotients:", quotients.tolist())


if __name__ == "__main__":
    main(sys.argv[1])
