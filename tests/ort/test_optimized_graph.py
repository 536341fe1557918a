"""What an optimizer took away is seen, and what went rightly is no false alarm.

With every optimizer of onnxruntime 1.31.1 switched on, models of `FUSIONS` and 1,500 random graphs
lost a node (every optimizer of `UNWANTED_OPTIMIZERS`), read another constant (DivMulFusion), or let
a guard's operand pass by another guard (ReshapeFusion), in 2,559 sessions at three levels. That the
operand of a Div or an output passes by a guard was not seen; the same walk through the graph tells
it.
"""

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.ort.optimized_graph import RecordedOptimization, recorded_optimization
from sonnx_ort.ort.optimizers import switch_off_optimizers
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition
from support.graphs import model, parse, tensor
from support.patterns import FUSIONS
from support.sessions import ALL_OFF, LEVELS, on_one_thread

WHAT_TO_DO = (
    ". Add that optimizer to the session option "
    "optimization.disable_specified_optimizers, or set options.graph_optimization_level to "
    "ORT_DISABLE_ALL"
)


def require_enforced(record, enforced):
    """Verify what was recorded by an enforced model; what the verification gives."""
    return record.require_enforced(ir.from_proto(enforced), enforced.SerializeToString())


def verify(enforced, level, *, off=True, options=None):
    """Optimize a model and verify it; what the verification gives."""
    chosen = options or ort.SessionOptions()
    chosen.graph_optimization_level = LEVELS[level]
    if off:
        switch_off_optimizers(chosen, ALL_OFF)
    with recorded_optimization(chosen) as record:
        ort.InferenceSession(enforced.SerializeToString(), chosen)
    return require_enforced(record, enforced)


def node(operator, inputs, output, name="", **attributes):
    return helper.make_node(operator, inputs.split(), [output], name=name, **attributes)


def constant(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.array(value, dtype), name)


def name_of_guard(label, operator="Div"):
    rules = OPERATORS[operator].rules(Edition.TYPED, Family.FLOAT)
    return guard_name(operator, label, rules)


def guarded(a, b, output, label, operator="Div"):
    """A node behind the guard that its operands have one shape."""
    return [
        node("Shape", a, f"{output}_a"),
        node("Shape", b, f"{output}_b"),
        node("Equal", f"{output}_a {output}_b", f"{output}_equal"),
        node("Where", f"{output}_equal {output}_a code", f"{output}_shape"),
        node("Reshape", f"{a} {output}_shape", f"{output}_guarded", name_of_guard(label, operator)),
        node(operator, f"{output}_guarded {b}", output, label),
    ]


CODE = constant("code", [-11], np.int64)


def graph(nodes, inputs, outputs, initializers=(), element_type="float", **rest):
    return model(
        nodes,
        [tensor(name, element_type, shape) for name, shape in inputs.items()],
        [tensor(name, element_type, None) for name in outputs.split()],
        initializers=[CODE, *initializers],
        **rest,
    )


LOST = [
    pytest.param(fusion, level, id=f"{name}, {level}")
    for name, fusion in FUSIONS.items()
    for level in fusion.levels
]


@pytest.mark.parametrize(("fusion", "level"), LOST)
def test_loss_is_named(fusion, level):
    enforced = sonnx_ort.rewrite(fusion.model, backend="native")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        verify(enforced, level, off=False)
    assert str(caught.value) == (
        f"ONNX Runtime's optimizer removed what enforces the profile: {fusion.losses}{WHAT_TO_DO}"
    )


RESHAPED = graph(
    [*guarded("x", "y", "c", "d")[:-1], node("Reshape", "c_guarded flat", "z")],
    {"x": ["n"], "y": ["m"]},
    "z",
    [constant("flat", [3, 1], np.int64)],
)


def test_lost_guard_is_named():
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        verify(RESHAPED, "all", off=False)
    assert str(caught.value) == (
        "ONNX Runtime's optimizer removed what enforces the profile: the guard of Div 'd' was "
        "removed"
        f"{WHAT_TO_DO}"
    )


