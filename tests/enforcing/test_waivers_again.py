"""Models made with waivers are rewritten again; what a model claims of waivers changes nothing."""

import datetime as dt
import json
from dataclasses import replace

import onnx
import pytest

import sonnx_ort
from sonnx_ort.obligations import waiving as waivers
from sonnx_ort.obligations.waiving import WAIVERS
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


@pytest.mark.parametrize("element_type", ["float", "int32"])
def test_rewriting_again_with_the_waivers_changes_nothing(element_type: str) -> None:
    given = [SHAPES if element_type == "float" else INTEGER_SHAPES]
    once = sonnx_ort.rewrite(unequal(element_type=element_type), waivers=given)
    assert sonnx_ort.rewrite(once, waivers=given) == once


def test_node_that_was_left_as_it_is_needs_its_waiver_again() -> None:
    choices = {"operators": "Acos"}
    once = sonnx_ort.rewrite(
        parse(WAIVED_CONSTANT, opset=18), waivers=[waiver("Acos.float.C1")], **choices
    )
    again = sonnx_ort.rewrite(once, waivers=[waiver("Acos.float.C1")], **choices)
    assert recorded(again) == recorded(once)
    with pytest.raises(sonnx_ort.ModelRejected, match="the model's metadata says that it was"):
        sonnx_ort.rewrite(once, **choices)


@on_native
def test_natively_enforced_model_needs_its_waivers_again(backend: str) -> None:
    del backend
    once = sonnx_ort.rewrite(unequal(), waivers=[SHAPES])
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(once)
    (violation,) = caught.value.report.violations
    assert violation.hint.endswith(
        "; the model's metadata says that it was waived by the board until 9999-12-31: B is one "
        "number; give that waiver to accept it"
    )


@on_python
def test_broadcast_that_was_written_out_is_enforced_whoever_asks(backend: str) -> None:
    del backend
    once = sonnx_ort.rewrite(unequal(element_type="int32"), waivers=[INTEGER_SHAPES])
    assert sonnx_ort.rewrite(once) == once
    shapes = next(
        o
        for o in sonnx_ort.check(once, operators="default").obligations
        if o.rule.id == INTEGER_SHAPES.rule
    )
    assert shapes.evidence == (
        "a Broadcast in front makes the shapes equal; the model's metadata says that it was waived "
        "by the board until 9999-12-31: B is one number"
    )


def test_renewed_waiver_takes_the_place_of_the_old_one() -> None:
    old = replace(SHAPES, until=dt.date(9000, 1, 1), reason="for now")
    once = sonnx_ort.rewrite(unequal(), waivers=[old])
    again = sonnx_ort.rewrite(once, waivers=[SHAPES])
    assert recorded(again) == recorded(sonnx_ort.rewrite(unequal(), waivers=[SHAPES]))
    assert sonnx_ort.rewrite(again, waivers=[SHAPES]) == again


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
