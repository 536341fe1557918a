"""What is violated in every run is rejected, all of it at once."""

import numpy as np
import onnx
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.profile.rule import Status
from support.backends import on_each_backend
from support.graphs import binary_model, parse

pytestmark = on_each_backend


def violations(made: onnx.ModelProto, edition: str = "typed") -> list[tuple[str, str, str]]:
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made, edition=edition)
    assert all(o.status is Status.VIOLATED for o in caught.value.report.violations)
    return [(o.rule.id, o.node, o.evidence) for o in caught.value.report.violations]


@pytest.mark.satisfies("Div.typed.float.R1", "Div.onnx.broadcasting")
@pytest.mark.parametrize(
    ("a_shape", "b_shape", "evidence"),
    [
        ([3], [1], "axis 0 has size 3 in A and 1 in B"),
        ([2, 3], [3], "rank 2 is not rank 1"),
        (["n", 3], [], "rank 2 is not rank 0"),
        (["n", 3], ["m", 4], "axis 1 has size 3 in A and 4 in B"),
        ([0], [1], "axis 0 has size 0 in A and 1 in B"),
    ],
)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_different_shapes(
    operator: str, a_shape: list[int], b_shape: list[int], evidence: str
) -> None:
    made = binary_model(operator, "float", a_shape, b_shape, c_shape=None)
    assert violations(made) == [(f"{operator}.float.R1", "the_node", evidence)]


@pytest.mark.satisfies(
    "Div.preliminary.R1 Div.preliminary.R1.operands Div.preliminary.R4 Div.preliminary.requires"
)
def test_preliminary_edition_names_both_rules_about_shapes() -> None:
    made = binary_model("Div", "float", [3], [1])
    assert violations(made, "preliminary") == [
        ("Div.R1", "the_node", "axis 0 has size 3 in A and 1 in B"),
        ("Div.R4", "the_node", "axis 0 has size 3 in A and 1 in B; ONNX would broadcast to (3,)"),
    ]


def test_shapes_that_follow_from_operators() -> None:
    made = parse(
        """(float[n,4] a, float[n,6] b) => (float[n,5] c) {
            [matmul] m = MatMul(a, w)
            [div] c = Div(m, b)
        }""",
        constants={"w": np.ones((4, 5), np.float32)},
    )
    assert violations(made) == [("Div.float.R1", "div", "axis 1 has size 5 in A and 6 in B")]


@pytest.mark.satisfies(
    "Div.typed.float.R2 Div.draft.float.R2 Div.draft.float.consistency Div.draft.int.R2",
    "Div.draft.int.consistency Sub.draft.float.R2 Sub.draft.float.consistency Sub.draft.int.R2",
    "Sub.draft.int.consistency",
)
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize(
    ("element_type", "other", "family"), [("float", "double", "float"), ("int32", "uint8", "int")]
)
def test_types_that_do_not_match(operator: str, element_type: str, other: str, family: str) -> None:
    made = binary_model(operator, element_type, [2], [2])
    made.graph.input[1].type.tensor_type.elem_type = onnx.TensorProto.DataType.Value(other.upper())
    assert violations(made) == [
        (f"{operator}.{family}.R2", "the_node", f"A is {element_type} and B is {other}")
    ]


@pytest.mark.satisfies("Sub.preliminary.types")
@pytest.mark.parametrize("element_type", ["bool", "string", "complex64"])
def test_types_that_are_not_numeric(element_type: str) -> None:
    made = binary_model("Sub", element_type, [2], [2])
    assert violations(made) == [
        ("Sub.float.R2", "the_node", f"A is of type {element_type}, which is not numeric")
    ]


