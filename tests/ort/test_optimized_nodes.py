"""What is missing in an optimized graph is told, and what one node computes for two is not missing.

Both graphs are written by hand, so that an optimizer of any version could have made the second.
"""

from collections.abc import Mapping

import numpy as np
import onnx_ir as ir
import pytest

from sonnx_ort.custom_ops.failure_channel import refusing_guard_name
from sonnx_ort.ort.optimized_nodes import compare, enforced_nodes, guards_by_output, matched
from sonnx_ort.profile.catalog import RULES
from support.graphs import parse

RULE = RULES["Div.float.R1"]
INPUTS = "float[n] x, float[n] y, bool c, int64[1] s, int64[2] k, float[1] g, float[1] h"
CONSTANTS = {
    **dict.fromkeys(("one", "uno", "g", "h"), np.array([1], np.float32)),
    "two": np.array([2], np.float32),
    **dict.fromkeys(("large", "as_large"), np.ones(1025, np.float32)),
    "once": np.array(1, np.int64),
    **dict.fromkeys(("open", "k"), np.array([-1, 2], np.int64)),
    "code": np.array([-1, -11], np.int64),
}
"""Constants; what is an input too may be another one in a run."""


def guard(node: str) -> str:
    return refusing_guard_name("Div", node, RULE)


def graph(nodes: str, outputs: str = "z") -> ir.Model:
    """Make a model; nodes with names such as `of_d` are guards, here of Div 'd'."""
    declared = ", ".join(f"float[] {name}" for name in outputs.split())
    made = parse(
        f"({INPUTS}) => ({declared}) {{ {nodes} }}",
        domains={"own": 1, "sonnx.compiled": 1},
        constants=CONSTANTS,
    )
    model = ir.from_proto(made)
    for node in model.graph.all_nodes():
        if node.name and node.name.startswith("of_"):
            node.name = guard(node.name.removeprefix("of_"))
    return model


def losses(before: str, after: str, outputs: str = "z") -> list[str]:
    expected = graph(before, outputs)
    return list(compare(expected, graph(after, outputs), guards_by_output(expected)).losses)


def of_many(number: int) -> str:
    """A constant of more elements than are compared."""
    return f"Constant <value = float[1025] {{{', '.join([str(number)] * 1025)}}}> ()"


def chosen(yes: str, no: str = "v = Neg(x)") -> str:
    """An If that gives u of one branch, or v of the other."""
    return (
        f"If(c) <then_branch = t () => (float[] u) {{ {yes} }}, "
        f"else_branch = e () => (float[] v) {{ {no} }}>"
    )


