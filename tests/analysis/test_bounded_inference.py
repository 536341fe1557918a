"""Shape inference that neither ends the process nor takes all memory."""

import json

import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis.bounded_inference import infer
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
    "end the process; mend the node, or what its operand is computed by"
)
_AXIS = (
    "LayerNormalization '(output y)': its axis is {}, and its operand has 2 axes, at which shape "
    "inference and ONNX Runtime can end the process; mend the node, or what its operand is "
    "computed by"
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
            "and ONNX Runtime can end the process; mend the node, or what its operand is computed "
            "by"
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
        sonnx_ort.check(made)


def test_batch_dims_that_a_call_decides_is_refused() -> None:
    made = parse(
        "(float[2,3] x, int64[2,1] i) => (float[?,?] y) { y = local.f<n = 1>(x, i) }"
        '<opset_import: ["" : 17], domain: "local"> f <n>(a, b) => (c)'
        " { c = GatherND<batch_dims: int = @n>(a, b) }",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.InvalidModel, match="known only where the function is called"):
        sonnx_ort.check(made)


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
    assert not infer(made).complete
