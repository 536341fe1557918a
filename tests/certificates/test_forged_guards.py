"""Guards that say less than a rule, or are not where they count, hold no rule.

Each enforced model is the right one with one thing changed. A few say the same in another way, and
are not accepted either: the form of a guard follows from its rule, and from nothing else.
"""

import hashlib
from collections.abc import Sequence

import onnx
import pytest

from sonnx_ort.checker import FORMAT, Model, Rejected, check, established
from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.checker.obligations import conclude, rules_of
from sonnx_ort.guards.guard import OLDEST_FORMAT
from sonnx_ort.profile.options import Edition
from support.graphs import parse

Entry = tuple[str, str]


def judged(original: onnx.ModelProto, enforced: onnx.ModelProto, guarded: Sequence[Entry]) -> str:
    """What the checker says of models and rules that guards hold by the certificate.

    Of all other rules of Div it says what it concludes, and that the rest is not known.
    """
    contents = [model.SerializeToString() for model in (original, enforced)]
    known = established(onnx.load_model_from_string(contents[0]))
    found: dict[str, list[Entry]] = {"obligations": [], "unknown": [], "guarded": [*guarded]}
    for output in _divisions(known.proto.graph):
        for rule in rules_of(known.node(output), Edition.TYPED):
            if (output, rule.id) not in guarded:
                found[_holder(known, output, rule.id)].append((output, rule.id))
    certificate = {
        "format": FORMAT,
        "model": hashlib.sha256(contents[0]).hexdigest(),
        "enforced": hashlib.sha256(contents[1]).hexdigest(),
        "edition": "typed",
        "operators": ["Div"],
        "waived": [],
        **{name: [list(entry) for entry in entries] for name, entries in found.items()},
    }
    try:
        return check(contents[0], certificate, contents[1])
    except Rejected as reason:
        return str(reason)


def _divisions(graph: onnx.GraphProto) -> list[str]:
    nodes = [node for each in graphs_of(graph) for node in each.node]
    return [node.output[0] for node in nodes if node.op_type == "Div"]


def _holder(known: Model, output: str, rule: str) -> str:
    try:
        conclude(known, output, rule)
    except Rejected:
        return "unknown"
    return "obligations"


OPEN = "int64[n] x, int64[m] y"
C1, C2, R1 = "Div.int.C1", "Div.int.C2", "Div.int.R1"
GUARD = """sx = Shape(x) zero = Constant<value = int64 {0}>() e = Equal(y, zero) b = Cast<to = 2>(e)
    m = ReduceMax<keepdims = 0>(b) f = Cast<to = 9>(m) code = Constant<value = int64[1] {-24}>()
    s = Where(f, code, sx) g = Reshape(x, s) z = Div(g, y)"""
SETTLED = """sx = Shape(x) a = Cast<to = 1>(x) m = ReduceMin<keepdims = 0>(a)
    limit = Constant<value = float {-9.223372036854775807e18}>() f = Greater(m, limit)
    code = Constant<value = int64[1] {-25}>() s = Where(f, sx, code) g = Reshape(x, s)
    z = Div(g, y)"""
HELD = "3 checks hold in every run: 2 by proof, 1 by guards; 2 are left to guards of unknown form"


def with_(text: str, *pairs: tuple[str, str]) -> str:
    """A text with parts that are replaced."""
    for part, other in pairs:
        assert part in text
        text = text.replace(part, other)
    return text


def not_guarded(rule: str) -> str:
    return f"{rule} of the node of 'z' is not guarded"


def reads(reason: str) -> str:
    return f"the Div of ['z'] reads 'g', not 'x': {reason}"


NONE, ONE = (f"m0 = Constant<value = int64 {{{n}}}>()" for n in (0, 1))
LOOP = (
    "yes = Constant<value = bool {1}>() o = Loop<body = l (int64 i, bool[] c, int64[] v) "
    "=> (bool[] d, int64[] w) { d = Identity(c) w = Neg(v) }>(m0, yes, v0)"
)
KEPT, DECIDED = "p = Identity(sx)", "p = Where(f, code, sx)"


