"""A model that uses the profile's Broadcast itself, written by hand: needs `onnxscript`.

What is repeated is said in the model, so that it keeps to the profile as it is.
"""

import numpy as np
from onnxscript import FLOAT, script
from onnxscript import opset22 as op
from onnxscript.values import Opset

import sonnx_ort

sonnx = Opset("sonnx", 1)


@script(default_opset=op)  # the strings below name sizes, not types
def center(rows: FLOAT["n", 3], mean: FLOAT["m"]) -> FLOAT["n", 3]:  # type: ignore[name-defined]  # noqa: F821
    """Subtract a row from each row."""
    same_rows, repeated_mean = sonnx.Broadcast(rows, mean)
    return op.Sub(same_rows, repeated_mean)


def main() -> None:
    """Check the model, and run it with each backend."""
    model = center.to_model_proto()
    print("the shapes fit:", sonnx_ort.check(model, operators="Sub").ok)
    rows = np.array([[3, 4, 5], [5, 6, 7]], np.float32)
    for backend in ("python", "native", "compiled"):
        session = sonnx_ort.InferenceSession(model, backend=backend)
        mean = np.array([1, 2, 3], np.float32)
        print(f"{backend}:", session.run(None, {"rows": rows, "mean": mean})[0].tolist())
        try:
            session.run(None, {"rows": rows, "mean": mean[:2]})
        except sonnx_ort.ContractViolation as violation:
            print(f"{backend}, refused:", violation)


if __name__ == "__main__":
    main()
