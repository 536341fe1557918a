"""An enforced model is its original and guards, and the checker knows what each guard holds."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx_ort.checker import Rejected
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.expressions import Facts, Tree
from sonnx_ort.guards.guard import OLDEST_FORMAT
from support.derived import derived
from support.graphs import parse

CODE = "code = Constant<value = int64[1] {-24}>()"
SIZES = "sx = Shape(x) sy = Shape(y)"
GUARD = f"{SIZES} e = Equal(sx, sy) {CODE} t = Where(e, sx, code) c = Reshape(x, t)"
LINES = "float[n] x, float[m] y"
X, Y = ("value", "x"), ("value", "y")
S, T = ("Shape", (), X), ("Shape", (), Y)
EQUAL = ("Equal", (), S, T)
EQUAL_RANKS = ("Equal", (), ("Shape", (), S), ("Shape", (), T))


Compared = Callable[[], str | list[Facts]]
"""What gives the facts in front of z, or why the enforced model is not the original and guards."""


def division(before: str = "", node: str = "Div(x, y)", inputs: str = LINES) -> onnx.ModelProto:
    """A model of z, which needs no constants, and of what is in front of it."""
    text = f"({inputs}) => (float[k] z) {{ {before} z = {node} }}"
    return parse(text, domains={"d": 1}, ir_version=OLDEST_FORMAT)


def compared(original: onnx.ModelProto, enforced: onnx.ModelProto) -> str | list[Facts]:
    """What holds in front of z; or why the enforced model is not the original and guards."""
    try:
        return Enforced(derived(original), enforced).facts_of("z")
    except Rejected as reason:
        return str(reason)


def guarded(before: str, node: str = "Div(c, y)", inputs: str = LINES) -> str | list[Facts]:
    """The same of a division that reads copies."""
    return compared(division(inputs=inputs), division(before, node, inputs))


def changed(change: Callable[[onnx.ModelProto], object], **parts: str) -> onnx.ModelProto:
    proto = division(**parts)
    change(proto)
    return proto


def of_format(version: int) -> Callable[[onnx.ModelProto], object]:
    return lambda proto: setattr(proto, "ir_version", version)


def sparse(proto: onnx.ModelProto) -> None:
    values = numpy_helper.from_array(np.ones(1, np.float32), "s")
    indices = numpy_helper.from_array(np.zeros(1, np.int64))
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))


def with_function(proto: onnx.ModelProto) -> None:
    proto.functions.add(name="Twice", domain="d")


def declaring(name: str, *sizes: int) -> Callable[[onnx.ModelProto], object]:
    value = helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)
    return lambda proto: proto.graph.value_info.append(value)


def of_rank(rank: int) -> Callable[[onnx.ModelProto], object]:
    """Declare the result of a rank, without sizes."""
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [None] * rank)
    return lambda proto: proto.graph.output[0].type.CopyFrom(kind)


def of_doubles(proto: onnx.ModelProto) -> None:
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE


def without_a_name(proto: onnx.ModelProto) -> None:
    """Have a guard give its copy no name, and a node read it as an omitted operand."""
    proto.graph.node[-2].output[0] = ""
    proto.graph.node[-1].input[0] = ""


def with_one_name(proto: onnx.ModelProto) -> None:
    """Have a Loop give one of its copies no name, and a node read it as an omitted operand."""
    loop, reader = (n for n in proto.graph.node if n.op_type in ("Loop", "Div"))
    loop.output[1] = reader.input[1] = ""


def returning_a_copy(proto: onnx.ModelProto) -> None:
    """Return a copy of the result under another name."""
    proto.graph.node.append(helper.make_node("Shape", ["z"], ["of_z"]))
    proto.graph.node.append(helper.make_node("Reshape", ["z", "of_z"], ["copied"]))
    proto.graph.output[0].name = "copied"
    proto.graph.output[0].type.tensor_type.ClearField("shape")


def with_two_results(node: str) -> onnx.ModelProto:
    return division(node, "Div(a, b)")


PLAIN, LEAKY = division(), "LeakyRelu<alpha = 0.5>(x)"
GEMM = "Gemm<alpha = 0.5>(x, y)"
SPLIT = "a, b = Split(x)"

DIFFERENT: Mapping[str, tuple[onnx.ModelProto, onnx.ModelProto, str]] = {
    "a function of the original": (changed(with_function), PLAIN, "functions are not compared"),
    "a function of the other": (PLAIN, changed(with_function), "functions are not compared"),
    "a format that older runtimes read": (PLAIN,
        changed(of_format(10), before=GUARD, node="Div(c, y)"),
        "the version of the format is 10, not 11"),
    "guards in the older format of the original": (changed(of_format(10)),
        changed(of_format(10), before=GUARD, node="Div(c, y)"),
        "the version of the format is 10, not 11"),
    "another format, and no guard": (PLAIN, changed(of_format(12)),
        "the version of the format is 12, not 11"),
    "a newer format of the original": (changed(of_format(12)),
        division(GUARD, "Div(c, y)"), "the version of the format is 11, not 12"),
    "a node of another domain": (PLAIN, division("a = d.Add(x, y)"), "a d.Add was added"),
    "a node that is no guard": (PLAIN, division("a = Exp(x)"), "a Exp was added"),
    "a node without a result": (PLAIN, changed(without_a_name, before=GUARD, node="Div(c, y)"),
        "the Reshape of [''] has no result"),
    "another type of the result": (PLAIN, changed(of_doubles),
        "the types of inputs or outputs differ"),
    "a sparse tensor of both": (changed(sparse), changed(sparse), "a tensor is sparse"),
    "a sparse tensor of the other": (PLAIN, changed(sparse), "a tensor is sparse"),
    "a sparse tensor of the original": (changed(sparse), PLAIN, "a tensor is sparse"),
    "a node that gives a known value, too": (with_two_results(SPLIT),
        with_two_results("b, c = Split(x) a = Neg(x)"), "the Split of ['a', 'b'] is gone"),
    "fewer operands": (division(node="Max(x, y)"), division(node="Max(x)"),
        "the Max of ['z'] has other operands"),
    "another operand": (PLAIN, division(node="Div(y, y)"),
        "the Div of ['z'] reads 'y', not 'x': they are different values"),
    "an omitted operand": (PLAIN,
        changed(lambda proto: proto.graph.node[0].input.__setitem__(0, "")),
        "the Div of ['z'] reads '', not 'x': they are different values"),
    "another number of an attribute": (division(node=LEAKY),
        division(node=LEAKY.replace("0.5", "0.6")), "the LeakyRelu of ['z'] has other attributes"),
    "another name of a number": (division(node=GEMM), division(node=GEMM.replace("alpha", "beta")),
        "the Gemm of ['z'] has other attributes"),
    "another declared rank": (PLAIN, changed(of_rank(0)),
        "the file says that 'z' has the shape []"),
    "a new claim of a value of no known shape": (division("a = Unique(x)", "Div(x, a)"),
        changed(declaring("a", 1), before="a = Unique(x)", node="Div(x, a)"),
        "'a' is newly declared as [1]"),
}  # fmt: skip


def test_copy_without_a_name_is_no_omitted_operand() -> None:
    other = changed(with_one_name, before=loop(), node="Div(c, d)")
    assert compared(PLAIN, other) == "a Loop without a result was added"


def test_outputs_keep_their_names() -> None:
    """A copy of the same value under another name is another output to who asks for it."""
    other = changed(returning_a_copy, before="w = Abs(x)")
    original = division("w = Abs(x)")
    assert compared(original, other) == "the outputs ['z'] became ['copied']"


@pytest.mark.parametrize("name", DIFFERENT)
def test_model_that_is_more_than_guards_is_rejected(name: str) -> None:
    original, enforced, message = DIFFERENT[name]
    assert compared(original, enforced) == message


def broken(flag: str) -> str:
    """A guard that passes if a flag is false."""
    return f"{SIZES} {flag} {CODE} t = Where(e, code, sx) c = Reshape(x, t)"


ZERO = "zero = Constant<value = float[1] {0}>()"
ANY = "u = Cast<to = 2>(f) r = ReduceMax<keepdims = 0>(u) e = Cast<to = 9>(r)"
FLAG = f"{ZERO} f = Equal(y, zero) {ANY}"
OF_ZERO = ("Equal", (), Y, ("constant", "float32", (1,), (0.0,)))


def some(tree: Tree) -> Tree:
    return ("Cast", (("to", 9),), ("ReduceMax", (("keepdims", 0),), ("Cast", (("to", 2),), tree)))


def loop(count: int = 0, declared: str = "") -> str:
    """A Loop that copies x and y, if it takes no step."""
    return (
        f"m = Constant<value = int64 {{{count}}}>() b = Constant<value = bool {{1}}>() "
        f"c, d = Loop<body = step (int64 i, bool[] g, float[{declared}] s, float[{declared}] r) "
        "=> (bool[] h, float[] v, float[] w) "
        f"{{ h = Identity(g) v = Identity(s) w = Identity(r) }}>(m, b, x, y)"
    )


def branched(then: str, other: str, outputs: str = "int64[] p", also: str = "int64[] q") -> str:
    """A decision by an If about the shapes of x and y."""
    return (
        f"{SIZES} g = Shape(sx) h = Shape(sy) ranks = Equal(g, h) {CODE} "
        f"t = If(ranks) <then_branch = a () => ({outputs}) {{ {then} }}, "
        f"else_branch = b () => ({also}) {{ {other} }}> c = Reshape(x, t)"
    )


COMPARED = "e = Equal(sx, sy) p = Where(e, sx, code)"
FAILING = "o = Constant<value = int64[1] {-24}>() q = Identity(o)"
RANKS = "float[n] x, float[m, k] y"

SAME: Mapping[str, tuple[onnx.ModelProto, onnx.ModelProto]] = {
    "the same model": (PLAIN, PLAIN),
    "a claim of a size less": (changed(declaring("a", 3), before="a = Abs(x)"),
                               changed(declaring("a", -1), before="a = Abs(x)")),
    "the same claim of a value of no known shape": (
        changed(declaring("a", 1), before="a = Unique(x)"),
        changed(declaring("a", 1), before="a = Unique(x)")),
    "a claim that follows": (division("a = Abs(y)", inputs="float[n] x, float[3] y"),
        changed(declaring("a", 3), before="a = Abs(y)", inputs="float[n] x, float[3] y")),
    "fewer claims": (changed(declaring("a", 3), before="a = Abs(x)"), division("a = Abs(x)")),
    "the same number of an attribute": (division(node=LEAKY), division(node=LEAKY)),
    "nodes that nothing reads": (PLAIN, division(GUARD)),
    "a copy in a Loop that takes no step": (PLAIN, division(loop(declared="7"), "Div(c, d)")),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_model_without_guards_in_use_holds_nothing(name: str) -> None:
    original, enforced = SAME[name]
    assert compared(original, enforced) == [Facts()]


UNKNOWN = "a = Unique(x) b = Unique(y)"
FLAG_OF_IF = (
    "e = If(b) <then_branch = u () => (bool[] p) { p = Constant<value = bool {1}>() }, "
    "else_branch = v () => (bool[] q) { q = Constant<value = bool {1}>() }>"
)


def guard_by_zero(shaped: str, copied: str) -> str:
    """A copy of a value by the shape of another, which fails if an element of that is 0."""
    flag = f"{ZERO} f = Equal({shaped}, zero) {ANY}"
    return f"s = Shape({shaped}) {flag} {CODE} t = Where(e, code, s) c = Reshape({copied}, t)"


BY_IDENTITY = GUARD.replace("t = Where", "i = Where").replace("c = ", "t = Identity(i) c = ")
BY_ELEMENTS = f"{SIZES} e = Greater(y, y) {CODE} t = Where(e, sx, code) c = Reshape(x, t)"
BEHIND_ANOTHER = (
    f"{GUARD} {ZERO} f = Equal(c, zero) {ANY.replace('e =', 'n =')} sc = Shape(c) "
    "l = Where(n, code, sc) k = Reshape(c, l)"
)
HELD: Mapping[str, tuple[Compared, set[Tree], bool]] = {
    "equal shapes": (partial(guarded, GUARD), {EQUAL}, True),
    "equal shapes by an Identity": (partial(guarded, BY_IDENTITY), {EQUAL}, True),
    "a broken flag": (partial(guarded, broken(FLAG)), {some(OF_ZERO)}, False),
    "a copy of the other operand": (
        partial(guarded, GUARD.replace("c = Reshape(x, t)", "c = Reshape(y, t)"), "Div(x, c)"),
        {EQUAL}, True),
    "a copy in a Loop that takes no step": (
        partial(guarded, f"{loop()} sc = Shape(c) sy = Shape(y) e = Equal(sc, sy) {CODE} "
                "t = Where(e, sc, code) k = Reshape(c, t)", "Div(k, y)"),
        {EQUAL}, True),
    "another copy in a Loop that takes no step": (
        partial(guarded, f"{loop()} sd = Shape(d) sx = Shape(x) e = Equal(sx, sd) {CODE} "
                "t = Where(e, sx, code) k = Reshape(x, t)", "Div(k, d)"),
        {EQUAL}, True),
    "a flag, for the same known shape": (
        partial(guarded, guard_by_zero("y", "x"), inputs="float[2, 3] x, float[2, 3] y"),
        {some(OF_ZERO)}, False),
    "a decision behind another": (partial(guarded, BEHIND_ANOTHER, "Div(k, y)"), {EQUAL}, True),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_guard_holds_its_flag(name: str) -> None:
    look, flags, when_kept = HELD[name]
    found = look()
    assert not isinstance(found, str), found
    assert all(flags <= (facts.kept if when_kept else facts.broken) for facts in found)


def reason(text: str) -> str:
    return f"the Div of ['z'] reads 'c', not 'x': {text}"


UNBOUNDED_LOOP = "the Loop of ['c', 'd'] has other operands than in a guard"
NO_GUARDS: Mapping[str, tuple[Compared, str]] = {
    "no decision": (partial(guarded, f"{SIZES} c = Reshape(x, sy)"),
        reason("its shape may differ from that of the decision")),
    "a shape of an input": (partial(guarded, "c = Reshape(x, s)", inputs=f"{LINES}, int64[1] s"),
        reason("it is no decision")),
    "a computed shape": (partial(guarded, "s = Shape(x) t = Add(s, s) c = Reshape(x, t)"),
        reason("it is no decision")),
    "a decision between shapes": (partial(guarded, GUARD.replace("code)", "sy)")),
        reason("it is no decision")),
    "a decision for an input": (
        partial(guarded, GUARD.replace("code)", "s)"), inputs=f"{LINES}, int64[1] s"),
        reason("it is no decision")),
    "a code that is a shape": (partial(guarded, GUARD.replace("{-24}", "{-1}")),
        reason("it is no decision")),
    "a code that is no tensor": (
        partial(guarded, GUARD.replace("value = int64[1] {-24}", "value_ints = [-24]")),
        reason("a constant is no tensor")),
    "another flag, for another shape": (
        partial(guarded, f"{SIZES} {FLAG} {CODE} t = Where(e, code, sy) c = Reshape(x, t)"),
        reason("its shape may differ from that of the decision")),
    "equal sizes of other ranks": (
        partial(guarded, GUARD.replace("Where(e, sx, code)", "Where(e, sy, code)"), inputs=RANKS),
        reason("its shape may differ from that of the decision")),
    "a Loop that takes a step": (partial(guarded, loop(1)), UNBOUNDED_LOOP),
    "a Loop that takes any number of steps": (
        partial(guarded, loop().replace(">(m,", ">(steps,"), inputs=f"{LINES}, int64 steps"),
        UNBOUNDED_LOOP),
    "a flag by an If": (
        partial(guarded, f"{SIZES} {FLAG_OF_IF} {CODE} t = Where(e, sx, code) c = Reshape(x, t)",
                inputs=f"{LINES}, bool b"),
        reason("an If is no decision")),
    "a flag of no known length, for a shape of no known rank": (
        partial(guarded, f"u = Neg(x) s = Shape(u) e = Greater(y, y) {CODE} "
                "t = Where(e, s, code) c = Reshape(x, t)", inputs=RANKS),
        reason("the flag may have another length")),
    "another flag, for the shape of a value of no known shape": (
        partial(compared, division(UNKNOWN, "Div(a, b)"),
                division(f"{UNKNOWN} {guard_by_zero('b', 'a')}", "Div(c, b)")),
        "the Div of ['z'] reads 'c', not 'a': its shape may differ from that of the decision"),
    "another flag, for the shape of a value of one known shape": (
        partial(compared, division(f"{UNKNOWN} d = Neg(x)", "Div(d, b)"),
                division(f"{UNKNOWN} d = Neg(x) {guard_by_zero('b', 'd')}", "Div(c, b)")),
        "the Div of ['z'] reads 'c', not 'd': its shape may differ from that of the decision"),
    "another flag, for another known shape": (
        partial(guarded, guard_by_zero("y", "x"), inputs="float[2] x, float[3] y"),
        reason("its shape may differ from that of the decision")),
    "a flag of several axes": (partial(guarded, BY_ELEMENTS, inputs=RANKS),
        reason("the flag may have another length")),
    "a flag of several elements": (partial(guarded, BY_ELEMENTS, inputs="float[n] x, float[3] y"),
        reason("the flag may have another length")),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_GUARDS)
def test_what_is_no_guard_is_rejected(name: str) -> None:
    look, message = NO_GUARDS[name]
    assert look() == message


ONE = "one = Constant<value = int64 {1}>() none = Constant<value = int64 {0}>()"
NO_ZERO = "zeros = Constant<value = int64[1] {0}>() axes = Constant<value = int64[0] {}>()"
SIZE = f"{ONE} {NO_ZERO} s = Shape(x) r = Shape(s) n = Reshape(r, axes)"
UNBOUNDED: dict[str, tuple[str, str]] = {
    "a division of data": (f"{ONE} w = Div(k, k)", "Div"),
    "a division by zero": (f"{SIZE} w = Div(s, zeros)", "Div"),
    "a division by a negative number": (
        "m = Constant<value = int64[1] {-1}>() w = Div(k, m)", "Div"),
    "a division of one by a size": (f"{SIZE} w = Div(one, s)", "Div"),
    "as many numbers as data say": (f"{ONE} w = Range(none, i, one)", "Range"),
    "numbers in no steps": (f"{SIZE} w = Range(none, n, none)", "Range"),
    "numbers from data on": (f"{SIZE} w = Range(i, n, one)", "Range"),
    "as many copies as data say": ("w = Tile(x, k)", "Tile"),
    "as many copies as a shape says": (f"{SIZE} w = Tile(x, s)", "Tile"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNBOUNDED)
def test_added_node_that_may_not_end_is_rejected_though_nothing_reads_it(name: str) -> None:
    """A division of integers by zero ends the process, and others take all memory."""
    added, operator = UNBOUNDED[name]
    inputs = f"{LINES}, int64[1] k, int64 i"
    plain = "(%s) => (float[n] z) { %s z = Div(x, y) }"
    said = compared(
        parse(plain % (inputs, "")), parse(plain % (inputs, added), ir_version=OLDEST_FORMAT)
    )
    assert said == f"the {operator} of ['w'] has other operands than in a guard"


def on_the_way(claimed: str) -> str | list[Facts]:
    """What holds in front of a division of a value, if the file claims a shape of one before."""
    original, enforced = (
        changed(declaring(claimed, 7), before=before, node=node)
        for before, node in (
            ("a = Neg(x) b = Neg(y)", "Div(a, b)"),
            (f"a = Neg(x) b = Neg(y) {GUARD_OF_A}", "Div(c, b)"),
        )
    )
    return compared(original, enforced)


GUARD_OF_A = (
    f"sa = Shape(a) {ZERO} f = Equal(b, zero) {ANY} {CODE} t = Where(e, code, sa) c = Reshape(a, t)"
)


def test_shape_of_a_value_of_which_the_file_says_another_one_is_no_decision() -> None:
    assert on_the_way("a") == (
        "the Div of ['z'] reads 'c', not 'a': the file says that 'a' has the shape [7]"
    )


def test_elements_are_compared_whatever_the_file_says_of_the_shape() -> None:
    assert not isinstance(on_the_way("b"), str)


def branches(then: str, other: str, inputs: str = RANKS) -> str | list[Facts]:
    """What holds in front of a division whose decision is that of an If about equal ranks."""
    return guarded(branched(then, other), inputs=inputs)


def test_branches_of_a_decision_are_two_cases() -> None:
    found = branches(COMPARED, "q = Identity(sx)", LINES)
    assert not isinstance(found, str), found
    assert [EQUAL in facts.kept for facts in found] == [True, False]
    assert [EQUAL_RANKS in facts.kept for facts in found] == [True, False]


def test_branch_that_only_fails_is_no_decision() -> None:
    assert branches(COMPARED, FAILING, LINES) == reason("it is no decision")


def test_decision_has_one_shape() -> None:
    two = branched(
        f"{COMPARED} o = Identity(p)",
        "q = Identity(sx) w = Identity(q)",
        "int64[] p, int64[] o",
        "int64[] q, int64[] w",
    )
    found = guarded(two.replace("t = If", "t, u = If"), inputs=LINES)
    assert found == reason("it is no decision")


def test_case_of_a_decision_may_fail_whatever_the_other_gives() -> None:
    """A code may stand before what is decided further on."""
    before = branched(COMPARED, "q = Identity(sx)").replace("c = Reshape(x, t)", "")
    flag = f"{ZERO} f = Equal(y, zero) {ANY.replace('e =', 'n =')}"
    found = guarded(f"{before} {flag} l = Where(n, code, t) c = Reshape(x, l)")
    assert not isinstance(found, str), found
    assert all(some(OF_ZERO) in facts.broken for facts in found)
    assert [EQUAL in facts.kept for facts in found] == [True, False]


SUMS = "o = ReduceSum<keepdims = 0>(x) q = ReduceSum<keepdims = 0>(y)"
NOTHING_HELD = {
    "elements": f"{ZERO} f = Equal(q, zero) {ANY} t = Where(e, code, so)",
    "another comparison": "sq = Shape(q) e = Less(sq, so) t = Where(e, so, code)",
    "shapes of other ranks": "sy = Shape(y) e = Equal(so, sy) t = Where(e, so, code)",
}


@pytest.mark.parametrize("name", NOTHING_HELD)
def test_shape_of_a_scalar_has_no_place_for_a_code(name: str) -> None:
    before = f"{SUMS} so = Shape(o) {CODE} {NOTHING_HELD[name]} c = Reshape(o, t)"
    assert compared(division(SUMS, "Div(o, q)"), division(before, "Div(c, q)")) == [Facts()]


def test_shapes_of_scalars_are_equal() -> None:
    guard = "sq = Shape(q) e = Equal(so, sq) t = Where(e, so, code) c = Reshape(o, t)"
    enforced = division(f"{SUMS} so = Shape(o) {CODE} {guard}", "Div(c, q)")
    (found,) = Enforced(derived(division(SUMS, "Div(o, q)")), enforced).facts_of("z")
    shapes = (("Shape", (), ("value", name)) for name in "oq")
    assert found.kept == {("Equal", (), *shapes)}


def held_by_rank(rank: str = "sx") -> str | list[Facts]:
    """What holds where a shape is read behind a decision about ranks."""
    return guarded(
        f"{SIZES} g = Shape({rank}) h = Shape(sy) ranks = Equal(g, h) {CODE} "
        "r = Where(ranks, g, code) s = Reshape(sx, r) e = Equal(s, sy) t = Where(e, s, code) "
        "c = Reshape(x, t)",
        inputs=RANKS,
    )


def test_decision_about_ranks_holds_what_is_compared_behind_it() -> None:
    found = held_by_rank()
    assert not isinstance(found, str), found
    assert {EQUAL, EQUAL_RANKS} <= found[0].kept


def test_decision_about_another_rank_is_none() -> None:
    assert held_by_rank("sy") == reason("it is no decision")


COPY_OF_Z = "sz = Shape(z) g = Equal(sz, sy) u = Where(g, sz, code) k = Reshape(z, u)"


def test_shape_of_a_guards_copy_does_not_let_a_node_run() -> None:
    lines = f"({LINES}) => (int64[1] s)"
    original = parse(f"{lines} {{ z = Div(x, y) s = Shape(z) }}")
    enforced = parse(
        f"{lines} {{ {GUARD} z = Div(c, y) {COPY_OF_Z} s = Shape(k) }}", ir_version=OLDEST_FORMAT
    )
    assert compared(original, enforced) == "nothing but Shapes reads 'z': it may not run"
