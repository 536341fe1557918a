"""`register` makes session options fit for enforced models."""

import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.runtime import session_options
from support.graphs import binary_model

DISABLED = "optimization.disable_specified_optimizers"


def enforced() -> bytes:
    return sonnx_ort.rewrite(
        binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    ).SerializeToString()


def test_new_options_by_default() -> None:
    ort.InferenceSession(enforced(), sonnx_ort.register())


def test_given_options_are_given_back() -> None:
    options = ort.SessionOptions()
    assert sonnx_ort.register(options) is options


def test_registering_twice_is_harmless() -> None:
    options = sonnx_ort.register(sonnx_ort.register())
    ort.InferenceSession(enforced(), options)


def test_a_trial_is_made_only_of_options_that_a_caller_could_have_changed(monkeypatch) -> None:
    tried: list[ort.SessionOptions] = []
    trial = session_options._error_of_trial

    def noted(options: ort.SessionOptions) -> str:
        tried.append(options)
        return trial(options)

    monkeypatch.setattr(session_options, "_error_of_trial", noted)
    given = [ort.SessionOptions(), ort.SessionOptions()]
    sonnx_ort.register(backend="python")
    sonnx_ort.InferenceSession(enforced(), backend="python")
    assert not tried
    sonnx_ort.register(given[0], backend="python")
    sonnx_ort.InferenceSession(enforced(), given[1], backend="python")
    assert tried == given


def test_the_optimizers_that_undo_enforcement_are_switched_off() -> None:
    options = sonnx_ort.register()
    assert options.get_session_config_entry(DISABLED) == (
        "ReshapeFusion;QDQPropagationTransformer;DivMulFusion;NoopElimination;GeluFusionL1;"
        "GeluFusionL2;LayerNormFusionL1;LayerNormFusionL2;SimplifiedLayerNormFusion;MatMulScaleFusion"
    )


def test_optimizers_that_the_caller_switched_off_stay_off() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED, "ConvAddFusion")
    sonnx_ort.register(options)
    assert options.get_session_config_entry(DISABLED).startswith("ConvAddFusion;ReshapeFusion;")


def test_flushing_denormals_is_refused() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.register(options)
    assert str(caught.value) == (
        "the session option session.set_denormal_as_zero=1 makes results differ from IEEE 754; "
        "leave it out"
    )
