"""The backend test suite of the onnx package, through plain ONNX Runtime and through enforcement.

Attempts for `support.soundness.isolated`: a case could end the process. Nothing is optimized, for
a fusion gives other bits, and a guard keeps some of them from coming about.
"""

import logging
import re
import unittest
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx.backend.test.runner import Runner

import sonnx_ort
from sonnx_ort.loading.traversal import all_nodes
from support.broken_rules import Breach, breaches_of, unbroken
from support.onnx_backend import Start, Trace, backend_of
from support.onnx_record import EXPLICIT, REFUSED, REJECT, SAME, is_refused
from support.sessions import on_one_thread
from support.single_nodes import run_node_by_node
from support.soundness.rules import DEFAULT_OPERATORS

_CPU = "_cpu"
_SAMPLED = re.compile("test_(div|sub|mod|pow|max|where|prelu)(?!.*expanded)(_|$)")


@dataclass(frozen=True, slots=True)
class Choices:
    """How a model is enforced.

    Attributes:
        backend: "python" or "native".
        operators: "default" or "elementwise".
        broadcast: "reject" or "explicit".
    """

    backend: str
    operators: str
    broadcast: str

    @property
    def demands(self) -> str:
        """What is demanded, whatever the backend: `elementwise explicit`."""
        return f"{self.operators} {self.broadcast}"

    def session(self, model: onnx.ModelProto) -> sonnx_ort.InferenceSession:
        """Start a session on a model that is enforced in this way."""
        return sonnx_ort.InferenceSession(
            model,
            on_one_thread("none"),
            backend=self.backend,
            operators=self.operators,
            broadcast=self.broadcast,
        )


ALL_CHOICES = tuple(
    Choices(backend, operators, broadcast)
    for operators in ("default", "elementwise")
    for broadcast in (REJECT, EXPLICIT)
    for backend in ("python", "native")
)


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a case with one backend.

    Attributes:
        verdict: "passes", "differs" from the outputs that the case expects, or "fails" to run.
        error: What it failed with, or differs in.
        trace: What was run.
    """

    verdict: str
    error: Exception | None
    trace: Trace


class Suite:
    """The cases of the onnx package, registered for one backend.

    Attributes:
        names: The cases, in order.
    """

    def __init__(self, start: Start) -> None:
        """Register them.

        Args:
            start: Starts the sessions that run them.
        """
        self._trace = Trace()
        with warnings.catch_warnings():
            # Some cases compute with what numpy warns of.
            warnings.simplefilter("ignore")
            classes = Runner(backend_of(start, self._trace)).test_cases.values()
        tests_by_name = {
            name.removesuffix(_CPU): test
            for tests in classes
            for name, test in vars(tests).items()
            if name.endswith(_CPU)
        }
        self._tests = dict(sorted(tests_by_name.items()))
        self.names = tuple(self._tests)

    def try_case(self, name: str) -> Trial:
        """Run a case as the onnx package does.

        Args:
            name: The case.
        """
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


def _plain(model: onnx.ModelProto) -> ort.InferenceSession:
    return ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))


ort.set_default_logger_severity(4)
logging.getLogger("sonnx_ort").disabled = True
PLAIN = Suite(_plain)
SAMPLE = [number for number, name in enumerate(PLAIN.names) if _SAMPLED.match(name)]
"""The numbers of some cases of operators of the profile."""

ENFORCED: Mapping[Choices, Suite] = {choices: Suite(choices.session) for choices in ALL_CHOICES}


def choices_for(model: onnx.ModelProto) -> Iterator[Choices]:
    """The choices that enforce different things in a model, those that reject first.

    Args:
        model: The model. Where it has no operator of the profile nothing can be enforced, and one
            choice is as good as another; it is loaded and written all the same.
    """
    present = {node.op_type for node in all_nodes(model)}
    for choices in ALL_CHOICES:
        if choices.operators == "elementwise" or present & DEFAULT_OPERATORS:
            yield choices


def attempt(number: int) -> dict[str, Any]:
    """Try the case of a number with every choice that matters, and compare with ONNX Runtime.

    Where nothing is refused there is nothing that broadcast="explicit" could change.
    """
    name = PLAIN.names[number]
    reference = PLAIN.try_case(name)
    cases = {"cases": len(PLAIN.names), "sample": len(SAMPLE)}
    found: dict[str, Any] = {"case": name, "plain": reference.verdict, **cases}
    assert reference.trace.model is not None, reference.error
    for choices in choices_for(reference.trace.model):
        rejecting = found.get(f"{choices.operators} {REJECT}", {})
        if choices.broadcast == REJECT or is_refused(rejecting[choices.backend]):
            outcome = _compared(reference, ENFORCED[choices].try_case(name))
            found.setdefault(choices.demands, {})[choices.backend] = outcome
    return found


def attempt_in_sample(number: int) -> dict[str, Any]:
    """Try one of the sampled cases as `attempt` does."""
    return attempt(SAMPLE[number])


def plain_alone(number: int) -> None:
    """Run the case of a number without this project, which may end the process by itself."""
    PLAIN.try_case(PLAIN.names[number])


def _compared(reference: Trial, trial: Trial) -> str:
    """Say in a word what enforcement made of a case, and behind it what is to be known.

    Each result in float16 is rounded where it is enforced, which ONNX Runtime does at the end of a
    chain of nodes only: then it has to have the bits that ONNX Runtime gives node by node.
    """
    breaches = breaches_of(trial.error)
    if breaches:
        return _refused(reference, breaches)
    if reference.verdict == "fails":
        # A legacy form, of which ONNX Runtime has no kernel, may have one when it is enforced.
        return {"passes": "passes", "fails": "fails"}.get(trial.verdict, f"other: {trial.error}")
    found = _bits(trial.trace.outputs)
    if trial.verdict == reference.verdict and found == _bits(reference.trace.outputs):
        return SAME
    model = reference.trace.model
    if trial.verdict == "fails" or model is None or not _has_float16(model):
        return f"other: {trial.verdict}: {trial.error}"
    node_by_node = [run_node_by_node(model, feeds) for feeds in reference.trace.feeds]
    return SAME if found == _bits(node_by_node) else "other: the bits differ"


def _has_float16(model: onnx.ModelProto) -> bool:
    tensors = (value.type.tensor_type for value in model.graph.input)
    return any(tensor.elem_type == onnx.TensorProto.FLOAT16 for tensor in tensors)


def _refused(reference: Trial, breaches: Sequence[Breach]) -> str:
    rules = ", ".join(sorted({breach.rule for breach in breaches}))
    if reference.verdict != "fails":
        trace = reference.trace
        assert trace.model is not None
        for feeds in trace.feeds:
            kept = unbroken(trace.model, feeds, breaches)
            if kept:
                return f"other: refused for {rules}, but {'; '.join(kept)}"
    return f"{REFUSED}{rules}"


def _bits(value: Any) -> object:
    """Types, shapes and bits of what a model gave."""
    match value:
        case None:
            return None
        case list() | tuple():
            return [_bits(element) for element in value]
        case dict():
            return sorted((repr(key), _bits(element)) for key, element in value.items())
    array = np.asarray(value)
    if array.dtype == object:
        return array.shape, repr(array.tolist())
    return str(array.dtype), array.shape, array.tobytes()
