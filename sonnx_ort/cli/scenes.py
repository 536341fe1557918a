"""Three runs of bundled models, without the profile and with it.

Each without the profile takes place in a process of its own, since one of them ends it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sonnx_ort import models
from sonnx_ort.backends import Backend
from sonnx_ort.comparing.isolated_run import Failed, IsolatedRuns, Outcome
from sonnx_ort.models import Outputs, describe
from sonnx_ort.options import Choices, choose_demands
from sonnx_ort.pipeline import enforce


@dataclass(frozen=True, slots=True)
class Scene:
    """A case of a bundled model, in which ONNX Runtime does what an engineer may not expect.

    Attributes:
        title: What is tried.
        model: The name of the model.
        case: The name of the case.
    """

    title: str
    model: str
    case: str


SCENES = (
    Scene("Shape (3,) divided by shape (1,)", "div_open_sizes", "3 and 1 typed"),
    Scene("The smallest int32 divided by -1", "div_int32", "smallest/-1 typed"),
    Scene("Integers divided by zero", "div_int32", "x/0 typed"),
)


@dataclass(frozen=True, slots=True)
class Played:
    """What happened in a scene.

    Attributes:
        scene: The scene.
        code: Lines of Python that run the enforced model.
        plain: What ONNX Runtime does with the model.
        enforced: What it does with the enforced one.
    """

    scene: Scene
    code: tuple[str, ...]
    plain: str
    enforced: str


def play(backend: Backend) -> Iterator[Played]:
    """Run the model of each scene, as it is and enforced."""
    with IsolatedRuns() as runs:
        for scene in SCENES:
            example = models.example(scene.model)
            case = next(case for case in example.cases if case.name == scene.case)
            demands = choose_demands(case.edition, case.broadcast, case.operators)
            path = models.path(scene.model)
            enforced = enforce(path, Choices(demands, backend)).to_complete_proto()
            feeds = [f'"{name}": np.{x.dtype}({x.tolist()})' for name, x in case.inputs.items()]
            yield Played(
                scene,
                (
                    f'session = sonnx_ort.InferenceSession(sonnx_ort.models.path("{scene.model}"))',
                    f"session.run(None, {{{', '.join(feeds)}}})",
                ),
                _in_words(runs.run(path.read_bytes(), None, case.inputs)),
                _in_words(runs.run(enforced.SerializeToString(), None, case.inputs)),
            )


def _in_words(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return outcome.reason
    return describe(Outputs({name: x for name, x in outcome.items() if x is not None}))
