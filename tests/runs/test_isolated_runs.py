"""Models run in a process of their own, whatever the user's program is."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from sonnx_ort.errors import InvalidModel, SonnxError
from sonnx_ort.loading.source import read
from sonnx_ort.runs import isolated_run
from sonnx_ort.runs import limits as limits_module
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns, types_of_outputs
from sonnx_ort.runs.limits import LimitExceeded, Limits
from support.child import run_program
from support.graphs import binary_model, parse

AUDITED = """
import sonnx_ort
print("audited:", sonnx_ort.audit(sonnx_ort.models.path("div_example_1_float32")).ok)
"""


@pytest.fixture(autouse=True)
def _no_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated_run, "subprocess", subprocess)


def test_program_without_a_main_guard_is_not_run_again(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(AUDITED, encoding="utf-8")
    done = run_program([sys.executable, program], timeout=120)
    assert (done.stdout, done.stderr) == ("audited: True\n", "")


def test_program_may_come_from_standard_input() -> None:
    done = run_program([sys.executable, "-"], given=AUDITED, timeout=120)
    assert (done.stdout, done.stderr) == ("audited: True\n", "")


def test_process_that_dies_is_replaced() -> None:
    model = binary_model("Div", "int32", [1], [1])
    least, one, minus_one = (np.array([value], np.int32) for value in (-(2**31), 1, -1))
    with IsolatedRuns() as runs:
        died = runs.run(model, {"A": least, "B": minus_one})
        ran = runs.run(model, {"A": one, "B": minus_one})
    assert died == Failed("the process is killed by SIGFPE", died=True)
    assert not isinstance(ran, Failed)
    assert ran["C"] is not None
    assert ran["C"].tolist() == [-1]


def test_function_is_called_and_its_errors_and_its_death_are_results() -> None:
    with IsolatedRuns() as runs:
        assert runs.call(divmod, 7, 2) == (3, 1)
        assert runs.call(int, "seven") == Failed(
            "ValueError: invalid literal for int() with base 10: 'seven'"
        )
        assert runs.call(os.abort) == Failed("the process is killed by SIGABRT", died=True)
        assert runs.call(divmod, 7, 2) == (3, 1)


@pytest.mark.thorough
def test_what_takes_too_long_is_ended_and_the_process_is_replaced() -> None:
    with IsolatedRuns(Limits(10)) as runs:
        with pytest.raises(LimitExceeded) as caught:
            runs.call(time.sleep, 100)
        assert runs.call(divmod, 7, 2) == (3, 1)
    assert str(caught.value) == (
        "a run of the model takes longer than 10 s; time_limit=100 allows more"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells the memory of a process")
@pytest.mark.thorough
def test_what_takes_too_much_memory_is_ended_and_the_process_is_replaced() -> None:
    with IsolatedRuns(Limits(megabytes=1000)) as runs:
        with pytest.raises(LimitExceeded) as caught:
            runs.call(np.full, (1 << 29,), 1.0)
        assert runs.call(divmod, 7, 2) == (3, 1)
    assert str(caught.value) == (
        "a run of the model takes more than 1000 MB of memory; memory_limit=2000 allows more"
    )


@pytest.mark.parametrize(("limits", "message"), [
    ({"seconds": 0}, "time_limit=0 is no limit; give seconds above 0, such as time_limit=60"),
    ({"seconds": -1.5}, "time_limit=-1.5 is no limit; give seconds above 0, such as time_limit=60"),
    ({"seconds": math.nan},
     "time_limit=nan is no limit; give seconds above 0, such as time_limit=60"),
    ({"seconds": math.inf},
     "time_limit=inf is no limit; give seconds above 0, such as time_limit=60"),
    ({"megabytes": 0},
     "memory_limit=0 is no limit; give MB of 1 or more, such as memory_limit=8000"),
])  # fmt: skip
def test_what_is_no_limit_is_refused(limits: dict[str, float], message: str) -> None:
    with pytest.raises(SonnxError) as caught:
        Limits(**limits)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize(("said", "whole"), [("4000", 4000), (str(10**30), None), ("max", None)])
def test_limit_of_memory_is_three_quarters_of_what_machine_and_container_have(
    said: str, whole: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits_module, "_CONTAINERS", ())
    machine = Limits().bytes
    assert 0 < machine < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    (tmp_path / "memory.max").write_text(said, encoding="ascii")
    monkeypatch.setattr(limits_module, "_CONTAINERS", (tmp_path / "memory.max",))
    assert Limits().bytes == (machine if whole is None else 0.75 * whole)


def test_errors_of_this_package_are_raised_of_what_is_attempted() -> None:
    with IsolatedRuns() as runs:
        with pytest.raises(InvalidModel) as caught:
            runs.attempt(read, b"")
        assert str(caught.value) == "the bytes are empty; copy or export the model again"
        assert runs.attempt(int, "seven") == Failed(
            "ONNX Runtime refuses: invalid literal for int() with base 10: 'seven'"
        )


def test_types_of_outputs_are_those_that_the_runtime_infers() -> None:
    text = """(float[n] x, bool c) => (y, i, s) {
        y = Neg(x) s = SplitToSequence(y) i = Cast<to = 7>(x) }"""
    model = parse(text)
    model.graph.output[0].ClearField("type")
    types = types_of_outputs(model.SerializeToString())
    assert {name: found.tensor_type.elem_type for name, found in types.items()} == {
        "y": onnx.TensorProto.FLOAT,
        "i": onnx.TensorProto.INT64,
    }
    assert types["y"].tensor_type.shape.dim[0].dim_param == "n"