def test_at_most_five_losses_are_named():
    nodes = [node("Abs", "x", "v0")]
    nodes += [node("Div", f"v{i} one", f"v{i + 1}", f"d{i}") for i in range(7)]
    nodes.append(node("Neg", "v7", "z"))
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        verify(graph(nodes, {"x": [1]}, "z", [constant("one", [1])]), "all", off=False)
    named = "; ".join(f"Div 'd{i}' was removed" for i in range(5))
    assert f"profile: {named}; and 2 more. Add" in str(caught.value)


def test_unnamed_node_is_named_by_its_output():
    nodes = [node("Abs", "x", "v"), node("Sub", "v zero", "w"), node("Neg", "w", "z")]
    with pytest.raises(sonnx_ort.SonnxError, match=r"profile: Sub '\(output w\)' was removed"):
        verify(graph(nodes, {"x": [1]}, "z", [constant("zero", [0])]), "basic", off=False)


def rewired(enforced, consumer, operand, value):
    """A copy in which a node reads another value."""
    copy = onnx.ModelProto()
    copy.CopyFrom(enforced)
    (found,) = [n for n in copy.graph.node if n.name == consumer]
    found.input[operand] = value
    return copy


TWO = graph(
    [
        *guarded("x", "y", "c", "d"),
        node("MatMul", "c_guarded c", "e"),
        *guarded("e", "x", "z", "s", "Sub"),
        node("Neg", "z_guarded", "w"),
    ],
    {"x": ["n"], "y": ["m"]},
    "z w",
)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("consumer", "operand", "value", "loss"),
    [
        ("d", 0, "x", "Div 'd': its operand A no longer depends on the guard of Div 'd'"),
        ("s", 0, "e", "Sub 's': its operand A no longer depends on the guard of Sub 's'"),
    ],
)
def test_bypassed_guard_is_seen(consumer, operand, value, loss, level):
    """The session gets a model in which another node reads the guard."""
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    switch_off_optimizers(options, ALL_OFF)
    bypassed = rewired(TWO, consumer, operand, value)
    with recorded_optimization(options) as record:
        ort.InferenceSession(bypassed.SerializeToString(), options)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        require_enforced(record, TWO)
    assert str(caught.value) == (
        f"ONNX Runtime's optimizer removed what enforces the profile: {loss}{WHAT_TO_DO}"
    )


def test_output_that_no_longer_passes_a_guard_is_seen():
    """As where the agreement of inputs is checked once and everything rests on it."""
    nodes = [
        *guarded("x", "y", "c", "n")[:-1],
        node("Neg", "c_guarded", "z"),
        node("Abs", "c_guarded", "w"),
    ]
    enforced = graph(nodes, {"x": ["n"], "y": ["n"]}, "z w")
    nodes[-2] = node("Neg", "x", "z")
    options = ort.SessionOptions()
    with recorded_optimization(options) as record:
        bypassed = graph(nodes, {"x": ["n"], "y": ["n"]}, "z w")
        ort.InferenceSession(bypassed.SerializeToString(), options)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        require_enforced(record, enforced)
    assert "profile: output 'z' no longer depends on the guard of Div 'n'. Add" in str(caught.value)


def chosen(condition, initializers=()):
    """An If with a Div behind a guard in one branch, and with a Sub in the other."""
    then = helper.make_graph(guarded("x", "y", "t", "d"), "then", [], [tensor("t", "float", None)])
    otherwise = helper.make_graph(
        [node("Sub", "x x", "o", "s")], "else", [], [tensor("o", "float", None)]
    )
    nodes = [
        *condition,
        node("If", "yes", "c", "choose", then_branch=then, else_branch=otherwise),
        node("Neg", "c", "z"),
    ]
    return graph(nodes, {"x": ["n"], "y": ["m"]}, "z", initializers)


FIXED = constant("k", [2.0, 4.0]), constant("l", [8.0, 0.5])

MERGED = """(float[3,2] x, float[3,2] y, float[n,2] q, float[a] c, float[b] d)
    => (float[] z0, float[] z1, float[] z2, float[] z3) {
        t = Transpose <perm = [1, 0]> (x)  u = Transpose <perm = [1, 0]> (y)  v = Max(t, u)
        w = Transpose <perm = [1, 0]> (v)  z0 = Mul(w, q)
        t1 = Transpose <perm = [1, 0]> (x)  u1 = Transpose <perm = [1, 0]> (y)  v1 = Max(t1, u1)
        w1 = Transpose <perm = [1, 0]> (v1)  z1 = Mul(w1, q)
        e = Max(c, d)  f = Max(c, d)  z2 = Mul(e, f)
        g = Max(c, d)  h = Max(c, d)  z3 = Mul(g, h)
    }"""
