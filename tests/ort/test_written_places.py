"""Errors of runs say where the node was written, as the model says."""

import pickle
import queue
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.ort import written_places
from sonnx_ort.ort.written_places import WrittenPlaces
from support.backends import BACKENDS
from support.exported_models import WRITTEN, exported

ROWS = np.ones((2, 3), np.float32)
WRONG = {"rows": ROWS, "scale": ROWS[:1]}
BROKEN = (
    "Div 'node_div' breaks Div.float.R1: the shapes (2, 3) and (1, 3) differ; shapes A (2, 3), "
    "B (1, 3). The rule: Tensors A, B and C must have the same shape."
)


def violation_of(model: onnx.ModelProto, backend: str) -> sonnx_ort.ContractViolation:
    session = sonnx_ort.InferenceSession(model, backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as raised:
        session.run(None, WRONG)
    return raised.value


@BACKENDS
def test_violation_says_where_its_node_was_written(backend: str) -> None:
    violation = violation_of(exported(), backend)
    assert violation.written == WRITTEN
    assert str(violation) == f"{BROKEN}\n    {WRITTEN}"


@BACKENDS
def test_violation_in_a_model_that_was_rewritten_before_says_it_too(backend: str) -> None:
    rewritten = sonnx_ort.rewrite(exported(), backend=backend)
    assert violation_of(rewritten, backend).written == WRITTEN


@BACKENDS
def test_violation_of_a_model_that_does_not_say_it_is_one_line(backend: str) -> None:
    violation = violation_of(exported({}, producer=""), backend)
    assert violation.written == ""
    assert str(violation) == BROKEN


def test_nodes_of_one_name_that_were_written_elsewhere_are_not_told_apart() -> None:
    model, div = exported(), exported().graph.node[0]
    branches = [onnx.GraphProto(name=name) for name in ("a", "b")]
    for branch in branches:
        branch.node.add().CopyFrom(div)
        branch.node[0].output[0] = f"{branch.name}_y"
        branch.output.add().CopyFrom(model.graph.output[0])
        branch.output[0].name = f"{branch.name}_y"
    branches[1].node[0].metadata_props[-1].value = 'File "other.py", line 1, in forward\n    x'
    model.graph.input.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []))
    choice = onnx.helper.make_node(
        "If", ["c"], ["y"], "choose", then_branch=branches[0], else_branch=branches[1]
    )
    model.graph.node[0].CopyFrom(choice)
    session = sonnx_ort.InferenceSession(model, backend="native")
    with pytest.raises(sonnx_ort.ContractViolation) as raised:
        session.run(None, {**WRONG, "c": np.array(True)})
    assert str(raised.value) == BROKEN


def test_callback_gets_the_line_too() -> None:
    session = sonnx_ort.InferenceSession(exported(), backend="native")
    told: queue.Queue[str] = queue.Queue()

    def told_of(results: Any, data: Any, error: str) -> None:
        del results, data
        told.put(error)

    session.run_async(None, WRONG, told_of, None)
    assert told.get(timeout=60) == f"{BROKEN}\n    {WRITTEN}"


def test_violation_that_was_pickled_says_the_same() -> None:
    violation = violation_of(exported(), "python")
    copy: Any = pickle.loads(pickle.dumps(violation))  # noqa: S301 - it was made here
    assert (str(copy), copy.written) == (str(violation), violation.written)


def of_node(name: str) -> sonnx_ort.ContractViolation:
    return sonnx_ort.ContractViolation("broken", rule="Div.float.R1", operator="Div", node=name)


def told(places: WrittenPlaces, name: str) -> str:
    violation = of_node(name)
    places.tell(violation)
    return violation.written


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note in which threads a model is read, which takes a while."""
    threads: list[int] = []

    def noted(model: bytes) -> Mapping[str, str]:
        threads.append(threading.get_ident())
        time.sleep(0.1)
        return {"a": model.decode()}

    monkeypatch.setattr(written_places, "written_places", noted)
    return threads


def test_model_is_read_once_and_not_before_a_violation(read: list[int]) -> None:
    places = WrittenPlaces(b"here")
    assert not read
    assert [told(places, name) for name in ("a", "b", "a")] == ["here", "", "here"]
    assert len(read) == 1


def test_threads_read_the_model_once(read: list[int]) -> None:
    places = WrittenPlaces(b"here")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: told(places, "a"), range(4))) == ["here"] * 4
    assert len(read) == 1


def test_model_that_cannot_be_read_hides_no_violation() -> None:
    assert told(WrittenPlaces(b"no model"), "a") == ""
