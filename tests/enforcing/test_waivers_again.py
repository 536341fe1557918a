"""Models made with waivers are rewritten again; one waiver may cover many nodes."""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis import waiving as waivers
from sonnx_ort.analysis.waiving import WAIVERS
from support.backends import on_each_backend, on_native, on_python
from support.graphs import binary_model, parse
from support.waivers import (
    CONSTANT_ZERO,
    INTEGER_SHAPES,
    SHAPES,
    WAIVED_CONSTANT,
    recorded,
    run,
    unequal,
    waiver,
)

pytestmark = on_each_backend


SCALED = """(float[3] x, float[1] y, float[n] v) => (float[?] w) {
    [scale_0] a = Div(x, y)
    [scale_1] b = Div(a, y)
    [ratio] w = Div(b, v)
}"""
"""Two violations, and a node that is left to the run."""

MANY = replace(waiver("Div.float.R1"), node=None, operator="Div", count=2)
NAMED = replace(MANY, operator=None, nodes="scale_*")

ONE_OR_MANY = pytest.mark.parametrize(
    ("model", "given"),
    [
        pytest.param(unequal(), SHAPES, id="one"),
        pytest.param(unequal(element_type="int32"), INTEGER_SHAPES, id="one of integers"),
        pytest.param(parse(SCALED), MANY, id="of an operator"),
        pytest.param(parse(SCALED), NAMED, id="of names"),
    ],
)


@ONE_OR_MANY
def test_rewriting_again_with_the_waiver_changes_nothing(
    model: onnx.ModelProto, given: sonnx_ort.Waiver
) -> None:
    once = sonnx_ort.rewrite(model, waivers=[given])
    assert sonnx_ort.rewrite(once, waivers=[given]) == once


@ONE_OR_MANY
def test_renewed_waiver_takes_the_place_of_the_old_one(
    model: onnx.ModelProto, given: sonnx_ort.Waiver
) -> None:
    old = replace(given, until=dt.date(9000, 1, 1), reason="for now")
    again = sonnx_ort.rewrite(sonnx_ort.rewrite(model, waivers=[old]), waivers=[given])
    assert recorded(again) == recorded(sonnx_ort.rewrite(model, waivers=[given]))
    assert sonnx_ort.rewrite(again, waivers=[given]) == again


TOLD = {
    None: "the model's metadata says that it was waived by the board until 9999-12-31: B is one "
    "number",
    2: "the model's metadata says that such violations were waived by the board until "
    "9999-12-31, 2 in all: B is one number",
}


@on_native
@ONE_OR_MANY
def test_natively_enforced_model_needs_the_waiver_again(
    backend: str, model: onnx.ModelProto, given: sonnx_ort.Waiver
) -> None:
    del backend
    once = sonnx_ort.rewrite(model, waivers=[given])
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(once)
    hints = {o.node: o.hint for o in caught.value.report.violations}
    assert list(hints) == (["scale_0", "scale_1"] if given.count else ["the_node"])
    for hint in hints.values():
        assert hint.endswith(f"; {TOLD[given.count]}; give that waiver to accept it")


@on_python
@ONE_OR_MANY
def test_broadcast_that_was_written_out_is_enforced_whoever_asks(
    backend: str, model: onnx.ModelProto, given: sonnx_ort.Waiver
) -> None:
    del backend
    once = sonnx_ort.rewrite(model, waivers=[given])
    assert sonnx_ort.rewrite(once) == once
    obligations = sonnx_ort.check(once, operators="default").obligations
    told = {o.node: o.evidence for o in obligations if o.rule.id == given.rule}
    named_and_not_violated = f"; {TOLD[given.count]}; the model checks it in each run"
    assert told.pop("ratio", "").endswith(named_and_not_violated) is (given is MANY)
    front = "a Broadcast in front makes the shapes equal"
    assert {*told.values()} == {f"{front}; {TOLD[given.count]}"}


