"""`conform` with rounding: what was measured end to end, and where it is told."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.conforming.bounds import MEASURED_DEVIATION as MEASURED
from sonnx_ort.conforming.change import Safety
from support.graphs import parse

SOFTSIGN = "(float[2,3] x) => (float[2,3] y) { [soft] y = Softsign(x) }"
SAFE = "(float[2,3] x) => (float[2,3] y) { [share] y = Softmax <axis = -1> (x) }"
POOL = """(float[1,1,8,8] x) => (float[1,1,3,3] y)
    { [pool] y = MaxPool <kernel_shape = [3,3], strides = [2,2]> (x) }"""


def metadata(model: onnx.ModelProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in model.metadata_props}


def test_a_model_that_is_rounded_states_its_measured_deviation() -> None:
    conformed = sonnx_ort.conform(parse(SOFTSIGN), rounding=True)
    assert conformed.measured is not None
    (deviation,) = conformed.measured.deviations
    assert (deviation.output, deviation.relative < 1e-6) == ("y", True)
    stated = json.loads(metadata(conformed.model)[MEASURED])
    assert stated["outputs"]["y"]["absolute"] == deviation.absolute
    assert stated["runs"] == {"random": 4, "random times 100": 2, "random times 0.01": 2}
    assert {"onnxruntime", "outputs", "runs", "seed"} == set(stated)


def test_what_is_measured_is_the_largest_deviation_that_any_run_shows() -> None:
    """A sample with NaN, which the changed node does not keep."""
    model = parse("(float16[3] x) => (float16[3] y) { [sign] y = Sign(x) }")
    sample = {"x": np.float16([1, np.nan, -2])}
    conformed = sonnx_ort.conform(model, rounding=True, samples=[sample])
    assert conformed.measured is not None
    assert conformed.measured.runs["from samples"] == 1
    assert [each.absolute for each in conformed.measured.deviations] == [np.inf]


def test_a_contract_says_what_is_tried() -> None:
    contract = sonnx_ort.Contract((sonnx_ort.ValueContract("x", range=(-1e30, 1e30)),))
    conformed = sonnx_ort.conform(parse(SOFTSIGN), rounding=True, contract=contract)
    assert conformed.measured is not None
    assert conformed.measured.runs == {"random": 8, "at corners of the contract": 8}


@pytest.mark.parametrize(("text", "options"), [
    (SAFE, {}),
    (SAFE, {"rounding": True}),
    (SOFTSIGN, {"rounding": True, "measure": False}),
    (POOL, {"name_outputs": True}),
])  # fmt: skip
def test_nothing_is_measured_where_nothing_rounds_or_nobody_asks(
    text: str, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonnx_ort.conforming.conformity.measure_deviations", pytest.fail)
    conformed = sonnx_ort.conform(parse(text), **options)
    assert conformed.changes
    assert conformed.measured is None
    assert MEASURED not in metadata(conformed.model)


def test_a_forecast_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonnx_ort.conforming.conformity.measure_deviations", pytest.fail)
    report = sonnx_ort.check(parse(SOFTSIGN))
    assert report.mendable_by_rounding


def test_a_rounded_model_is_not_changed_again_and_keeps_what_it_states() -> None:
    once = sonnx_ort.conform(parse(SOFTSIGN), rounding=True).model
    again = sonnx_ort.conform(once, rounding=True)
    assert (again.changes, again.measured) == ((), None)
    assert again.model == once


def test_a_graph_model_states_it_as_well(tmp_path: Path) -> None:
    onnx.save(parse(SOFTSIGN), tmp_path / "model.onnx")
    conformed = sonnx_ort.conform(ir.load(tmp_path / "model.onnx"), rounding=True)
    assert MEASURED in conformed.model.metadata_props
    target = tmp_path / "conforming.onnx"
    sonnx_ort.conform_file(tmp_path / "model.onnx", target, rounding=True)
    assert MEASURED in metadata(onnx.load(target))


def test_outputs_that_are_added_change_no_bit_and_are_of_a_kind_of_their_own() -> None:
    changes = sonnx_ort.conform(parse(POOL), name_outputs=True).changes
    (added,) = [each for each in changes if each.title.startswith("make outputs")]
    assert (added.safety, added.bound) == (Safety.INTERFACE, None)


@pytest.mark.parametrize("text", [SOFTSIGN, SAFE])
def test_a_change_that_was_made_rounds_exactly_if_it_has_a_bound(text: str) -> None:
    for change in sonnx_ort.conform(parse(text), rounding=True, measure=False).changes:
        assert (change.safety is Safety.ROUNDING) == (change.bound is not None)
