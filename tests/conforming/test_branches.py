"""The branch of an If that every run takes, and what is assumed of inputs so that it is known."""

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

import sonnx_ort
from sonnx_ort import Contract, SizeContract, SonnxError, Status, ValueContract
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming import change
from sonnx_ort.loading.traversal import ValueNames
from support.conformed import conformed, reasons, require_fixed, require_same_bits, violated
from support.graphs import operators, parse
from support.sessions import quiet

RATE = np.array(16000)


def branching(condition: str, inputs: str = "float[2,3] X") -> onnx.ModelProto:
    """An If of which one branch negates, and the other one passes X on."""
    return parse(
        f"({inputs}) => (float[2,3] Y) {{ {condition} [choose] Y = If (c) <"
        " then_branch = then () => (float[2,3] t) { [part] u = Abs(X) [part2] t = Neg(u) },"
        " else_branch = other () => (float[2,3] u) { [part] u = Identity(X) }> }",
        constants={"true": np.array(True), "false": np.array(False), "two": np.array([2])},
    )


CONDITIONS = [
    ("c = Identity(true)", ["Abs", "Neg"]),
    ("c = Identity(false)", ["Identity"]),
    ("n = Shape<start = 0, end = 1>(X) c = Equal(n, two)", ["Abs", "Neg"]),
    ("n = Shape<start = 1, end = 2>(X) e = Equal(n, two) c = Not(e)", ["Abs", "Neg"]),
    ("n = Shape<start = 1, end = 2>(X) e = Less(two, n) c = Cast<to = 9>(e)", ["Abs", "Neg"]),
    ("r = Shape(X) n = Size(r) e = Equal(n, two) c = Not(e)", ["Identity"]),
]


@pytest.mark.parametrize(("condition", "expected"), CONDITIONS)
def test_known_condition_leaves_the_branch_alone(condition: str, expected: list[str]) -> None:
    model = branching(condition)
    run = {"X": np.float32([[1, -2, 0], [3, -0.0, np.inf]])}
    assert operators(require_fixed(model, run)) == expected


def test_size_of_a_declared_scalar_decides_no_branch() -> None:
    """A run may give any shape for it, so that the size is another one."""
    model = parse(
        "(float t) => (float[] y) { n = Size(t) c = Equal(n, one)"
        " y = If (c) <then_branch = p () => (float[] u) { u = Add(t, t) },"
        " else_branch = s () => (float[] v) { v = Neg(t) }> }",
        constants={"one": np.array(1)},
    )
    assert operators(conformed(model))[-1] == "If"


def test_names_of_both_branches_stay_apart() -> None:
    model = parse(
        "(float[2] X) => (float[2] Y) { [first] Y1 = If (t) <"
        " then_branch = a () => (float[2] u) { [same] u = Abs(X) },"
        " else_branch = b () => (float[2] u) { [same] u = Neg(X) }> [second] Y = If (t) <"
        " then_branch = a () => (float[2] u) { [same] u = Neg(Y1) },"
        " else_branch = b () => (float[2] u) { [same] u = Abs(Y1) }> }",
        constants={"t": np.array(True)},
    )
    made = conformed(model)
    assert operators(made) == ["Abs", "Neg"]
    require_same_bits(model, made, {"X": np.float32([-1, 2])})


UNKNOWN = (
    "its condition 'c' depends on the input; both_branches=True may compute both branches"
    "; to fix it: {}"
)


def test_condition_of_a_run_gives_the_reason() -> None:
    model = branching("c = Identity(b)", "float[2,3] X, bool b")
    assert reasons(model)["Graph.operator_set"] == UNKNOWN.format("assume={'b': VALUE}")


@pytest.mark.parametrize("condition", ["bool b", "bool[1] b", "bool[k] b"])
def test_both_branches_are_computed_on_request_with_the_same_bits(condition: str) -> None:
    model = branching("c = Identity(b)", f"float[2,3] X, {condition}")
    made = conformed(model, both_branches=True)
    assert violated(made) == set()
    assert "If" not in operators(made)
    x = np.float32([[1, -2, np.nan], [-0.0, 0.0, np.inf]])
    for taken in (False, True):
        given = np.array(taken) if condition == "bool b" else np.array([taken])
        require_same_bits(model, made, {"X": x, "b": given})


