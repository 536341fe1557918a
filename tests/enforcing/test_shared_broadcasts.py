"""Nodes that broadcast the same values: one Broadcast for all, and the verdicts of one for each."""

import itertools

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.loading.file_traversal import all_nodes
from support.graphs import parse
from support.sessions import quiet

OPEN = "float[n] a, float[m] b"


def made(inputs: str, nodes: str, outputs: str = "float[] z", opset: int = 17) -> onnx.ModelProto:
    domains = {"sonnx": 1} if "sonnx." in nodes else {}
    return parse(f"({inputs}) => ({outputs}) {{ {nodes} }}", opset=opset, domains=domains)


def explicit(model: onnx.ModelProto, **choices: object) -> onnx.ModelProto:
    return sonnx_ort.rewrite(model, broadcast="explicit", backend="native", **choices)


def guards(model: onnx.ModelProto) -> list[str]:
    """The nodes that the guards of a Broadcast name, each once, in the order of the graph."""
    named = (n.name.split("'")[1] for n in all_nodes(model) if n.name.startswith("Broadcast '"))
    return list(dict.fromkeys(named))


def alike(count: int) -> str:
    """Nodes that divide a by b, in both orders."""
    orders = itertools.cycle(("a, b", "b, a"))
    nodes = [f"[d{i}] x{i} = Div({order})" for i, order in zip(range(count), orders, strict=False)]
    return " ".join([*nodes, f"z = Max({', '.join(f'x{i}' for i in range(count))})"])


def chain(count: int) -> str:
    """Nodes each of which divides by b what the one before gives."""
    nodes = [f"[d{i}] x{i} = Div(x{i - 1}, b)" for i in range(1, count)]
    return " ".join(["[d0] x0 = Div(a, b)", *nodes, f"z = Identity(x{count - 1})"])


def through_relu(count: int) -> str:
    """As `chain`, with another node between two of them."""
    nodes = [f"r{i} = Relu(x{i - 1}) [d{i}] x{i} = Div(b, r{i})" for i in range(1, count)]
    return " ".join(["[d0] x0 = Div(a, b)", *nodes, f"z = Identity(x{count - 1})"])


@pytest.mark.parametrize("count", [1, 2, 500])
@pytest.mark.parametrize("form", [alike, chain, through_relu])
def test_operands_are_expanded_once_for_any_number_of_nodes(form, count):
    model = made(OPEN, form(count))
    others = len(model.graph.node) - count
    assert len(explicit(model).graph.node) == 10 + count + others


PAIR = "[one] x = Div(a, b) [two] z = Sub(b, x)"
SAME = "[one] x = Div(a, b) [two] y = Sub(b, a) [three] z = Div(x, y)"


@pytest.mark.parametrize(
    ("inputs", "nodes", "added"),
    [
        pytest.param("float[] a, float[] b", PAIR, 22, id="unknown ranks"),
        pytest.param("float[n, 3] a, float[3] b", PAIR, 5, id="a bears the shape"),
        pytest.param("float[3] a, float[n, 3] b", PAIR, 5, id="b bears the shape"),
        pytest.param("float[2, 3] a, float[3] b", SAME, 2, id="known sizes"),
        pytest.param("float[2, 1] a, float[1, 3] b", SAME, 3, id="known sizes, both expanded"),
        pytest.param("float16[n] a, float16[m] b", PAIR, 20, id="float16"),
    ],
)
def test_any_form_of_guards_is_shared(inputs, nodes, added):
    outputs = f"{inputs.partition('[')[0]}[] z"
    rewritten = explicit(made(inputs, nodes, outputs))
    assert len(rewritten.graph.node) - nodes.count("[") == added


IF = """z = If(c) <then_branch = then () => (float[] p) {{ {} }},
    else_branch = other () => (float[] q) {{ {} }}>"""
LOOP = """trips = Constant<value_int = 2>() z = Loop(trips, , a) <
    body = body (int64 i, bool go_on, float[] state) => (bool still, float[] next) {{
        still = Identity(go_on) {} }}>"""


