"""The backend test suite of the onnx package, through plain ONNX Runtime and through enforcement.

Attempts for `support.soundness.isolated`: a case could end the process.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from support.onnx_backend import Start
from support.onnx_record import BACKENDS, EXPLICIT, LEVELS_TRIED, OPERATORS, REJECT, is_refused
from support.onnx_reference import Reference, Suite, plain
from support.sessions import LEVELS, on_one_thread

_ASKED_FOR = {"all": "all,-Graph"}
"""What is asked for by a word of the record, if it is another one."""

_SAMPLED = re.compile("test_(div|sub|mod|pow|max|where|prelu)(?!.*expanded)(_|$)")


@dataclass(frozen=True, slots=True)
class Choices:
    """How a model is enforced.

    Attributes:
        backend: "python", "native" or "compiled".
        operators: "default", "all" or "elementwise".
        broadcast: "reject" or "explicit".
    """

    backend: str
    operators: str
    broadcast: str

    @property
    def demands(self) -> str:
        """What is demanded, whatever the backend: `all explicit`."""
        return f"{self.operators} {self.broadcast}"


ALL_CHOICES = tuple(
    Choices(backend, operators, broadcast)
    for operators in OPERATORS
    for broadcast in (REJECT, EXPLICIT)
    for backend in BACKENDS
)


class Enforced:
    """A session on an enforced model, which is started anew at each level.

    Rewriting takes longer than starting a session: it is done once.
    """

    def __init__(self, choices: Choices) -> None:
        """Start nothing yet."""
        self._choices = choices
        self._options = on_one_thread()
        self._session: sonnx_ort.InferenceSession | None = None

    def at(self, level: str) -> Start:
        """Give what starts the session at a level of optimization."""

        def start(model: onnx.ModelProto) -> ort.InferenceSession:
            self._options.graph_optimization_level = LEVELS[level]
            if self._session is None:
                self._session = self._rewritten(model)
            else:
                self._session.set_providers()
            started = self._session.get_session_options()
            assert started.graph_optimization_level == LEVELS[level]
            return self._session

        return start

    def _rewritten(self, model: onnx.ModelProto) -> sonnx_ort.InferenceSession:
        return sonnx_ort.InferenceSession(
            model,
            self._options,
            backend=self._choices.backend,
            operators=_ASKED_FOR.get(self._choices.operators, self._choices.operators),
            broadcast=self._choices.broadcast,
        )


ort.set_default_logger_severity(4)
logging.getLogger("sonnx_ort").disabled = True
SUITE = Suite()
SAMPLE = [number for number, name in enumerate(SUITE.names) if _SAMPLED.match(name)]
"""The numbers of some cases of operators of the profile."""


def choices_for(model: onnx.ModelProto) -> Iterator[Choices]:
    """The choices that enforce different things in a model, those that reject first.

    Args:
        model: The model. Where it has no operator of the profile nothing can be enforced, and one
            choice is as good as another; it is loaded and written all the same.
    """
    present = {node.op_type for node in all_nodes(model)}
    for choices in ALL_CHOICES:
        if choices.operators != "default" or present & DEFAULT_OPERATORS:
            yield choices


def _matters(choices: Choices, found: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a choice can do what none before has done: others are tried where that was refused.

    Where nothing is refused there is nothing that broadcast="explicit" could change. All operators
    contain the element-wise ones; where one of the others is refused, these are tried alone.
    """
    if choices.broadcast == EXPLICIT:
        before = f"{choices.operators} {REJECT}"
    elif choices.operators == "elementwise":
        before = f"all {REJECT}"
    else:
        return True
    return any(map(is_refused, found.get(before, {}).values()))


def attempt(number: int) -> dict[str, Any]:
    """Try the case of a number with every choice that matters, and compare with ONNX Runtime."""
    reference = Reference(SUITE, SUITE.names[number])
    found: dict[str, dict[str, str]] = {}
    for choices in choices_for(reference.model):
        if _matters(choices, found):
            found.setdefault(choices.demands, {}).update(_outcomes(reference, choices))
    cases = {"cases": len(SUITE.names), "sample": len(SAMPLE)}
    return {"case": reference.name, "plain": reference.unoptimized.verdict, **cases, **found}


def _outcomes(reference: Reference, choices: Choices) -> dict[str, str]:
    """What comes of a choice at each level; a model that is rejected is so before any session."""
    enforced, by_run = Enforced(choices), {}
    for level in LEVELS_TRIED:
        trial = SUITE.try_case(reference.name, enforced.at(level))
        outcome = reference.compared(trial, choices.backend, level)
        by_run[f"{choices.backend} {level}"] = outcome
        if isinstance(trial.error, sonnx_ort.ModelRejected):
            return {f"{choices.backend} {each}": outcome for each in LEVELS_TRIED}
    return by_run


def attempt_in_sample(number: int) -> dict[str, Any]:
    """Try one of the sampled cases as `attempt` does."""
    return attempt(SAMPLE[number])


def plain_alone(number: int) -> None:
    """Run the case of a number without this project, which may end the process by itself."""
    SUITE.try_case(SUITE.names[number], plain)
