"""QuantizeLinear and DequantizeLinear of other types, or for each channel: with the same bits."""

import numpy as np
import pytest

from support.conformed import conformed, reasons, require_same_bits, violated
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
    made = conformed(model, rounding=True, measure=False)
    assert violated(made) == set()
    assert "DequantizeLinear" not in operators(made)
    limits = np.iinfo(dtype)
    for n in (1, 5):
        x = np.random.default_rng(0).integers(
            limits.min, limits.max, (2, 3, n), dtype, endpoint=True
        )
        require_same_bits(model, made, {"x": x})


LIMITS = np.float32(
    [-1e9, -130, -128.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 127.5, 254.5, 256, 1e9]
)


@pytest.mark.parametrize(
    ("axis", "scale", "zero"),
    [
        (1, SCALES, np.uint8([7, 7, 7])),
        (1, SCALES[0], np.int8(-128)),
        (1, SCALES[2], np.int8(127)),
        (-2, SCALES, np.int8([-5, -5, -5])),
        (0, SCALES[:2], None),
    ],
)
def test_quotients_of_channels_and_bytes_with_signs_have_the_bits_of_the_kernel(
    axis: int, scale: np.ndarray, zero: np.ndarray | None
) -> None:
    constants = {"scale": np.asarray(scale)} | ({} if zero is None else {"zero": np.asarray(zero)})
    model = parse(
        f"(float[2,3,n] x) => ({'uint8' if zero is None else zero.dtype}[2,3,n] y)"
        f" {{ y = QuantizeLinear <axis = {axis}>({', '.join(['x', *constants])}) }}",
        constants=constants,
        opset=13,
    )
    made = conformed(model, rounding=True, measure=False)
    assert violated(made) == set()
    rng = np.random.default_rng(0)
    exact = rng.choice(LIMITS, (2, 3, 40)) * np.asarray(scale).ravel()[0]
    for x in (exact, (rng.standard_normal((2, 3, 9)) * 100).astype(np.float32)):
        require_same_bits(model, made, {"x": x.astype(np.float32)})


def test_channels_with_several_zero_points_give_the_reason() -> None:
    model = parse(
        "(float[2,3,n] x) => (uint8[2,3,n] y) { y = QuantizeLinear(x, scale, zero) }",
        constants={"scale": SCALES, "zero": np.uint8([1, 2, 1])},
        opset=13,
    )
    assert reasons(model, rounding=True, measure=False)["QuantizeLinear.signature"].endswith(
        "its channels have several zero points"
    )


PRODUCT = "y = QLinearMatMul(x, sx, zx, w, sw, zw, s, z)"
CONVOLUTION = "y = QLinearConv <{}>(x, sx, zx, w, sw, zw, s, z)"


@pytest.mark.parametrize(
    ("node", "given", "reason"),
    [
        (PRODUCT, {"zx": [1, 2]}, "'zx' has not one element"),
        (
            CONVOLUTION.format('auto_pad = "SAME_UPPER"'),
            {},
            "X has not two spatial axes, or its padding follows from its sizes",
        ),
        (CONVOLUTION.format("group = 1"), {"zw": [1, 2]}, "its channels have several zero points"),
        (
            CONVOLUTION.format("pads = [1, 1, 1, 1]"),
            {},
            "version 10 of the standard operators pads floats",
        ),
    ],
)
def test_quantized_operators_that_are_not_written_give_the_reason(
    node: str, given: dict[str, list[int]], reason: str
) -> None:
    shape = (2, 2) if node is PRODUCT else (2, 2, 3, 3)
    constants = {
        "w": np.ones(shape, np.uint8),
        **{name: np.float32(0.5) for name in ("sx", "sw", "s")},
        **{name: np.uint8(given.get(name, 1)) for name in ("zx", "zw", "z")},
    }
    rank = ",".join(map(str, shape))
    model = parse(
        f"(uint8[{rank}] x) => (uint8[{','.join('abcd'[: len(shape)])}] y) {{ {node} }}",
        constants={name: np.asarray(value) for name, value in constants.items()},
        opset=10,
    )
    assert reasons(model, rounding=True, measure=False)["Graph.operator_set"] == reason


@pytest.mark.parametrize("columns", [3, 300, 40000])
def test_product_of_integers_is_exact_at_every_length(columns: int) -> None:
    weights = np.full((columns, 2), 255, np.uint8)
    model = parse(
        f"(uint8[n,{columns}] x) => (int32[n,2] y) {{ y = MatMulInteger(x, w) }}",
        constants={"w": weights},
        opset=13,
    )
    made = conformed(model, rounding=True, measure=False)
    assert violated(made) == set()
    require_same_bits(model, made, {"x": np.full((3, columns), 255, np.uint8)})


NUMBERS = np.float32([0.0, -0.0, 1e-45, -1e-45, 1e-38, 3e38, -3e38, np.inf, -np.inf, 1.0, -7.5])


@pytest.mark.parametrize("opset", [11, 13, 21])
def test_dynamic_quantization_has_the_bits_of_the_kernel_but_for_nan(opset: int) -> None:
    model = parse(
        "(float[n,m] x) => (uint8[n,m] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }",
        opset=opset,
    )
    made = conformed(model, rounding=True, measure=False)
    assert violated(made) == set()
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        for x in (*NUMBERS.reshape(-1, 1, 1), rng.choice(NUMBERS, (n, 3)), rng.random((n, 7)) - 1):
            require_same_bits(model, made, {"x": x.astype(np.float32)})
