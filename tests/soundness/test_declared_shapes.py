"""What a file declares of its values changes no run if the report says that it is proved."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import sonnx_ort
from sonnx_ort.profile.rule import Status
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import LEVELS, enforced, on_one_thread

Start = Callable[[onnx.ModelProto], Any]
"""What starts a session of a model."""

CLAIMS = ("", "n", "k, n", "3", "1, 4", "3, 4", "n, 4", "3, k", "2, 2, 2")
"""The sizes that the file declares of a value, of which n and k are those of the input."""

READERS = {
    "Shape": "s = Shape(a) z = ConstantOfShape(s) r = Add(x, z)",
    "Expand": "s = Shape(a) o = Constant<value = float[1, 1] {1}>() z = Expand(o, s) r = Add(x, z)",
    "Expand of the value": "s = Shape(x) z = Expand(a, s) r = Identity(z)",
    "Reshape": "s = Shape(a) z = Reshape(x, s) r = Neg(z)",
    "Size": "c = Size(a) f = Cast<to = 1>(c) r = Mul(x, f)",
    "Gather": "s = Shape(a) i = Constant<value = int64[1] {1}>() g = Gather(s, i)"
    " z = ConstantOfShape(g) r = Add(x, z)",
    "rank": "s = Shape(a) c = Size(s) f = Cast<to = 1>(c) r = Mul(x, f)",
    "another operand": "w = Constant<value = float[1, 4] {1, 2, 3, 4}>() r = Add(a, w)",
}
"""What reads a value and gives a result."""

FEEDS = ((1, 1), (3, 4), (2, 4), (1, 4))
SIZES = ("n, k", "3, 4")


def model(sizes: str, claim: str, reader: str) -> onnx.ModelProto:
    made = parse(f"(float[{sizes}] x) => (float[] r) <float[{claim}] a> {{ a = Neg(x) {reader} }}")
    made.graph.output[0].type.tensor_type.ClearField("shape")
    return made


def result(made: onnx.ModelProto, shape: tuple[int, int], start: Start) -> str:
    """The result of a run in words, or that there is none."""
    x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    try:
        (found,) = start(made).run(["r"], {"x": x})
    except (sonnx_ort.SonnxError, Fail, InvalidArgument, RuntimeException):
        return "an error"
    return f"{found.shape} {found.tolist()}"


def plain(level: str) -> Start:
    return lambda made: ort.InferenceSession(made.SerializeToString(), on_one_thread(level))


def without_declarations(made: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    del copy.graph.value_info[:]
    return copy


def status_of(made: onnx.ModelProto) -> Status:
    (claim,) = (
        each
        for each in sonnx_ort.check(made, forecast=False).obligations
        if each.rule.id == "Graph.false_claim"
    )
    return claim.status


@pytest.mark.parametrize("reader", READERS)
def test_no_run_depends_on_declared_shapes_that_are_proved(reader: str) -> None:
    for sizes, claim in product(SIZES, CLAIMS):
        made = model(sizes, claim, READERS[reader])
        if status_of(made) is not Status.PROVED:
            continue
        without = without_declarations(made)
        for level, shape in product(LEVELS, FEEDS):
            expected, found = (result(each, shape, plain(level)) for each in (without, made))
            assert found == expected, (sizes, claim, level, shape)


def test_runs_depend_on_declared_shapes_that_are_not_proved() -> None:
    """Else the test above would show nothing."""
    changed = Counter[Status]()
    for reader, claim in product(READERS, CLAIMS):
        made = model("n, k", claim, READERS[reader])
        both = (made, without_declarations(made))
        changed[status_of(made)] += len({result(e, (1, 1), plain("all")) for e in both}) > 1
    assert changed[Status.PROVED] == 0
    assert changed[Status.RUNTIME] >= 2


@BACKENDS
@pytest.mark.parametrize("reader", READERS)
def test_enforced_model_computes_nothing_from_declared_shapes(reader: str, backend: str) -> None:
    made = model("n, k", "", READERS[reader])

    def start(each: onnx.ModelProto) -> Any:
        return enforced(each, backend, "all")

    for shape in FEEDS[:2]:
        expected = result(without_declarations(made), shape, start)
        for claim in ("3, 4", "1, 4", "3, k", "2, 2, 2"):
            found = result(model("n, k", claim, READERS[reader]), shape, start)
            assert found == expected, (claim, shape)