@pytest.mark.parametrize(("nodes", "alike"), [
    ("a = Neg(x) b = Neg(x)", True),
    ("a = Neg(x) b = Abs(x)", False),
    ("a = Neg(x) b = own.Neg(x)", False),
    ("a = Neg(x) b = Neg(y)", False),
    ("v = Neg(x) w = Neg(x) a = Abs(v) b = Abs(w)", True),
    ("v = Neg(x) w = Neg(y) a = Abs(v) b = Abs(w)", False),
    ('a = Clip(x, "", g) b = Clip(x, "", g)', True),
    ('a = Clip(x, "", g) b = Clip(x, g, "")', False),
    ("a = Transpose <perm = [0, 1]> (x) b = Transpose <perm = [0, 1]> (x)", True),
    ("a = Transpose <perm = [0, 1]> (x) b = Transpose <perm = [1, 0]> (x)", False),
    ("a = Clip <min = 1.0> (x) b = Clip <max = 1.0> (x)", False),
    ("a = own.Clip <min = 1> (x) b = own.Clip <max = 1> (x)", False),
    ("a = Elu <alpha = 0.0> (x) b = Elu <alpha = -0.0> (x)", False),
    ("a = own.Elu <by = [0.0]> (x) b = own.Elu <by = [-0.0]> (x)", False),
    ("a, b = Split <num_outputs = 2> (x)", False),
    ("a, v = Split <num_outputs = 2> (x) b, w = Split <num_outputs = 2> (x)", True),
    ("a = RandomNormalLike(x) b = RandomNormalLike(x)", False),
    ("a = Constant <value_float = 1.0> () b = Constant <value_float = 1.0> ()", True),
    ("a = Constant <value_float = 1.0> () b = Constant <value_float = 2.0> ()", False),
    ("a = Constant <value = float[1] {1}> () b = Constant <value = float[1] {1}> ()", True),
    ("a = Constant <value = float[1] {1}> () b = Constant <value = float[1] {2}> ()", False),
    ("a = Constant <value = int32[1] {1}> () b = Constant <value = uint32[1] {1}> ()", False),
    ("a = Constant <value = float[1,2] {1, 2}> () b = Constant <value = float[2,1] {1, 2}> ()",
     False),
    ('a = Constant <value = string[1] {"a"}> () b = Constant <value = string[1] {"b"}> ()', False),
    (f"a = {of_many(1)} b = {of_many(2)}", False),
    ("a = own.Constant(x) b = own.Constant(y)", False),
    ("a = Neg(one) b = Neg(uno)", True),
    ("a = Neg(one) b = Neg(two)", False),
    ("a = Neg(g) b = Neg(h)", False),
    ("a = Neg(large) b = Neg(as_large)", False),
    (f"a = {chosen('u = Abs(x)')} b = {chosen('u = Exp(x)')}", False),
])  # fmt: skip
def test_one_node_stands_for_another_if_they_compute_the_same(nodes: str, alike: bool) -> None:
    """Of two Divs, the second is gone, and the first is read in its place."""
    before = f"{nodes} [d] p = Div(x, a) [e] q = Div(x, b) z = Mul(p, q)"
    after = f"{nodes} [d] p = Div(x, a) z = Mul(p, p)"
    assert losses(before, after) == ([] if alike else ["Div 'e' was removed"])


D = "[d] p = Div(x, y)"
G = "[of_d] r = Reshape(x, s) [d] p = Div(r, y)"
LOOP = (
    'z = Loop(once, "", one) <body = b (int64 i, bool go, float[] v) => (bool on, float[] w) '
    "{{ on = Identity(go) f = Cast <to = 1> (i) [d] w = Div(v, {}) }}>"
)


