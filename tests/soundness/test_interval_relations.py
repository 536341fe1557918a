"""Softmax and normalizations that are written out stay within what relations say of them."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.checker import check
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.profile.contract import Contract, ValueContract
from support.graphs import parse
from support.sessions import on_one_thread

MEAN = "m = ReduceMean<axes = [-1]>(q) a = Add(m, e) r = Sqrt(a)"
FORMS = {
    "the root of the mean of squares": f"q = Pow(x, two) {MEAN} y = Div(x, r)",
    "products as squares": f"q = Mul(x, x) {MEAN} y = Div(x, r)",
    "what is added first": "q = Mul(x, x) m = ReduceMean<axes = [-1]>(q) a = Add(e, m)"
        " s = Sqrt(a) r = Add(s, e) y = Div(x, r)",
    "a reciprocal": f"q = Mul(x, x) {MEAN} i = Reciprocal(r) y = Mul(i, x)",
    "one divided by it": f"q = Mul(x, x) {MEAN} i = Div(one, r) y = Mul(x, i)",
    "a sum of squares": "q = ReduceSumSquare<axes = [-1]>(x) a = Add(q, e) r = Sqrt(a)"
        " y = Div(x, r)",
    "a norm": "q = ReduceL2<axes = [-1]>(x) r = Max(q, e) y = Div(x, r)",
    "shares": "p = Abs(x) q = ReduceSum(p, last) r = Add(q, e) y = Div(p, r)",
    "a softmax": "m = ReduceMax<axes = [-1]>(x) d = Sub(x, m) q = Exp(d) r = ReduceSum(q, last)"
        " y = Div(q, r)",
    "a difference": "y = Sub(x, x)",
}  # fmt: skip
COUNT = 24


def model_of(form: str) -> onnx.ModelProto:
    """A model of this form, with constants beside it."""
    return parse(
        f"""(float[n, {COUNT}] x) => (float[n, {COUNT}] y) {{
            one = Constant<value = float {{1}}>() two = Constant<value = float {{2}}>()
            e = Constant<value = float {{1e-6}}>() last = Constant<value = int64[1] {{-1}}>()
            {FORMS[form]} }}"""
    )


def contract_up_to(largest: float) -> Contract:
    return Contract((ValueContract("x", (-largest, largest)),))


def interval_of(form: str, largest: float) -> Any:
    loaded = load_canonical(model_of(form)).graph_model
    found = Facts(loaded).numbers_under(contract_up_to(largest)).range(loaded.graph.outputs[0])
    assert found is not None
    return found


LARGEST = {"a softmax": 1.001, "shares": 1.001, "a norm": 1.001, "a sum of squares": 1.001}


@pytest.mark.parametrize("form", FORMS)
def test_results_are_bounded_however_large_the_operands_are(form: str) -> None:
    whole = interval_of(form, 1e12)
    most = 0.0 if form == "a difference" else LARGEST.get(form, np.sqrt(COUNT) * 1.001)
    assert not whole.nan
    assert max(-whole.lower, whole.upper) <= most


def lines(rng: np.random.Generator, largest: float) -> np.ndarray[Any, Any]:
    """Elements of all magnitudes: alike, one alone, with zeros and subnormal numbers among them."""
    scale = largest * 10.0 ** -rng.uniform(0, 45, (60, 1))
    x = rng.uniform(-1, 1, (60, COUNT)) * scale
    x[::4] = scale[::4]
    x[1::4, 1:] *= rng.choice([0, 1e-9, 1], (15, 1))
    x[2::4] *= 10.0 ** -rng.uniform(0, 40, (15, COUNT))
    return x.astype(np.float32).clip(-largest, largest)


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize("form", FORMS)
def test_no_run_leaves_the_interval(form: str, level: str) -> None:
    session = ort.InferenceSession(model_of(form).SerializeToString(), on_one_thread(level))
    rng = np.random.default_rng(random.Random(form).randrange(1 << 30))  # noqa: S311 - a seed
    for largest in (1e-30, 1e-3, 1.0, 30.0, 1e12):
        whole = interval_of(form, largest)
        for _ in range(5):
            (y,) = session.run(None, {"x": lines(rng, np.float32(largest))})
            assert not np.isnan(y).any()
            assert whole.lower <= y.min()
            assert y.max() <= whole.upper


LIKE_THEM = {
    "the mean of other squares": f"z = Neg(x) q = Mul(z, z) {MEAN} y = Div(x, r)",
    "another product": f"z = Abs(x) q = Mul(x, z) p = Abs(q) {MEAN.replace('(q)', '(p)')}"
        " y = Div(x, r)",
    "another exponent": f"q = Pow(x, one) z = Abs(q) {MEAN.replace('(q)', '(z)')} y = Div(x, r)",
    "axes that are gone": "q = Mul(x, x) m = ReduceMean<axes = [-1], keepdims = 0>(q)"
        " k = Unsqueeze(m, last) a = Add(k, e) r = Sqrt(a) y = Div(x, r)",
    "a sum of numbers of both signs": "q = ReduceSum(x, last) p = Abs(q) r = Add(p, e)"
        " y = Div(x, r)",
    "a magnitude between": "q = Mul(x, x) m = ReduceMean<axes = [-1]>(q) n = Abs(m)"
        " s = Sqrt(n) r = Add(s, e) y = Div(x, r)",
}  # fmt: skip


@pytest.mark.parametrize("form", LIKE_THEM)
def test_nothing_is_said_of_what_only_looks_like_it(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMS, form, LIKE_THEM[form])
    assert interval_of(form, 1e12).upper > 1e6


NAN_BEFORE = "z = Sqrt(x) m = ReduceMax<axes = [-1]>(z) y = Sub(z, m)"


def test_nothing_is_said_of_the_largest_number_beside_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMS, "NaN", NAN_BEFORE)
    loaded = load_canonical(model_of("NaN")).graph_model
    numbers = Facts(loaded).numbers_under(contract_up_to(4.0))
    assert numbers.range(loaded.graph.outputs[0]) is None


def test_kernel_drops_the_largest_number_beside_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it does not, the condition on NaN can go."""
    monkeypatch.setitem(FORMS, "NaN", NAN_BEFORE)
    session = ort.InferenceSession(model_of("NaN").SerializeToString(), on_one_thread("none"))
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 4, (500, COUNT)).astype(np.float32)
    assert (session.run(None, {"x": x})[0] > 0).any()


@pytest.mark.parametrize("form", FORMS)
def test_certificates_rest_on_relations(form: str, tmp_path: Path) -> None:
    onnx.save(model_of(form), tmp_path / "m.onnx")
    contract = contract_up_to(1e12)
    made = sonnx_ort.certify(
        tmp_path / "m.onnx", operators="Graph.finite_values", contract=contract
    ).content
    assert ["y", "Graph.finite"] in made["obligations"]
    assert "hold in every run" in check((tmp_path / "m.onnx").read_bytes(), made)
