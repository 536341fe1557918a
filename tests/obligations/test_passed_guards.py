"""What nodes that come before make certain is proved; what rests on what a run may skip is not."""

import onnx
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.options import Broadcasting, Demands, Edition
from support.examined import examined as examine
from support.graphs import parse

HELD = ", which comes before, requires one shape for them"
LOOKED = ", which comes before, has checked 'b'"


def parsed(graph: str, opset: int = 17, functions: str = "") -> onnx.ModelProto:
    return parse(f"{graph} {functions}", opset=opset, domains={"local": 1})


def last(made: onnx.ModelProto, rule: str, **choices: str) -> tuple[str, str]:
    """The status and the evidence of a rule at the node 'last'."""
    obligations = sonnx_ort.check(made, **{"operators": "default", **choices}).obligations
    (found,) = [o for o in obligations if o.node == "last" and o.rule.id == rule]
    return found.status.value, found.evidence


@pytest.mark.parametrize("shape", ["[]", "[n]", "[4, n]"])
@pytest.mark.parametrize(
    ("nodes", "holder"),
    [
        ("[d] x = Div(a, b) [last] z = Sub(x, b)", "Div 'd'"),
        ("[d] x = Div(a, b) [last] z = Sub(b, x)", "Div 'd'"),
        ("[d] x = Div(a, b) y = Relu(x) w = Neg(y) [last] z = Sub(a, w)", "Div 'd'"),
        ("[d] x = Div(a, b) [s] y = Sub(x, c) [last] z = Sub(c, y)", "Sub 's'"),
        ("[d] x = Div(a, b) [s] y = Div(c, b) [last] z = Sub(x, y)", "Div 's'"),
        ("[d] x = Div(a, b) e = Exp(b) [last] z = Sub(x, e)", "Div 'd'"),
    ],
)
def test_operands_that_a_node_before_held_to_one_shape(nodes: str, holder: str, shape: str) -> None:
    other, third = shape.replace("n", "m"), shape.replace("n", "k")
    made = parsed(f"(float{shape} a, float{other} b, float{third} c) => (float[] z) {{ {nodes} }}")
    assert last(made, "Sub.float.R1") == ("proved", f"{holder}{HELD}")


@pytest.mark.parametrize(
    ("nodes", "evidence"),
    [
        ("x = Relu(a) y = Exp(a) [last] z = Sub(x, y)", "all have the shape of 'a'"),
        ("[n] x = Neg(a) [last] z = Sub(x, a)", "all have the shape of 'a'"),
        ("[d] w = Div(a, b) [n] x = Neg(w) [last] z = Sub(x, b)", f"Div 'd'{HELD}"),
        ("[c] x = Clip(a, b) [last] z = Sub(x, a)", f"Clip 'c'{HELD}"),
        ("[c] x = Acos(a) [last] z = Sub(x, a)", "all have the shape of 'a'"),
        ("[d] w = Div(a, b) [c] x = Acos(w) [last] z = Sub(x, b)", f"Div 'd'{HELD}"),
    ],
)
def test_result_has_the_shape_of_what_it_is_computed_from(nodes: str, evidence: str) -> None:
    made = parsed(f"(float[] a, float[] b) => (float[] z) {{ {nodes} }}")
    assert last(made, "Sub.float.R1", operators="all,-Graph") == ("proved", evidence)


@pytest.mark.parametrize(
    "nodes",
    [
        "x = Relu(a) [m] y = MatMul(a, b) [last] z = Sub(x, y)",
        "[c] x = Clip(a, b) [last] z = Sub(x, b)",
    ],
)
def test_result_of_an_enforced_node_has_no_other_shape(nodes: str) -> None:
    made = parsed(f"(float[] a, float[] b) => (float[] z) {{ {nodes} }}")
    assert last(made, "Sub.float.R1", operators="all,-Graph")[0] == "runtime"


def test_result_has_the_shape_of_the_operand_that_is_not_expanded() -> None:
    made = parsed(
        "(float[n, n] a, float[n, n] b) => (float[] z) <float s = {2}>"
        " { [d] x = Div(a, s) [last] z = Sub(x, a) }"
    )
    found = last(made, "Sub.float.R1", broadcast="explicit")
    assert found == ("proved", f"Div 'd'{HELD}")


