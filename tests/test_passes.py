"""`conform` and `rewrite` as passes of onnx_ir."""

import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.passes import ConformPass, EnforcePass
from support.backends import BACKENDS
from support.exported_models import WRITTEN, exported

WIDENED = exported(second="float[3] scale")
"""A Div that breaks a rule in every run, which `conform` fixes."""


def operators(model: ir.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def test_conform_pass_gives_what_conform_gives() -> None:
    model = ir.from_proto(WIDENED)
    result = ConformPass()(model)
    assert result.modified
    expected = sonnx_ort.conform(ir.from_proto(WIDENED)).model
    assert ir.to_proto(result.model) == ir.to_proto(expected)


def test_conform_pass_takes_the_options_of_conform() -> None:
    assert not ConformPass(select="Sub")(ir.from_proto(WIDENED)).modified


@BACKENDS
def test_enforce_pass_gives_what_rewrite_gives(backend: str) -> None:
    result = EnforcePass(backend=backend)(ir.from_proto(exported()))
    assert result.modified
    expected = sonnx_ort.rewrite(ir.from_proto(exported()), backend=backend)
    assert ir.to_proto(result.model) == ir.to_proto(expected)


@pytest.mark.parametrize(
    "made", [ConformPass(), EnforcePass(backend="native")], ids=["conform", "enforce"]
)
def test_pass_leaves_the_model_that_it_gets(made: ir.passes.PassBase) -> None:
    model = ir.from_proto(exported())
    before = ir.to_proto(model).SerializeToString()
    assert made(model).model is not model
    assert ir.to_proto(model).SerializeToString() == before


@pytest.mark.parametrize(
    "made", [ConformPass(), EnforcePass(backend="native")], ids=["conform", "enforce"]
)
def test_second_time_changes_nothing(made: ir.passes.PassBase) -> None:
    model = ConformPass()(ir.from_proto(WIDENED)).model
    once = made(model).model
    if isinstance(made, ConformPass):
        assert not made(once).modified
    else:
        again = made(once)
        assert not again.modified
        assert ir.to_proto(again.model) == ir.to_proto(once)


def test_passes_run_in_a_sequence() -> None:
    sequence = ir.passes.Sequential(ConformPass(), EnforcePass(backend="native"))
    result = sequence(ir.from_proto(WIDENED))
    assert result.modified
    assert operators(result.model) == ["Shape", "Expand", "Div"]
    assert sonnx_ort.check(result.model).ok


def test_rejection_says_where_and_is_the_cause_of_the_error_of_a_sequence() -> None:
    with pytest.raises(sonnx_ort.ModelRejected, match=WRITTEN.replace(".", r"\.")):
        EnforcePass()(ir.from_proto(WIDENED))
    with pytest.raises(ir.passes.PassError) as raised:
        ir.passes.Sequential(EnforcePass(), ConformPass())(ir.from_proto(WIDENED))
    assert isinstance(raised.value.__cause__, sonnx_ort.ModelRejected)


@pytest.mark.parametrize("made", [ConformPass, EnforcePass])
def test_unknown_option_is_an_error_where_the_pass_is_made(made: type[ir.passes.PassBase]) -> None:
    with pytest.raises(sonnx_ort.SonnxError, match="colour"):
        made(colour="red")
