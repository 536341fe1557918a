"""The bundled models that keep the whole profile but for edges: their files, and the analysis.

They leave out inputs and outputs that ONNX calls optional.
"""

from collections import Counter

import onnx
import pytest
from onnx import defs, helper, shape_inference

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.profile.catalog import OperatorStanding
from sonnx_ort.profile.graph import GRAPH_RULES
from sonnx_ort.profile.rule import Status
from support.command import command

LEFT_OUT = {
    "digits_convolutional": {"the output 'Indices' is left out": 2},
    "tiny_yolo_v2": {"the output 'Indices' is left out": 6, "the input 'B' is left out": 8},
}
BUT_FOR_THE_GRAPH = "profile,-Graph"

pytestmark = pytest.mark.parametrize("name", LEFT_OUT)


def shape(value: onnx.ValueInfoProto) -> list[int]:
    return [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
def test_analysis_finds_what_is_left_out_and_nothing_else(name: str, edition: str) -> None:
    report = sonnx_ort.check(models.path(name), edition=edition, operators="profile")
    assert {o.rule.id for o in report.violations} == {"Graph.edges"}
    assert Counter(o.evidence for o in report.violations) == LEFT_OUT[name]
    assert report.findings == ()


def test_other_rules_on_the_graph_are_proved(name: str) -> None:
    report = sonnx_ort.check(models.path(name), operators="profile")
    found = {o.rule.id: o.status for o in report.obligations if o.rule in GRAPH_RULES}
    proved = {rule.id: Status.PROVED for rule in GRAPH_RULES}
    assert found == {**proved, "Graph.edges": Status.VIOLATED}


def test_no_node_is_outside_the_profile(name: str) -> None:
    report = sonnx_ort.check(models.path(name), operators="profile")
    assert report.standings[OperatorStanding.OUTSIDE] == 0


@pytest.mark.parametrize(("operators", "status"), [("profile", 1), (BUT_FOR_THE_GRAPH, 0)])
def test_command_exits_with(name: str, operators: str, status: int) -> None:
    assert command("check", "--operators", operators, models.path(name)).returncode == status


def test_every_attribute_is_set(name: str) -> None:
    """REQ-OP-070: no default values."""
    for node in models.load(name).graph.node:
        known = defs.get_schema(node.op_type, 22).attributes
        assert {attribute.name for attribute in node.attribute} == set(known), node.name


def test_type_and_shape_of_every_value_stand_in_the_file(name: str) -> None:
    """Explicit types and shapes; they are those that strict inference finds."""
    model = models.load(name)
    graph = model.graph
    declared = {value.name: value for value in (*graph.value_info, *graph.output)}
    assert list(declared) == [output for node in graph.node for output in node.output]
    assert all(all(size > 0 for size in shape(value)) for value in declared.values())
    del graph.value_info[:]
    inferred = shape_inference.infer_shapes(model, strict_mode=True).graph
    for value in (*inferred.value_info, *inferred.output):
        assert shape(declared[value.name]) == shape(value)


def test_everything_is_float(name: str) -> None:
    """No conversion of types: there is one."""
    graph = models.load(name).graph
    values = (*graph.input, *graph.value_info, *graph.output)
    types = {value.type.tensor_type.elem_type for value in values}
    assert types | {tensor.data_type for tensor in graph.initializer} == {onnx.TensorProto.FLOAT}


def test_every_value_is_read_and_every_output_has_a_node(name: str) -> None:
    """The graph's R2, RX and T06e."""
    graph = models.load(name).graph
    made = [output for node in graph.node for output in node.output]
    given = [value.name for value in (*graph.input, *graph.initializer)]
    read = {operand for node in graph.node for operand in node.input}
    outputs = {value.name for value in graph.output}
    assert outputs <= set(made)
    assert read | outputs == {*made, *given}
    assert len({*made, *given}) == len(made) + len(given)


def test_one_version_of_one_domain(name: str) -> None:
    model = models.load(name)
    assert list(model.opset_import) == [helper.make_opsetid("", 22)]
    assert {node.domain for node in model.graph.node} == {""}
    assert not model.functions
    assert not model.training_info


def test_files_are_small(name: str) -> None:
    path = models.path(name)
    assert path.stat().st_size + path.with_suffix(".npz").stat().st_size < 250_000


LAYERS = {
    "digits_convolutional": {
        "Conv": 2,
        "Relu": 2,
        "MaxPool": 2,
        "Flatten": 1,
        "MatMul": 1,
        "Add": 1,
        "Softmax": 1,
    },
    "tiny_yolo_v2": {"Conv": 9, "BatchNormalization": 8, "LeakyRelu": 8, "MaxPool": 6},
}


def test_layers_are_those_of_the_original(name: str) -> None:
    assert Counter(node.op_type for node in models.load(name).graph.node) == LAYERS[name]