@pytest.mark.satisfies(
    "Div.preliminary.R5 Div.preliminary.nonzero Div.draft.int.C1 Div.preliminary.R5.constraint",
    "Div.preliminary.infinity",
)
@pytest.mark.parametrize(("edition", "rule"), [("typed", "Div.int.C1"), ("preliminary", "Div.R5")])
@pytest.mark.parametrize("place", ["initializer", "constant node", "outer scope"])
def test_constant_integer_divisor_with_a_zero(place: str, edition: str, rule: str) -> None:
    divisor = np.array([[1, 2], [0, 4]], np.int64)
    assert violations(_with_divisor(place, divisor), edition) == [
        (rule, "div", "the constant B 'w' is zero at [1, 0]")
    ]


@pytest.mark.parametrize("place", ["initializer", "constant node", "outer scope"])
def test_constant_integer_divisor_without_a_zero_is_accepted(place: str) -> None:
    sonnx_ort.rewrite(_with_divisor(place, np.array([[1, 2], [3, 4]], np.int64)))


def _with_divisor(place: str, divisor: np.ndarray) -> onnx.ModelProto:
    weights = {"w": divisor}
    match place:
        case "initializer":
            text = "(int64[2,2] a) => (int64[2,2] c) { [div] c = Div(a, w) }"
            return parse(text, constants=weights)
        case "constant node":
            elements = ", ".join(map(str, divisor.ravel()))
            return parse(f"""(int64[2,2] a) => (int64[2,2] c) {{
                w = Constant <value = int64[2,2] {{{elements}}}> ()
                [div] c = Div(a, w)
            }}""")
        case _:
            text = """(bool p, int64[2,2] a) => (int64[2,2] z) {
                z = If (p) <
                    then_branch = then () => (int64[2,2] c) { [div] c = Div(a, w) },
                    else_branch = else () => (int64[2,2] e) { e = Identity(a) }
                >
            }"""
            return parse(text, constants=weights)


def _sparse() -> onnx.SparseTensorProto:
    values = helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [3.0])
    indices = helper.make_tensor("indices", onnx.TensorProto.INT64, [1], [1])
    return helper.make_sparse_tensor(values, indices, [3])


@pytest.mark.satisfies("Div.typed.float.RG1")
def test_sparse_initializer() -> None:
    made = parse("(float[3] a) => (float[3] c) { [div] c = Div(a, w) }")
    made.graph.sparse_initializer.append(_sparse())
    assert violations(made) == [("Div.float.RG1", "div", "B 'w' is sparse")]


@pytest.mark.satisfies("Sub.preliminary.R2")
def test_sparse_constant() -> None:
    made = parse("(float[3] a) => (float[3] c) { [sub] c = Sub(a, w) }")
    constant = helper.make_node("Constant", [], ["w"], sparse_value=_sparse())
    made.graph.node.insert(0, constant)
    assert violations(made, "preliminary") == [("Sub.R2", "sub", "B 'w' is sparse")]


@pytest.mark.parametrize("place", ["output", "value_info"])
@pytest.mark.parametrize("origin", ["initializer", "Constant"])
def test_sparse_tensor_that_is_declared_as_a_dense_one(origin: str, place: str) -> None:
    made = parse("(float[3] a) => (float[3] c) { [div] c = Div(a, w) }")
    if origin == "Constant":
        constant = helper.make_node("Constant", [], ["w"], sparse_value=_sparse())
        made.graph.node.insert(0, constant)
    else:
        made.graph.sparse_initializer.append(_sparse())
    dense = helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [3])
    getattr(made.graph, place).append(dense)
    assert violations(made) == [("Div.float.RG1", "div", "B 'w' is sparse")]


def test_sparse_input() -> None:
    made = parse("(float[3] a) => (float[3] c) { [div] c = Div(a, a) }")
    sparse = helper.make_sparse_tensor_value_info("a", onnx.TensorProto.FLOAT, [3])
    made.graph.input[0].CopyFrom(sparse)
    assert violations(made) == [("Div.float.RG1", "div", "A 'a' and B 'a' are sparse")]


def test_sparse_tensor_that_no_enforced_operator_reads() -> None:
    made = parse("(float[3] a) => (float[6] c) { [joined] c = Concat<axis = 0>(a, w) }")
    made.graph.sparse_initializer.append(_sparse())
    assert violations(made) == [("GR1", "", "tensor 'w' is sparse")]


