"""A wrong input is named, with what the model wants, in the type of ONNX Runtime's error."""

from collections.abc import Iterator, Mapping

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import sonnx_ort
from sonnx_ort.ort.feeds import in_machine_order
from support.backends import BACKENDS
from support.child import run_python
from support.graphs import parse
from support.sessions import quiet

MODEL = "(float[n, 3] x, int64[2] k) => (float[n, 3] y, int64[2] l) { y = Div(x, x) l = Div(k, k) }"
X = np.ones((2, 3), np.float32)
K = np.ones(2, np.int64)

X_WANTED = "the model needs float32 of shape (n, 3)"
K_WANTED = "the model needs int64 of shape (2,)"

WRONG = [
    (
        {"x": X.astype(np.float64)},
        (
            f"the input 'x' is float64 of shape (2, 3), but {X_WANTED}; convert it, for "
            "example with astype('float32')"
        ),
    ),
    (
        {"k": K.astype(np.int32)},
        (
            f"the input 'k' is int32 of shape (2,), but {K_WANTED}; convert it, for "
            "example with astype('int64')"
        ),
    ),
    (
        {"x": np.array([["a"]])},
        (
            f"the input 'x' is string of shape (1, 1), but {X_WANTED}; convert it, for "
            "example with astype('float32') and give axis 1 size 3"
        ),
    ),
    (
        {"x": np.array([[b"a"]])},
        (
            f"the input 'x' is string of shape (1, 1), but {X_WANTED}; convert it, for "
            "example with astype('float32') and give axis 1 size 3"
        ),
    ),
    ({"x": X[0]}, f"the input 'x' is float32 of shape (3,), but {X_WANTED}; give it 2 axes"),
    (
        {"x": np.float32([[[1, 2, 3]]])},
        f"the input 'x' is float32 of shape (1, 1, 3), but {X_WANTED}; give it 2 axes",
    ),
    ({"x": X.T}, f"the input 'x' is float32 of shape (3, 2), but {X_WANTED}; give axis 1 size 3"),
    (
        {"x": X.T, "k": K[:1]},
        (
            f"the input 'x' is float32 of shape (3, 2), but {X_WANTED}; give axis 1 size 3\n"
            f"the input 'k' is int64 of shape (1,), but {K_WANTED}; give axis 0 size 2"
        ),
    ),
    (
        {"x": [1.0, 2.0]},
        f"the input 'x' is of type list of shape (2,), but {X_WANTED}; give it 2 axes",
    ),
    (
        {"x": ort.OrtValue.ortvalue_from_numpy(np.ones((2, 3)))},
        (
            f"the input 'x' is float64 of shape (2, 3), but {X_WANTED}; convert it, for "
            "example with astype('float32')"
        ),
    ),
    ({"z": X}, "there is no input 'z'; the model's inputs are x, k"),
    ({"X": X}, "there is no input 'X' (did you mean 'x'?); the model's inputs are x, k"),
]


def message_of(error: type[Exception], backend: str, feeds: Mapping[str, object]) -> str:
    session = sonnx_ort.InferenceSession(parse(MODEL), quiet(), backend=backend)
    with pytest.raises(error) as caught:
        session.run(None, feeds)
    assert type(caught.value) is error
    return str(caught.value)


@BACKENDS
@pytest.mark.parametrize(("feeds", "message"), WRONG)
def test_wrong_input_is_named(feeds: Mapping[str, object], message: str, backend: str) -> None:
    assert message_of(InvalidArgument, backend, {"x": X, "k": K} | feeds) == message


@BACKENDS
def test_missing_input_is_named(backend: str) -> None:
    assert message_of(ValueError, backend, {"x": X}) == (
        "the input 'k' is missing; the model's inputs are x, k"
    )


def test_what_is_no_mistake_is_left_to_onnxruntime() -> None:
    session = sonnx_ort.InferenceSession(parse(MODEL), quiet())
    with pytest.raises(InvalidArgument, match="Invalid output name:nothing"):
        session.run(["nothing"], {"x": X, "k": K})


def test_error_of_onnxruntime_is_the_cause() -> None:
    session = sonnx_ort.InferenceSession(parse(MODEL), quiet())
    with pytest.raises(InvalidArgument) as caught:
        session.run(None, {"x": X[0], "k": K})
    assert "Invalid rank for input: x" in str(caught.value.__cause__)


def test_dtype_of_a_scalar() -> None:
    model = parse("(float x) => (float y) { y = Neg(x) }")
    with pytest.raises(InvalidArgument) as caught:
        sonnx_ort.InferenceSession(model, quiet()).run(None, {"x": np.ones(1)})
    assert str(caught.value) == (
        "the input 'x' is float64 of shape (1,), but the model needs float32 of shape (); convert "
        "it, for example with astype('float32')"
    )


