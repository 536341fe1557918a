"""Shape inference that neither ends the process nor takes all memory."""

import itertools
import json

import onnx
import pytest

import sonnx_ort
from sonnx_ort.knowledge import bounded_inference, propagated_elements
from sonnx_ort.knowledge.bounded_inference import infer
from sonnx_ort.loading.traversal import all_graphs, all_nodes
from support.child import run_python
from support.graphs import parse

CHECK = """
import json, resource
import sonnx_ort
from support.graphs import parse

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

def refusals(cases):
    for name, graph, opset in cases:
        said = []
        for refuse in (sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.InferenceSession):
            try:
                refuse(parse(graph, opset=opset))
            except sonnx_ort.InvalidModel as error:
                said.append(str(error))
        print(json.dumps([name, said]), flush=True)
"""

_SLICED = "<int64[1] s = {0}, int64[1] e = {1}, int64[1] k = {2}, int64[2] p = {-3, 0}>"
_NORMALIZED = "(float[3,4] x, float[4] w) => (float[3,4] y)"
_NEGATIVE = (
    "Slice '{}': its operand 'a' has a size of {}, at which shape inference and ONNX Runtime can "
    "end the process; correct the node, or the nodes that compute its operand"
)
_AXIS = (
    "LayerNormalization '(output y)': its axis is {}, and its operand has 2 axes, at which shape "
    "inference and ONNX Runtime can end the process; correct the node, or the nodes that compute "
    "its operand"
)
FATAL = {
    "GatherND, negative batch_dims": (
        (
            "(float[2,3] x, int64[2,1] i) => (float[?,?] y) {"
            " y = GatherND<batch_dims = -9223372036854775808>(x, i) }"
        ),
        17,
        (
            "GatherND '': its batch_dims is -9223372036854775808; it must not be negative, or "
            "shape inference ends the process"
        ),
    ),
    "Split, fewer parts than outputs": (
        (
            "(float[2,8] x) => (float[?,?] a, float[?,?] b, float[?,?] c)"
            " { a, b, c = Split<axis = 1, num_outputs = 1>(x) }"
        ),
        18,
        (
            "Split '': its num_outputs is 1; it must not be less than the number of outputs, 3, or "
            "shape inference ends the process"
        ),
    ),
    "RandomUniform, nothing between low and high": (
        "() => (float[2] y) { [dice] y = RandomUniform<low = 2.0, shape = [2]>() }",
        17,
        (
            "RandomUniform 'dice': its high is 1.0; it must not be less than 2.0, or a run ends "
            "the process"
        ),
    ),
    "RandomUniformLike, nothing between low and high": (
        "(float[2] x) => (float[2] y) { [dice] y = RandomUniformLike<high = -1.0>(x) }",
        17,
        (
            "RandomUniformLike 'dice': its high is -1.0; it must not be less than 0.0, or a run "
            "ends the process"
        ),
    ),
    "RandomNormal, no deviation": (
        "() => (float[2] y) { [dice] y = RandomNormal<scale = 0.0, shape = [2]>() }",
        17,
        (
            "RandomNormal 'dice': its scale is 0.0; it must be greater than 0, or a run ends the "
            "process"
        ),
    ),
    "RandomNormalLike, negative deviation": (
        "(float[2] x) => (float[2] y) { [dice] y = RandomNormalLike<scale = -1.0>(x) }",
        17,
        (
            "RandomNormalLike 'dice': its scale is -1.0; it must be greater than 0, or a run ends "
            "the process"
        ),
    ),
    "Slice behind Conv": (
        (
            f"(float[1,1,2] x, float[1,1,5] w) => (float[?,?,?] y) {_SLICED}"
            " { a = Conv(x, w) [cut] y = Slice(a, s, e, k) }"
        ),
        17,
        _NEGATIVE.format("cut", -2),
    ),
    "Slice behind Pad": (
        f"(float[2] x) => (float[?] y) {_SLICED} {{ a = Pad(x, p) y = Slice(a, s, e) }}",
        17,
        _NEGATIVE.format("(output y)", -1),
    ),
    "Slice behind Slice and Pad": (
        (
            f"(float[2] x) => (float[?] y) {_SLICED}"
            " { b = Slice(x, s, e) c = Relu(b) a = Pad(c, p) y = Slice(a, s, e) }"
        ),
        17,
        _NEGATIVE.format("(output y)", -2),
    ),
    "Slice in a branch": (
        (
            f"(float[2] x, bool c) => (float[?] z) {_SLICED} {{ a = Pad(x, p) z = If(c) <"
            "then_branch = t () => (float[?] u) { [cut] u = Slice(a, s, e) },"
            " else_branch = f () => (float[?] v) { v = Relu(x) }> }"
        ),
        17,
        _NEGATIVE.format("cut", -1),
    ),
    "LayerNormalization, axis before the first": (
        f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = -5>(x, w) }}",
        17,
        _AXIS.format(-5),
    ),
    "LayerNormalization, axis beyond 32 bits": (
        f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = 2147483648>(x, w) }}",
        17,
        _AXIS.format(2**31),
    ),
    "DFT of a scalar": (
        "(float x, int64 n) => (float[] y) { y = DFT(x, n) }",
        17,
        (
            "DFT '(output y)': its operand 'x' has fewer than two axes, at which shape inference "
            "and ONNX Runtime can end the process; correct the node, or the nodes that compute "
            "its operand"
        ),
    ),
}


