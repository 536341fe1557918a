"""Models in which something is cyclic, endless, enormous or nested deeply."""

import onnx
from model_builders.graphs import parse
from onnx import helper

_FUNCTION = '<opset_import: ["" : 17, "local" : 1], domain: "local">'


def handmade_models() -> dict[str, onnx.ModelProto]:
    """All of them, by name."""
    texts = {
        "function that calls itself": "(float[2] x) => (float[2] z) { z = local.f(x) }"
        f"{_FUNCTION} f (a) => (b) {{ c = Div(a, a) b = local.f(c) }}",
        "functions that call each other": "(float[2] x) => (float[2] z) { z = local.f(x) }"
        f"{_FUNCTION} f (a) => (b) {{ b = local.g(a) }}"
        f"{_FUNCTION} g (a) => (b) {{ c = Div(a, a) b = local.f(c) }}",
        "function with an attribute": "(float[2] x) => (float[2] z) { z = local.f<k = 1>(x) }"
        f"{_FUNCTION} f <k>(a) => (b) {{ c = Softmax<axis: int = @k>(a) b = Div(c, a) }}",
        "cycle": "(float[2] x) => (float[2] z) { a = Div(x, z) z = Sub(a, x) }",
        "GatherND": "(float[2,3] x, int64[2,1] i) => (float[2,3] z)"
        " { a = GatherND<batch_dims = 1>(x, i) z = Div(a, x) }",
        "Split in parts": "(float[2,8] x) => (float[2,4] z)"
        " { a, b = Split<axis = 1, num_outputs = 2>(x) z = Div(a, b) }",
        "Slice behind Conv": "(float[1,1,5] x, float[1,1,2] w, int64[1] s) => (float[?,?,?] z)"
        " <int64[1] e = {3}, int64[1] k = {2}> { a = Conv(x, w) b = Slice(a, s, e, k)"
        " c = Pad(b, p) z = Div(c, c) p = Constant<value_ints = [0, 0, 0, 0, 0, 0]>() }",
        "normalization": "(float[3,4] x, float[4] w) => (float[3,4] z)"
        " { a, m, v = LayerNormalization<axis = 1>(x, w) b = Sub(a, m) z = Div(b, v) }",
        "long vector": "(float[100000000] x, float[100000000] y) => (float[?] z)"
        " { a = Unsqueeze(x, k) b = Cast<to = 1>(y) c = Add(a, b) z = Div(c, b)"
        " k = Constant<value_ints = [0]>() }",
        "enormous constant": "(int64[1] x) => (float[?] z) { a = ConstantOfShape(s) z = Div(a, a)"
        " s = Constant<value_ints = [99999999999]>() }",
        "enormous range": "(int64[1] x) => (int64[?] z) <int64 a = {0}, int64 b = {9999999999},"
        " int64 c = {1}> { r = Range(a, b, c) z = Div(r, r) }",
        "Loop": "(int64 n, float[2] x) => (float[2] z) {"
        ' z = Loop(n, "", x) <body = body (int64 i, bool go, float[2] s)'
        " => (bool still, float[2] o) { still = Identity(go) o = Div(s, x) }> }",
        "Scan": "(float[2] s, float[3,2] x) => (float[2] z, float[3,2] o) {"
        " z, o = Scan<num_scan_inputs = 1, body = body (float[2] t, float[2] e)"
        " => (float[2] u, float[2] p) { u = Sub(t, e) p = Div(e, t) }>(s, x) }",
        "If": "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
        "then_branch = t () => (float[2] a) { a = Div(x, x) },"
        " else_branch = e () => (float[2] b) { b = Sub(x, x) }> }",
        "integers": "(int32[n] a, int32[n] b) => (int32[n] z)"
        " { p = Div(a, b) q = Mod(p, b) z = Sub(q, a) }",
        "halves": "(float16[n] a, bfloat16[n] b) => (float16[n] z, bfloat16[n] y)"
        " { z = Div(a, a) y = Sub(b, b) }",
    }
    models = {
        name: parse(text, opset=18 if "Split" in name else 17, domains={"local": 1})
        for name, text in texts.items()
    }
    return (
        models
        | {f"nesting of {depth}": _nested(depth) for depth in (2, 10, 20, 29)}
        | {f"calls of {depth}": _called(depth) for depth in (5, 300)}
    )


def _nested(depth: int) -> onnx.ModelProto:
    """A Div in so many branches; protocol buffers can be copied to a depth of about 30."""
    made = parse("(float[2] x, bool c) => (float[2] z) { z = Div(x, x) }")
    (result,) = made.graph.output
    nodes = [helper.make_node("Div", ["x", "x"], ["z0"])]
    for level in range(depth):
        bodies = []
        for branch, body in enumerate((nodes, [helper.make_node("Relu", ["x"], [f"r{level}"])])):
            value = helper.make_tensor_value_info(body[-1].output[0], onnx.TensorProto.FLOAT, [2])
            bodies.append(helper.make_graph(body, f"body{branch}", [], [value]))
        name = f"z{level + 1}" if level < depth - 1 else result.name
        node = helper.make_node("If", ["c"], [name], then_branch=bodies[0], else_branch=bodies[1])
        nodes = [node]
    made.graph.node[0].CopyFrom(nodes[0])
    return made


def _called(depth: int) -> onnx.ModelProto:
    made = parse("(float[2] x) => (float[2] z) { z = local.f0(x) }", domains={"local": 1})
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    for number in range(depth):
        inner = helper.make_node(f"f{number + 1}", ["a"], ["b"], domain="local")
        if number == depth - 1:
            inner = helper.make_node("Div", ["a", "a"], ["b"])
        made.functions.append(
            helper.make_function("local", f"f{number}", ["a"], ["b"], [inner], imports)
        )
    return made
