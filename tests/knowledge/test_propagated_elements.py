"""Elements of vectors are propagated only where that takes little time and memory."""

import itertools

import onnx
import pytest

from sonnx_ort.knowledge.bounded_inference import infer
from support.child import run_python
from support.graphs import parse

_FAR = (1 << 31, 1 << 32, -(1 << 32), 1 << 62, -(1 << 63), -2305843009213693949)
_CUT = (
    "(int64[5] x) => (float[] y)"
    " <int64[1] s = {4}, int64[1] e = {-9223372036854775808}, int64[1] a = {0}>"
)

CHECK = """
import itertools, resource
import sonnx_ort
from support.graphs import parse

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

def check(cases):
    for text in cases:
        sonnx_ort.check(parse(text))
    print("ended")
"""


def sliced(source: str, steps: str) -> str:
    return _CUT + f"{{ {source} t = {steps} r = Slice(v, s, e, a, t) y = ConstantOfShape(r) }}"


SOURCES = ("v = Constant<value_ints = [3, 4, 5]>()", "v = Shape(x)", "v = Identity(x)")
STEPS = (
    *(f"Constant<value_ints = [{step}]>()" for step in (*_FAR, 0)),
    *(f"Constant<value = int64[1] {{{step}}}>()" for step in _FAR),
    "Mul(e, e)",
    "Neg(e)",
)


def test_check_of_far_steps_ends() -> None:
    cases = [sliced(*case) for case in itertools.product(SOURCES, STEPS)]
    child = run_python(CHECK, f"check({cases!r})", timeout=240)
    assert (child.exit_status, child.stdout) == (0, "ended\n"), child


def test_check_of_vectors_that_double_ends() -> None:
    """Nothing but the elements tells the length of the first vector."""
    doubled = " ".join(f"c{n + 1} = Concat<axis = 0>(c{n}, c{n})" for n in range(40))
    text = (
        "(float[2] x) => (float[] y) <int64[4] k = {1, 1, 1, 1}, int64[1] s = {0}>"
        f" {{ e = Add(s, s) c0 = Slice(k, s, e) {doubled} y = Reshape(x, c40) }}"
    )
    child = run_python(CHECK, f"check([{text!r}])", timeout=120)
    assert (child.exit_status, child.stdout) == (0, "ended\n"), child


@pytest.mark.parametrize(
    ("steps", "complete"),
    [
        ("Constant<value_ints = [1]>()", True),
        ("Constant<value_ints = [-2147483647]>()", True),
        ("Constant<value_int = 2>()", True),
        ("Constant<value_ints = [2147483648]>()", False),
        ("Constant<value_ints = [0]>()", False),
        ("Constant<value = int32[1] {-3}>()", True),
        ("Add(s, s)", False),
    ],
)
def test_step_of_a_slice_is_near_or_nothing_is_complete(steps: str, *, complete: bool) -> None:
    made = parse(sliced("v = Identity(x)", steps))
    assert infer(made).complete is complete


def test_step_that_a_caller_gives_is_followed_by_nothing() -> None:
    made = parse("(float[4] x, int64[1] s, int64[1] t) => (float[] y) { y = Slice(x, s, s, s, t) }")
    inferred = infer(made)
    expected = onnx.shape_inference.infer_shapes(made, data_prop=True)
    assert inferred.complete
    assert inferred.proto.graph.output == expected.graph.output
