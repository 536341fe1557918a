"""How far ONNX Runtime's own functions of floats miss the nearest number."""

import numpy as np
import onnxruntime as ort
import pytest
from restrictions import outcome

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.graphs import parse
from support.processor import on_x86

pytestmark = [pytest.mark.upstream, on_x86]

TOGETHER = 16
"""So many elements that none of the first is computed by itself."""


@pytest.mark.parametrize(
    ("operator", "x", "units"), [("Acos", "0x1.f8da1cp-6", 4), ("Log", "0x1.61523cp-1", 3)]
)
def test_float_misses_the_nearest_number_by_several_units(operator, x, units):
    """Once it is nearer, the oracle may admit less; see `scripts/measure_units.py`."""
    operand = np.full(TOGETHER, float.fromhex(x), np.float32)
    made = parse(f"(float[n] X) => (float[n] Y) {{ Y = {operator}(X) }}")
    (found,) = ort.InferenceSession(made.SerializeToString()).run(None, {"X": operand})
    nearest = outcome(operator, [operand], ElementType.FLOAT, Edition.TYPED)
    assert abs(int(found.view(np.int32)[0]) - int(nearest.view(np.int32)[0])) == units