@pytest.mark.parametrize(("before", "after", "expected"), [
    pytest.param(f"{D} z = Neg(p)", "p = Abs(x) z = Neg(p)",
                 ["Div 'd' was removed"], id="node"),
    pytest.param("p = Div(x, y) z = Neg(p)", "z = Neg(x)",
                 ["Div '(output p)' was removed"], id="node without a name"),
    pytest.param(f"{G} z = Neg(p)", f"{D} z = Neg(p)",
                 ["the guard of Div 'd' was removed"], id="guard"),
    pytest.param(f"{G} z = Neg(p)", f"[of_d] r = Reshape(x, s) {D} z = Neg(p)",
                 ["Div 'd': its operand A no longer depends on the guard of Div 'd'"],
                 id="way of an operand by a guard"),
    pytest.param("[of_d] r = Reshape(x, s) [of_e] z = Reshape(r, s)",
                 "[of_d] r = Reshape(x, s) [of_e] z = Reshape(x, s)",
                 ["the guard of Div 'e' no longer depends on the guard of Div 'd'"],
                 id="way of a guard by a guard"),
    pytest.param("[of_d] r = sonnx.compiled.Guard(x, y) z = Neg(r)", "z = Neg(x)",
                 ["the guard of Div 'd' was removed"], id="compiled guard"),
    pytest.param("[of_d] r = sonnx.compiled.Guard(x, open) z = Neg(r)", "z = Neg(x)",
                 ["the guard of Div 'd' was removed"], id="compiled guard of a constant"),
    pytest.param("[of_d] r = sonnx.compiled.Guard(x, y) z = Neg(r)",
                 "[of_d] r = sonnx.compiled.Guard(x, y) z = Neg(x)",
                 ["output 'z' no longer depends on the guard of Div 'd'"],
                 id="way of an output by a compiled guard"),
    pytest.param(f"{D} z = Neg(p)", f"{D} z = Neg(x)",
                 ["output 'z' no longer depends on Div 'd'"], id="way of an output"),
    pytest.param(f"z = {chosen(f'{D} u = Neg(p)')}", f"z = {chosen(f'{D} u = Neg(x)')}",
                 ["output 'z' no longer depends on Div 'd'"], id="way of an output by a branch"),
    pytest.param(f"z = {chosen('[d] u = Div(x, y)', '[e] v = Div(x, y)')}",
                 f"z = {chosen('[d] u = Div(x, y)')}",
                 ["Div 'e' was removed"], id="equal node of the other branch"),
    pytest.param("[d] z = Div(x, one)", "[d] z = Div(x, y)",
                 ["Div 'd': its operand B is no longer the constant 'one'"], id="constant"),
    pytest.param("[d] z = Div(x, one)", "r = RandomNormal <shape = [1]> () [d] z = Div(x, r)",
                 ["Div 'd': its operand B is no longer the constant 'one'"],
                 id="constant, now by chance"),
    pytest.param("[d] z = Div(x, one)", "r = Shape(x) f = Cast <to = 1> (r) [d] z = Div(x, f)",
                 ["Div 'd': its operand B is no longer the constant 'one'"],
                 id="constant, now of a shape"),
    pytest.param(LOOP.format("one"), LOOP.format("f"),
                 ["Div 'd': its operand B is no longer the constant 'one'"],
                 id="constant, now of an iteration"),
    pytest.param("[d] p = Div(one, two) [e] z = Div(x, p)",
                 "[d] p = Div(one, two) [e] z = Div(x, y)",
                 ["Div 'e': its operand B no longer depends on Div 'd'",
                  "Div 'e': its operand B is no longer the constant 'p'"],
                 id="constant of constants"),
    pytest.param("[d] p = Div(x, y) [e] z = Div(x, one)",
                 "[d] p = Div(x, y) [e] z = Div(x, p)",
                 ["Div 'e': its operand B is no longer the constant 'one'"],
                 id="constant, now of a node that must stay"),
    pytest.param("[of_d] r = Reshape(x, code) z = Neg(r)", "z = Neg(x)",
                 ["the guard of Div 'd' was removed"], id="guard that always fails"),
    pytest.param("[of_d] r = Reshape(x, s) z = Neg(r)", "z = Neg(x)",
                 ["the guard of Div 'd' was removed"], id="guard with a shape of the run"),
    pytest.param("[of_d] r = Reshape(x, k) z = Neg(r)", "z = Neg(x)",
                 ["the guard of Div 'd' was removed"],
                 id="guard with a shape that a run may give"),
    pytest.param("[of_d] r = Reshape(x, s) p = Div(r, r) z = Neg(p)",
                 "[of_d] r = Reshape(x, s) e = Neg(x) a = Div(e, e) z = Neg(a)",
                 ["Div '(output p)': its operand A no longer depends on the guard of Div 'd'",
                  "Div '(output p)': its operand B no longer depends on the guard of Div 'd'"],
                 id="way of a node with new names"),
])  # fmt: skip
def test_what_is_missing_is_told(before: str, after: str, expected: list[str]) -> None:
    assert losses(before, after) == expected


ONE_GUARDED = "v = Neg(r) w = Neg(x) p = Div(w, w) q = Div(v, v) z = Sub(p, q)"
RENAMED = "e = Neg({}) f = Neg(x) a = Div(e, e) b = Div(f, f) z = Sub(b, a)"