def branches(then: str, other: str) -> tuple[str, str]:
    """Have an If decide in place of a Where."""
    return "s = Where(f, code, sx)", (
        f"s = If(f) <then_branch = t () => (int64[] p) {{ {then} }}, "
        f"else_branch = u () => (int64[] q) {{ {other.replace('p =', 'q =')} }}>"
    )


def in_place_of_y(made: str) -> tuple[str, str]:
    """Compare another value, p, with zero."""
    return "e = Equal(y, zero)", f"{made} e = Equal(p, zero)"


OF_SHAPES = [
    ("f = Cast<to = 9>(m)", "sy = Shape(y) f = Equal(sx, sy)"),
    ("Where(f, code, sx)", "Where(f, sx, code)"),
]
LIMIT = "float {-9.223372036854775807e18}"


def limited(number: str, to: int) -> list[tuple[str, str]]:
    """Look at the smallest element in another type, and compare it with a number."""
    return [(LIMIT, number), ("to = 1", f"to = {to}")]


NOT_GUARDED, NOT_SETTLED = not_guarded(C1), not_guarded(C2)
OF_DIVISORS = {
    "the smallest in place of the largest flag": (NOT_GUARDED, ("ReduceMax", "ReduceMin")),
    "a flag of another rank": (
        reads("the flag may have another length"), ("keepdims = 0", "keepdims = 1")),
    "a reduction of no axes": (
        reads("the flag may have another length"),
        ("<keepdims = 0>", "<axes = [0], keepdims = 0>")),
    "flags in signed bytes": (NOT_GUARDED, ("to = 2", "to = 3")),
    "flags in int64": (NOT_GUARDED, ("to = 2", "to = 7")),
    "branches of a Where exchanged": (NOT_GUARDED, ("Where(f, code, sx)", "Where(f, sx, code)")),
    "a code that infers": (reads("it is no decision"), ("{-24}", "{-1}")),
    "a code that copies": (reads("it is no decision"), ("{-24}", "{0}")),
    "a code that is a size": (reads("it is no decision"), ("{-24}", "{24}")),
    "codes for two axes": (reads("it is no decision"), ("int64[1] {-24}", "int64[2] {-24, -24}")),
    "a code that is a scalar": (reads("it is no decision"), ("int64[1] {-24}", "int64 {-24}")),
    "another number": (NOT_GUARDED, ("int64 {0}", "int64 {1}")),
    "no number": (NOT_GUARDED, ("int64 {0}", "int64[0] {}")),
    "a number on a line": (NOT_GUARDED, ("int64 {0}", "int64[1] {0}")),
    "the other operand": (NOT_GUARDED, ("Equal(y, zero)", "Equal(x, zero)")),
    "the order of a comparison": (NOT_GUARDED, ("Equal(y, zero)", "Equal(zero, y)")),
    "an operand compared with itself": (NOT_GUARDED, ("Equal(y, zero)", "Equal(y, y)")),
    "another comparison": (NOT_GUARDED, ("Equal(y, zero)", "Less(y, zero)")),
    "the shape of the other operand": (
        reads("its shape may differ from that of the decision"), ("Shape(x)", "Shape(y)")),
    "a shape from an axis on": (
        reads("its shape may differ from that of the decision"),
        ("Shape(x)", "Shape<start = 1>(x)")),
    "a shape from the first axis on": (
        reads("its shape may differ from that of the decision"),
        ("Shape(x)", "Shape<start = 0>(x)")),
    "a shape up to an axis": (
        reads("its shape may differ from that of the decision"),
        ("Shape(x)", "Shape<end = -1>(x)")),
    "a guard of the other operand": (
        reads("its shape may differ from that of the decision"),
        ("Reshape(x, s)", "Reshape(y, s)")),
    "a guard that nothing reads": (NOT_GUARDED, ("Div(g, y)", "Div(x, y)")),
    "a guard of which the shape is read": (
        NOT_GUARDED, ("z = Div(g, y)", "h = Shape(g) i = Reshape(x, h) z = Div(i, y)")),
    "operands exchanged": (
        "the Div of ['z'] reads 'y', not 'x': they are different values",
        ("Div(g, y)", "Div(y, g)")),
    "one operand twice": (
        "the Div of ['z'] reads 'g', not 'y': they are different values",
        ("Div(g, y)", "Div(g, g)")),
    "a Reshape that reads no decision": (NOT_GUARDED, ("Reshape(x, s)", "Reshape(x, sx)")),
    "a Reshape that reads another decision": (
        reads("it is no decision"),
        ("g = Reshape(x, s)", "t = Where(f, sx, sx) g = Reshape(x, t)")),
    "a decision by the opposite": (NOT_GUARDED, ("s = Where(f", "k = Not(f) s = Where(k")),
    "a flag and another": (
        NOT_GUARDED,
        ("s = Where(f", "no = Constant<value = bool {0}>() k = And(f, no) s = Where(k")),
    "a flag or another": (
        NOT_GUARDED,
        ("s = Where(f", "no = Constant<value = bool {0}>() k = Or(f, no) s = Where(k")),
    "a constant flag": (
        NOT_GUARDED, ("s = Where(f", "no = Constant<value = bool {0}>() s = Where(no")),
    "a flag for each element": (
        reads("the flag may have another length"), ("Where(f,", "Where(e,")),
    "part of an operand": (
        NOT_GUARDED,
        in_place_of_y("last = Constant<value = int64[1] {-1}>() p = Gather<axis = 0>(y, last)")),
    "a slice of an operand": (
        NOT_GUARDED,
        in_place_of_y("one = Constant<value = int64[1] {1}>() p = Slice(y, one, one)")),
    "no copy of an operand": (
        "the Tile of ['p'] has other operands than in a guard",
        in_place_of_y("none = Constant<value = int64[1] {0}>() p = Tile(y, none)")),
    "an operand that is expanded": ("a Expand was added", in_place_of_y("p = Expand(y, sx)")),
    "an operand with further elements": (NOT_GUARDED, in_place_of_y("p = Concat<axis = 0>(y, x)")),
    "an operand in int32": (
        NOT_GUARDED, in_place_of_y("p = Cast<to = 6>(y)"), ("int64 {0}", "int32 {0}")),
    "an operand in float": (
        NOT_GUARDED, in_place_of_y("p = Cast<to = 1>(y)"), ("int64 {0}", "float {0.0}")),
    "an operand as bool": (
        NOT_GUARDED, in_place_of_y("p = Cast<to = 9>(y)"), ("int64 {0}", "bool {0}")),
    "the negative of an operand": (NOT_GUARDED, in_place_of_y("p = Neg(y)")),
    "a product in place of an operand": (NOT_GUARDED, in_place_of_y("p = Mul(y, x)")),
    "a Cast with a further attribute": (
        "the Cast of ['b'] has no attribute saturate",
        ("b = Cast<to = 2>(e)", "b = Cast<to = 2, saturate = 1>(e)")),
    "an If whose branches are exchanged": (NOT_GUARDED, branches(KEPT, DECIDED)),
    "an If of which one branch decides nothing": (NOT_GUARDED, branches(DECIDED, KEPT)),
    "an If whose branches both decide": (HELD, branches(DECIDED, DECIDED)),
    "a Loop of one step": (
        "the Loop of ['o'] has other operands than in a guard",
        ("g = Reshape(x, s)", f"v0 = Reshape(x, s) {ONE} {LOOP}"), ("Div(g, y)", "Div(o, y)")),
    "a guard before a Loop of no step": (
        HELD, ("g = Reshape(x, s)", f"v0 = Reshape(x, s) {NONE} {LOOP}"),
        ("Div(g, y)", "Div(o, y)")),
    "another operand behind a Loop of no step": (
        NOT_GUARDED,
        ("e = Equal(y, zero)", f"v0 = Reshape(x, sx) {NONE} {LOOP} e = Equal(o, zero)")),
}  # fmt: skip
"""What becomes of the guard that no divisor is 0, by what the checker says, and by what changes."""

