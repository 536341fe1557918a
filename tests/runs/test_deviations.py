"""How far the outputs of a changed model are from those of the original, measured over runs."""

import json
import math

import numpy as np
import onnx
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import read
from sonnx_ort.profile.contract import Contract, ValueContract
from sonnx_ort.runs.diff.deviations import CORNERS, SCALES, Deviation, Measured, measure
from support.graphs import parse

RANDOM = {"random": 4, "random times 100": 2, "random times 0.01": 2}
HALF = {"half": np.float32(0.5), "third": np.float32(1.5)}


def model(nodes: str, kind: str = "float", **constants: np.ndarray) -> onnx.ModelProto:
    return parse(f"({kind}[3] x) => ({kind}[3] y) {{ {nodes} }}", constants=constants)


def measured(first: onnx.ModelProto, second: onnx.ModelProto, **how: object) -> Measured:
    return measure(read(first), read(second), how.pop("given", {}), **how)


def test_equal_outputs_are_the_same_in_all_runs() -> None:
    found = measured(model("y = Abs(x)"), model("z = Neg(x) y = Abs(z)"))
    assert found == Measured((Deviation("y", 0, 0),), RANDOM)
    assert str(found) == "measured over 8 runs: 4 random, 2 random times 100, 2 random times 0.01"
    assert str(found.deviations[0]) == "'y' is the same"
    assert sum(RANDOM.values()) == len(SCALES)


def test_a_difference_is_told_in_numbers_and_in_parts_of_the_largest_element() -> None:
    half = {"h": np.float32([0, 0, 0.5])}
    found = measured(
        model("y = Identity(x)"),
        model("y = Add(x, h)", **half),
        given={"x": np.float32([1, -4, 2])},
    )
    assert found == Measured((Deviation("y", 0.5, 0.125),), {"given": 1})
    assert str(found.deviations[0]) == (
        "'y' deviates by up to 0.5, which is 0.125 of its largest element"
    )


def test_the_largest_deviation_of_all_runs_counts() -> None:
    samples = [{"x": np.float32([size, 0, 0])} for size in (1, 8, 2)]
    found = measured(model("y = Identity(x)"), model("y = Add(x, x)"), samples=samples)
    assert found.runs["from samples"] == len(samples)
    (deviation,) = found.deviations
    assert (deviation.absolute >= 8, deviation.relative) == (True, 1)


def test_seed_draws_what_a_sample_leaves_out() -> None:
    """What is drawn beside the large numbers of the sample decides the largest deviation."""
    first, second = (
        parse(f"(float[3] x, float[3] w) => (float[3] y) {{ y = {node} }}")
        for node in ("Mul(x, w)", "Identity(x)")
    )
    samples = [{"x": np.full(3, 1e9, np.float32)}]
    one, same, other = (
        measured(first, second, samples=samples, seed=seed).deviations[0].absolute
        for seed in (1, 1, 2)
    )
    assert one == same != other


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_finite_in_one_model_alone_is_infinitely_far(number: float) -> None:
    found = measured(model("y = Identity(x)"), model("y = Add(x, h)", h=np.float32([0, number, 0])))
    (deviation,) = found.deviations
    assert math.isinf(deviation.absolute)
    assert str(deviation) == "'y' has NaN or infinity in one of both models alone"
    assert json.loads(found.to_json())["outputs"] == {
        "y": {"absolute": "infinity", "relative": "infinity"}
    }


def test_corners_of_a_contract_are_tried() -> None:
    """Only at the ends of the range do the models differ."""
    contract = Contract((ValueContract("x", range=(-100.25, 7)),))
    ends = {"low": np.float32(-100.25), "high": np.float32(7)}
    changed = model(
        "a = Equal(x, low) b = Equal(x, high) c = Cast <to = 1> (a) d = Cast <to = 1> (b)"
        " e = Add(c, d) y = Add(x, e)",
        **ends,
    )
    found = measured(model("y = Identity(x)"), changed, contract=contract)
    assert found.runs == {"random": len(SCALES), "at corners of the contract": CORNERS}
    assert found.deviations == (Deviation("y", 1, 1 / 7),)


def test_numbers_of_a_corner_are_within_a_range_that_the_type_lacks() -> None:
    contract = Contract((ValueContract("x", range=(0.1, 0.3), whole=False),))
    found = measured(model("y = Abs(x)", "float16"), model("y = Abs(x)", "float16"),
        contract=contract)  # fmt: skip
    assert found.deviations == (Deviation("y", 0, 0),)


def test_corners_of_a_contract_are_within_it() -> None:
    """The nearest numbers of float16 lie below 0.1 and above 0.3."""
    contract = Contract((ValueContract("x", range=(0.1, 0.3)),))
    ends = {"low": np.float64(0.1), "high": np.float64(0.3)}
    changed = model(
        "d = Cast <to = 11> (x) a = Less(d, low) b = Greater(d, high) o = Or(a, b)"
        " c = Cast <to = 10> (o) y = Add(x, c)",
        "float16",
        **ends,
    )
    found = measured(model("y = Identity(x)", "float16"), changed, contract=contract)
    assert found.deviations == (Deviation("y", 0, 0),)


GATHER = "(float[3] x, int64[2] k) => (float[2] y) { [pick] y = Gather(x, k) }"


def test_a_model_that_does_not_run_on_random_inputs_says_what_to_give() -> None:
    found = measured(parse(GATHER), parse(GATHER))
    assert (found.deviations, found.runs) == ((), {})
    assert found.reason.startswith("the original model fails on random inputs (ONNX Runtime ")
    assert found.reason.endswith("; give inputs with inputs= or samples=")
    assert str(found) == f"not measured: {found.reason}"
    assert json.loads(found.to_json()) == {"not_measured": found.reason}
    assert not measured(parse(GATHER), parse(GATHER), given={"k": np.array([0, 2])}).reason


def test_a_changed_model_that_fails_where_the_original_runs_is_told() -> None:
    changed = model("k = Reshape(x, s) y = Identity(k)", s=np.array([2, 2]))
    found = measured(model("y = Identity(x)"), changed)
    assert found.reason.startswith("the changed model fails where the original runs: ONNX Runtime")


def test_a_run_that_ends_the_process_is_a_reason() -> None:
    dies = parse("(int32[1] x, int32[1] z) => (int32[1] y) { y = Div(x, z) }")
    given = {"x": np.int32([-(2**31)]), "z": np.int32([-1])}
    found = measured(dies, dies, given=given)
    assert found.reason == (
        "the original model fails on given inputs (the process is killed by SIGFPE)"
    )


def test_inputs_that_cannot_be_random_are_a_reason() -> None:
    text = parse("(string[1] x) => (string[1] y) { y = Identity(x) }")
    assert measured(text, text).reason == (
        "no random tensor can be made for the input 'x'; give it with inputs="
    )


def test_given_inputs_that_do_not_fit_are_refused() -> None:
    same = model("y = Identity(x)")
    with pytest.raises(SonnxError, match="'x'"):
        measured(same, same, given={"x": np.zeros((2, 2), np.float32)})
    with pytest.raises(SonnxError, match="'x'"):
        measured(same, same, samples=[{"x": np.zeros(3, np.int64)}])


def test_random_operators_draw_the_same_numbers() -> None:
    drawn = model("r = RandomUniformLike(x) y = Add(x, r)")
    changed = model("z = Neg(x) o = RandomNormalLike(z) r = RandomUniformLike(x) y = Add(x, r)")
    assert measured(drawn, changed).deviations == (Deviation("y", 0, 0),)