"""Equal nodes. A Div without a name tells the sign of a zero behind each Max."""

HARMLESS = {
    "guarded": TWO,
    "equal nodes whose helpers get new names": sonnx_ort.rewrite(
        parse(MERGED), operators="Max,Mul", backend="native"
    ),
    "guarded, float16": graph(
        TWO.graph.node, {"x": ["n"], "y": ["m"]}, "z", element_type="float16"
    ),
    "constants": graph(
        [*guarded("k", "l", "c", "d"), node("Mul", "c x", "z")], {"x": [2]}, "z", FIXED
    ),
    "shapes known": graph(TWO.graph.node, {"x": [3], "y": [3]}, "z"),
    "unread": graph(
        [*guarded("x", "y", "c", "d"), node("Neg", "x", "z")], {"x": ["n"], "y": ["m"]}, "z"
    ),
    "only the shape is read": graph(
        [
            node("Div", "x y", "c", "d"),
            node("Shape", "c", "s"),
            node("ConstantOfShape", "s", "ones"),
            node("Concat", "ones x", "z", axis=0),
        ],
        {"x": [3], "y": [3]},
        "z",
    ),
    "computed twice": graph(
        [*guarded("x", "y", "c", "d"), *guarded("x", "y", "e", "f"), node("Mul", "c e", "z")],
        {"x": ["n"], "y": ["m"]},
        "z",
    ),
    "computed twice, and once for nothing": graph(
        [*guarded("x", "y", "c", "d"), *guarded("x", "y", "e", "f"), node("Neg", "c", "z")],
        {"x": ["n"], "y": ["m"]},
        "z",
    ),
    "computed twice behind conversions": graph(
        [
            node("Cast", "x", "x2", to=onnx.TensorProto.FLOAT),
            *guarded("x", "y", "c", "d"),
            *guarded("x2", "y", "e", "f"),
            node("Mul", "c e", "z"),
        ],
        {"x": ["n"], "y": ["m"]},
        "z",
    ),
    "If that is true": chosen([], [constant("yes", True, bool)]),
    "If that is false": chosen([], [constant("yes", False, bool)]),
    "If of a shape": chosen(
        [node("Size", "k", "size"), node("Cast", "size", "yes", to=onnx.TensorProto.BOOL)], FIXED
    ),
    "If of an input": chosen(
        [node("Size", "x", "size"), node("Cast", "size", "yes", to=onnx.TensorProto.BOOL)]
    ),
    "without names": graph(
        [
            node("Div", "x y", "c"),
            node("Sub", "c x", "e"),
            node("Identity", "e", "f"),
            node("Div", "f y", "g"),
            node("Identity", "g", "z"),
        ],
        {"x": ["n"], "y": ["n"]},
        "z",
    ),
    "transposed": graph(
        [
            node("Transpose", "x", "xt", perm=[1, 0]),
            node("Transpose", "y", "yt", perm=[1, 0]),
            *guarded("xt", "yt", "c", "d"),
            node("Transpose", "c", "z", perm=[1, 0]),
        ],
        {"x": ["n", "m"], "y": ["k", "l"]},
        "z",
    ),
    "quantized": graph(
        [
            node("QuantizeLinear", "x scale zero", "xq"),
            node("DequantizeLinear", "xq scale zero", "xd"),
            node("QuantizeLinear", "y scale zero", "yq"),
            node("DequantizeLinear", "yq scale zero", "yd"),
            *guarded("xd", "yd", "c", "d"),
            node("QuantizeLinear", "c scale zero", "cq"),
            node("DequantizeLinear", "cq scale zero", "z"),
        ],
        {"x": ["n", "m"], "y": ["k", "l"]},
        "z",
        [constant("scale", 0.5), constant("zero", 3, np.uint8)],
    ),
    "convolved": graph(
        [
            node("Conv", "x w", "xc"),
            node("Conv", "y w", "yc"),
            *guarded("xc", "yc", "c", "d"),
            node("Conv", "c w", "z"),
        ],
        {"x": [1, 16, "h", "w"], "y": [1, 16, "i", "j"]},
        "z",
        [constant("w", np.ones((16, 16, 1, 1)))],
    ),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", HARMLESS)
def test_what_goes_rightly_is_no_loss(name, level):
    verify(HARMLESS[name], level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", sonnx_ort.models.names())
def test_bundled_models_keep_their_enforcement(name, level):
    try:
        enforced = sonnx_ort.rewrite(
            sonnx_ort.models.load(name),
            backend="native",
            broadcast="explicit",
            operators="all,-Graph",
        )
    except sonnx_ort.ModelRejected:
        return
    verify(enforced, level)


def test_guard_of_a_branch_that_took_the_place_of_its_if_is_found_again():
    renamed = verify(HARMLESS["If that is true"], "all")
    assert renamed == {"_if_then_branch_Reshape": name_of_guard("d")}


def test_guards_that_keep_their_names_are_not_listed():
    assert verify(TWO, "all") == {}


FILE = "optimized_model_filepath"
SEVERITY = "log_severity_level"


def test_options_are_left_as_they_were():
    options = ort.SessionOptions()
    verify(HARMLESS["constants"], "all", options=options)
    assert (getattr(options, FILE), getattr(options, SEVERITY)) == ("", -1)


def test_options_are_left_as_they_were_after_a_failure():
    options = ort.SessionOptions()
    with pytest.raises(ZeroDivisionError), recorded_optimization(options):
        raise ZeroDivisionError
    assert (getattr(options, FILE), getattr(options, SEVERITY)) == ("", -1)


def test_file_that_the_caller_asks_for_is_written(tmp_path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    verify(TWO, "all", options=options)
    assert "d" in {n.name for n in onnx.load(tmp_path / "optimized.onnx").graph.node}


@pytest.mark.parametrize(
    ("file", "entries"),
    [
        ("optimized.ort", {}),
        ("optimized.ORT", {}),
        ("optimized.onnx", {"session.save_model_format": "ORT"}),
        ("optimized.onnx", {"session.save_model_format": "ort"}),
    ],
)
def test_format_in_which_nothing_is_found_again_is_refused(file, entries, tmp_path):
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / file)
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    with pytest.raises(sonnx_ort.SonnxError) as caught, recorded_optimization(options):
        pass
    assert str(caught.value) == (
        "an optimized model in ORT format cannot be checked; remove the session options that "
        "request this format, or save it as .onnx"
    )


def test_verification_without_a_session_is_refused():
    with pytest.raises(ZeroDivisionError), recorded_optimization(ort.SessionOptions()) as record:
        raise ZeroDivisionError
    with pytest.raises(sonnx_ort.SonnxError, match="ONNX Runtime wrote no optimized model"):
        require_enforced(record, TWO)


def test_large_weights_are_written_and_not_read():
    weights = constant("k", np.arange(4096))
    nodes = [*guarded("x", "k", "c", "d"), node("Neg", "c", "z")]
    verify(graph(nodes, {"x": ["n"]}, "z", [weights]), "all")


def test_warning_of_the_written_file_is_not_shown(capfd):
    sonnx_ort.InferenceSession(TWO, backend="native", broadcast="explicit")
    assert capfd.readouterr().err == ""


def test_type_that_a_cast_takes_from_a_guarded_value_is_no_operand(monkeypatch):
    """At every level ONNX Runtime makes a Cast of a CastLike, which reads one value alone."""
    made = parse(
        "(float[2] x, float[m] y) => (float[] z) {"
        " t = Div(x, y) shape = Shape(x) zeros = ConstantOfShape(shape) c = CastLike(zeros, t)"
        " u = Sub(c, y) z = Add(t, u) }"
    )
    # The graph itself says that nothing was removed, without a second one to compare with.
    monkeypatch.setattr(RecordedOptimization, "_simplified_somehow", None)
    session = sonnx_ort.InferenceSession(made, on_one_thread("none"), backend="native")
    twos = np.full(2, 2, np.float32)
    assert session.run(None, {"x": twos, "y": twos})[0].tolist() == [-1, -1]
    with pytest.raises(sonnx_ort.ContractViolation):
        session.run(None, {"x": twos, "y": np.ones(1, np.float32)})