BOTH = {
    "(int32[2] t) { [part] t = Div(X, X) }": (
        "Div 'part' in a branch may break a rule in a run that does not take the branch"
    ),
    "(int32[2] t) { [part] t = Gather(X, X) }": (
        "Gather 'part' in a branch may break a rule in a run that does not take the branch"
    ),
    "(int32[k] t) { t = Concat <axis = 0>(X, X) }": (
        "its branches give results of different shapes or types"
    ),
    "(bool[2] t) { t = Equal(X, X) }": "its branches give results of different shapes or types",
    "(int32[2] t) { t, v = Scan <num_scan_inputs = 1, body = q (int32[2] i, int32 e)"
    " => (int32[2] j, int32 f) { j = Neg(i) f = Identity(e) }>(X, Z) }": (
        "Scan in a branch has graphs of its own"
    ),
}


@pytest.mark.parametrize("branch", BOTH)
def test_branches_that_may_not_both_be_computed_give_the_reason(branch: str) -> None:
    model = parse(
        "(int32[2] X, int32[k] Z, bool b) => (int32[m] Y) { Y = If (b) <"
        f" then_branch = p () => {branch},"
        " else_branch = s () => (int32[2] u) { u = Identity(X) }> }"
    )
    found = sonnx_ort.conform(model, both_branches=True).remaining
    assert BOTH[branch] in [reason for _, reason in found]


def test_assumed_input_is_a_constant_and_the_file_says_so() -> None:
    model = branching("c = Equal(rate, k)", "float[2,3] X, int64 rate")
    model.graph.initializer.append(onnx.numpy_helper.from_array(RATE, "k"))
    result = sonnx_ort.conform(model, assume={"rate": 16000})
    assert result.remaining == ()
    assert [value.name for value in result.model.graph.input] == ["X"]
    assert result.assumed == {"rate": "16000"}
    assert [(p.key, p.value) for p in result.model.metadata_props] == [
        ("sonnx_ort.assumed.rate", "16000")
    ]


def test_assumed_shape_is_declared() -> None:
    model = branching(
        "n = Shape<start = 0, end = 1>(Z) c = Equal(n, two)", "float[2,3] X, float[n] Z"
    )
    assert reasons(model)["Graph.operator_set"] == UNKNOWN.format("assume_shapes={'Z': (1,)}")
    result = sonnx_ort.conform(model, assume_shapes={"Z": [2]}, verify=True)
    assert [o.rule.id for o, _ in result.remaining] == ["Graph.unused_input"]
    assert result.assumed == {"Z": "of shape (2,)"}


