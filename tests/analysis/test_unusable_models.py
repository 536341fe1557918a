"""What is no usable model, or defeats inference: a sentence or a finding, and no rule is proved."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.profile.rule import Status
from support.graphs import binary_model, parse

DOMAINS = {"sonnx": 1, "local": 1, "my": 1}
FUNCTION = '<opset_import: ["" : 17, "local" : 1], domain: "local">'
CHOICES = pytest.mark.parametrize("choices", [{}, {"broadcast": "explicit"}], ids=str)


def parsed(graph: str) -> onnx.ModelProto:
    return parse(graph, domains=DOMAINS)


TEXTS = {
    "cycle": "(float[1] x) => (float[1] z) { y = Div(x, z) z = Div(x, y) }",
    "cycle of functions": (
        "(float[2] x) => (float[2] z) { z = local.f(x) }"
        f"{FUNCTION} f (a) => (b) {{ b = local.g(a) }}"
        f"{FUNCTION} g (a) => (b) {{ b = local.f(a) }}"
    ),
    "duplicate value": "(float[2] x) => (float[2] z) { z = Div(x, x) z = Neg(x) }",
    "duplicate input": "(float[2] x, float[2] x) => (float[2] z) { z = Div(x, x) }",
    "duplicate in a subgraph": (
        "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
        "then_branch = t () => (float[2] x) { x = Relu(x) },"
        " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
    ),
    "unknown operator": "(float[2] x) => (float[2] z) { z = Quotient(x, x) }",
    "missing value": "(float[2] x) => (float[2] z) { z = Div(x, nowhere) }",
    "missing output": "(float[2] x) => (float[2] z, float[2] nowhere) { z = Div(x, x) }",
    "too few operands": "(float[2] x) => (float[2] z) { z = Div(x) }",
    "impostor": (
        '(float[2] x) => (float[] z) { z, s = sonnx.Div<node = "a", edition = "typed">(x, x) }'
    ),
    "unknown operator of our domain": "(float[2] x) => (float[2] z) { z = sonnx.Mul(x, x) }",
    "function in the place of an operator": (
        "(float[2] x) => (float[2] z) { z = Div(x, x) }"
        ' <opset_import: ["" : 17], domain: ""> Div (a, b) => (c) { c = Add(a, b) }'
    ),
}


def without_opset() -> onnx.ModelProto:
    made = binary_model("Div", "float", ["n"], ["n"])
    del made.opset_import[:]
    return made


def empty_operand() -> onnx.ModelProto:
    made = binary_model("Div", "float", ["n"], ["n"])
    made.graph.node[0].input[1] = ""
    return made


def deep_nesting(depth: int) -> onnx.ModelProto:
    made = binary_model("Div", "float", ["n"], ["n"])
    graph = made.graph
    for _ in range(depth):
        node = graph.node.add(op_type="If", input=["p"], output=["z"])
        graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    return made


def deep_calls() -> onnx.ModelProto:
    made = parsed("(float[2] x) => (float[2] z) { z = local.f0(x) }")
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    for number in range(10_000):
        called = ("Relu", "") if number == 9_999 else (f"f{number + 1}", "local")
        inner = helper.make_node(called[0], ["a"], ["b"], domain=called[1])
        made.functions.append(
            helper.make_function("local", f"f{number}", ["a"], ["b"], [inner], imports)
        )
    return made


UNUSABLE: dict[str, Callable[[], onnx.ModelProto]] = {
    **{name: partial(parsed, text) for name, text in TEXTS.items()},
    "unknown opset": lambda: binary_model("Div", "float", ["n"], ["n"], opset=9999),
    "no opset": without_opset,
    "empty operand": empty_operand,
    "nesting of 40": lambda: deep_nesting(40),
    "nesting of 400": lambda: deep_nesting(400),
    "nesting of 10,000": lambda: deep_nesting(10_000),
    "calls of 10,000": deep_calls,
    "empty model": onnx.ModelProto,
}


@pytest.mark.satisfies(
    "Graph.draft.acyclic Graph.draft.identified Graph.draft.outputs Needs.AI-007 Needs.THAV-000",
    "Requirements.onnx Requirements.tool",
)
@CHOICES
@pytest.mark.parametrize("build", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_check_and_rewrite_refuse_with_the_same_sentence(
    build: Callable[[], onnx.ModelProto], choices: dict[str, str]
) -> None:
    sentences = []
    for refuse in (sonnx_ort.check, sonnx_ort.rewrite):
        with pytest.raises(sonnx_ort.InvalidModel) as caught:
            refuse(build(), **choices)
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1] != ""
    assert "\n" not in sentences[0]


@pytest.mark.parametrize("depth", [1, 10, 25])
def test_moderate_nesting_is_checked(depth: int) -> None:
    text = "z0 = Div(x, x)"
    for level in range(depth):
        text = (
            f"z{level + 1} = If(c) <then_branch = t{level} () => (float[2] z{level}) {{ {text} }},"
            f" else_branch = e{level} () => (float[2] q{level}) {{ q{level} = Relu(x) }}>"
        )
    report = sonnx_ort.check(
        parsed(f"(float[2] x, bool c) => (float[2] z{depth}) {{ {text} }}"), operators="default"
    )
    (found,) = [o for o in report.obligations if o.rule.id == "Div.float.R1"]
    assert len(found.path) == depth


def test_operator_of_an_unknown_domain_proves_nothing() -> None:
    report = sonnx_ort.check(
        parsed("(float[2] x) => (float[2] z) { a = my.Op(x) z = Div(a, x) }"), operators="default"
    )
    assert {o.status for o in report.obligations if o.rule.in_run} == {Status.RUNTIME}
    assert report.not_covered == {"my::Op": 1}


@pytest.mark.parametrize(
    "nodes",
    [
        "a = Concat<axis = 5>(x, x)",
        "a = Transpose<perm = [0, 0]>(x)",
        "s = Constant<value_ints = [5]>() a = Reshape(x, s)",
        "a = MatMul(x, y)",
        "s = Constant<value_ints = [7]>() a = Squeeze(x, s)",
        "a = Gemm(x, x)",
        "s = Constant<value_ints = [-3]>() a = ConstantOfShape(s)",
    ],
    ids=lambda nodes: nodes,
)
def test_operators_that_cannot_run_prove_nothing(nodes: str) -> None:
    made = parsed(
        f"(float[2] x, float[3] y) => (float[] z) {{ {nodes} c = Cast<to = 1>(a) z = Div(c, x) }}"
    )
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Div.float.R1"
    ]
    assert found.status is not Status.PROVED


class TestExternalData:
    """Integers in external data are worth reading, but their file may not be there."""

    @pytest.fixture(name="path", params=["reshape", "divide"])
    def _path(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        graph = {
            "reshape": "(float[2, 3] x) => (float[] z) { y = Reshape(x, w) z = Div(y, y) }",
            "divide": "(int64[1] x) => (int64[] z) { z = Div(x, w) }",
        }[request.param]
        made = parsed(graph)
        made.graph.initializer.append(numpy_helper.from_array(np.array([6]), "w"))
        path = tmp_path / "folder" / "model.onnx"
        path.parent.mkdir()
        onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
        return path

    @CHOICES
    def test_model_without_a_place_is_checked(self, path: Path, choices: dict[str, str]) -> None:
        assert sonnx_ort.check(path.read_bytes(), operators="default", **choices).ok
        assert sonnx_ort.check(
            onnx.load(path, load_external_data=False), operators="default", **choices
        ).ok

    def test_model_with_a_place_is_checked(self, path: Path) -> None:
        assert sonnx_ort.check(path, operators="default").ok

    def test_missing_file_is_a_sentence(self, path: Path) -> None:
        (path.parent / "w.bin").unlink()
        with pytest.raises(sonnx_ort.InvalidModel) as caught:
            sonnx_ort.check(path, operators="default")
        assert "is missing; keep it beside the model" in str(caught.value)


def test_external_data_leaves_the_rest_of_the_model_known(tmp_path: Path) -> None:
    made = parsed(
        "(float[2, 3] x) => (float[] z, float[] w2) { y = Reshape(x, w) z = Div(y, y)"
        " a = Relu(x) w2 = Div(a, x) }"
    )
    made.graph.initializer.append(numpy_helper.from_array(np.array([6]), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    report = sonnx_ort.check(path, operators="default")
    (found,) = [o for o in report.obligations if o.node == "(output w2)" and o.rule.in_run]
    assert (found.status, found.evidence) == (Status.PROVED, "both shapes are (2, 3)")


def test_model_that_is_enforced_under_the_other_edition() -> None:
    enforced = sonnx_ort.rewrite(binary_model("Div", "float", ["n"], ["n"], c_shape=["n"]))
    sentences = []
    for refuse in (sonnx_ort.check, sonnx_ort.rewrite):
        with pytest.raises(sonnx_ort.SonnxError) as caught:
            refuse(enforced, edition="preliminary")
        sentences.append(str(caught.value))
    assert sentences[0] == sentences[1] != ""


def test_call_that_leaves_an_operand_out() -> None:
    made = parsed(
        "(float[2] x) => (float[2] z) { z = local.f(x) }"
        f"{FUNCTION} f (a, b) => (c) {{ [divide] c = Div(a, b) }}"
    )
    with pytest.raises(sonnx_ort.InvalidModel, match=r"Div '.*divide' has no operand B"):
        sonnx_ort.check(made, operators="default")


def test_branches_of_different_numbers_of_results_are_no_error_of_the_analysis() -> None:
    model = parse(
        """(bool c, float[2] x) => (float[2] y) {
            y = If(c) <
                then_branch = g () => (float[2] a) { a = Div(x, x) },
                else_branch = h () => (float[2] a, float[2] b) { a = Neg(x) b = Neg(x) }
            >
        }"""
    )
    (rule,) = (
        o
        for o in sonnx_ort.check(model, operators="default").obligations
        if o.rule.id == "Div.float.R1"
    )
    assert rule.evidence == "both shapes are (2,)"
