"""What ONNX Runtime and the checker of ONNX take without a word."""

import onnx
import onnxruntime as ort
import pytest

from sonnx_ort.runtime.session_options import DISABLED_OPTIMIZERS
from support.graphs import parse
from support.sessions import quiet

pytestmark = pytest.mark.upstream

MODEL = "(float[2] x) => (float[2] y) { y = Relu(x) }"


def test_unknown_optimizer_is_switched_off_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    """Once it raises, no canary need tell whether a name is still that of an optimizer."""
    options = ort.SessionOptions()
    options.log_severity_level = 0
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "NoSuchOptimizer")
    ort.InferenceSession(parse(MODEL).SerializeToString(), options)
    assert "NoSuchOptimizer' is" not in capfd.readouterr().err


def test_checker_takes_a_tensor_with_more_elements_than_its_shape() -> None:
    """Once it raises, `loading/elements.py` can go."""
    made = parse(MODEL)
    made.graph.initializer.add(name="t", data_type=onnx.TensorProto.INT64, dims=[2])
    made.graph.initializer[0].int64_data.extend(range(4))
    onnx.checker.check_model(made, full_check=True)
    ort.InferenceSession(made.SerializeToString(), quiet())


def test_checker_takes_a_call_that_leaves_an_operand_out() -> None:
    """Once it raises, the operands of inlined nodes need no look."""
    made = parse(
        "(float[2] x) => (float[2] z) { z = local.f(x) }"
        '<opset_import: ["" : 17], domain: "local"> f (a, b) => (c) { c = Div(a, b) }',
        domains={"local": 1},
    )
    onnx.checker.check_model(made, full_check=True)
    with pytest.raises(Exception, match="input 1 is marked single but has an empty string"):
        ort.InferenceSession(made.SerializeToString(), quiet())
