"""What a node before checks is not checked again; what rests on what a run may skip is."""

from collections.abc import Mapping
from typing import NamedTuple

import onnx
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from support.examined import examined as examine
from support.graphs import parse

HELD = ", which comes before, requires one shape for them"
LOOKED = "Div 'd', which comes before, has checked 'b'"
POSITIVE = "no size of 0 meets a 1, because {}, which comes before, has passed"


class Case(NamedTuple):
    """Nodes, of which one before the node 'last' settles its rule, as the evidence says.

    Without evidence each run checks it. `of` are the inputs and initializers.
    """

    nodes: str
    proof: str = ""
    of: str = "(float[] a, float[] b, float[] c, bool p, int64 t) => (float[] z)"
    opset: int = 17
    functions: str = ""
    choices: Mapping[str, str] = {}

    def parsed(self) -> onnx.ModelProto:
        text = f"{self.of} {{ {self.nodes} }} {self.functions}"
        return parse(text, opset=self.opset, domains={"local": 1, "sonnx": 1})

    def holds(self, rule: str, **choices: str) -> None:
        """Assert that the rule is settled before the last node, or checked there."""
        asked = {"operators": "default", **choices, **self.choices}
        obligations = sonnx_ort.check(self.parsed(), **asked).obligations
        (found,) = [o for o in obligations if (o.node, o.rule.id) == ("last", rule)]
        # A Broadcast stands in the enforced model alone, of which it is proved that it fits.
        proved = bool(self.proof) and rule == "Broadcast.E1"
        assert found.status.value == ("proved" if proved else "runtime")
        assert found.settled == bool(self.proof)
        assert found.checked_before == (bool(self.proof) and not proved)
        assert (found.evidence if self.proof else "") == self.proof


EXPLICIT, ALL = {"broadcast": "explicit"}, {"operators": "all,-Graph"}
FUNCTION = '<opset_import: ["" : 17], domain: "local">'

ONE_SHAPE = {
    "result": ("[d] x = Div(a, b) [last] z = Sub(x, b)", "Div 'd'"),
    "result as the second operand": ("[d] x = Div(a, b) [last] z = Sub(b, x)", "Div 'd'"),
    "what is computed of the result": (
        "[d] x = Div(a, b) y = Relu(x) w = Neg(y) [last] z = Sub(a, w)",
        "Div 'd'",
    ),
    "operand of two": ("[d] x = Div(a, b) [s] y = Sub(x, c) [last] z = Sub(c, y)", "Sub 's'"),
    "results of two": ("[d] x = Div(a, b) [s] y = Div(c, b) [last] z = Sub(x, y)", "Div 's'"),
    "what is computed of an operand": (
        "[d] x = Div(a, b) e = Exp(b) [last] z = Sub(x, e)",
        "Div 'd'",
    ),
}


@pytest.mark.parametrize("shape", ["[]", "[n]", "[4, n]"])
@pytest.mark.parametrize("name", ONE_SHAPE)
def test_operands_that_a_node_before_held_to_one_shape(name: str, shape: str) -> None:
    nodes, holder = ONE_SHAPE[name]
    operands = zip("abc", "nmk", strict=True)
    inputs = ", ".join(f"float{shape.replace('n', size)} {operand}" for operand, size in operands)
    Case(nodes, f"{holder}{HELD}", of=f"({inputs}) => (float[] z)").holds("Sub.float.R1")