def test_wrong_ort_value_is_named() -> None:
    session = sonnx_ort.InferenceSession(parse(MODEL), quiet())
    feeds = {"x": X, "k": K.astype(np.int32)}
    values = {name: ort.OrtValue.ortvalue_from_numpy(feeds[name]) for name in feeds}
    with pytest.raises(InvalidArgument, match="the input 'k' is int32 of shape"):
        session.run_with_ort_values(None, values)


IS_NONE = f"InvalidArgument: the input 'x' is None, but {X_WANTED}; give an array\n"
ABSENT = {
    "session.run(None, {'x': None, 'k': K})": IS_NONE,
    "session.run(None, {'x': np.ones((2, 3), np.float32), 'k': None})": (
        f"InvalidArgument: the input 'k' is None, but {K_WANTED}; give an array\n"
    ),
    "session.run_async(None, {'x': None, 'k': K}, print, None)": IS_NONE,
    "session.run_with_iobinding(binding)": (
        "ValueError: the input 'x' is missing; the model's inputs are x, k\n"
    ),
}


@BACKENDS
@pytest.mark.parametrize("run", ABSENT)
def test_absent_input_does_not_end_the_process(run: str, backend: str) -> None:
    """It would in a custom operator, whose kernel asks for a value that is not there."""
    done = run_python(
        f"""
        import numpy as np
        import sonnx_ort
        from support.graphs import parse

        K = np.ones(2, np.int64)
        session = sonnx_ort.InferenceSession(parse({MODEL!r}), backend={backend!r})
        binding = session.io_binding()
        binding.bind_cpu_input("k", K)
        binding.bind_output("y")
        try:
            {run}
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
        """
    )
    assert (done.exit_status, done.stdout) == (0, ABSENT[run]), done


SWAPPED = np.dtype(np.float32).newbyteorder()
"""Numbers whose bytes have the order of another machine."""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (np.array([1, 3], SWAPPED), np.float32([1, 3])),
        ([np.array([1], SWAPPED), np.array([3], SWAPPED)], [np.float32([1]), np.float32([3])]),
        ({"a": np.array([1], SWAPPED)}, {"a": np.float32([1])}),
        ([{"a": np.array([1], SWAPPED)}], [{"a": np.float32([1])}]),
    ],
    ids=["array", "sequence", "map", "sequence of maps"],
)
def test_numbers_get_the_byte_order_of_the_machine(given: object, wanted: object) -> None:
    found = in_machine_order(given)
    np.testing.assert_equal(found, wanted)
    assert all(array.dtype.isnative for array in arrays_of(found))


def arrays_of(value: object) -> Iterator[np.ndarray]:
    match value:
        case np.ndarray():
            yield value
        case list():
            for each in value:
                yield from arrays_of(each)
        case dict():
            for each in value.values():
                yield from arrays_of(each)


@BACKENDS
def test_sequence_of_another_byte_order_is_read_as_its_numbers(backend: str) -> None:
    model = parse("(seq(float[n]) s) => (float[m] y) { y = ConcatFromSequence <axis = 0> (s) }")
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend)
    given = {"s": [np.array([2], SWAPPED), np.array([4], SWAPPED)]}
    np.testing.assert_array_equal(session.run(None, given)[0], np.float32([2, 4]))


@BACKENDS
def test_bound_input_of_another_byte_order_is_read_as_its_numbers(backend: str) -> None:
    model = parse("(float[n] x, float[n] w) => (float[n] y) { y = Div(x, w) }")
    session = sonnx_ort.InferenceSession(model, quiet(), backend=backend)
    binding = session.io_binding()
    binding.bind_cpu_input("x", np.array([6, 8], SWAPPED))
    binding.bind_cpu_input("w", np.array([3, 2], SWAPPED))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], np.float32([2, 4]))


def test_callback_gets_what_is_wrong() -> None:
    done = run_python(
        f"""
        import threading
        import numpy as np
        import sonnx_ort
        from support.graphs import parse

        session = sonnx_ort.InferenceSession(parse({MODEL!r}))
        ended = threading.Event()

        def show(results, data, message):
            print(message)
            ended.set()

        feeds = {{"x": np.ones(3, np.float32), "k": np.ones(2, np.int64)}}
        session.run_async(None, feeds, show, None)
        assert ended.wait(60)
        """
    )
    assert done.stdout == (
        f"the input 'x' is float32 of shape (3,), but {X_WANTED}; give it 2 axes\n"
    ), done
