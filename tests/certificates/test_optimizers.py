"""A certificate that rests on floats that are computed names the optimizers that must be off."""

from pathlib import Path
from typing import Any

import onnx
import pytest

import sonnx_ort
from sonnx_ort import Contract, ValueContract
from sonnx_ort.checker import Model, Rejected, check, established
from sonnx_ort.checker.obligations import conclude
from support.graphs import parse

CONTRACT = Contract((ValueContract("x", (1, 2)),))
CASTS = {
    "the floats that a kernel computes": ("a = Add(x, x) d = Cast<to = 6>(a)", True),
    "the floats of an input": ("d = Cast<to = 6>(x)", False),
    "integers of computed integers": ("i = Cast<to = 6>(x) d = Add(i, i)", False),
    "integers of computed floats": ("a = Add(x, x) i = Cast<to = 6>(a) d = Neg(i)", True),
}
"""What computes a divisor, and whether its proof rests on floats that are computed."""


def certified(body: str, path: Path) -> dict[str, Any]:
    """The certificate of a model with a Div of integers by d."""
    onnx.save(parse(f"(float[3] x, int32[3] y) => (int32[3] z) {{ {body} z = Div(y, d) }}"), path)
    made = sonnx_ort.certify(path, operators="Div", contract=CONTRACT)
    assert ["z", "Div.int.C1"] in made.content["obligations"]
    return made.content


@pytest.mark.parametrize("name", CASTS)
def test_optimizers_are_named_where_a_proof_rests_on_computed_floats(
    name: str, tmp_path: Path
) -> None:
    body, named = CASTS[name]
    assert ("optimizers" in certified(body, tmp_path / "m.onnx")) is named


@pytest.mark.parametrize("name", CASTS)
def test_checker_asks_for_them_by_what_it_derives(name: str, tmp_path: Path) -> None:
    body, named = CASTS[name]
    certificate = certified(body, tmp_path / "m.onnx")
    certificate.pop("optimizers", None)
    try:
        said = check((tmp_path / "m.onnx").read_bytes(), certificate)
    except Rejected as reason:
        said = str(reason)
    assert ("does not say which optimizers must be off" in said) is named


def test_other_obligations_of_the_same_node_ask_for_none(tmp_path: Path) -> None:
    body, _ = CASTS["the floats that a kernel computes"]
    certificate = certified(body, tmp_path / "m.onnx")
    del certificate["optimizers"]
    certificate["obligations"].remove(["z", "Div.int.C1"])
    certificate["obligations"] = [
        entry for entry in certificate["obligations"] if entry[1] != "Div.int.C2"
    ]
    content = (tmp_path / "m.onnx").read_bytes()
    assert (
        check(content, certificate) == "3 checks hold in every run whose values keep the contract"
    )


DECLARED = "(float[2] x) => (float[2] b) <float[2] a> { a = Neg(x) b = Abs(a) }"


def test_declaration_that_is_true_by_computed_floats_counts_for_each_later_value() -> None:
    model = Model(parse(DECLARED))
    for value in "xa":
        model.derive(value, "type")
    model.derive("x", "shape")
    model.establish("shape", "a", (2,), of_numbers=True)
    model.require_true_claims("x")
    assert not model.rests_on_numbers
    for _ in range(2):
        model.rests_on_numbers = False
        model.require_true_claims("a")
        assert model.rests_on_numbers


LOOP = """(int64 trips, bool go, float[n, 3] x) => (float[p, q] z) {
    z = Loop <body = b (int64 i, bool c, float[k, m] s) => (bool d, float[k, m] t)
        { d = Identity(c) y = Add(s, s) t = Neg(y) }> (trips, go, x)
}"""


@pytest.mark.parametrize("of_numbers", [True, False])
def test_what_is_assumed_of_a_state_rests_on_what_the_body_gives(of_numbers: bool) -> None:
    model = Model(parse(LOOP))
    for value in "xsyt":
        model.derive(value, "type")
    for value in "xsy":
        model.derive(value, "shape")
    model.establish("shape", "t", model.known("shape", "x"), of_numbers=of_numbers)
    conclude(model, "y", "Add.float.R1")
    assert model.rests_on_numbers is of_numbers


def test_obligation_that_does_not_follow_rests_on_nothing() -> None:
    model = established(parse("(float[n] x) => (float[n] z) { a = Add(x, x) z = Sqrt(a) }"))
    assert model.computes_numbers
    with pytest.raises(Rejected):
        conclude(model, "a", "Graph.finite")
    assert not model.rests_on_numbers


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_obligations_rest_on_numbers_if_one_of_them_does(order: tuple[int, int]) -> None:
    text = "(int8[n] x) => (int64[n] z) { a = Cast<to = 1>(x) y = Cast<to = 7>(a) z = Neg(y) }"
    model = established(parse(text))
    entries = [("y", "Cast.float.C1"), ("z", "Neg.int.R2")]
    for index in order:
        conclude(model, *entries[index])
    assert model.rests_on_numbers