@pytest.mark.parametrize(
    "nodes",
    [
        # The result has the shape of the first operand alone.
        "[d] x = Div<broadcast = 1>(a, b) [last] z = Sub(x, b)",
        # Operands of one shape do not line up from axis 1 on.
        "[d] x = Div(a, b) [last] z = Sub<broadcast = 1, axis = 1>(x, b)",
    ],
)
def test_limited_broadcasting_needs_no_operands_of_one_shape(nodes: str) -> None:
    made = parsed(f"(float[n] a, float[m] b) => (float[] z) {{ {nodes} }}", opset=6)
    assert last(made, "Sub.float.R1", broadcast="explicit")[0] != "proved"


def test_broadcast_operator_requires_no_shape_of_its_operands() -> None:
    made = parse(
        "(float[] a) => (float[] z) <float s = {2}>"
        " { [b] x, y = sonnx.Broadcast(a, s) [last] z = Sub(x, a) }",
        domains={"sonnx": 1},
    )
    assert last(made, "Sub.float.R1")[0] == "runtime"


def test_proof_tells_that_it_rests_on_nodes_before() -> None:
    made = parsed(
        "(float[] a, float[] b) => (float[] z) { [d] x = Div(a, b) [last] z = Sub(x, b) }"
    )
    demands = Demands(Edition.TYPED, Broadcasting.REJECT, DEFAULT_OPERATORS)
    nodes = examine(made, demands).nodes
    assert [node.proof_uses_guards for node in nodes] == [False, True]


def test_broadcast_that_a_guard_proves_fits() -> None:
    made = parsed("(float[n] a, float[1] b) => (float[n] z) { x = Div(a, b) z = Sub(x, b) }")
    demands = Demands(Edition.TYPED, Broadcasting.EXPLICIT, DEFAULT_OPERATORS)
    plans = [node.broadcast for node in examine(made, demands).nodes]
    assert [plan is not None and plan.fits for plan in plans] == [False, True]


@pytest.mark.parametrize(
    "nodes",
    [
        # The second node does not wait for the first.
        "[d] x = Div(a, b) [last] z = Sub(a, b)",
        # Of the shape alone ONNX Runtime may know without a run.
        "[d] x = Div(a, b) s = Shape(x) y = Expand(a, s) [last] z = Sub(y, b)",
        # Another value of the same name's size.
        "[d] x = Div(a, b) y = Transpose(x) [last] z = Sub(y, b)",
        "[d] x = Div(a, b) y = Add(x, c) [last] z = Sub(y, b)",
    ],
)
def test_what_a_node_before_does_not_make_certain_is_left_to_the_run(nodes: str) -> None:
    made = parsed(f"(float[] a, float[] b, float[] c) => (float[] z) {{ {nodes} }}")
    assert last(made, "Sub.float.R1")[0] == "runtime"


def test_node_of_a_branch_is_not_relied_on_behind_it() -> None:
    made = parsed(
        "(float[] a, float[] b, bool c) => (float[] z) { y = If(c) <"
        "then_branch = t () => (float[] p) { [d] p = Div(a, b) },"
        " else_branch = e () => (float[] q) { q = Relu(a) }> [last] z = Sub(y, b) }"
    )
    assert last(made, "Sub.float.R1")[0] == "runtime"


def test_node_before_a_branch_is_relied_on_in_it() -> None:
    made = parsed(
        "(float[] a, float[] b, bool c) => (float[] z) { [d] x = Div(a, b) z = If(c) <"
        "then_branch = t () => (float[] p) { [last] p = Sub(x, b) },"
        " else_branch = e () => (float[] q) { q = Relu(a) }> }"
    )
    assert last(made, "Sub.float.R1") == ("proved", f"Div 'd'{HELD}")