@pytest.fixture(name="refusals", scope="module")
def _refusals() -> dict[str, list[str]]:
    """What check, rewrite and a session say of each; one child process decides all."""
    cases = [(name, graph, opset) for name, (graph, opset, _) in FATAL.items()]
    child = run_python(CHECK, f"refusals({cases!r})")
    assert child.exit_status == 0, child
    return dict(map(json.loads, child.stdout.splitlines()))


@pytest.mark.parametrize("name", FATAL)
def test_what_ends_the_process_is_refused(name: str, refusals: dict[str, list[str]]) -> None:
    assert refusals[name] == [FATAL[name][2]] * 3


def test_elements_of_long_vectors_are_not_followed() -> None:
    """Following each would take 7 GB here, and 14 s."""
    child = run_python(
        CHECK,
        """
        made = parse(
            "(float[100000000] x, float[100000000] y) => (float[?,?] z) <int64[1] k = {0}>"
            " { a = Unsqueeze(x, k) b = Unsqueeze(y, k) z = Div(a, b) }"
        )
        report = sonnx_ort.check(made)
        print(*(o.status for o in report.obligations if o.rule.id == "Div.float.R1"))
        """,
        timeout=60,
    )
    assert (child.exit_status, child.stdout) == (0, "proved\n"), child


def test_negative_batch_dims_in_a_function_is_refused() -> None:
    made = parse(
        "(float[2,3] x, int64[2,1] i) => (float[?,?] y) { y = local.f(x, i) }"
        '<opset_import: ["" : 17], domain: "local"> f (a, b) => (c)'
        " { c = GatherND<batch_dims = -1>(a, b) }",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.InvalidModel, match="its batch_dims is -1; it must not be"):
        sonnx_ort.check(made, operators="default")


def test_batch_dims_that_a_call_decides_is_refused() -> None:
    made = parse(
        "(float[2,3] x, int64[2,1] i) => (float[?,?] y) { y = local.f<n = 1>(x, i) }"
        '<opset_import: ["" : 17], domain: "local"> f <n>(a, b) => (c)'
        " { c = GatherND<batch_dims: int = @n>(a, b) }",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.InvalidModel, match="known only where the function is called"):
        sonnx_ort.check(made, operators="default")


def shapes(model: onnx.ModelProto) -> dict[str, str]:
    values = (*model.graph.value_info, *model.graph.output)
    return {value.name: str(value.type) for value in values}


@pytest.mark.parametrize(
    "graph",
    [
        "{ a = Conv(x, w) b = Slice(a, s, e, k) c = Conv(b, w) d = Slice(c, s, e, k) y = Relu(d) }",
        (
            "{ a = Slice(x, s, e, k) b = Relu(a) c = Slice(b, s, e, k) d = Shape(c)"
            " f = Slice(d, s, e) y = Expand(x, f) }"
        ),
        "{ a = Slice(x, s, e, k) q = Shape(a) r = Reshape(x, q) y = Slice(r, s, e, k) }",
    ],
)
def test_hidden_nodes_are_inferred_as_if_they_had_not_been(graph: str) -> None:
    made = parse(
        f"(float[1,1,9] x) => (y) <float[1,1,3] w = {{1, 1, 1}}, int64[1] s = {{0}},"
        f" int64[1] e = {{7}}, int64[1] k = {{2}}> {graph}"
    )
    expected = shapes(onnx.shape_inference.infer_shapes(made, data_prop=True))
    before = made.SerializeToString()
    inferred = infer(made)
    assert inferred.complete
    assert shapes(inferred.proto) == expected
    assert list(inferred.proto.graph.node) == list(made.graph.node)
    assert made.SerializeToString() == before


