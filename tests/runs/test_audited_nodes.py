"""What is known of a node that is audited: its names, its attributes and its version."""

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from sonnx_ort.options import choose_demands
from sonnx_ort.profile.options import EditionChoice
from sonnx_ort.runs.audit.audited_node import Audited, attributes_of, versions
from sonnx_ort.runs.audit.judging import judge
from sonnx_ort.runs.audit.verdicts import Sampling, Verdict
from support.graphs import parse


@pytest.mark.parametrize(("operator", "domain", "label", "computed"), [
    ("Div", "", "Div 'n'", "Div"),
    ("Div", "ai.onnx", "Div 'n'", "Div"),
    ("CheckedDiv", "sonnx", "sonnx::CheckedDiv 'n'", "Div"),
    ("CheckedDiv", "sonnx.compiled", "sonnx.compiled::CheckedDiv 'n'", "Div"),
    ("AlignedShape", "sonnx", "sonnx::AlignedShape 'n'", ""),
    ("CheckedDiv", "own", "own::CheckedDiv 'n'", ""),
    ("Div", "own", "own::Div 'n'", ""),
])  # fmt: skip
def test_node_says_which_operator_it_is_and_which_it_computes(
    operator: str, domain: str, label: str, computed: str
) -> None:
    node = helper.make_node(operator, ["x"], ["y"], "n", domain=domain)
    audited = Audited(node, 21, [], [])
    assert (audited.label, audited.computed_operator) == (label, computed)
    assert audited.label == f"{audited.operator} 'n'"


def test_node_of_which_nothing_is_known_says_why_and_of_how_many_elements() -> None:
    node = helper.make_node("Split", ["x"], ["a", "", "b"])
    results = [None, np.zeros(2), np.zeros((3, 2))]
    found = Audited(node, 21, [], results, ("outer",)).not_known("because")
    assert (found.node, found.operator, found.path) == ("(output a)", "Split", ("outer",))
    assert (found.verdict, found.elements, found.reason) == (Verdict.NOT_KNOWN, 8, "because")


def test_attributes_are_numbers_texts_and_arrays_without_graphs() -> None:
    tensor = numpy_helper.from_array(np.array([1, 2]), "t")
    graph = onnx.GraphProto(name="g")
    node = helper.make_node(
        "Own", [], ["y"], i=1, s="text", one=tensor, many=[tensor, tensor], body=graph
    )
    node.attribute.add(name="bytes", type=onnx.AttributeProto.STRING, s=b"\xff")
    found = attributes_of(node)
    assert found.pop("one").tolist() == [1, 2]
    assert [each.tolist() for each in found.pop("many")] == [[1, 2], [1, 2]]
    assert found == {"i": 1, "s": "text", "bytes": "\ufffd"}


@pytest.mark.parametrize(("given", "attributes"), [
    ({}, {"num_outputs": 2}), ({"axis": 1}, {"num_outputs": 2, "axis": 1}),
    ({"num_outputs": 3}, {"num_outputs": 3}),
])  # fmt: skip
def test_split_says_how_many_results_it_has(
    given: Mapping[str, int], attributes: Mapping[str, int]
) -> None:
    assert attributes_of(helper.make_node("Split", ["x"], ["a", "b"], **given)) == attributes


@pytest.mark.parametrize("name", ["", "ai.onnx"])
def test_kernels_have_the_version_of_the_operator_that_they_compute(name: str) -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Neg(x) }", opset=17, domains={"sonnx": 1})
    model.opset_import[0].domain = name
    model.opset_import.add(domain="own", version=3)
    found = versions(model)
    assert {domain: found[domain] for domain in ("", "ai.onnx", "sonnx", "sonnx.compiled")} == {
        **dict.fromkeys(("", "ai.onnx", "sonnx", "sonnx.compiled"), 17)
    }
    assert found["own"] == 3


def test_model_without_standard_operators_has_their_first_version() -> None:
    assert versions(onnx.ModelProto())[""] == 1


@pytest.mark.parametrize(("edition", "quotient", "verdict"), [
    ("typed", -np.inf, Verdict.EXACT), ("typed", np.inf, Verdict.OUTSIDE),
    ("preliminary", np.inf, Verdict.EXACT), ("preliminary", -np.inf, Verdict.OUTSIDE),
])  # fmt: skip
def test_node_is_judged_by_the_edition(
    edition: EditionChoice, quotient: float, verdict: Verdict
) -> None:
    node = helper.make_node("Div", ["x", "y"], ["z"])
    arrays = [np.array([number], np.float32) for number in (-1, 0, quotient)]
    audited = Audited(node, 21, arrays[:2], arrays[2:])
    found = judge(audited, choose_demands(edition, "reject", "profile"), Sampling(0, 100))
    assert found.verdict == verdict
