"""Cases of templates of quantized operators."""

import numpy as np

from support.decomposed import Case


def of_bytes(node: str, shape: str, result: str, dtype: str, **constants: object) -> Case:
    """A case of a quantized operator; zero points and kernels are of the type of X."""
    kind = np.dtype(dtype)
    made = {
        name: np.asarray(value, np.float32 if name.startswith("S") else kind)
        for name, value in constants.items()
    }
    return Case(
        f"A = {node}",
        (shape,),
        (dtype,),
        result,
        (11, 17),
        constants=made,
        near=0 if dtype == "int8" else 1e-30,
    )


MATRIX = np.arange(12).reshape(4, 3) * 10
KERNEL = np.arange(24).reshape(2, 2, 3, 2) * 5
SCALED = {"S": 0.25, "SX": 0.1, "ZX": 3, "Z": 5}
BYTES = [
    case
    for dtype in ("int8", "uint8")
    for case in (
        of_bytes("MatMulInteger(X, W, ZX, ZW)", "n,m,4", "int32[n,m,3]", dtype, W=MATRIX, ZX=3,
            ZW=[1, 2, 3]),
        of_bytes("QLinearMatMul(X, SX, ZX, W, SW, ZW, S, Z)", "n,m,4", "T[n,m,3]", dtype, W=MATRIX,
            SW=0.3, ZW=1, **SCALED),
        of_bytes("QLinearConv <pads = [1, 0, 2, 1]>(X, SX, ZX, W, SW, ZW, S, Z)", "n,2,5,m",
            "T[n,2,a,b]", dtype, W=KERNEL, SW=[0.3, 0.01], ZW=[1, 1], **SCALED),
    )
]  # fmt: skip
QUANTIZED = [
    *BYTES,
    Case("A, S, B = DynamicQuantizeLinear(X)", ("n,m",), ("float",), "uint8[n,m]", (11, 17),
        further="float S, uint8", near=1e-30),
]  # fmt: skip
"""The cases of operators of quantized tensors."""