def test_what_long_vectors_leave_open_is_not_taken_for_all_that_is_known() -> None:
    made = parse("(float[5000000] x) => (y) { y = Mul(x, x) }")
    inferred = infer(made)
    assert inferred.complete is False
    assert shapes(inferred.proto) == shapes(onnx.shape_inference.infer_shapes(made))


_PADS = "<int64[2] p = {-3, 0}, int64[1] from = {0}, int64[1] to = {1}>"
_TWINS = (
    "(bool c, float[4] x, int64[1] s, int64[1] e) => (float[?] z) {"
    " y = If(c) <then_branch = t () => (float[?] b) { a = Relu(x) b = Slice(a, s, e) },"
    " else_branch = f () => (float[?] d) { d = Relu(x) }>"
    " z = If(c) <then_branch = g () => (float[?] h) { a = Relu(y) h = Relu(a) },"
    " else_branch = k () => (float[?] l) { l = Relu(x) }> }"
)
"""The first branches of both have an `a`; the Slice of one waits for that of the other."""


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        pytest.param(
            f"(float[2] x, int64[1] s, int64[1] e) => (float[?] y) {_PADS}"
            " { a = Pad(x, p) [cut] y = Slice(a, s, e) }",
            _NEGATIVE.format("cut", -1),
            id="Slice",
        ),
        pytest.param(
            f"(float[2] x, int64[1] s, int64[1] e) => (float[?] y) {_PADS}"
            " { a0 = Slice(x, from, to) a1 = Relu(a0) a = Pad(a1, p) y = Slice(a, s, e) }",
            _NEGATIVE.format("(output y)", -2),
            id="Slice behind Slice and Pad",
        ),
        pytest.param(
            f"(float[2] x, int64[1] s, int64[1] e) => (float[?] y) {_PADS}"
            " { a0 = Slice(x, from, to) a1 = Pad(x, p) a = Add(a0, a1) y = Slice(a, s, e) }",
            _NEGATIVE.format("(output y)", -1),
            id="Slice behind Slice and what has a negative size",
        ),
        pytest.param(
            f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = 2>(x, w) }}",
            _AXIS.format(2),
            id="LayerNormalization",
        ),
        pytest.param(
            "(float[3,4] x, float[4] w) => (float[?,?] y) <int64[1] from = {0}, int64[1] to = {1}>"
            " { q = Constant<value_float = 1.0>() x0 = Mul(x, q) x1 = Slice(x0, from, to)"
            " x2 = Relu(x1) y, m, v = LayerNormalization<epsilon = 0.1, axis = 2>(x2, w) }",
            _AXIS.format(2),
            id="LayerNormalization behind Slice",
        ),
        pytest.param(
            "(bool c, float[3,4] x, float[4] w) => (float[?,?] y)"
            " <int64[1] from = {0}, int64[1] to = {1}> { a = If(c) <"
            "then_branch = t () => (float[?,?] u) { b = Relu(x) u = Slice(b, from, to) },"
            " else_branch = f () => (float[?,?] v) { v = Relu(x) }>"
            " y, m, v = LayerNormalization<axis = 2>(a, w) }",
            _AXIS.format(2),
            id="LayerNormalization behind a branch with a Slice",
        ),
        pytest.param(
            "(float[3,4] x, float[4] w, int64 trips, bool go) => (float[?,?] y)"
            " <int64[1] from = {0}, int64[1] to = {1}> { a = Slice(x, from, to)"
            " b, l = Loop(trips, go, a) <body = body (int64 i, bool g, float[?,?] state)"
            " => (bool still, float[?,?] next, float[?,?] each) { still = Identity(g)"
            " next = Relu(state) each, m, v = LayerNormalization<axis = 7>(a, w) }>"
            " y = Relu(b) }",
            _AXIS.format(7).replace("output y", "output each"),
            id="LayerNormalization in a body, of what is outside",
        ),
        pytest.param(
            "(float[3] x, int64 n) => (float[?] y) { y = DFT(x, n) }",
            FATAL["DFT of a scalar"][2],
            id="DFT",
        ),
    ],
)
def test_refusal_names_the_node_and_what_is_wrong_with_it(graph: str, message: str) -> None:
    """The bounds of each Slice are open and no axis lies before the first: it would be survived."""
    made = parse(graph)
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        infer(made)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("outputs", "label"),
    [(["", "m", "v"], "(output m)"), (["", "", "v"], "(output v)"), (["", ""], "(output )")],
    ids=str,
)
def test_refusal_names_an_unnamed_node_by_the_first_output_that_it_has(
    outputs: list[str], label: str
) -> None:
    made = parse(f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = 2>(x, w) }}")
    made.graph.node[0].output[:] = outputs
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        infer(made)
    assert str(refused.value) == _AXIS.format(2).replace("(output y)", label)


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(
            f"{_NORMALIZED} {{ y = LayerNormalization<axis = 5>(x, w) }}",
            id="LayerNormalization with one result, an axis behind the last",
        ),
        *(
            pytest.param(
                f"{_NORMALIZED} {{ y, m, v = LayerNormalization<epsilon = 0.1{axis}>(x, w) }}",
                id=f"LayerNormalization with three results{axis}",
            )
            for axis in ("", ", axis = 1", ", axis = 0", ", axis = -1", ", axis = -2")
        ),
        pytest.param(
            "(float[4] x, float[4] w) => (float[4] y) { y, m, v = LayerNormalization(x, w) }",
            id="LayerNormalization of one axis",
        ),
        pytest.param(
            "(float[3,4] x, int64 n) => (float[?,?] y) { y = DFT(x, n) }", id="DFT of two axes"
        ),
        pytest.param(
            "(float[3,4] x, float[4] w, int64 trips, bool go) => (float[?,?] y)"
            " <int64[1] from = {0}, int64[1] to = {1}> { a = Slice(x, from, to)"
            " y, l = Loop(trips, go, a) <body = body (int64 i, bool g, float[?,?] state)"
            " => (bool still, float[?,?] next, float[?,?] each) { still = Identity(g)"
            " next = Relu(state) each, m, v = LayerNormalization(a, w) }> }",
            id="body that reads what a Slice gives",
        ),
    ],
)
def test_what_is_harmless_is_inferred_as_if_it_had_not_been_hidden(graph: str) -> None:
    made = parse(graph)
    expected = onnx.shape_inference.infer_shapes(made, data_prop=True)
    before = made.SerializeToString()
    inferred = infer(made)
    assert inferred.complete is True
    assert shapes(inferred.proto) == shapes(expected)
    assert list(inferred.proto.graph.node) == list(expected.graph.node)
    assert made.SerializeToString() == before