EQUAL_SHAPES = {
    "enforced result behind a guard": Case(
        "[d] w = Div(a, b) [n] x = Neg(w) [last] z = Sub(x, b)", f"Div 'd'{HELD}", choices=ALL
    ),
    "result of an Acos behind a guard": Case(
        "[d] w = Div(a, b) [c] x = Acos(w) [last] z = Sub(x, b)", f"Div 'd'{HELD}", choices=ALL
    ),
    "result of a product": Case(
        "x = Relu(a) [m] y = MatMul(a, b) [last] z = Sub(x, y)", choices=ALL
    ),
    "bound of a Clip": Case("[c] x = Clip(a, b) [last] z = Sub(x, b)", choices=ALL),
    "operand that is not expanded": Case(
        "[d] x = Div(a, s) [last] z = Sub(x, a)",
        f"Div 'd'{HELD}",
        of="(float[n, n] a, float[n, n] b) => (float[] z) <float s = {2}>",
        choices=EXPLICIT,
    ),
    "results of a Broadcast": Case(
        "[b] x, y = sonnx.Broadcast(a, s) [last] z = Sub(x, a)",
        of="(float[] a) => (float[] z) <float s = {2}>",
    ),
    "node that does not wait for the other": Case("[d] x = Div(a, b) [last] z = Sub(a, b)"),
    "shape that ONNX Runtime may know without a run": Case(
        "[d] x = Div(a, b) s = Shape(x) y = Expand(a, s) [last] z = Sub(y, b)"
    ),
    "other axes": Case("[d] x = Div(a, b) y = Transpose(x) [last] z = Sub(y, b)"),
    "result that may be larger": Case("[d] x = Div(a, b) y = Add(x, c) [last] z = Sub(y, b)"),
    "node of a branch, behind it": Case(
        "y = If(p) <then_branch = u () => (float[] v) { [d] v = Div(a, b) },"
        " else_branch = e () => (float[] w) { w = Relu(a) }> [last] z = Sub(y, b)"
    ),
    "node before a branch, in it": Case(
        "[d] x = Div(a, b) z = If(p) <then_branch = u () => (float[] v) { [last] v = Sub(x, b) },"
        " else_branch = e () => (float[] w) { w = Relu(a) }>",
        f"Div 'd'{HELD}",
    ),
    "state of a Loop": Case(
        '[d] x = Div(a, b) z = Loop(t, "", x) <body = b (int64 i, bool go, float[] s)'
        " => (bool still, float[] o) { still = Identity(go) [last] o = Sub(s, b) }>"
    ),
    "result of a function that is called": Case(
        "[d] x = Div(a, b) y = local.second(x, b) [last] z = Sub(y, b)",
        functions=f"{FUNCTION} second (p, q) => (r) {{ r = Identity(q) }}",
    ),
    "whole shape that ONNX Runtime may infer": Case(
        "p = MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 1>(a)"
        " [d] x = Div(p, b) [last] z = Sub(x, b)",
        of="(float[1,1,4] a, float[1,1,m] b) => (float[] z)",
    ),
    **{
        f"shape that is looked at once, {a} and {b}": Case(
            "[d] x = Div(a, b) [last] z = Sub(x, b) s = Shape(z)",
            f"Div 'd'{HELD}",
            of=f"(float{a} a, float{b} b) => (int64[] s)",
        )
        for a, b in (("[]", "[2, 3]"), ("[2, n]", "[m, 3]"))
    },
}
"""ONNX Runtime may remove a node and its guard where it knows the Shape of the result."""


ALIKE = {
    "results of one operand": "x = Relu(a) y = Exp(a) [last] z = Sub(x, y)",
    "one value": "[last] z = Sub(a, a)",
    "enforced result": "[n] x = Neg(a) [last] z = Sub(x, a)",
    "result of a Clip": "[c] x = Clip(a, b) [last] z = Sub(x, a)",
    "result of an Acos": "[c] x = Acos(a) [last] z = Sub(x, a)",
}


@pytest.mark.parametrize("name", ALIKE)
def test_equal_shapes_of_unknown_rank_are_proved_without_a_node_before(name: str) -> None:
    obligations = sonnx_ort.check(Case(ALIKE[name]).parsed(), **ALL).obligations
    (found,) = [o for o in obligations if (o.node, o.rule.id) == ("last", "Sub.float.R1")]
    assert (found.status.value, found.evidence) == (
        "proved",
        "all are computed element by element of one value, whose rank is unknown",
    )


@pytest.mark.parametrize("name", EQUAL_SHAPES)
def test_equal_shapes_are_settled_by_nodes_before_or_left_to_the_run(name: str) -> None:
    EQUAL_SHAPES[name].holds("Sub.float.R1")


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
    made = Case(nodes, of="(float[n] a, float[m] b) => (float[] z)", opset=6).parsed()
    obligations = sonnx_ort.check(made, operators="default", broadcast="explicit").obligations
    (found,) = [o for o in obligations if (o.node, o.rule.id) == ("last", "Sub.float.R1")]
    assert found.status.value != "proved"


def test_nothing_has_the_shape_of_what_a_call_omits() -> None:
    made = Case(
        "z = local.f(a)",
        of="(float[] a) => (float[] z)",
        functions=f"{FUNCTION} f (p, q) => (r)"
        " { x = Identity(q) y = Identity(q) [last] r = Sub(x, y) }",
    ).parsed()
    obligations = sonnx_ort.check(made, operators="default").obligations
    (found,) = [o for o in obligations if o.rule.id == "Sub.float.R1"]
    assert found.status.value == "runtime"


