"""Waivers as a model's metadata, and the options of a record, have them."""

import datetime as dt

import onnx_ir as ir

from sonnx_ort.obligations.waivers import Waiver, waivers_to_json
from sonnx_ort.obligations.waiving import WAIVERS, record_waivers, recorded_waivers

WAIVER = Waiver("Div.float.R1", "divide", "B is für eins", "the board", dt.date(2030, 12, 31))


def test_model_has_the_waivers_that_were_recorded() -> None:
    model = ir.Model(ir.Graph([], [], nodes=[]), ir_version=9)
    assert recorded_waivers(model.metadata_props) == ()
    assert not record_waivers(model, [])
    assert record_waivers(model, [WAIVER])
    assert recorded_waivers(model.metadata_props) == (WAIVER,)
    assert not record_waivers(model, [WAIVER])
    assert record_waivers(model, [])
    assert WAIVERS not in model.metadata_props


def test_options_of_a_record_have_waivers_under_a_key_of_their_own() -> None:
    options = {"edition": "typed", "waivers": waivers_to_json([WAIVER])}
    assert recorded_waivers(options, "waivers") == (WAIVER,)
    assert recorded_waivers(options) == ()
