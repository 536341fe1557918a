"""What the body of a Scan gives, where nothing but a declaration tells of which rank it is.

ONNX Runtime runs no Scan without the ranks of what its body gives, and ends the process where a
state is of another one (finding R7). An enforced model runs where the declaration is right, and
gives an error where it is not. Nothing in the body believes it.
"""

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import on_each_backend
from support.child import run_python
from support.graphs import parse
from support.scans import feeds_of, subtracting
from support.sessions import LEVELS, on_one_thread

Array = npt.NDArray[np.float32]

ENFORCED = """
import numpy as np, sonnx_ort
from support.graphs import parse

made = parse(
    "(int64[] s, int64[n] x, int64[] q) => (int64[] a, int64[] b) <int64[1] one = {1}> {"
    " a, b = Scan<num_scan_inputs = 1, body = step (int64[] t, int64 e) => (int64[] v, int64 o) {"
    " v = Sub(q, one) o = Identity(e) }>(s, x) }"
)
for backend in ("python", "native", "compiled"):
    session = sonnx_ort.InferenceSession(made, backend=backend)
    rank_4 = np.ones((1, 1, 1, 1), np.int64)
    try:
        session.run(None, {"s": rank_4, "x": np.ones(2, np.int64), "q": rank_4})
    except Exception as error:
        print(type(error).__name__)
"""

READ = """
import numpy as np, onnxruntime as ort, sonnx_ort
from support.scans import feeds_of, subtracting

for declared, shape in (("float[?]", (2, 1)), ("float[2]", (2, 1)), ("float[?,?]", (2,))):
    for backend in ("python", "native", "compiled"):
        made = sonnx_ort.InferenceSession(subtracting("float[]", declared), backend=backend)
        try:
            made.run(None, feeds_of(shape, shape))
        except Exception as error:
            print("as a Scan declares its state or output" in str(error))
"""


def outputs(session: ort.InferenceSession, given: dict[str, Array]) -> list[tuple[object, ...]]:
    arrays = (np.asarray(array) for array in session.run(None, given))
    return [(str(array.dtype), array.shape, array.tobytes()) for array in arrays]


def test_state_of_another_rank_ends_in_an_error() -> None:
    child = run_python(ENFORCED)
    assert child.killed_by is None, child
    assert len(child.stdout.splitlines()) == 3, child


@on_each_backend
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("state", "declared", "shape"),
    [
        ("float", "float", ()),
        ("float[]", "float", ()),
        ("float[]", "float[2]", (2,)),
        ("float[]", "float[?]", (2,)),
        ("float[]", "float[2,?]", (2, 0)),
        ("float[2]", "float[2]", (2,)),
        ("float[m,1]", "float[?,1]", (3, 1)),
    ],
)
def test_state_that_the_body_reads_is_given_in_the_declared_rank(
    state: str, declared: str, shape: tuple[int, ...], level: str
) -> None:
    made, given = subtracting(state, declared), feeds_of(shape, shape)
    untouched = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    enforced = sonnx_ort.InferenceSession(made, on_one_thread(level))
    assert outputs(enforced, given) == outputs(untouched, given)


def test_false_rank_of_a_state_that_the_body_reads_ends_in_an_error() -> None:
    child = run_python(READ)
    assert child.killed_by is None, child
    assert child.stdout.split() == ["True"] * 9, child


@on_each_backend
def test_body_does_not_believe_the_shape_that_it_gives_out() -> None:
    """ONNX Runtime would take the second difference for one of two elements by two."""
    made = parse(
        "(float[] s, float[n] x, float[] y, float[2] z) => (float[] last, float[] all) {"
        " last, all = Scan<num_scan_inputs = 1, body = step (float[] before, float[] element)"
        " => (float[2] after, float[2] out) {"
        " after = Sub(before, y) [second] out = Sub(after, z) }>(s, x) }"
    )
    session = sonnx_ort.InferenceSession(made)
    with pytest.raises(sonnx_ort.ContractViolation, match=r"'second' breaks Sub\.float\.R1"):
        session.run(None, feeds_of((1,), (1,)) | {"z": np.ones(2, np.float32)})


@on_each_backend
@pytest.mark.parametrize("state", ["float", "float[]"])
def test_rewriting_twice_changes_nothing_of_it(state: str) -> None:
    """What keeps the rank of a state is nodes of the profile themselves."""
    operators = "all,-Graph,-Concat,-Reshape"
    once = sonnx_ort.rewrite(subtracting(state, state), operators=operators)
    assert sonnx_ort.rewrite(once, operators=operators) == once


WITH_A_BATCH = """
(float[1,2] s, float[1,n,2] x) => (float[1,2] last, float[1,n,2] all) {
    last, all = Scan<num_scan_inputs = 1, body = step (float[2] before, float[2] element)
        => (float[2] after, float[2] out)
    { after = Sub(before, element) out = Identity(after) }>(, s, x)
}"""


@pytest.mark.parametrize("level", LEVELS)
def test_scan_with_a_batch_gives_a_state_that_its_body_reads(level: str) -> None:
    made = parse(WITH_A_BATCH, opset=8)
    given = {
        "s": np.array([[1, 2]], np.float32),
        "x": np.arange(6, dtype=np.float32).reshape(1, 3, 2),
    }
    untouched = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    enforced = sonnx_ort.InferenceSession(made, on_one_thread(level), backend="python")
    assert outputs(enforced, given) == outputs(untouched, given)


def test_guards_need_a_scan_without_a_batch() -> None:
    with pytest.raises(sonnx_ort.InvalidModel, match="version 9, which defines Scan differently"):
        sonnx_ort.rewrite(parse(WITH_A_BATCH, opset=8), backend="native")
