"""The models that the benchmark runs are such that it measures what it says."""

import numpy as np
import onnx
import pytest
from benchmarks.workload import ELEMENT_TYPES, Setting, make_feeds, make_model

import sonnx_ort

SINGLE = [Setting(element_type, 1000) for element_type in ELEMENT_TYPES]
CHAINS = [Setting(element_type, 4, nodes=3) for element_type in ELEMENT_TYPES]
PROVED = [Setting(element_type, 4, nodes=3, proved=True) for element_type in ELEMENT_TYPES]

TO_BE_CHECKED = {
    "float32": ["Div.float.R1"],
    "int32": ["Div.int.R1", "Div.int.C1", "Div.int.C2"],
    "int64": ["Div.int.R1", "Div.int.C1", "Div.int.C2"],
}


def left_to_the_run(setting):
    obligations = sonnx_ort.check(make_model(setting), operators="default").obligations
    return [(o.node, o.rule.id) for o in obligations if o.status == "runtime"]


@pytest.mark.parametrize("setting", [*SINGLE, *CHAINS], ids=str)
def test_every_node_has_a_shape_check_and_integers_both_domain_checks(setting):
    assert left_to_the_run(setting) == [
        (f"division_{index}", rule)
        for index in range(setting.nodes)
        for rule in TO_BE_CHECKED[setting.element_type]
    ]


@pytest.mark.parametrize("setting", PROVED, ids=str)
def test_nothing_is_left_to_the_run_where_all_is_proved(setting):
    assert left_to_the_run(setting) == []


@pytest.mark.parametrize("setting", PROVED, ids=str)
def test_native_backend_adds_no_node_where_all_is_proved(setting):
    rewritten = sonnx_ort.rewrite(make_model(setting), backend="native")
    assert [node.op_type for node in rewritten.graph.node] == ["Div"] * setting.nodes


@pytest.mark.parametrize("setting", SINGLE, ids=str)
def test_dividends_and_divisors_are_of_both_signs_and_no_divisor_is_zero(setting):
    a, b = make_feeds(setting).values()
    assert set(np.sign(b)) == {-1, 1}
    assert {-1, 1} <= set(np.sign(a))


@pytest.mark.parametrize("setting", [*SINGLE, *CHAINS, *PROVED], ids=str)
def test_feeds_are_those_that_the_model_declares(setting):
    declared = {
        value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        for value in make_model(setting).graph.input
    }
    feeds = make_feeds(setting)
    assert {name: array.dtype for name, array in feeds.items()} == declared
    assert {array.shape for array in feeds.values()} == {(setting.elements,)}


def test_nodes_of_a_chain_share_no_divisor():
    nodes = make_model(Setting("int32", 4, nodes=3)).graph.node
    assert len({node.input[1] for node in nodes}) == 3


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_divisors_are_positive_where_that_is_asked_for(element_type):
    of_both_signs = make_feeds(Setting(element_type, 1000))["B_0"]
    positive = make_feeds(Setting(element_type, 1000, positive=True))["B_0"]
    assert (of_both_signs.min() < 0, positive.min() > 0) == (True, True)
