"""Operands at the extremes of a type of floats: what sums, powers and quotients break on."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx_ir as ir

Array = np.ndarray


def extremes(dtype: str, shape: Sequence[int]) -> Iterator[tuple[str, Array]]:
    """Operands of a type and shape, each with what is special of it."""
    kind = ir.DataType[dtype.upper()].numpy()
    limits = np.finfo(kind)
    least, normal, most = (
        float(each) for each in (limits.smallest_subnormal, limits.smallest_normal, limits.max)
    )
    rng = np.random.default_rng(7)

    def noise() -> Array:
        return rng.standard_normal(shape)

    with np.errstate(over="ignore", under="ignore"):
        finite = {
            "random": noise(),
            "hundreds": noise() * 100,
            "thousandths": noise() / 1000,
            "zeros": np.zeros(shape),
            "negative zeros": -np.zeros(shape),
            "equal": np.full(shape, 3.3),
            "around 300": 300 + noise(),
            "around 30000": 30000 + noise(),
            "below -100": -100 - np.abs(noise()) * 100,
            "least": np.full(shape, least),
            "tiny": noise() * normal * 4,
            "of tiny squares": noise() * normal**0.55,
            "of huge squares": noise() * most**0.55,
            "huge": np.clip(noise(), -1, 1) * most,
            "largest": np.full(shape, most),
            "lowest": np.full(shape, -most),
        }
        for name, elements in finite.items():
            yield name, np.clip(elements, -most, most).astype(kind)
    for name, number in (("inf", np.inf), ("-inf", -np.inf), ("NaN", np.nan)):
        one = noise().astype(kind)
        one.flat[: one.size and 1] = number
        yield f"one {name}", one
        yield f"all {name}", np.full(shape, number, kind)