def test_state_of_a_loop_has_a_shape_of_its_own() -> None:
    made = parsed(
        '(float[] a, float[] b, int64 t) => (float[] z) { [d] x = Div(a, b) z = Loop(t, "", x) <'
        "body = b (int64 i, bool go, float[] s) => (bool still, float[] o)"
        " { still = Identity(go) [last] o = Sub(s, b) }> }"
    )
    assert last(made, "Sub.float.R1")[0] == "runtime"


def test_function_that_is_called_is_gone_past_as_what_is_unknown() -> None:
    made = parsed(
        "(float[] a, float[] b) => (float[] z)"
        " { [d] x = Div(a, b) y = local.second(x, b) [last] z = Sub(y, b) }",
        functions='<opset_import: ["" : 17], domain: "local"> second (p, q) => (r)'
        " { r = Identity(q) }",
    )
    assert last(made, "Sub.float.R1")[0] == "runtime"


def test_nothing_has_the_shape_of_what_a_call_omits() -> None:
    made = parsed(
        "(float[] a) => (float[] z) { z = local.f(a) }",
        functions='<opset_import: ["" : 17], domain: "local"> f (p, q) => (r)'
        " { x = Identity(q) y = Identity(q) [last] r = Sub(x, y) }",
    )
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Sub.float.R1"
    ]
    assert found.status.value == "runtime"


@pytest.mark.parametrize("declared", [("[]", "[2, 3]"), ("[2, n]", "[m, 3]")])
def test_shape_that_onnx_runtime_may_know_is_looked_at_once(declared: tuple[str, str]) -> None:
    """It computes no Shape of the result before a run: enforcement hides the shape from it."""
    a, b = declared
    made = parsed(
        f"(float{a} a, float{b} b) => (int64[] s)"
        " { [d] x = Div(a, b) [last] z = Sub(x, b) s = Shape(z) }"
    )
    assert last(made, "Sub.float.R1")[0] == "proved"


class TestElements:
    """A divisor that was looked at once is not looked at again."""

    @pytest.mark.parametrize("edition", ["typed", "preliminary"])
    def test_divisor_of_a_node_before(self, edition: str) -> None:
        made = parsed(
            "(int32[n] a, int32[m] b) => (int32[] z) { [d] x = Div(a, b) [last] z = Div(x, b) }"
        )
        rule = "Div.int.C1" if edition == "typed" else "Div.R5"
        assert last(made, rule, edition=edition) == ("proved", f"Div 'd'{LOOKED}")
        assert last(made, "Div.int.C2", edition=edition)[0] == "runtime"

    def test_behind_what_reads_the_elements_of_the_result(self) -> None:
        made = parsed(
            "(int32[n, n] a, int32[n, n] b) => (int32[] z)"
            " { [d] x = Div(a, b) y = MatMul(x, x) [last] z = Div(y, b) }"
        )
        assert last(made, "Div.int.C1") == ("proved", f"Div 'd'{LOOKED}")

    @pytest.mark.parametrize(
        "nodes",
        [
            "[d] x = Div(a, b) [e] y = Div(c, b) [last] z = Div(x, b)",
            "[o] u = Div(a, c) [d] x = Div(u, b) [last] z = Div(x, b)",
            "[d] x = Div(a, b) [e] y = Div(x, b) [last] z = Div(y, b)",
        ],
    )
    def test_node_that_looked_at_it_is_named(self, nodes: str) -> None:
        made = parsed(f"(int32[] a, int32[] b, int32[] c) => (int32[] z) {{ {nodes} }}")
        assert last(made, "Div.int.C1") == ("proved", f"Div 'd'{LOOKED}")

    @pytest.mark.parametrize(
        "nodes",
        [
            "[o] u = Div(a, a) [d] x = Div(a, b) [last] z = Div(u, b)",
            "[d] x = Div(a, b) [last] z = Div(a, b)",
            "[d] x = Div(a, b) [last] z = Div(b, x)",
            "[d] x = Div(a, b) s = Shape(x) y = Expand(a, s) [last] z = Div(y, b)",
        ],
    )
    def test_other_divisors_and_nodes_beside_it_are_looked_at(self, nodes: str) -> None:
        made = parsed(f"(int64[n] a, int64[n] b) => (int64[] z) {{ {nodes} }}")
        assert last(made, "Div.int.C1")[0] == "runtime"