def test_what_nothing_tells_harmless_stays_unknown() -> None:
    made = parse(_TWINS)
    inferred = infer(made)
    assert inferred.complete is False
    (sliced,) = (v for v in all_values(inferred.proto) if v.name == "b")
    assert not sliced.type.tensor_type.shape.dim[0].HasField("dim_value")
    assert {node.domain for node in all_nodes(inferred.proto)} == {""}


@pytest.mark.parametrize(
    ("graph", "steps"),
    [
        ("{ y = Relu(x) }", 1),
        ("{ y = LayerNormalization(x, w) }", 1),
        ("{ y = Slice(x, from, to) }", 1),
        ("{ a = Slice(x, from, to) b = Relu(a) c = Slice(b, from, to) y = Slice(c, from, to) }", 1),
        ("{ a = Slice(x, from, to) b = Add(a, w) y = Slice(b, from, to) }", 1),
        ("{ a = Slice(v, from, to) b = MaxPool<kernel_shape = [1]>(a) y = Slice(b, s, s) }", 1),
        ("{ a = Slice(v, from, to) b = Conv(a, k) y = Slice(b, from, to) }", 2),
        ("{ a = Conv<pads = [2, 0]>(v, k) y = Slice(a, from, to) }", 2),
        ("{ a = Pad(x, p) y = Slice(a, from, to) }", 2),
        ("{ a = Slice(x, from, to) b = Pad(a, p) y = Slice(b, s, s) }", 2),
        ("{ a = Slice(x, from, to) y, m, q = LayerNormalization(a, w) }", 2),
    ],
)
def test_slices_behind_each_other_take_no_further_steps(
    monkeypatch: pytest.MonkeyPatch, graph: str, steps: int
) -> None:
    made = parse(
        "(float[4] x, float[n] w, float[1,1,9] v, float[1,1,3] k, int64[1] s) => (y)"
        f" <int64[1] from = {{0}}, int64[1] to = {{1}}, int64[2] p = {{1, 1}}> {graph}"
    )
    calls = []
    infer_shapes = onnx.shape_inference.infer_shapes

    def counted(proto: onnx.ModelProto, *, data_prop: bool = False) -> onnx.ModelProto:
        calls.append(data_prop)
        return infer_shapes(proto, data_prop=data_prop)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", counted)
    infer(made)
    assert calls == [False, True] * steps