def test_proof_tells_that_it_rests_on_nodes_before() -> None:
    made = Case("[d] x = Div(a, b) [last] z = Sub(x, b)").parsed()
    demands = Demands(Edition.TYPED, Broadcasting.REJECT, DEFAULT_OPERATORS)
    nodes = examine(made, demands).nodes
    assert [node.proof_uses_guards for node in nodes] == [False, True]


def test_broadcast_that_a_guard_proves_fits() -> None:
    operands = "(float[n] a, float[1] b) => (float[n] z)"
    made = Case("x = Div(a, b) z = Sub(x, b)", of=operands).parsed()
    demands = Demands(Edition.TYPED, Broadcasting.EXPLICIT, DEFAULT_OPERATORS)
    plans = [node.broadcast for node in examine(made, demands).nodes]
    assert [plan is not None and plan.fits for plan in plans] == [False, True]


OF_INTEGERS = "(int32[] a, int32[] b, int32[] c) => (int32[] z)"
OF_LONG = "(int64[n] a, int64[n] b) => (int64[] z)"

DIVISORS = {
    "behind what reads the elements": Case(
        "[d] x = Div(a, b) y = MatMul(x, x) [last] z = Div(y, b)",
        LOOKED,
        of="(int32[n, n] a, int32[n, n] b) => (int32[] z)",
    ),
    "the first that looked at it": Case(
        "[d] x = Div(a, b) [e] y = Div(c, b) [last] z = Div(x, b)", LOOKED, of=OF_INTEGERS
    ),
    "behind another divisor": Case(
        "[o] u = Div(a, c) [d] x = Div(u, b) [last] z = Div(x, b)", LOOKED, of=OF_INTEGERS
    ),
    "of a third node": Case(
        "[d] x = Div(a, b) [e] y = Div(x, b) [last] z = Div(y, b)", LOOKED, of=OF_INTEGERS
    ),
    "of a node beside it": Case(
        "[o] u = Div(a, a) [d] x = Div(a, b) [last] z = Div(u, b)", of=OF_LONG
    ),
    "of a node that does not wait": Case("[d] x = Div(a, b) [last] z = Div(a, b)", of=OF_LONG),
    "another one": Case("[d] x = Div(a, b) [last] z = Div(b, x)", of=OF_LONG),
    "behind a shape": Case(
        "[d] x = Div(a, b) s = Shape(x) y = Expand(a, s) [last] z = Div(y, b)", of=OF_LONG
    ),
}


@pytest.mark.parametrize("name", DIVISORS)
def test_divisor_that_was_looked_at_once_is_not_looked_at_again(name: str) -> None:
    DIVISORS[name].holds("Div.int.C1")


@pytest.mark.parametrize(("edition", "rule"), [("typed", "Div.int.C1"), ("preliminary", "Div.R5")])
def test_quotients_of_a_divisor_that_was_looked_at_are_left_to_the_run(
    edition: str, rule: str
) -> None:
    case = Case("[d] x = Div(a, b) [last] z = Div(x, b)", LOOKED, of=OF_INTEGERS)
    case.holds(rule, edition=edition)
    case._replace(proof="").holds("Div.int.C2", edition=edition)


@pytest.mark.parametrize(("element_type", "added"), [("float[]", 11), ("float[n]", 6)])
def test_chain_on_one_operand_has_one_guard(element_type: str, added: int) -> None:
    other = element_type.replace("n", "m")
    chain = " ".join(f"x{i} = {('Div', 'Sub')[i % 2]}(x{i - 1}, b)" for i in range(1, 101))
    made = Case(chain, of=f"({element_type} x0, {other} b) => (float[] x100)").parsed()
    assert len(sonnx_ort.rewrite(made, backend="native").graph.node) == 100 + added


OF_SIZES = (
    "(float[n] a, float[n] b, float[n, n] e, float[o] o, float[k, n] m, float[n, 1, h, v] f,"
    " float[1, 1, h, v] i, float[k, 1, h, v] j, float[] q, bool c) => (float[] z)"
    " <float s = {2}, float[1] r = {2}, float[1, 1, 2, 2] w = {1, 2, 3, 4}>"
)


def positive(nodes: str, holder: str) -> Case:
    return Case(nodes, POSITIVE.format(holder), of=OF_SIZES)


def open_size(nodes: str, **choices: str) -> Case:
    return Case(nodes, of=OF_SIZES, choices=choices)


