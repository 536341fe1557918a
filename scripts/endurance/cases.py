"""What is repeated: runs of one session, and sessions."""

import contextlib
import logging
from collections.abc import Callable

import numpy as np
import onnxruntime
from model_builders.graphs import parse

import sonnx_ort

_FATAL = 4
_MODEL = parse("""(int32[n] a, int32[n] b, float[n,4] x, float[n,4] y)
=> (int32[n] c, float[n,4] z) {
    [divide] c = Div(a, b)
    r = Relu(x)
    [scale] s = Div(r, y)
    [subtract] z = Sub(s, y)
}""").SerializeToString()
_KEPT = {
    "a": np.array([6, 9, 35], np.int32),
    "b": np.array([3, 3, 5], np.int32),
    "x": np.ones((3, 4), np.float32),
    "y": np.full((3, 4), 2, np.float32),
}
_BROKEN = (
    _KEPT | {"b": np.array([3, 0, 5], np.int32)},
    _KEPT | {"a": np.full(3, -(2**31), np.int32), "b": np.full(3, -1, np.int32)},
    _KEPT | {"y": np.ones((1, 4), np.float32)},
)


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    return options


def runs(backend: str) -> Callable[[int], object]:
    """Runs of one session, of which every fourth breaks a rule."""
    session = sonnx_ort.InferenceSession(_MODEL, _options(), backend=backend)

    def run(number: int) -> None:
        if number % 4:
            session.run(None, _KEPT)
            return
        with contextlib.suppress(sonnx_ort.ContractViolation):
            session.run(None, _BROKEN[number // 4 % len(_BROKEN)])
            raise AssertionError("a broken rule is not told")

    return run


def sessions(backend: str) -> Callable[[int], object]:
    """Sessions, each with a run that keeps the rules and one that breaks one."""

    def start(number: int) -> None:
        session = sonnx_ort.InferenceSession(_MODEL, _options(), backend=backend)
        session.run(None, _KEPT)
        with contextlib.suppress(sonnx_ort.ContractViolation):
            session.run(None, _BROKEN[number % len(_BROKEN)])
            raise AssertionError("a broken rule is not told")

    return start


CASES: dict[str, Callable[[str], Callable[[int], object]]] = {"runs": runs, "sessions": sessions}
"""By name: gives for a backend what is repeated."""


LEFT_BEHIND = {"runs": 0, "sessions": 8}
"""KiB that each leaves behind, at most: onnxruntime-extensions frees not all of a session's."""


def silence() -> None:
    """Keep each of the thousands of violations out of the log."""
    logging.getLogger("sonnx_ort").disabled = True