@pytest.mark.parametrize(("before", "after"), [
    pytest.param(f"{D} z = Neg(x)", "z = Neg(x)", id="node that no output needs"),
    pytest.param("[of_d] r = Reshape(x, open) z = Neg(r)", "z = Neg(x)",
                 id="guard that always passes"),
    pytest.param(f"{D} a = Shape(p) z = Expand(y, a)", f"{D} a = Shape(x) z = Expand(y, a)",
                 id="way of a shape"),
    pytest.param(f"{D} a = Size(p) z = Expand(y, a)", f"{D} a = Size(x) z = Expand(y, a)",
                 id="way of a size"),
    pytest.param(f"{D} f = CastLike(x, p) z = Neg(f)", f"{D} f = Cast <to = 1> (x) z = Neg(f)",
                 id="way of a type"),
    pytest.param("p = own.Div(x, y) z = Neg(p)", "z = Neg(x)", id="node of another domain"),
    pytest.param("[of_d] p = own.Guard(x, y) z = Neg(p)", "z = Neg(x)",
                 id="guard of another domain"),
    pytest.param(f"{G} z = Neg(p)", "[of_d] v = Reshape(x, s) [d] p = Div(v, y) z = Neg(p)",
                 id="guard whose value has a new name"),
    pytest.param("[d] z = Div(x, y)", "[d_token_3] z = Div(x, y)", id="name with a suffix"),
    pytest.param("[_if_then_branch_Div] p = Div(x, y) z = Neg(p)",
                 "[_if_else_branch_token_3_Div] q = Div(x, y) z = Neg(q)",
                 id="name in a branch that took the place of its If"),
    pytest.param("[d] p = Div(x, y) [d] q = Div(y, x) z = Sub(p, q)",
                 "[d] q_token_4 = Div(y, x) [d] InsertedPrecisionFreeCast_p = Div(x, y) "
                 "z = Sub(InsertedPrecisionFreeCast_p, q_token_4)",
                 id="nodes of one name and values with new ones"),
    pytest.param("v = Neg(x) w = Neg(y) [d] p = Div(x, y) [d] q = Div(v, w) z = Sub(p, q)",
                 "v = Neg(x) w = Neg(y) [d] p = Div(v, w) [d] q = Div(x, y) z = Sub(p, q)",
                 id="nodes of one name that read other values"),
    pytest.param(f"[of_d] r = Reshape(x, s) {ONE_GUARDED}",
                 f"[of_d] r = Reshape(x, s) {RENAMED.format('r')}",
                 id="nodes without names, one of a guarded value"),
    pytest.param(f"[of_d] r = Reshape(x, s) {ONE_GUARDED}",
                 f"o = Neg(x) j = Neg(s) [of_d] i = Reshape(o, j) {RENAMED.format('i')}",
                 id="nodes without names, one of a guarded value with a new name"),
    pytest.param("v = Neg(x) w = Neg(y) p = Div(v, w) q = Div(v, w) u = Div(w, v) "
                 "l = Mul(p, q) z = Sub(l, u)",
                 "e = Neg(x) f = Neg(y) a = Div(e, f) b = Div(f, e) l = Mul(a, a) z = Sub(l, b)",
                 id="nodes without names, two of them equal"),
    pytest.param("v = Neg(x) w = Neg(y) [d] o = Div(x, g) [e] m = Div(x, g) p = Div(x, y) "
                 "q = Div(v, w) l = Sum(m, o, p) z = Sub(l, q)",
                 "e = Neg(x) f = Neg(y) [d] o = Div(x, g) p = Div(x, y) "
                 "b = Div(e, f) l = Sum(o, o, p) z = Sub(l, b)",
                 id="nodes without names, one of which has new ones, and two equal ones"),
    pytest.param("v = Neg(x) w = Neg(y) [d] o = Div(x, g) [e] m = Div(x, g) l = Neg(m) "
                 "p = Div(v, w) q = Div(w, v) [f] t = Div(p, q) z = Sum(l, o, t)",
                 "e = Neg(x) f = Neg(y) [d] o = Div(x, g) l = Neg(o) "
                 "q = Div(f, e) p = Div(e, f) [f] t = Div(p, q) z = Sum(l, o, t)",
                 id="nodes without names whose operands have new ones, and two equal ones"),
    pytest.param("p = Div(x, y) q = Div(p, x) z = Neg(q)",
                 "v = Div(x, y) w = Div(v, x) z = Neg(w)", id="nodes without names"),
])  # fmt: skip
def test_what_went_rightly_is_not_missing(before: str, after: str) -> None:
    assert losses(before, after) == []