@pytest.mark.parametrize("operator", ["Conv", "MaxPool", "AveragePool"])
def test_slice_behind_a_window_waits_where_a_size_can_be_negative(operator: str) -> None:
    """Sizes 0 to 4, by kernels, steps and dilations of 1 to 3 and pads of -1 to 2."""
    negative = 0
    dilations = (1, 3) if operator == "Conv" else (1,)
    sizes = (range(1, 4), range(1, 4), dilations, range(3), range(-1, 2))
    for kernel, stride, dilation, before, after in itertools.product(*sizes):
        given = f"kernel_shape = [{kernel}], strides = [{stride}], pads = [{before}, {after}]"
        given += f", dilations = [{dilation}]" if operator == "Conv" else ""
        made = parse(
            "(float[1,1,n] x, float[1,1,1] w1, float[1,1,2] w2, float[1,1,3] w3) => (y)"
            f" {{ y = {operator}<{given}>(x{f', w{kernel}' if operator == 'Conv' else ''}) }}"
        )
        waits = not bounded_inference._keeps_sizes_positive(made.graph.node[0], None)
        for size in range(5):
            made.graph.input[0].type.tensor_type.shape.dim[2].dim_value = size
            result = onnx.shape_inference.infer_shapes(made).graph.output[0].type.tensor_type
            smallest = min((dim.dim_value for dim in result.shape.dim), default=0)
            assert smallest >= 0 or waits, (given, size)
            negative += smallest < 0
    assert negative > 0


def all_values(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    return [v for g in all_graphs(model) for v in (*g.value_info, *g.output)]


class TestElementsOfVectors:
    """They are followed where they are few, since each takes memory."""

    @pytest.mark.parametrize(
        ("graph", "opset", "elements"),
        [
            ("(float[5] x) => (y) { y = Mul(x, x) }", 17, 10),
            ("(float[5] x, float[2] w) => (y) { a = Mul(x, x) y = Unsqueeze(w, k) }", 17, 12),
            ("(float[5] x, float[1] w) => (y) { a = Mul(x, x) y = Mul(w, w) }", 17, 10),
            ("(float[5] x, float[n] w) => (y) { a = Mul(x, x) y = Mul(w, w) }", 17, 10),
            ("(float[5] x, float[3,3] w) => (y) { a = Mul(x, x) y = Mul(w, w) }", 17, 10),
            ("(float[5] x, float w) => (y) { a = Mul(x, w) y = Mul(x, w) }", 17, 10),
            ("(float[10] x, float[9] w) => (y) { a = Relu(x) y = Identity(w) }", 17, 10),
            ("(float[10] x, float[9] w) => (y) { a = Relu(x) y = com.example.Relu(w) }", 17, 10),
            ("(float[10] x, float[9] w) => (y) { a = Relu(x) y = Unheard(w) }", 17, 10),
            ("(float[10] x, float[9] w) => (y) { a = Relu(x) y = PRelu(w, w) }", 15, 10),
        ],
    )
    def test_are_those_that_operators_of_this_version_look_at(
        self, monkeypatch: pytest.MonkeyPatch, graph: str, opset: int, elements: int
    ) -> None:
        made = parse(graph, opset=opset, domains={"com.example": 1})
        monkeypatch.setattr(propagated_elements, "_MANY", elements)
        assert infer(made).complete is True
        monkeypatch.setattr(propagated_elements, "_MANY", elements - 1)
        assert infer(made).complete is False
