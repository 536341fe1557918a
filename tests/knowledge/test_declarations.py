"""What a file declares of its values."""

import onnx_ir as ir
import pytest

from sonnx_ort.knowledge.declarations import collected_by_loops, declared_shape
from support.graphs import parse


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([2, 1, 0], (2, 1, 0)),
        (["n", None, 3], ("n", None, 3)),
        ([-1, -7, 4], (None, None, 4)),
        ([], ()),
        (None, None),
    ],
    ids=str,
)
def test_declared_shape_has_sizes_and_names(
    sizes: list[int | str | None] | None, expected: object
) -> None:
    value = ir.Value(name="x", shape=None if sizes is None else ir.Shape(sizes))
    shape = declared_shape(value)
    assert shape == expected
    assert not any(isinstance(size, ir.SymbolicDim) for size in shape or ())


def test_collected_are_the_outputs_of_loop_bodies_behind_the_states() -> None:
    model = ir.from_proto(
        parse("""(float[n] x, int64 trips, bool go) => (float[] y, float[] s, float[] t) {
            y, s, t = Loop (trips, go, x) <body = body (int64 i, bool going, float[3] state)
                => (bool still, float[3] next, float[3] one, float[] other) {
                    still = Identity(going)
                    next = Relu(state)
                    one = Relu(state)
                    other = Relu(state)
                }>
        }""")
    )
    assert [value.name for value in collected_by_loops(model.graph)] == ["one", "other"]