@pytest.mark.parametrize(("element_type", "added"), [("float[]", 11), ("float[n]", 6)])
def test_chain_on_one_operand_has_one_guard(element_type: str, added: int) -> None:
    other = element_type.replace("n", "m")
    chain = " ".join(f"x{i} = {('Div', 'Sub')[i % 2]}(x{i - 1}, b)" for i in range(1, 101))
    made = parsed(f"({element_type} x0, {other} b) => (float[] x100) {{ {chain} }}")
    assert len(sonnx_ort.rewrite(made, backend="native").graph.node) == 100 + added


POSITIVE = "no size of 0 meets a 1, because "


@pytest.mark.parametrize(
    ("nodes", "holder"),
    [
        ("[d] x = Div(a, s) [last] z = Sub(x, s)", "Div 'd'"),
        ("[d] x = Div(a, s) y = Relu(x) [last] z = Sub(y, s)", "Div 'd'"),
        ("[d] x = Div(a, s) [e] y = Sub(x, s) [last] z = Sub(y, s)", "Sub 'e'"),
        ("[d] x = Div(a, r) [last] z = Sub(x, s)", "Div 'd'"),
        ("[d] x = Div(a, s) [e] y = Sub(a, s) [last] z = Sub(x, s)", "Div 'd'"),
        ("[d] x = Div(j, s) [c] y = Conv(x, w) [last] z = Sub(y, s)", "Conv 'c'"),
        ("[c] x = Conv(i, w) [last] z = Sub(x, s)", "Conv 'c'"),
        ("[c] x = Conv(i, w) y = Sigmoid(x) [last] z = Sub(y, s)", "Conv 'c'"),
        ("x = Conv(i, w) [last] z = Sub(x, s)", "Conv 'x'"),
    ],
)
def test_size_that_a_node_before_found_positive(nodes: str, holder: str) -> None:
    made = parsed(
        "(float[n] a, float[1, 1, h, v] i, float[k, 1, h, v] j) => (float[] z)"
        " <float s = {2}, float[1] r = {2}, float[1, 1, 2, 2] w = {1, 2, 3, 4}>"
        f" {{ {nodes} }}"
    )
    found = last(made, "Broadcast.E1", broadcast="explicit")
    assert found == ("proved", f"{POSITIVE}{holder}, which comes before, has passed")


def test_size_behind_an_enforced_conv_is_positive() -> None:
    made = parsed(
        "(float[1, 1, h, v] i) => (float[] z) <float s = {2}, float[1, 1, 2, 2] w = {1, 2, 3, 4}>"
        " { [c] x = Conv(i, w) [last] z = Sub(x, s) }"
    )
    found = last(made, "Broadcast.E1", broadcast="explicit", operators="all,-Graph")
    assert found == ("proved", f"{POSITIVE}Conv 'c', which comes before, has passed")


@pytest.mark.parametrize(
    "nodes",
    [
        # The second node does not wait for the first.
        "[d] x = Div(a, s) [last] z = Sub(a, s)",
        # It waits for its shape alone, which ONNX Runtime may know without a run.
        "[d] x = Div(a, s) t = Shape(x) y = Expand(a, t) [last] z = Sub(y, s)",
        # Another axis.
        "[d] x = Div(a, s) y = Add(x, m) [last] z = Sub(y, s)",
        # A Conv may have no examples.
        "[c] x = Conv(i, w) [last] z = Sub(x, s)",
        # Two sizes of 0 fit as well.
        "[d] x = Div(a, o) y = ReduceSum(x) w0 = Add(a, y) [last] z = Sub(w0, s)",
        # Nothing but a Conv has filters.
        "[d] x = Div(u, u) [last] z = Sub(x, s)",
        # A branch may not be taken.
        (
            "x = If(c) <then_branch = t () => (float[n] p) { [d] p = Div(a, s) },"
            " else_branch = e () => (float[n] q) { q = Relu(a) }> [last] z = Sub(x, s)"
        ),
    ],
)
def test_size_that_may_be_0_is_left_to_the_run(nodes: str) -> None:
    made = parsed(
        "(float[n] a, float[o] o, float[k, n] m, float[n, 1, h, v] i, float[1, 1, h, v] u, bool c)"
        f" => (float[] z) <float s = {{2}}, float[1, 1, 2, 2] w = {{1, 2, 3, 4}}> {{ {nodes} }}"
    )
    assert last(made, "Broadcast.E1", broadcast="explicit")[0] == "runtime"


