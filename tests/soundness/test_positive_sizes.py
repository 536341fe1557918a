"""A Conv gives no spatial axis of size 0: its kernel refuses an image with no room for a filter."""

from itertools import product

import numpy as np
import onnxruntime as ort
import pytest

from support.graphs import parse
from support.sessions import on_one_thread

SIZES = (0, 1, 2, 3, 5)


def conv(attributes: str, kernel: tuple[int, ...]) -> bytes:
    axes = ", ".join(f"s{axis}" for axis in range(len(kernel)))
    filters = ", ".join(map(str, (2, 1, *kernel)))
    model = parse(
        f"(float[n, 1, {axes}] x, float[{filters}] w) => (float[] z)"
        f" {{ z = Conv<{attributes}>(x, w) }}"
    )
    return model.SerializeToString()


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ("strides = [1, 1]", (3, 2)),
        ("strides = [2, 3]", (2, 2)),
        ("dilations = [2, 2]", (2, 3)),
        ("pads = [1, 0, 0, 1]", (3, 3)),
        ('auto_pad = "VALID"', (2, 2)),
        ('auto_pad = "SAME_UPPER", strides = [2, 2]', (2, 3)),
        ('auto_pad = "SAME_LOWER"', (3, 3)),
        ("strides = [2]", (2,)),
        ('auto_pad = "SAME_UPPER"', (3,)),
        ("strides = [1, 2, 1]", (1, 2, 2)),
    ],
)
def test_conv_refuses_an_image_without_room(
    attributes: str, kernel: tuple[int, ...], level: str
) -> None:
    session = ort.InferenceSession(conv(attributes, kernel), on_one_thread(level))
    filters = np.zeros((2, 1, *kernel), np.float32)
    given = []
    for sizes in product(SIZES, repeat=len(kernel)):
        for batch in (0, 1):
            feeds = {"x": np.zeros((batch, 1, *sizes), np.float32), "w": filters}
            try:
                given.append(session.run(None, feeds)[0].shape)
            except Exception:  # noqa: BLE001, S112 - it refuses
                continue
    assert given
    assert [shape for shape in given if 0 in shape[2:]] == []