def test_node_that_was_left_as_it_is_needs_its_waiver_again() -> None:
    choices = {"operators": "Acos"}
    once = sonnx_ort.rewrite(
        parse(WAIVED_CONSTANT, opset=18), waivers=[waiver("Acos.float.C1")], **choices
    )
    again = sonnx_ort.rewrite(once, waivers=[waiver("Acos.float.C1")], **choices)
    assert recorded(again) == recorded(once)
    with pytest.raises(sonnx_ort.ModelRejected, match="the model's metadata says that it was"):
        sonnx_ort.rewrite(once, **choices)


def test_expired_waiver_of_a_rewritten_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [replace(SHAPES, until=dt.date(9000, 1, 1))]
    once = sonnx_ort.rewrite(unequal(), waivers=given)
    monkeypatch.setattr(waivers, "_today", lambda: dt.date(9000, 1, 2))
    with pytest.raises(sonnx_ort.SonnxError, match="expired on 9000-01-01"):
        sonnx_ort.rewrite(once, waivers=given)


def claiming(model: onnx.ModelProto, *rules: str) -> onnx.ModelProto:
    """A model that says of itself that violations were waived."""
    entries = [
        {"rule": rule, "node": "the_node", "path": None, "model": None}
        | {"reason": "r", "who": "w", "until": "9999-12-31"}
        for rule in rules
    ]
    model.metadata_props.add(key=WAIVERS, value=json.dumps(entries))
    return model


def test_model_that_only_claims_waivers_is_rejected() -> None:
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.rewrite(claiming(unequal(), "Div.float.R1"))
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.InferenceSession(claiming(unequal(), "Div.float.R1"))
    assert not sonnx_ort.check(claiming(unequal(), "Div.float.R1"), operators="default").ok


def test_rule_that_is_left_to_runs_is_enforced_whatever_the_model_claims() -> None:
    open_shapes = binary_model("Div", "float", ["n"], ["m"])
    model = sonnx_ort.rewrite(claiming(open_shapes, "Div.float.R1"))
    assert recorded(model) is None
    with pytest.raises(sonnx_ort.ContractViolation):
        run(model, [1, 2, 3], [1])


@on_native
def test_guards_that_were_taken_away_come_back_whatever_the_model_claims(backend: str) -> None:
    del backend
    claims = {p.key: p.value for p in sonnx_ort.rewrite(unequal(), waivers=[SHAPES]).metadata_props}
    bare = claiming(binary_model("Div", "float", ["n"], ["m"]), "Div.float.R1")
    for key, value in claims.items():
        if key != WAIVERS:
            bare.metadata_props.add(key=key, value=value)
    with pytest.raises(sonnx_ort.ContractViolation):
        run(sonnx_ort.rewrite(bare), [1, 2, 3], [1])


@on_native
def test_claimed_waiver_of_a_rule_without_which_none_is_made_is_no_enforcement(
    backend: str,
) -> None:
    del backend
    given = sonnx_ort.rewrite(binary_model("Div", "int32", [1], [1]))
    forged = parse(CONSTANT_ZERO)
    for entry in given.metadata_props:
        forged.metadata_props.add(key=entry.key, value=entry.value)
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.rewrite(claiming(forged, "Div.int.C1"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"rule": 1}]', "null", "[[]]", "[" * 9999])
def test_claims_that_make_no_sense_are_passed_over(text: str) -> None:
    model = binary_model("Div", "float", [3], [3])
    model.metadata_props.add(key=WAIVERS, value=text)
    assert recorded(sonnx_ort.rewrite(model)) is None


def each(*names: str) -> list[sonnx_ort.Waiver]:
    """A waiver of its own for each node."""
    return [waiver("Div.float.R1", name) for name in names]