SIZES = {
    "of a result": positive("[d] x = Div(a, s) [last] z = Sub(x, s)", "Div 'd'"),
    "behind it": positive("[d] x = Div(a, s) y = Relu(x) [last] z = Sub(y, s)", "Div 'd'"),
    "twice": positive("[d] x = Div(a, s) [e] y = Sub(x, s) [last] z = Sub(y, s)", "Sub 'e'"),
    "of a vector": positive("[d] x = Div(a, r) [last] z = Sub(x, s)", "Div 'd'"),
    "beside": positive("[d] x = Div(a, s) [e] y = Sub(a, s) [last] z = Sub(x, s)", "Div 'd'"),
    "of a Conv": positive("[d] x = Div(j, s) [c] y = Conv(x, w) [last] z = Sub(y, s)", "Conv 'c'"),
    "of a Conv alone": positive("[c] x = Conv(i, w) [last] z = Sub(x, s)", "Conv 'c'"),
    "behind a Conv": positive("[c] x = Conv(i, w) y = Sigmoid(x) [last] z = Sub(y, s)", "Conv 'c'"),
    "of an unnamed Conv": positive("x = Conv(i, w) [last] z = Sub(x, s)", "Conv '(output x)'"),
    "of an enforced Conv": positive("[c] x = Conv(i, w) [last] z = Sub(x, s)", "Conv 'c'")._replace(
        choices=ALL
    ),
    "node that does not wait": open_size("[d] x = Div(a, s) [last] z = Sub(a, s)"),
    "shape that may be known without a run": open_size(
        "[d] x = Div(a, s) t = Shape(x) y = Expand(a, t) [last] z = Sub(y, s)"
    ),
    "another axis": open_size("[d] x = Div(a, s) y = Add(x, m) [last] z = Sub(y, s)"),
    "a Conv without examples": open_size("[c] x = Conv(f, w) [last] z = Sub(x, s)"),
    "two sizes of 0": open_size(
        "[d] x = Div(a, o) y = ReduceSum(x) w0 = Add(a, y) [last] z = Sub(w0, s)"
    ),
    "no filters": open_size("[d] x = Div(i, i) [last] z = Sub(x, s)"),
    "a branch that may not be taken": open_size(
        "x = If(c) <then_branch = t () => (float[n] p) { [d] p = Div(a, s) },"
        " else_branch = e () => (float[n] g) { g = Relu(a) }> [last] z = Sub(x, s)"
    ),
    **{
        f"of one name alone: {node}": open_size(
            f"[d] x = Div(a, s) y = {node} [last] z = Sub(y, s)"
        )
        for node in ("Concat<axis = 0>(x, b)", "MatMul(x, e)")
    },
    "nodes that it meets no 1 at": open_size(
        "[o] u = Neg(a) [d] x = Div(a, s) [last] z = Sub(u, s)", **ALL
    ),
    "an unknown axis": open_size("[d] x = Div(a, r) [last] z = Max(x, r, q)", **ALL),
    # Of a PRelu it infers the first operand's shape, which is not that of the result.
    "a size that ONNX Runtime may infer wrongly": open_size(
        "p = PRelu(r, a) [d] x = Div(p, s) [last] z = Sub(x, s)"
    ),
    "limited broadcasting": open_size(
        "[d] x = Div<broadcast = 1>(a, s) [last] z = Sub<broadcast = 1>(x, s)"
    )._replace(opset=6),
}
"""What holds that a size is positive, if anything does."""


@pytest.mark.parametrize("name", SIZES)
def test_size_is_found_positive_by_a_node_before_or_left_to_the_run(name: str) -> None:
    SIZES[name].holds("Broadcast.E1", broadcast="explicit")


def test_size_that_meets_a_scalar_input_is_left_to_the_run() -> None:
    """It may have another rank to an effect."""
    made = parse("(float[n] a, float t) => (float[] z) { [d] x = Div(a, t) [last] z = Sub(x, t) }")
    made.graph.input[1].type.tensor_type.shape.SetInParent()
    obligations = sonnx_ort.check(made, operators="default", broadcast="explicit").obligations
    (found,) = [o for o in obligations if (o.node, o.rule.id) == ("last", "Broadcast.E1")]
    assert found.status.value == "runtime"


def test_proved_broadcast_of_the_same_operand_costs_nothing() -> None:
    inputs = "(float[n] a) => (float[] z) <float s = {2}>"
    made = Case("[d] x = Div(a, s) [last] z = Sub(x, s)", of=inputs).parsed()
    rewritten = sonnx_ort.rewrite(made, backend="native", broadcast="explicit")
    operators = [node.op_type for node in rewritten.graph.node if node.op_type != "Constant"]
    assert operators == ["Shape", "Max", "Reshape", "Expand", "Div", "Sub"]
