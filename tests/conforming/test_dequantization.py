"""DequantizeLinear for each channel or of other types, as a product: with the same bits."""

import numpy as np
import pytest

from support.conformed import conformed, require_same_bits, violated
from support.graphs import operators, parse

SCALES = np.float32([0.5, 1e-3, 7.25])

CASES = [
    ("uint8", 1, SCALES, np.uint8([0, 128, 255])),
    ("int8", 1, SCALES, np.int8([-128, 0, 127])),
    ("int8", -2, SCALES, None),
    ("int8", 0, SCALES[:2], np.int8([-128, 127])),
    ("int32", 1, SCALES, None),
    ("uint16", 1, SCALES[0], np.uint16(65535)),
]


@pytest.mark.parametrize(("dtype", "axis", "scale", "zero"), CASES)
def test_product_has_the_bits_of_the_kernel(
    dtype: str, axis: int, scale: np.ndarray, zero: np.ndarray | None
) -> None:
    constants = {"scale": np.asarray(scale)} | ({} if zero is None else {"zero": np.asarray(zero)})
    model = parse(
        f"({dtype}[2,3,n] x) => (float[2,3,n] y)"
        f" {{ y = DequantizeLinear <axis = {axis}>({', '.join(['x', *constants])}) }}",
        constants=constants,
        opset=21,
    )
    made = conformed(model, rounding=True)
    assert violated(made) == set()
    assert "DequantizeLinear" not in operators(made)
    limits = np.iinfo(dtype)
    for n in (1, 5):
        x = np.random.default_rng(0).integers(
            limits.min, limits.max, (2, 3, n), dtype, endpoint=True
        )
        require_same_bits(model, made, {"x": x})
