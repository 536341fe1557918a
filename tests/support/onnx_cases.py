"""The cases of the onnx package's backend test suite, and plain sessions that run them."""

import unittest
import warnings
from dataclasses import dataclass

import onnx
import onnxruntime as ort
from onnx.backend.test.runner import Runner

from support.onnx_backend import Start, Trace, backend_of
from support.sessions import on_one_thread, set_for

_CPU = "_cpu"


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a case.

    Attributes:
        verdict: "passes", "differs" from the outputs that the case expects, or "fails" to run.
        error: What it failed with, or differs in.
        trace: What was run.
    """

    verdict: str
    error: Exception | None
    trace: Trace


class Suite:
    """The cases of the onnx package.

    Attributes:
        names: The cases, in order.
    """

    def __init__(self) -> None:
        """Register them."""
        self._trace = Trace()
        self._start: Start = plain
        with warnings.catch_warnings():
            # Some cases compute with what numpy warns of.
            warnings.simplefilter("ignore")
            classes = Runner(backend_of(self._started, self._trace)).test_cases.values()
        tests_by_name = {
            name.removesuffix(_CPU): test
            for tests in classes
            for name, test in vars(tests).items()
            if name.endswith(_CPU)
        }
        self._tests = dict(sorted(tests_by_name.items()))
        self.names = tuple(self._tests)

    def try_case(self, name: str, start: Start) -> Trial:
        """Run a case as the onnx package does."""
        self._start = start
        self._trace.model = None
        self._trace.feeds, self._trace.outputs = [], []
        verdict, found = "passes", None
        try:
            self._tests[name](None)
        except unittest.SkipTest as skipped:
            raise AssertionError(f"{name} was skipped: {skipped}") from skipped
        except AssertionError as error:
            verdict, found = "differs", error
        except Exception as error:  # noqa: BLE001 - whatever fails, the other cases are tried
            ran = len(self._trace.outputs) == len(self._trace.feeds) > 0
            verdict, found = "differs" if ran else "fails", error
        trace = Trace(self._trace.model, list(self._trace.feeds), list(self._trace.outputs))
        return Trial(verdict, found, trace)

    def _started(self, model: onnx.ModelProto) -> ort.InferenceSession:
        return self._start(model)


def plain(model: onnx.ModelProto) -> ort.InferenceSession:
    """Start a session of ONNX Runtime, in which nothing is optimized."""
    return ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))


def optimized(backend: str) -> Start:
    """Give what starts one with the optimizers that a backend's own sessions leave switched on."""

    def start(model: onnx.ModelProto) -> ort.InferenceSession:
        return ort.InferenceSession(model.SerializeToString(), set_for(backend, "all"))

    return start