@pytest.mark.parametrize("node", ["Concat<axis = 0>(x, b)", "MatMul(x, c)"])
def test_size_that_inputs_share_by_name_alone_is_left_to_the_run(node: str) -> None:
    made = parsed(
        "(float[n] a, float[n] b, float[n, n] c) => (float[] z) <float s = {2}>"
        f" {{ [d] x = Div(a, s) y = {node} [last] z = Sub(y, s) }}"
    )
    assert last(made, "Broadcast.E1", broadcast="explicit")[0] == "runtime"


def test_size_is_found_positive_by_the_nodes_that_it_meets_a_1_at() -> None:
    made = parsed(
        "(float[n] a) => (float[] z) <float s = {2}>"
        " { [o] u = Neg(a) [d] x = Div(a, s) [last] z = Sub(u, s) }"
    )
    assert last(made, "Broadcast.E1", broadcast="explicit", operators="all,-Graph")[0] == "runtime"


def test_size_that_meets_a_scalar_input_is_left_to_the_run() -> None:
    """It may have another rank to an effect."""
    made = parsed("(float[n] a, float t) => (float[] z) { [d] x = Div(a, t) [last] z = Sub(x, t) }")
    made.graph.input[1].type.tensor_type.shape.SetInParent()
    assert last(made, "Broadcast.E1", broadcast="explicit")[0] == "runtime"


def test_size_that_meets_one_of_an_unknown_axis_is_left_to_the_run() -> None:
    made = parsed(
        "(float[n] a, float[] u) => (float[] z) <float[1] s = {2}>"
        " { [d] x = Div(a, s) [last] z = Max(x, s, u) }"
    )
    found = last(made, "Broadcast.E1", broadcast="explicit", operators="all,-Graph")
    assert found[0] == "runtime"


def test_size_that_onnx_runtime_may_infer_wrongly_is_left_to_the_run() -> None:
    """Of a PRelu it infers the first operand's shape, which is not that of the result."""
    made = parsed(
        "(float[n] a) => (float[] z) <float s = {2}, float[1] r = {2}>"
        " { p = PRelu(r, a) [d] x = Div(p, s) [last] z = Sub(x, s) }"
    )
    assert last(made, "Broadcast.E1", broadcast="explicit")[0] == "runtime"


def test_size_that_limited_broadcasting_lines_up_is_left_to_the_run() -> None:
    made = parsed(
        "(float[n] a) => (float[] z) <float s = {2}>"
        " { [d] x = Div<broadcast = 1>(a, s) [last] z = Sub<broadcast = 1>(x, s) }",
        opset=6,
    )
    assert last(made, "Broadcast.E1", broadcast="explicit")[0] == "runtime"


def test_proved_broadcast_of_the_same_operand_costs_nothing() -> None:
    made = parsed(
        "(float[n] a) => (float[] z) <float s = {2}> { [d] x = Div(a, s) [last] z = Sub(x, s) }"
    )
    rewritten = sonnx_ort.rewrite(made, backend="native", broadcast="explicit")
    operators = [node.op_type for node in rewritten.graph.node if node.op_type != "Constant"]
    assert operators == ["Shape", "Max", "Reshape", "Expand", "Div", "Sub"]


def test_node_before_is_not_relied_on_where_onnx_runtime_may_infer_the_whole_shape() -> None:
    """It may then know the Shape of the result, and remove the node and its guard."""
    made = parsed(
        "(float[1,1,4] a, float[1,1,m] b) => (float[] z) {"
        " p = MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 1>(a)"
        " [d] x = Div(p, b) [last] z = Sub(x, b) }"
    )
    assert last(made, "Sub.float.R1") == ("runtime", "axis 2 is ?2 in A and m in B")
