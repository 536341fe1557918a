"""What a model was conformed for is a part of it: stated, enforced, or the model is refused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort import (
    Contract,
    ContractViolation,
    InvalidModel,
    ShapeContract,
    SizeContract,
    SonnxError,
    ValueContract,
)
from sonnx_ort.checker import check as check_certificate
from sonnx_ort.runs.diff.against_plain import against_plain
from sonnx_ort.runs.diff.difference import EXACT, Comparison, compared
from sonnx_ort.runs.pairs import run_both
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import quiet

CUT = """(float[n,4] x, float[4] w) => (float[p,4] z)
    <int64[1] s = {0}, int64[1] e = {9}, int64[1] a = {0}> {
    [cut] c = Slice(x, s, e, a) [scaled] z = Mul(c, c) [unread] u = Abs(w) }"""
FIVE = Contract((ValueContract("x", (0, 9)),), sizes=(SizeContract("n", 5, 5),))
SAID = '[{"value": "x", "range": [0, 9]}, {"size": "n", "range": [5, 5]}]'
KEY = "sonnx_ort.assumed_contract"
NOTHING: Mapping[str, np.ndarray] = MappingProxyType({})
AGAIN = "conform the original model again"


def conformed(contract: Contract = FIVE) -> onnx.ModelProto:
    return sonnx_ort.conform(parse(CUT), contract=contract).model


def feeds(length: int, element: float = 1) -> dict[str, np.ndarray]:
    return {"x": np.full((length, 4), element, np.float32), "w": np.ones(4, np.float32)}


def entries(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def with_entry(model: onnx.ModelProto, key: str, text: str) -> onnx.ModelProto:
    kept = [entry for entry in model.metadata_props if entry.key != key]
    del model.metadata_props[:]
    model.metadata_props.extend(kept)
    model.metadata_props.add(key=key, value=text)
    return model


@BACKENDS
@pytest.mark.parametrize("wrong", [feeds(9), feeds(5, 10)])
def test_run_beyond_the_contract_of_a_conformed_model_is_refused(
    backend: str, wrong: dict[str, np.ndarray]
) -> None:
    model = conformed()
    enforced = sonnx_ort.rewrite(model, backend=backend)
    for source in (model, enforced):
        session = sonnx_ort.InferenceSession(source, quiet(), backend=backend)
        assert session.contract == FIVE
        assert session.run(None, feeds(5))[0].shape == (5, 4)
        with pytest.raises(ContractViolation):
            session.run(None, wrong)


@BACKENDS
def test_plain_session_of_the_enforced_model_refuses_it_too(backend: str) -> None:
    enforced = sonnx_ort.rewrite(conformed(), backend=backend)
    session = ort.InferenceSession(
        enforced.SerializeToString(), sonnx_ort.register(quiet(), backend=backend)
    )
    with pytest.raises(Exception, match=r"Contract\.sizes"):
        session.run(None, feeds(9))


def test_report_states_it() -> None:
    enforced = sonnx_ort.rewrite(conformed(), backend="native")
    for model in (conformed(), enforced):
        report = sonnx_ort.check(model)
        assert report.premises == (f"inputs within the contract {SAID}",)
        assert report.demands.contract == FIVE
        assert report.to_document()["premises"] == [f"inputs within the contract {SAID}"]
        assert report.summary().endswith(f"; conformed for: inputs within the contract {SAID}")
    assert sonnx_ort.check(parse(CUT)).premises == ()


def test_result_of_conform_states_all_of_it() -> None:
    result = sonnx_ort.conform(conformed(), assume={"w": [1, 2, 3, 4]})
    assert result.assumed == {
        "w": "[1.0, 2.0, 3.0, 4.0]",
        "every input": f"within the contract {SAID}",
    }
    assert result.report.premises == (
        "w is [1.0, 2.0, 3.0, 4.0] in every run",
        f"inputs within the contract {SAID}",
    )


def test_given_contract_is_joined_with_it() -> None:
    narrower = Contract((ValueContract("x", (-1, 5)),), sizes=(SizeContract("n", 1, 8),))
    enforced = sonnx_ort.rewrite(conformed(), contract=narrower, backend="native")
    session = sonnx_ort.InferenceSession(enforced, quiet(), contract=narrower)
    assert session.contract == Contract(
        (ValueContract("x", (0, 5)),), sizes=(SizeContract("n", 5, 5),)
    )


def test_given_contract_that_contradicts_it_is_refused() -> None:
    other = Contract(sizes=(SizeContract("n", 6, 6),))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.rewrite(conformed(), contract=other)
    assert str(caught.value) == (
        f"contract: the model was conformed within the contract {SAID}, and the given one differs: "
        "no size of 'n' is allowed by both; give one that fits, or conform the original model with "
        "it"
    )


def test_conforming_again_keeps_it() -> None:
    once = conformed()
    assert entries(once)[KEY] == SAID
    assert entries(sonnx_ort.conform(once).model)[KEY] == SAID
    rounding = sonnx_ort.conform(once, name_outputs=True, rounding=True).model
    assert entries(rounding)[KEY] == SAID


def test_enforced_model_without_it_is_refused() -> None:
    enforced = sonnx_ort.rewrite(parse(CUT), backend="native", operators="Mul")
    for use in (sonnx_ort.check, sonnx_ort.rewrite):
        with pytest.raises(InvalidModel) as caught:
            use(with_entry(enforced, KEY, SAID))
        assert str(caught.value) == (
            f"the model was conformed within the contract {SAID}, and it enforces another one; "
            "rewrite the conformed model again"
        )


def test_random_inputs_keep_it() -> None:
    with against_plain(conformed(), {}) as plain:
        assert plain.inputs.arrays["x"].shape == (5, 4)
        assert (plain.inputs.arrays["x"] >= 0).all()


def compare(
    one: onnx.ModelProto, other: onnx.ModelProto, given: Mapping[str, np.ndarray] = NOTHING
) -> Comparison:
    return compared(next(run_both(one, other, [(given, 0)])), EXACT)


def repeat(model: onnx.ModelProto, given: Mapping[str, np.ndarray] = NOTHING) -> None:
    with against_plain(model, given):
        pass


@pytest.mark.parametrize("use", [sonnx_ort.audit, repeat])
def test_inputs_that_break_it_are_refused(use: Callable[..., object]) -> None:
    with pytest.raises(SonnxError) as caught:
        use(conformed(), feeds(9))
    assert str(caught.value).startswith("the input 'x' breaks Contract.sizes: axis 0 of x (9, 4)")


def test_comparison_with_the_original_keeps_it() -> None:
    with pytest.raises(SonnxError, match=r"the input 'x' breaks Contract\.range"):
        compare(parse(CUT), conformed(), feeds(5, 10))
    assert compare(parse(CUT), conformed()).equal


def test_proposed_contract_has_it(tmp_path: Path) -> None:
    onnx.save(conformed(), tmp_path / "m.onnx")
    proposed = sonnx_ort.propose_contract(tmp_path / "m.onnx").contract
    assert proposed.of("x") == ValueContract("x", (0, 9))
    assert SizeContract("n", 5, 5) in proposed.sizes


def test_certificate_of_the_enforced_model_has_it(tmp_path: Path) -> None:
    path, target = tmp_path / "m.onnx", tmp_path / "e.onnx"
    onnx.save(conformed(), path)
    made = sonnx_ort.rewrite_file(
        path, target, backend="native", certificate=tmp_path / "c.json", operators="Slice,Mul"
    )
    assert made is not None
    accepted = check_certificate(path.read_bytes(), made.content, target.read_bytes())
    assert accepted.startswith(f"{len(made.content['obligations']) + 2} checks hold")


DAMAGED = {
    "no JSON": ("[", f"the metadata entry '{KEY}' cannot be read (JSONDecodeError: "),
    "no list of entries": ("3", f"the metadata entry '{KEY}' cannot be read (TypeError: "),
    "NaN": ('[{"value": "x", "range": [NaN, 1]}]', f"the metadata entry '{KEY}' cannot be read ("),
    "an entry of another kind": (
        '[{"size": "n", "range": [5, 5]}, {"shape": "x"}]',
        f"the metadata entry '{KEY}' is no contract of `conform`; {AGAIN}",
    ),
    "nothing": (
        "[]",
        f"the metadata entry '{KEY}' is no contract of `conform`; {AGAIN}",
    ),
    "one input twice": (
        '[{"value": "x", "range": [0, 1]}, {"value": "x", "range": [0, 2]}]',
        f"the metadata entry '{KEY}' has two entries for 'x'; {AGAIN}",
    ),
    "an input that there is not": (
        '[{"value": "v", "range": [0, 1]}]',
        (
            "the model was conformed within a contract of its input 'v', and has no such input; "
            f"{AGAIN}"
        ),
    ),
}

USES: dict[str, Callable[[onnx.ModelProto], object]] = {
    "check": sonnx_ort.check,
    "rewrite": sonnx_ort.rewrite,
    "conform": sonnx_ort.conform,
    "InferenceSession": sonnx_ort.InferenceSession,
    "audit": sonnx_ort.audit,
    "repeat": repeat,
    "diff": lambda model: compare(parse(CUT), model),
    "contract": sonnx_ort.propose_contract,
    "reduce": lambda model: sonnx_ort.reduce(model, violates="Slice"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_contract_is_refused(case: str) -> None:
    text, message = DAMAGED[case]
    with pytest.raises(InvalidModel) as caught:
        sonnx_ort.check(with_entry(parse(CUT), KEY, text))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("use", USES)
def test_whatever_loads_a_model_refuses_it_damaged(use: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        USES[use](with_entry(parse(CUT), KEY, "[]"))
    assert str(caught.value) == DAMAGED["nothing"][1]


def test_two_different_entries_are_refused() -> None:
    model = conformed()
    model.metadata_props.add(key=KEY, value='[{"size": "n", "range": [6, 6]}]')
    with pytest.raises(InvalidModel) as caught:
        sonnx_ort.check(model)
    assert str(caught.value) == (f"the metadata has two entries '{KEY}'; {AGAIN}")


def test_size_without_an_axis_is_refused() -> None:
    model = conformed()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "m"
    with pytest.raises(SonnxError, match="no axis of an input is named 'n'"):
        sonnx_ort.rewrite(model)


def test_type_without_numbers_is_refused() -> None:
    text = "(string[n] x) => (string[n] y) { y = Identity(x) }"
    said = '[{"value": "x", "range": [0, 1]}]'
    with pytest.raises(SonnxError, match="'x' is of type string, which has no range"):
        sonnx_ort.rewrite(with_entry(parse(text), KEY, said))


FIXED = """(float[n] x, float t, int64 rate) => (float[m] y)
    { r = Cast<to = 1>(rate) s = Mul(t, r) y = Mul(x, x) z = Abs(s) }"""


def test_assumed_values_and_shapes_are_stated() -> None:
    shapes = {"x": [3], "t": []}
    model = sonnx_ort.conform(parse(FIXED), assume={"rate": 7}, assume_shapes=shapes).model
    assert sonnx_ort.check(model).premises == (
        "rate is 7 in every run",
        "t is of shape () in every run",
        "x is of shape (3,) in every run",
    )


def renamed(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"


def another_size(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4


def without_shape(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.ClearField("shape")


def without_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].name = "other"


def input_again(model: onnx.ModelProto) -> None:
    model.graph.input.append(helper.make_tensor_value_info("rate", onnx.TensorProto.INT64, []))


SHAPE = "the model was conformed for the shape (3,) of 'x', which {}; declare this shape, or "
CHANGED = {
    renamed: SHAPE.format("is declared as (n,)"),
    another_size: SHAPE.format("is declared as (4,)"),
    without_shape: SHAPE.format("is declared as (rank unknown)"),
    without_input: SHAPE.format("is no input"),
    input_again: "the model was conformed for the value 7 of 'rate', which is an input again; ",
}


@pytest.mark.parametrize("change", CHANGED)
def test_input_that_is_open_again_is_refused(change: Callable[[onnx.ModelProto], None]) -> None:
    given = {"assume": {"rate": 7}, "assume_shapes": {"x": [3]}}
    model = sonnx_ort.conform(parse(FIXED), **given).model
    change(model)
    with pytest.raises(InvalidModel) as caught:
        sonnx_ort.check(model)
    assert str(caught.value) == f"{CHANGED[change]}{AGAIN}"


@pytest.mark.parametrize(
    "assumed", [{"assume": {"x": np.ones((5, 4), np.float32)}}, {"assume_shapes": {"x": [5, 4]}}]
)
def test_input_of_the_contract_is_not_assumed_later(assumed: dict[str, object]) -> None:
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.conform(conformed(), **assumed)
    assert str(caught.value) == (
        "the assumption does not fit: the model was conformed within a contract of the input "
        "'x'; conform the original model with both at once"
    )


def test_shape_of_the_contract_is_demanded() -> None:
    shaped = Contract(shapes=(ShapeContract("x", (5, None)),))
    session = sonnx_ort.InferenceSession(conformed(shaped), quiet(), backend="native")
    with pytest.raises(ContractViolation):
        session.run(None, feeds(9))
