"""What the native guards of integer divisions let through, and which rule's code they give.

A plain session says the code; whether it is told by the look that settles most tensors, or by the
closer one, is not to be seen.
"""

import re

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.runtime.session_options import prepare
from support.graphs import binary_model
from support.sessions import quiet

ZERO, OVERFLOW = 24, 25
LEVELS = [
    ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
]
SIGNED = {"int8": [14], "int16": [14], "int32": [9, 12, 17, 20], "int64": [9, 12, 17, 20]}
UNSIGNED = {"uint8": [14], "uint16": [14], "uint32": [9, 17], "uint64": [9, 17]}


def plain_session(made: onnx.ModelProto, level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
    options = quiet()
    options.graph_optimization_level = level
    prepare(options, Backend.NATIVE)
    return ort.InferenceSession(made.SerializeToString(), options)


def outcome(session: ort.InferenceSession, a: list[int], b: list[int], dtype: str) -> object:
    """The result, or the code in the error, or an error without one."""
    try:
        (result,) = session.run(None, {"A": np.array(a, dtype), "B": np.array(b, dtype)})
    except Exception as error:  # noqa: BLE001 - its kinds are private
        found = re.search(r"A dimension cannot be less than -1, got -(\d+)", str(error))
        return str(error) if found is None else int(found[1])
    return result.tolist()


@pytest.fixture(
    params=[(d, o) for d, opsets in (SIGNED | UNSIGNED).items() for o in opsets], ids=str
)
def rewritten(request: pytest.FixtureRequest) -> tuple[str, onnx.ModelProto]:
    dtype, opset = request.param
    made = binary_model("Div", dtype, None, None, opset=opset)
    return dtype, sonnx_ort.rewrite(made, backend=Backend.NATIVE)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_integer_division_gives_its_quotient_or_the_code_of_the_first_broken_rule(
    rewritten: tuple[str, onnx.ModelProto], level: ort.GraphOptimizationLevel
) -> None:
    dtype, made = rewritten
    session = plain_session(made, level)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    cases = {
        "positive divisors": ([low, high, 7], [1, 2, high], [low, high // 2, 0]),
        "a zero": ([1, 2], [3, 0], ZERO),
        "nothing but a zero": (1, 0, ZERO),
        "scalars": (7, 2, 3),
        "no elements": ([], [], []),
    }
    if low < 0:
        cases |= {
            "negative divisors": ([low, 7], [-2, low], [low // -2, 0]),
            "-1, not at the smallest": ([low, 7, low + 1], [2, -1, -1], [low // 2, -7, high]),
            "smallest / -1": ([7, low], [1, -1], OVERFLOW),
            "smallest / -1, scalars": (low, -1, OVERFLOW),
            "smallest / -1 and a zero": ([low, 1], [-1, 0], ZERO),
            "a zero before smallest / -1": ([1, low], [0, -1], ZERO),
        }
    found = {name: outcome(session, a, b, dtype) for name, (a, b, _) in cases.items()}
    assert found == {name: expected for name, (_, _, expected) in cases.items()}


@pytest.mark.parametrize("divisor", [-1, 1])
@pytest.mark.parametrize("dtype", SIGNED)
def test_dividends_around_the_smallest_are_told_apart(dtype: str, divisor: int) -> None:
    made = binary_model("Div", dtype, [1], [1])
    session = plain_session(sonnx_ort.rewrite(made, backend=Backend.NATIVE), LEVELS[0])
    low = int(np.iinfo(dtype).min)
    for dividend in (low, low + 1, low + 2, -low - 1):
        breaks = dividend == low and divisor == -1
        expected = OVERFLOW if breaks else [dividend * divisor]
        assert outcome(session, [dividend], [divisor], dtype) == expected