OF_THE_SMALLEST = {
    "a smaller limit": (NOT_SETTLED, ("-9.223372036854775807e18", "-1e19")),
    "a larger limit": (NOT_SETTLED, ("-9.223372036854775807e18", "-1.0")),
    "a limit in double": (NOT_SETTLED, ("value = float", "value = double"), ("to = 1", "to = 11")),
    "the smallest of int32": (NOT_SETTLED, *limited("int32 {-5}", 6)),
    "the smallest of int8": (NOT_SETTLED, *limited("int8 {-5}", 3)),
    "the smallest of uint64": (NOT_SETTLED, *limited("uint64 {0}", 13)),
    "the smallest of float16": (NOT_SETTLED, *limited("float16 {0}", 10)),
    "the largest dividend": (NOT_SETTLED, ("ReduceMin", "ReduceMax")),
    "a flag that is broken": (NOT_SETTLED, ("Where(f, sx, code)", "Where(f, code, sx)")),
    "the smallest divisor below zero": (
        NOT_SETTLED, ("Cast<to = 1>(x)", "Cast<to = 1>(y)"),
        ("{-9.223372036854775807e18}", "{-3.0}")),
    "the smallest divisor above minus one": (
        NOT_SETTLED, ("Cast<to = 1>(x)", "Cast<to = 1>(y)"),
        ("{-9.223372036854775807e18}", "{-1.0}")),
    "the smallest divisor": (
        HELD, ("Cast<to = 1>(x)", "Cast<to = 1>(y)"), ("{-9.223372036854775807e18}", "{0.0}")),
    "the smallest element by a scalar of a line": (
        NOT_SETTLED, ("float {-9.22", "float[1] {-9.22")),
}  # fmt: skip
"""The same of the flag of the smallest dividend, for the rule that quotients are representable."""