def test_shape_that_the_file_leaves_out_is_declared() -> None:
    model = parse("(float[] X) => (float[] Y) { Y = Identity(X) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    result = sonnx_ort.conform(model, assume_shapes={"X": [2, 3]})
    sizes = result.model.graph.input[0].type.tensor_type.shape.dim
    assert [size.dim_value for size in sizes] == [2, 3]


def test_scalar_is_reshaped_because_runs_take_any_shape_for_it() -> None:
    """A branch reads it too, and a name is taken."""
    model = parse(
        "(float[2] X, float t, bool b) => (float[2] Y) { t_scalar_0 = Add(X, t)"
        " Y = If (b) <then_branch = p () => (float[2] u) { u = Mul(t_scalar_0, t) },"
        " else_branch = s () => (float[2] v) { v = Identity(t_scalar_0) }> }"
    )
    broken = {o.rule.id for o, _ in sonnx_ort.conform(model).remaining}
    assert {"Add.float.R1", "Mul.float.R1"} <= broken
    result = sonnx_ort.conform(model, assume_shapes={"t": []}, verify=True)
    assert {o.rule.id for o, _ in result.remaining} == {"Graph.operator_set"}  # the If
    assert result.assumed == {"t": "of shape ()"}
    feeds = {"X": np.ones(2, np.float32), "b": np.array(True)}
    session = ort.InferenceSession(result.model.SerializeToString(), quiet())
    assert session.run(None, feeds | {"t": np.array(3, np.float32)})[0].tolist() == [12, 12]
    with pytest.raises(Fail, match="Reshape"):
        session.run(None, feeds | {"t": np.full(2, 3, np.float32)})


GROWING = """(float[n, 3] x, float[1, 3] b) => (float[m, 3] y) {
    w = Add(x, x) y = Add(w, b) }"""
FOUR = Contract((ValueContract("x", (0, 1)), ValueContract("w")), sizes=(SizeContract("n", 4, 4),))


def test_what_follows_from_a_contract_of_inputs_is_used_and_told() -> None:
    assert sonnx_ort.conform(parse(GROWING)).assumed == {}
    result = sonnx_ort.conform(parse(GROWING), contract=FOUR, verify=True)
    assert [c.title for c in result.changes][-1] == "make the broadcast of the operands explicit"
    said = '[{"value": "x", "range": [0, 1]}, {"size": "n", "range": [4, 4]}]'
    assert result.assumed == {"every input": f"within the contract {said}"}
    assert [(p.key, p.value) for p in result.model.metadata_props] == [
        ("sonnx_ort.assumed_contract", said)
    ]
    again = sonnx_ort.conform(result.model, contract=FOUR)
    assert (again.changes, again.assumed, again.model) == ((), {}, result.model)


def test_value_with_a_contract_that_a_change_removes_is_named() -> None:
    model = parse("(float[2] x) => (float[2] y) { dead = Exp(x) y = Relu(x) }")
    contract = Contract((ValueContract("dead", (0, 9)),))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.rewrite(model, operators="profile", contract=contract, conform=True)
    assert str(caught.value) == (
        "contract: the graph has no input or value 'dead'; the model's inputs are x; inputs of "
        "subgraphs and values of "
        "functions cannot have a contract; a change removed it; leave its entry out, or write a "
        "contract for the result"
    )


def test_verification_of_changes_draws_inputs_within_the_contract() -> None:
    """Beyond it the model stops at a gather."""
    model = parse(
        """(int64[n] i, float[3] t) => (float[m] y) { y = Gather(t, i) }""",
    )
    contract = Contract((ValueContract("i", (1, 2)),))
    assert sonnx_ort.conform(model, contract=contract, verify=True, sizes={"n": 50}).left_out == ()


WRONG = [
    ({"assume": {"rat": 1}}, "there is no input 'rat' (did you mean 'rate'?)"),
    ({"assume": {"rate": 0.5}}, "the input 'rate' is float64 of shape ()"),
    ({"assume": {"X": np.zeros(2, np.float32)}}, "the input 'X' is float32 of shape (2,)"),
    ({"assume_shapes": {"Z": [2]}}, "the shape of the input 'Z': there is none"),
    ({"assume_shapes": {"X": [2]}}, "the shape of the input 'X': it has 2 axes"),
    ({"assume_shapes": {"X": [2, 4]}}, "the input 'X' has 3, not 4"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_does_not_fit_is_refused(options: dict[str, object], message: str) -> None:
    model = branching("c = Equal(rate, k)", "float[2,3] X, int64 rate")
    model.graph.initializer.append(onnx.numpy_helper.from_array(RATE, "k"))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.conform(model, **options)
    assert str(caught.value).startswith("the assumption does not fit: ")
    assert message in str(caught.value)


REDUCED = [
    (13, "axes = Constant<value = int64[1] {-1}>() [sum] u = ReduceSum <keepdims = 0>(X, axes)"),
    (13, "axes = Constant<value = int64[2] {-1, 0}>() [sum] s = ReduceSum(X, axes) u = Sub(s, Z)"),
    (11, "[sum] u = ReduceSum <axes = [-1], keepdims = 0>(X)"),
]


@pytest.mark.parametrize(("opset", "reduction"), REDUCED)
def test_negative_axes_of_what_may_be_empty_are_counted_from_the_front(
    opset: int, reduction: str
) -> None:
    """ONNX Runtime up to 1.31.1 leaves an empty tensor as it is along a negative axis."""
    values = "(float[n,3] X, float[1,1] Z) => (float[a] Y)"
    model = parse(f"{values} {{ {reduction} Y = Neg(u) }}", opset=opset)
    title = "count the axes of a reduction from the front"
    assert title not in [each.title for each in sonnx_ort.conform(model).changes]
    result = sonnx_ort.conform(model, rounding=True, measure=False)
    assert title in [each.title for each in result.changes]
    assert "Graph.implicit_shape" not in {o.rule.id for o, _ in result.remaining}
    assert all(o.status is Status.PROVED for o in result.report.obligations if "R1" in o.rule.id)
    feeds = {"X": np.float32([[1, 2, 4], [3, -0.0, 9]]), "Z": np.ones((1, 1), np.float32)}
    require_same_bits(model, result.model, feeds)


@pytest.mark.parametrize("keep", [0, 1])
def test_negative_axes_of_what_is_not_empty_stay(keep: int) -> None:
    """A sum whose sizes a run knows is there, so that the change is tried."""
    model = parse(
        f"(float[2,3] X, float[n] Z, float[m] V) => (float[a] Y, float[b] W) {{"
        f" u = ReduceSum <axes = [-1], keepdims = {keep}>(X) Y = Neg(u) W = Add(Z, V) }}",
        opset=11,
    )
    made = sonnx_ort.conform(model, rounding=True, measure=False).model
    (kept,) = [node for node in made.graph.node if node.op_type == "ReduceSum"]
    assert {each.name: list(each.ints) for each in kept.attribute}["axes"] == [-1]


@pytest.mark.parametrize("axis", [2, -3])
def test_axes_that_do_not_exist_are_left_to_the_run(axis: int) -> None:
    model = parse(
        f"(float[n,3] X) => (float[a] Y) {{ u = ReduceSum <axes = [{axis}], keepdims = 0>(X)"
        " Y = Neg(u) }",
        opset=11,
    )
    made = sonnx_ort.conform(model, rounding=True, measure=False).model
    (kept,) = [node for node in made.graph.node if node.op_type == "ReduceSum"]
    assert {each.name: list(each.ints) for each in kept.attribute}["axes"] == [axis]


def test_sizes_that_only_constants_tell_are_stored() -> None:
    model = parse(
        """(float[2,3] X) => (float[a,b] Y) {
            t = Transpose(pairs) k = Reshape(t, four) u = Pad(X, k) Y = Floor(u)
        }""",
        constants={"pairs": np.array([[0, 0], [1, 1]]), "four": np.array([4])},
    )
    assert sonnx_ort.conform(model, select="Slice").changes == ()
    made = sonnx_ort.conform(model).model
    (pad,) = [node for node in made.graph.node if node.op_type == "Pad"]
    (elements,) = [tensor for tensor in made.graph.initializer if tensor.name == pad.input[1]]
    assert onnx.numpy_helper.to_array(elements).tolist() == [0, 1, 0, 1]


LONG_BRANCH = """(float[2] X, bool given) => (float[2] Y) {{ c = {condition} Y = If (c) <
    then_branch = a () => (float[2] v) {{ u = Abs(X) w = Neg(u) x = Sqrt(u) v = Add(w, x) }},
    else_branch = b () => (float[2] k) <float[2] k = {{1, 2}}> {{ n = Neg(X) }}> }}"""
"""An If with a branch that returns a constant, which needs a copy to have a name of its own."""


def long_branch(condition: str) -> onnx.ModelProto:
    constants = {"true": np.array(True), "false": np.array(False)}
    return parse(LONG_BRANCH.format(condition=condition), constants=constants)


def test_nodes_of_branches_are_not_counted_as_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change, "_MOST_NODES", 6)
    model = long_branch("Identity(given)")
    made = sonnx_ort.conform(model, both_branches=True).model
    assert "If" not in operators(made)
    assert {"Abs", "Neg", "Sqrt", "Add"} < {*operators(made)}
    for condition in (True, False):
        run = {"X": np.float32([4, 9]), "given": np.array(condition)}
        require_same_bits(model, made, run)


@pytest.mark.parametrize(
    ("condition", "most"), [*(("Identity(given)", n) for n in range(6)), ("Identity(false)", 0)]
)
def test_branches_stay_whole_if_the_change_takes_too_many_nodes(
    condition: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is moved out of a branch cannot be put back: nothing is, unless all of it succeeds."""
    monkeypatch.setattr(change, "_MOST_NODES", most)
    made = sonnx_ort.conform(long_branch(condition), both_branches=True)
    node = made.model.graph.node[-1]
    branches = [[each.op_type for each in body.g.node] for body in node.attribute]
    assert branches[0] == ["Abs", "Neg", "Sqrt", "Add"]
    reasons_given = " ".join(reason for _, reason in made.remaining)
    assert f"it takes more than {most} nodes" in reasons_given


def test_change_that_moved_nodes_is_not_left_half_made() -> None:
    """No change does it; one that did would leave a branch without its nodes."""
    model = ir.from_proto(long_branch("Identity(given)"))
    node = model.graph[-1]
    facts, names = Facts(model), ValueNames(model)
    edit = change.NodeEdit(node, 17, facts, names, 10, {"": 17}, moved=1)
    with pytest.raises(RuntimeError, match=r"^a change at '\w*' moved nodes, and was not made$"):
        edit.discard()