def without_metadata(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.metadata_props[:]
    return made


@pytest.mark.parametrize("given", [MANY, NAMED], ids=["operator", "names"])
def test_nodes_are_enforced_as_with_a_waiver_for_each(given: sonnx_ort.Waiver) -> None:
    made = sonnx_ort.rewrite(parse(SCALED), waivers=[given])
    expected = sonnx_ort.rewrite(parse(SCALED), waivers=each("scale_0", "scale_1"))
    assert without_metadata(made) == without_metadata(expected)


@pytest.mark.parametrize("given", [MANY, NAMED], ids=["operator", "names"])
def test_metadata_has_one_entry(given: sonnx_ort.Waiver) -> None:
    assert recorded(sonnx_ort.rewrite(parse(SCALED), waivers=[given])) == [
        {
            "rule": "Div.float.R1",
            "node": None,
            "path": None,
            "model": None,
            "reason": "B is one number",
            "who": "the board",
            "until": "9999-12-31",
            "operator": given.operator,
            "nodes": given.nodes,
            "count": 2,
        }
    ]


def test_other_nodes_that_it_names_are_enforced_in_the_run() -> None:
    np.testing.assert_array_equal(
        run(parse(SCALED), [4, 8, 12], [2], [1, 2, 3], waivers=[MANY]), [1, 1, 1]
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        run(parse(SCALED), [4, 8, 12], [2], [1], waivers=[MANY])
    assert (caught.value.rule, caught.value.node) == ("Div.float.R1", "ratio")


@pytest.mark.parametrize(
    "given",
    [
        [replace(MANY, count=1)],
        [replace(MANY, count=3)],
        [replace(MANY, nodes="scale_0")],
        [MANY, *each("scale_0")],
    ],
)
def test_other_number_is_refused(given: Sequence[sonnx_ort.Waiver]) -> None:
    once = sonnx_ort.rewrite(parse(SCALED), waivers=[MANY])
    with pytest.raises(sonnx_ort.SonnxError, match=r"the waiver of Div\.float\.R1 at node"):
        sonnx_ort.rewrite(once, waivers=given)


@on_python
def test_number_of_a_broadcast_model_stays_that_of_its_original(backend: str) -> None:
    del backend
    once = sonnx_ort.rewrite(parse(SCALED), waivers=[MANY])
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(once, waivers=[replace(MANY, count=3)])
    assert str(caught.value) == (
        "the waiver of Div.float.R1 at nodes of Div matches no violation: the rule is proved or "
        "runtime there; remove the waiver"
    )


@on_native
def test_nodes_that_were_not_violated_do_not_speak_of_the_waiver(backend: str) -> None:
    del backend
    once = sonnx_ort.rewrite(parse(SCALED), waivers=[MANY])
    (left,) = (
        o
        for o in sonnx_ort.check(once, operators="default").obligations
        if (o.node, o.rule.id) == ("ratio", "Div.float.R1")
    )
    assert "waived" not in left.evidence


ANGLES = """(float[2] y, float[2] v) => (float[2] z, float[2] w) <float[2] x = {2, 0}> {
    [one] a = Acos(x)
    [two] b = Acos(x)
    c = Add(a, b)
    z = Add(c, y)
    [open] w = Acos(v)
}"""
"""Two violations by constants, and a node that is left to the run."""

OF_ANGLES = replace(MANY, rule="Acos.float.C1", operator="Acos")


def test_elements_are_waived_at_many_nodes() -> None:
    choices = {"operators": "Acos", "waivers": [OF_ANGLES]}
    model = parse(ANGLES, opset=22)
    assert np.isnan(run(model, [0, 0], [1, 1], **choices)[0])
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        run(model, [0, 0], [2, 1], **choices)
    assert (caught.value.rule, caught.value.node) == ("Acos.float.C1", "open")


def test_elements_that_stay_violated_are_counted_again() -> None:
    once = sonnx_ort.rewrite(parse(ANGLES, opset=22), operators="Acos", waivers=[OF_ANGLES])
    assert sonnx_ort.rewrite(once, operators="Acos", waivers=[OF_ANGLES]) == once
    with pytest.raises(sonnx_ort.SonnxError, match="matches 2 violations, but its 'count' is 3: "):
        sonnx_ort.rewrite(once, operators="Acos", waivers=[replace(OF_ANGLES, count=3)])
    with pytest.raises(sonnx_ort.ModelRejected):
        sonnx_ort.rewrite(once, operators="Acos")
