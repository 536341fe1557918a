"""The vectors show of the enforced model what is promised: it refuses what breaks a rule."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sonnx_ort.backends import Backend
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import STANDARD_OPERATORS
from sonnx_ort.profile.options import Edition
from sonnx_ort.runs.isolated_run import IsolatedRuns
from sonnx_ort.runs.limits import Limits
from sonnx_ort.vectors import engines
from sonnx_ort.vectors.cases import cases
from sonnx_ort.vectors.suite import Judged, Outcome, judge, run, vectors, write

KERNELS_DEVIATE = {"Sigmoid", "Sin", "LSTM"}
"""The operators of which ONNX Runtime's kernels give more than the admitted error; see findings."""

WITHOUT_KERNEL = (
    *("NotImplemented: ", " has no kernel for it in ", " does not support double yet"),
    *(
        "the types are incompatible",
        "Only N can be zero",
        "fmod attribute must be true for floating",
    ),
)
"""What is said where ONNX Runtime has no kernel of a type, or none of no channels; see findings."""

KEPT_FOR_OLD_KERNELS = ("Max.int.C1", "Min.int.C1", "Mod.int.C2")
"""The rules that native and compiled models have because older kernels are wrong."""


@pytest.fixture(scope="module")
def process() -> Iterator[IsolatedRuns]:
    """One process for all engines, which is replaced if a run ends it."""
    with IsolatedRuns(Limits(30)) as runs:
        yield runs


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.thorough) for turn in (1, 2))]
)
@pytest.mark.parametrize("operator", sorted(STANDARD_OPERATORS))
def test_enforced_models_conform_but_for_kernels(
    operator: str, turn: int, process: IsolatedRuns, tmp_path: Path
) -> None:
    """Each model is enforced by one backend in a turn, and by another one in the next turn."""
    write(cases([operator]), tmp_path / "vectors", 0)
    tried = set()
    wrong = []
    for vector in vectors(tmp_path / "vectors"):
        model = vector.entry["id"].rpartition("/")[0]
        backend = [*Backend][(zlib.crc32(model.encode()) + turn) % len(Backend)]
        tried.add(backend)
        given = f"sonnx_ort:{backend}", Edition(vector.entry["edition"]), engines.NODES
        judged = judge(vector, process.call(engines.outcome, *given, vector.model, vector.feeds))
        wrong += [] if excused(judged) else [(backend, judged)]
    assert wrong == []
    assert tried == {*Backend}


def excused(judged: Judged) -> bool:
    """Whether a case conforms, or ONNX Runtime's kernels are the reason that it does not."""
    match judged.outcome:
        case Outcome.DEVIATES:
            return judged.operator in KERNELS_DEVIATE
        case Outcome.REFUSES:
            return any(each in judged.reason for each in (*KEPT_FOR_OLD_KERNELS, *WITHOUT_KERNEL))
    return judged.outcome is Outcome.CONFORMS


def test_plain_onnxruntime_computes_what_breaks_rules_and_dies(tmp_path: Path) -> None:
    write(cases(["Div"]), tmp_path / "vectors", 0)
    found = [*run(tmp_path / "vectors", "onnxruntime")]
    assert {"refused/div_int32_broken", "refused/div_int64_broken"} <= {
        each.id.rpartition("/")[0] for each in found if each.outcome is Outcome.DIES
    }
    computed = {each.id for each in found if each.outcome is Outcome.COMPUTES}
    assert "refused/div_float_r1_broken/0" in computed
    assert not [each for each in found if each.outcome is Outcome.DEVIATES]


@pytest.mark.thorough
def test_reference_of_onnx_is_an_engine(suite: Path) -> None:
    found = [each for each in run(suite, "onnx.reference") if each.operator == "Reshape"]
    assert {each.outcome for each in found if each.id.startswith("computed/")} == {Outcome.CONFORMS}


@pytest.mark.thorough
def test_execution_provider_is_an_engine(suite: Path) -> None:
    found = {each.id: each.outcome for each in run(suite, "onnxruntime:CPUExecutionProvider")}
    assert found["computed/reshape_float/0"] is Outcome.CONFORMS


def test_provider_that_is_not_there_is_refused() -> None:
    with pytest.raises(SonnxError) as refused:
        engines.engine("onnxruntime:Unknown")
    told = "ONNX Runtime has no execution provider 'Unknown' here; choose from "
    assert str(refused.value).startswith(told)