@pytest.mark.parametrize(("before", "after", "pairs"), [
    ("[d] p = Div(x, y) [d] q = Div(g, h)", "[d] p = Div(g, h) [d] q = Div(x, y)",
     {"p": "p", "q": "q"}),
    ("[d] p = Div(x, y) [d] q = Div(g, h)", "[d] a = Div(g, h) [d] b = Div(x, y)",
     {"p": "b", "q": "a"}),
    ("[d] p = Div(x, y) [d] q = Div(g, h)", "[d] a = Div(g, h) [d] b = Div(one, two)",
     {"p": "b", "q": "a"}),
    ("[d] p = Div(x, y) [d] q = Div(g, h)", "[d] a = Div(g, two) [d] b = Div(g, h)",
     {"p": "a", "q": "b"}),
    ("[d] p = Div(x, y) [e] q = Div(x, y)", "[e] p = Div(x, y) [d] q = Div(x, y)",
     {"p": "q", "q": "p"}),
    ("[d] p = Div(x, y)", "[d] p = Sub(x, y)", {}),
])  # fmt: skip
def test_nodes_are_found_by_their_names_and_those_of_their_values(
    before: str, after: str, pairs: Mapping[str, str]
) -> None:
    expected, present = (list(enforced_nodes(graph(n, ""), {})) for n in (before, after))
    found = matched(expected, present)
    assert {a.node.outputs[0].name: b.node.outputs[0].name for a, b in found.items()} == pairs


@pytest.mark.parametrize(("before", "after", "renamed"), [
    ("[of_d] r = Reshape(x, s) z = Neg(r)", "[of_d] r = Reshape(x, s) z = Neg(r)", {}),
    ("[of_d] r = Reshape(x, s) z = Neg(r)",
     "[_if_then_branch_Reshape] r = Reshape(x, s) z = Neg(r)",
     {"_if_then_branch_Reshape": guard("d")}),
    ("[of_d] r = Reshape(x, s) z = Neg(r)", "[new] r_token_5 = Reshape(x, s) z = Neg(r_token_5)",
     {"new": guard("d")}),
    ("[of_d] r_token_5 = Expand(x, s) z = Neg(r_token_5)", "[new] r = Expand(x, s) z = Neg(r)",
     {"new": guard("d")}),
    ("[of_d] r = sonnx.compiled.Guard(x, y) z = Neg(r)",
     "[new] _if_else_branch_r = sonnx.compiled.Guard(x, y) z = Neg(_if_else_branch_r)",
     {"new": guard("d")}),
])  # fmt: skip
def test_guard_with_a_new_name_is_found_by_its_value(
    before: str, after: str, renamed: Mapping[str, str]
) -> None:
    expected = graph(before)
    found = compare(expected, graph(after), guards_by_output(expected))
    assert (found.losses, found.guards) == ((), renamed)


def test_guards_are_those_of_guards_names() -> None:
    nodes = "[of_d] r = Reshape(x, s) [e] t = Reshape(r, s) [of_f] v = Neg(t) z = Reshape(v, s)"
    assert guards_by_output(graph(nodes)) == {"r": guard("d")}