@pytest.mark.parametrize(
    ("inputs", "nodes", "named"),
    [
        pytest.param(f"{OPEN}, bool c", IF.format("[one] p = Div(a, b)", "[two] q = Div(a, b)"),
            ["one", "two"], id="two branches"),
        pytest.param(
            f"{OPEN}, bool c",
            IF.format("[one] p = Div(a, b)", "q = Identity(a)").replace("z =", "y =")
            + "[two] x = Div(a, b) z = Max(x, y)",
            ["one", "two"],
            id="behind a branch",
        ),
        pytest.param(f"{OPEN}, bool c",
            "[one] x = Div(a, b)" + IF.format("[two] p = Div(x, b)", "q = Identity(x)"),
            ["one", "two"], id="before a branch"),
        pytest.param(f"{OPEN}, bool c",
            IF.format("[one] p1 = Div(a, b) [two] p = Div(p1, b)", "q = Identity(a)"), ["one"],
            id="within a branch"),
        pytest.param(
            OPEN,
            LOOP.format("[one] next = Div(state, b)").replace("z =", "y =")
            + "[two] x = Div(a, b) z = Max(x, y)",
            ["one", "two"],
            id="behind a loop",
        ),
        pytest.param(OPEN, LOOP.format("[one] s = Div(state, b) [two] next = Sub(b, s)"), ["one"],
            id="within a loop"),
        pytest.param(
            OPEN, "[one] x = Div(a, b) [two] z = Div(a, b)", ["one", "two"], id="first one is dead"
        ),
        pytest.param(f"{OPEN}, float[k] c",
            "[one] x = Div(a, b) [two] y = Sub(b, c) [three] w = Sub(a, c) z = Max(w, x, y)",
            ["one", "two", "three"], id="other operands"),
        pytest.param(f"{OPEN}, float[k] c",
            "[one] x = Div(a, b) [two] y = Sub(x, c) [three] w = Div(c, x) z = Max(w, y)",
            ["one", "two"], id="one more operand"),
        pytest.param("float[2] a, float[m] b", PAIR, ["one"], id="a result whose sizes are known"),
        pytest.param(
            "float[1, 1, 5] a, float[m] b",
            """p = MaxPool<kernel_shape = [1], strides = [3], ceil_mode = 1>(a)
            [one] x = Div(p, b) [two] z = Sub(x, p)""",
            ["one", "two"],
            id="an operand whose shape ONNX Runtime infers wrongly",
        ),
        pytest.param(OPEN, "[one] x = Div(a, b) r = ReduceSum<keepdims = 1>(x) [two] z = Sub(r, b)",
            ["one", "two"], id="behind a sum"),
        pytest.param(OPEN, "[one] x = Div(a, b) r = Dropout(x) [two] z = Sub(r, b)", ["one", "two"],
            id="behind a Dropout"),
        pytest.param("float[n, m] a, float[n, 1] b", SAME.replace("[three] z = Div", "z = Sum"),
            ["one", "two"], id="sizes that one symbol declares"),
    ],
)  # fmt: skip
def test_a_node_learns_only_from_what_it_reads_in_its_own_graph(inputs, nodes, named):
    rewritten = explicit(made(inputs, nodes))
    assert sorted(guards(rewritten)) == sorted(named)


def test_fewer_operands_have_guards_of_their_own():
    nodes = "[all] x = Max(a, b, c) [some] y = Max(a, b) z = Sum(x, y)"
    rewritten = explicit(made(f"{OPEN}, float[k] c", nodes), operators=["Max"])
    assert guards(rewritten) == ["all", "some"]


def test_each_operator_broadcast_has_nodes_of_its_own():
    one, other = "p, q = sonnx.Broadcast(a, b)", "r, s = sonnx.Broadcast(a, b)"
    counts = [
        len(explicit(made(OPEN, nodes, outputs)).graph.node)
        for nodes, outputs in (
            (one, "float[] p, float[] q"),
            (f"{one} {other}", "float[] p, float[] q, float[] r, float[] s"),
        )
    ]
    assert counts == [counts[0], 2 * counts[0]]


def test_declared_types_of_unknown_operands_are_enough():
    text = """(float[n] a, float[m] b) => (float[] z) <float[n] c, float[m] d> {
        c = custom.One(a) d = custom.One(b) [one] x = Div(c, d) [two] y = Sub(d, x)
        z = custom.One(y)
    }"""
    assert guards(explicit(parse(text, domains={"custom": 1}))) == ["one"]


def test_declared_sizes_of_results_do_not_replace_the_guards():
    text = """(float[2, 3] a, float[n, m] b) => (int64[2] p, int64[2] q)
        <float[2, 3] x, float[2, 3] y> {
        [one] x = Div(a, b) [two] y = Sub(a, b) p = Shape(x) q = Shape(y)
    }"""
    session = sonnx_ort.InferenceSession(
        parse(text), quiet(), broadcast="explicit", backend="native"
    )
    with pytest.raises(sonnx_ort.ContractViolation, match=r"Broadcast\.E1"):
        session.run(None, {"a": np.ones((2, 3), "f"), "b": np.ones((2, 2), "f")})


def test_single_exponent_is_not_expanded_for_several_nodes():
    nodes = "[one] x = Pow(a, b) [two] y = Pow(a, b) z = Sum(x, y)"
    rewritten = explicit(made("float[n] a, float[1] b", nodes), operators=["Pow"])
    assert [n.input[1] for n in rewritten.graph.node if n.op_type == "Pow"] == ["b", "b"]


def test_operands_that_are_aligned_by_different_axes_are_expanded_apart():
    nodes = """[one] x = Div<broadcast = 1, axis = 0>(a, b) [two] y = Div<broadcast = 1>(a, b)"""
    model = made("float[2, 2] a, float[2] b", nodes, "float[] x, float[] y", opset=6)
    session = sonnx_ort.InferenceSession(model, quiet(), broadcast="explicit", backend="native")
    results = session.run(None, {"a": np.full((2, 2), 8, "f"), "b": np.float32([2, 4])})
    assert [result.tolist() for result in results] == [[[4, 4], [2, 2]], [[4, 2], [4, 2]]]


