"""The optimizers that would undo enforcement are off, and enforced models stay what they are."""

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.profile.div_and_sub import DIV
from sonnx_ort.runtime.session_options import (
    DISABLED_OPTIMIZERS,
    UNWANTED_OPTIMIZERS,
    config_entry,
    names_of,
    switch_off_optimizers,
)
from support.fusions import FUSIONS
from support.sessions import LEVELS


def test_all_unwanted_optimizers_are_switched_off():
    options = ort.SessionOptions()
    switch_off_optimizers(options)
    assert config_entry(options, DISABLED_OPTIMIZERS) == ";".join(names_of(UNWANTED_OPTIMIZERS))


def test_optimizers_that_are_off_stay_off():
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "ConvAddFusion")
    switch_off_optimizers(options, DIV.optimizers[:1])
    assert config_entry(options, DISABLED_OPTIMIZERS) == "ConvAddFusion;DivMulFusion"


def test_no_optimizer_is_listed_twice():
    options = ort.SessionOptions()
    options.add_session_config_entry(DISABLED_OPTIMIZERS, "ReshapeFusion")
    switch_off_optimizers(options)
    switch_off_optimizers(options)
    listed = config_entry(options, DISABLED_OPTIMIZERS).split(";")
    assert sorted(listed) == sorted(names_of(UNWANTED_OPTIMIZERS))


def feeds(session):
    generator = np.random.default_rng(0)
    return {i.name: generator.random(i.shape, np.float32) + 1 for i in session.get_inputs()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FUSIONS)
def test_results_are_those_of_no_optimization(name, level):
    enforced = sonnx_ort.rewrite(FUSIONS[name].model, backend="native").SerializeToString()
    results = []
    for chosen in (LEVELS["none"], LEVELS[level]):
        options = ort.SessionOptions()
        options.graph_optimization_level = chosen
        switch_off_optimizers(options)
        session = ort.InferenceSession(enforced, options)
        results.append(session.run(None, feeds(session))[0].tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", FUSIONS)
def test_session_accepts_what_the_optimizers_left(name, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    sonnx_ort.InferenceSession(FUSIONS[name].model, options, backend="native")


def test_python_backend_switches_off_what_takes_guards_away_and_no_more():
    options = ort.SessionOptions()
    sonnx_ort.InferenceSession(FUSIONS["x / 1"].model, options)
    off = config_entry(options, DISABLED_OPTIMIZERS)
    assert off == "ReshapeFusion;QDQPropagationTransformer"