@pytest.mark.parametrize("attribute", ["one", "many", "sparse_value"])
def test_sparse_tensor_of_a_node(attribute: str) -> None:
    made = parse("(float[3] a) => (float[3] c) { [own] c = own.Add(a) }", domains={"own": 1})
    held = [_sparse()] if attribute == "many" else _sparse()
    made.graph.node[0].attribute.append(helper.make_attribute(attribute, held))
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        sonnx_ort.check(made, operators="default")
    assert str(refused.value) == (
        "Add 'own' has a sparse tensor, which rule GR1 forbids; store it densely"
    )


@pytest.mark.parametrize("opset", [1, 6])
def test_legacy_broadcasting(opset: int) -> None:
    made = binary_model("Div", "float", [2, 3], [3], opset=opset)
    made.graph.node[0].attribute.append(helper.make_attribute("broadcast", 1))
    assert violations(made) == [("Div.float.R1", "the_node", "rank 2 is not rank 1")]


def test_legacy_broadcasting_of_shapes_that_may_be_equal() -> None:
    made = binary_model("Div", "float", ["n"], ["n"], opset=6)
    made.graph.node[0].attribute.append(helper.make_attribute("broadcast", 1))
    assert violations(made) == [
        ("Div.float.R1", "the_node", "the attribute broadcast=1 requests legacy broadcasting")
    ]


def test_message_lists_everything() -> None:
    made = parse("""(float[n,3] a, float[3] b, int32[1] i) => (float[n,3] c) {
        [center] s = Sub(a, b)
        [scale] c = Div(s, i)
    }""")
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model breaks the SONNX profile (edition typed): 3 violations at 2 nodes\n"
        "1. Sub 'center': Sub.float.R1 violated: rank 2 is not rank 1\n"
        "    A 'a' float (n, 3) [input]\n"
        "    B 'b' float (3,) [input]\n"
        "    the rule: Tensors A, B and C must have the same shape. "
        "(SONNX Sub, draft of the working group (August 2026), Inputs, A, Constraints "
        "[E_SUB_FLOAT_CONSTR_A_0010])\n"
        '    to fix it: rewrite with broadcast="explicit", which expands '
        "B from (3,) to (n, 3)\n"
        "2. Div 'scale': Div.float.R2 violated: A is float and B is int32\n"
        "    A 's' float (n, 3) [Sub 'center']\n"
        "    B 'i' int32 (1,) [input]\n"
        "    the rule: Tensors A, B and C shall have the same numerical type. "
        "(SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16 [R2])\n"
        "    to fix it: convert with an explicit Cast to one of float16, float, double, "
        "bfloat16, int8, int16, int32, int64, uint8, uint16, uint32, uint64\n"
        "3. Div 'scale': Div.float.R1 violated: rank 2 is not rank 1\n"
        "    A 's' float (n, 3) [Sub 'center']\n"
        "    B 'i' int32 (1,) [input]\n"
        "    the rule: Tensors A, B and C must have the same shape. "
        "(SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16 [R1])\n"
        '    to fix it: rewrite with broadcast="explicit", which expands '
        "B from (1,) to (n, 3)"
    )


def test_exponents_of_another_type_break_the_rule_about_types() -> None:
    made = parse("(int32[3] x, float[3] y) => (int32[3] z) { [power] z = Pow(x, y) }")
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made, operators="Pow")
    assert [o.rule.id for o in caught.value.report.violations] == ["Pow.int.R2"]


def test_model_that_can_be_read_and_not_be_written_is_refused() -> None:
    content = binary_model("Div", "float", ["n"], ["n"]).SerializeToString()
    broken = content.replace(b"sonnx_ort", b"sonnx\xc7ort")
    assert broken != content
    with pytest.raises(sonnx_ort.InvalidModel, match="the model cannot be written: 'utf-8' codec"):
        sonnx_ort.rewrite(broken)
