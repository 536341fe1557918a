"""Waivers as a model's metadata tells of them."""

import datetime as dt
import json
from dataclasses import replace

import onnx_ir as ir
import pytest

from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.rewriting.told_waivers import (
    WAIVERS,
    tell_waivers,
    text_of,
    told_waivers,
    waivers_in,
)

WAIVER = Waiver("Div.float.R1", "divide", "B is für eins", "the board", dt.date(2030, 12, 31))
INSIDE = replace(WAIVER, path=("If 'choose'", "then_branch"))
OF_A_MODEL = replace(WAIVER, model="centre.onnx")


@pytest.mark.parametrize(
    "waiver",
    [
        WAIVER,
        INSIDE,
        OF_A_MODEL,
        replace(WAIVER, path=()),
        replace(WAIVER, rule="Div.R9", reason="", who=""),
    ],
)
def test_waivers_come_back(waiver: Waiver) -> None:
    assert waivers_in(text_of([waiver, WAIVER])) == (waiver, WAIVER)


def test_text_is_json_that_people_read() -> None:
    assert text_of([INSIDE, OF_A_MODEL]) == (
        '[{"rule": "Div.float.R1", "node": "divide", "path": ["If \'choose\'", "then_branch"], '
        '"model": null, "reason": "B is für eins", "who": "the board", "until": "2030-12-31"}, '
        '{"rule": "Div.float.R1", "node": "divide", "path": null, "model": "centre.onnx", '
        '"reason": "B is für eins", "who": "the board", "until": "2030-12-31"}]'
    )


@pytest.mark.parametrize(
    "change",
    [
        *({"rule": 1}, {"path": [1]}, {"path": 1}, {"path": "then_branch"}, {"path": {}}),
        *({"model": 1}, {"model": 0}, {"until": "never"}, {"until": 1}),
    ],
    ids=str,
)
def test_what_is_no_such_text_tells_of_none(change: dict[str, object]) -> None:
    (entry,) = json.loads(text_of([WAIVER]))
    assert waivers_in(json.dumps([entry])) == (WAIVER,)
    assert waivers_in(json.dumps([entry | change])) == ()


@pytest.mark.parametrize("name", ["rule", "node", "path", "model", "reason", "who", "until"])
def test_text_without_a_field_tells_of_none(name: str) -> None:
    (entry,) = json.loads(text_of([WAIVER]))
    del entry[name]
    assert waivers_in(json.dumps([entry])) == ()


def test_field_that_is_not_known_is_passed_over() -> None:
    (entry,) = json.loads(text_of([WAIVER]))
    assert waivers_in(json.dumps([entry | {"ticket": 1}])) == (WAIVER,)


def test_model_tells_what_it_was_told() -> None:
    model = ir.Model(ir.Graph([], [], nodes=[]), ir_version=9)
    assert told_waivers(model) == ()
    assert not tell_waivers(model, [])
    assert tell_waivers(model, [WAIVER])
    assert told_waivers(model) == (WAIVER,)
    assert not tell_waivers(model, [WAIVER])
    assert tell_waivers(model, [])
    assert WAIVERS not in model.metadata_props