FURTHER = {
    "the guard itself": (OPEN, GUARD, C1, HELD),
    "a guard of another rule": (OPEN, GUARD, C2, not_guarded(C2)),
    "a guard of elements for shapes": (OPEN, GUARD, R1, not_guarded(R1)),
    "shapes of unknown ranks": (
        "int64[] x, int64[] y",
        with_(GUARD, *OF_SHAPES),
        R1, reads("the flag may have another length")),
    "shapes of other ranks": (
        "int64[n] x, int64[n, m] y",
        with_(GUARD, *OF_SHAPES),
        R1, reads("the flag may have another length")),
    "a scalar that may have any rank": (
        "int64 x, int64[n] y", GUARD, C1, reads("the shape of 'x' is not known")),
    "an operand of unknown rank": ("int64[] x, int64[n] y", GUARD, C1, not_guarded(C1)),
    "a rule without a guard": (
        OPEN, GUARD, "Div.int.R2", "Div.int.R2 of the node of 'z' has no guards of a known form"),
    "the smallest dividend": (OPEN, SETTLED, C2, HELD),
}  # fmt: skip
"""Inputs, the nodes of an enforced model, a rule, and what the checker says."""

CASES = {
    **{n: (OPEN, with_(GUARD, *pairs), C1, said) for n, (said, *pairs) in OF_DIVISORS.items()},
    **{n: (OPEN, with_(SETTLED, *p), C2, said) for n, (said, *p) in OF_THE_SMALLEST.items()},
    **FURTHER,
}


@pytest.mark.parametrize("name", CASES)
def test_guard_holds_a_rule_only_as_it_is_made(name: str) -> None:
    inputs, nodes, rule, said = CASES[name]
    original = parse(f"({inputs}) => (int64[] z) {{ z = Div(x, y) }}")
    enforced = parse(f"({inputs}) => (int64[] z) {{ {nodes} }}", ir_version=OLDEST_FORMAT)
    assert judged(original, enforced, [("z", rule)]) == said


FIXED = "int64[3] x, int64[3] y"


def test_guard_behind_a_known_shape_does_not_run() -> None:
    """ONNX Runtime knows the shape of i, and computes neither i nor g."""
    nodes = with_(
        GUARD, ("z = Div(g, y)", "i = Reshape(g, sx) h = Shape(i) w = Reshape(x, h) z = Div(w, y)")
    )
    original = parse(f"({FIXED}) => (int64[] z) {{ z = Div(x, y) }}")
    enforced = parse(f"({FIXED}) => (int64[] z) {{ {nodes} }}", ir_version=OLDEST_FORMAT)
    assert judged(original, enforced, [("z", C1)]) == not_guarded(C1)