MODELS = {
    "alike": (OPEN, "[one] x = Div(a, b) [two] y = Sub(b, a) z = Sum(x, y)"),
    "chain": (OPEN, "[one] x = Div(a, b) [two] y = Sub(x, b) [three] z = Div(a, y)"),
    "unknown ranks": ("float[] a, float[] b",
        "[one] x = Div(a, b) r = Relu(x) [two] z = Sub(b, r)"),
    "one size": ("float[n, 3] a, float[3] b", PAIR),
    "only the shape": (OPEN,
        "[one] x = Div(a, b) [two] y = Sub(x, b) s = Shape(y) z = Cast<to=1>(s)"),
    "known sizes": ("float[2, 3] a, float[n, m] b",
        f"{PAIR.replace('z =', 'y =')} s = Shape(y) z = Cast<to=1>(s)"),
    "integers": ("int32[n] a, int32[m] b",
        "[one] x = Div(a, b) [two] y = Div(b, a) w = Sub(x, y) z = Cast<to=1>(w)"),
    "misinferred": (
        "float[n, 2] a, float[m] b",
        """axes = Constant<value_ints = [-1]>() r = ReduceSum<keepdims = 0>(a, axes)
        [one] x = Div(r, b) [two] y = Sub(b, r) z = Sum(x, y)""",
    ),
    "an operand twice": ("float[n, 3] a, float[3] b",
        "[one] x = Max(a, b, a) [two] y = Max(b, a, b) z = Sum(x, y)"),
    "the operator Broadcast": (OPEN,
        "p, q = sonnx.Broadcast(a, b) r, s = sonnx.Broadcast(a, b) z = Sum(p, q, r, s)"),
    "bfloat16": (
        OPEN,
        """c = Cast<to = 16>(a) d = Cast<to = 16>(b)
        [one] x = Div(c, d) [two] y = Sub(d, c) p = Cast<to = 1>(x) q = Cast<to = 1>(y)
        z = Sum(p, q)""",
    ),
    "float16": (
        "float16[n] a, float16[m] b",
        """[one] x = Div(a, b) [two] y = Sub(x, b) [three] w = Div(b, a)
        v = Sum(w, y) z = Cast<to=1>(v)""",
    ),
}  # fmt: skip
SHAPES = [(), (0,), (1,), (2,), (3,), (2, 3), (2, 1), (1, 2), (3, 2), (0, 2), (0, 3)]


def ending(session: sonnx_ort.InferenceSession, feeds: dict[str, np.ndarray]) -> object:
    try:
        (result,) = session.run(None, feeds)
    except sonnx_ort.ContractViolation as violation:
        return violation.rule, violation.operator
    return result.shape, result.tobytes()


def fits(declared: onnx.ValueInfoProto, shape: tuple[int, ...]) -> bool:
    if not declared.type.tensor_type.HasField("shape"):
        return True
    sizes = declared.type.tensor_type.shape.dim
    pairs = zip(sizes, shape, strict=False)
    return len(sizes) == len(shape) and all(s.dim_value in (0, size) for s, size in pairs)


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("name", MODELS)
def test_verdicts_and_results_are_those_of_the_python_backend(name, edition):
    model = made(*MODELS[name])
    choices = {
        "broadcast": "explicit",
        "edition": edition,
        "operators": ["elementwise", "Broadcast"],
    }
    native = sonnx_ort.InferenceSession(
        model, quiet(), backend="native", verify_proofs=True, **choices
    )
    reference = sonnx_ort.InferenceSession(model, quiet(), backend="python", **choices)
    a, b = model.graph.input
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type) for v in (a, b)]
    endings = set()
    for shapes in itertools.product(SHAPES, SHAPES):
        if fits(a, shapes[0]) and fits(b, shapes[1]):
            feeds = {
                v.name: (np.arange(np.prod(shape, dtype=int)) + 2).reshape(shape).astype(kind)
                for v, kind, shape in zip((a, b), kinds, shapes, strict=True)
            }
            found = ending(native, feeds)
            assert found == ending(reference, feeds), shapes
            endings.add(found[0])
    assert "Broadcast.E1" in endings
    assert len(endings) > 1


def test_zero_divisor_is_told_of_the_node_that_divides_by_it():
    model = made(
        "int32[n] a, int32[m] b", "[one] x = Div(a, b) [two] z = Div(b, a)", "int32[] x, int32[] z"
    )
    session = sonnx_ort.InferenceSession(model, quiet(), broadcast="explicit", backend="native")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, {"a": np.int32([1, 0]), "b": np.int32([3])})
    assert (caught.value.rule, caught.value.node) == ("Div.int.C1", "two")


def test_node_that_reads_past_the_shared_guards_is_no_rewritten_one():
    once = explicit(made(*MODELS["alike"]))
    (two,) = (node for node in once.graph.node if node.name == "two")
    two.input[0] = "b"
    assert explicit(once) != once


def test_compiled_kernels_broadcast_by_themselves():
    rewritten = sonnx_ort.rewrite(made(OPEN, alike(3)), broadcast="explicit", backend="compiled")
    assert [node.op_type for node in rewritten.graph.node] == ["CheckedDiv"] * 3 + ["Max"]
