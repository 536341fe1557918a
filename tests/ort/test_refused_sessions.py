"""What no session can be started of, or made of a session, is said in the words of this package."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest

import sonnx_ort
from support.graphs import parse

TEXT = "(float[n] x, float[n] y) => (float[n] z) { [ratio] a = Div(x, y) [minus] z = Sub(a, x) }"


@pytest.mark.parametrize("make", [pickle.dumps, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("backend", ["native", "python"])
def test_session_names_itself_when_it_is_copied(
    make: Callable[[object], object], backend: str
) -> None:
    session = sonnx_ort.InferenceSession(parse(TEXT), backend=backend)
    with pytest.raises(TypeError) as caught:
        make(session)
    assert str(caught.value) == (
        f"<sonnx_ort.InferenceSession: graph 'graph', backend '{backend}', operators 'default'> "
        "cannot be pickled or copied, because a session belongs to its process: give the model to "
        "the other process, and start a session there"
    )


@pytest.mark.parametrize("backend", ["native", "python", "compiled"])
def test_two_nodes_of_one_name_are_named(backend: str) -> None:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.InferenceSession(parse(TEXT.replace("minus", "ratio")), backend=backend)
    assert str(caught.value).startswith("two nodes have the name '")
    assert str(caught.value).endswith(
        ", and ONNX Runtime starts no such model; give one another name, or give the enforced "
        "model itself, not an optimized one"
    )


def test_own_optimized_file_is_refused_with_what_to_give(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # ONNX Runtime warns of the file
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    sonnx_ort.InferenceSession(parse(TEXT), options, backend="compiled")
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.InferenceSession(tmp_path / "optimized.onnx", backend="compiled")
    assert str(caught.value) == (
        "node 'ratio' is in the domain 'sonnx.compiled', but `rewrite` did not make this model "
        "as it is, or an earlier version did. Rewrite the original model again, or give the "
        "enforced model itself, not an optimized one"
    )
