"""The compiled backend: which nodes it replaces, and that nobody else makes such a model."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import Waiver
from support.graphs import parse

OPEN = "(float[n] a, float[m] b)"

NODES = {
    "an open Div": (f"{OPEN} => (float[k] c) {{ c = Div(a, b) }}", {}, ["CheckedDiv"]),
    "a proved Sub": ("(float[3] a) => (float[3] c) { c = Sub(a, a) }", {}, ["Sub"]),
    "a proved Sub of integers": ("(int32[3] a) => (int32[3] c) { c = Sub(a, a) }", {},
        ["CheckedSub"]),
    "a proved Div of the other edition, whose results may be infinite": (
        "(float[3] a) => (float[3] c) { c = Div(a, a) }",
        {"edition": "preliminary"},
        ["CheckedDiv"],
    ),
    "a proved Max, whose zeros have signs": ("(float[3] a) => (float[3] c) { c = Max(a, a) }",
        {"operators": "Max"}, ["CheckedMax"]),
    "a proved Add of a version that has no kernel": (
        "(float[3] a) => (float[3] c) { c = Add(a, a) }",
        {"operators": "Add", "opset": 6},
        ["CheckedAdd"],
    ),
    "a proved broadcasting": (
        "(float[2,3] a, float[3] b) => (float[2,3] c) { c = Sub(a, b) }",
        {"broadcast": "explicit"},
        ["CheckedSub"],
    ),
    "a Div that broadcasts": (f"{OPEN} => (float[k] c) {{ c = Div(a, b) }}",
        {"broadcast": "explicit"}, ["CheckedDiv"]),
    "a Div of bfloat16": ("(bfloat16[n] a, bfloat16[m] b) => (bfloat16[k] c) { c = Div(a, b) }", {},
        ["CheckedDiv"]),
    "a Sub in float16 that needs no check": ("(float16[n] a) => (float16[n] c) { c = Sub(a, a) }",
        {}, ["CheckedSub"]),
    "constants alone": (
        (
            "(float[2] a) => (float[2] c) <float[2] x = {1, 2}, float[2] y = {3, 4}> "
            "{ z = Div(x, y)\n c = Mul(z, a) }"
        ),
        {},
        ["Div", "Mul"],
    ),
    "an operator without a rule that runs decide": ("(float[n] a) => (float[n] c) { c = Sqrt(a) }",
        {"operators": "elementwise"}, ["Sqrt"]),
    "a type without a kernel": (
        "(double[n] a, double[m] b) => (double[k] c) { c = PRelu(a, b) }",
        {"operators": "elementwise"},
        ["Guard", "PRelu"],
    ),
    "a Max of integers": (
        "(int64[n] a, int64[m] b, int64[l] d) => (int64[k] c) { c = Max(a, b, d) }",
        {"operators": "elementwise"},
        ["CheckedMax"],
    ),
    "an operator of any number of operands": (
        "(float[n] a, float[m] b, float[l] d) => (float[k] c) { c = Max(a, b, d) }",
        {"operators": "elementwise", "broadcast": "explicit"},
        ["CheckedMax"],
    ),
    "an operator of three operands that is broadcast": (
        "(bool[n] q, float[m] a, float[m] b) => (float[k] c) { c = Where(q, a, b) }",
        {"operators": "elementwise", "broadcast": "explicit"},
        ["CheckedWhere"],
    ),
    "an operator with an attribute": (
        "(int32[n] a, int32[m] b) => (int32[k] c) { c = Mod<fmod=1>(a, b) }",
        {"operators": "elementwise"},
        ["CheckedMod"],
    ),
    "a type that ONNX Runtime computes by a function": (
        "(int32[n] a, int32[m] b) => (int32[k] c) { c = PRelu(a, b) }",
        {"operators": "PRelu"},
        ["Guard", "PRelu"],
    ),
    "a type that is computed in another one": (
        "(float16[n] a, float16[m] b) => (float16[k] c) { c = Mod<fmod=1>(a, b) }",
        {"operators": "Mod"},
        ["Guard", "Mod"],
    ),
    "an exponent of one element": ("(float[n] a) => (float[n] c) <float b = {2}> { c = Pow(a, b) }",
        {"operators": "Pow", "broadcast": "explicit"}, ["CheckedPow"]),
    "an exponent that has to be expanded": (
        "(float[2,3] a, float[2,1] b) => (float[2,3] c) { c = Pow(a, b) }",
        {"operators": "Pow", "broadcast": "explicit"},
        ["Constant", "Expand", "Pow"],
    ),
    "a Pow with one type parameter": (f"{OPEN} => (float[k] c) {{ c = Pow(a, b) }}",
        {"operators": "Pow", "opset": 11},
        ["Guard", "Pow"]),
    "a Broadcast in front of a Pow": (
        f"{OPEN} => (float[k] e) {{ c, d = sonnx.Broadcast(a, b)\n e = Pow(c, d) }}",
        {"operators": "Pow,Broadcast"},
        ["CheckedBroadcast", "Pow"],
    ),
    "a Broadcast": (f"{OPEN} => (float[k] c, float[l] d) {{ c, d = sonnx.Broadcast(a, b) }}", {},
        ["CheckedBroadcast"]),
    "a Broadcast without a first result": (
        f"{OPEN} => (float[l] d) {{ , d = sonnx.Broadcast(a, b) }}",
        {},
        ["CheckedBroadcast"],
    ),
    "a Broadcast that only one node reads": (
        f"{OPEN} => (float[k] e) {{ c, d = sonnx.Broadcast(a, b)\n e = Div(c, d) }}",
        {},
        ["CheckedDiv"],
    ),
    "a Broadcast read in the other order": (
        f"{OPEN} => (float[k] e) {{ c, d = sonnx.Broadcast(a, b)\n e = Div(d, c) }}",
        {},
        ["CheckedBroadcast", "Div"],
    ),
    "a Broadcast that two nodes read": (
        (
            f"{OPEN} => (float[k] e, float[k] f) "
            "{ c, d = sonnx.Broadcast(a, b)\n e = Div(c, d)\n f = Sub(c, d) }"
        ),
        {},
        ["CheckedBroadcast", "Div", "Sub"],
    ),
    "a Broadcast of which a result is returned": (
        f"{OPEN} => (float[k] e, float[k] d) {{ c, d = sonnx.Broadcast(a, b)\n e = Div(c, d) }}",
        {},
        ["CheckedBroadcast", "Div"],
    ),
    "a Broadcast of two types": (
        "(float[2] a, int32[1] b) => (float[2] c, int32[2] d) { c, d = sonnx.Broadcast(a, b) }",
        {},
        ["Constant", "Reshape", "Expand"],
    ),
    "another operator": (f"{OPEN} => (float[k] c) {{ c = Add(a, b) }}", {}, ["Add"]),
    "broadcasting of version 6": (
        "(float[2,3] a, float[3] b) => (float[2,3] c) { c = Div<broadcast=1>(a, b) }",
        {"broadcast": "explicit", "opset": 6},
        ["Constant", "Expand", "Div"],
    ),
}  # fmt: skip


def read(text: str, options: dict[str, Any]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The model of a case, and its options of `rewrite`."""
    opset = options.get("opset", 17)
    choices = {name: choice for name, choice in options.items() if name != "opset"}
    return parse(text, opset=opset, domains={"sonnx": 1}), choices


@pytest.mark.parametrize(("text", "options", "expected"), NODES.values(), ids=NODES.keys())
def test_node_is_replaced_where_there_is_a_kernel(text, options, expected):
    original, choices = read(text, options)
    made = sonnx_ort.rewrite(original, backend="compiled", **choices)
    assert [node.op_type for node in made.graph.node] == expected
    ours = ("Checked", "Guard")
    domains = {node.domain for node in made.graph.node if node.op_type.startswith(ours)}
    imported = {entry.domain for entry in made.opset_import}
    assert domains <= {"sonnx.compiled"}
    assert ("sonnx.compiled" in imported) == bool(domains)


def attributes(node: onnx.NodeProto) -> dict[str, str]:
    return {each.name: each.s.decode() for each in node.attribute}


BROADCASTING = {
    "by the option": ("{ [ratio] e = Div(a, b) }", {"broadcast": "explicit"}, "ratio",
        {"node": "ratio"}),
    "for a Broadcast of the model": ("{ [spread] c, d = sonnx.Broadcast(a, b)\n e = Div(c, d) }",
        {}, "", {"node": "(output e)", "broadcast": "spread"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "name", "own"), BROADCASTING.values(), ids=BROADCASTING.keys()
)
def test_kernel_that_broadcasts_knows_the_names_in_its_errors(text, options, name, own):
    model = parse(f"{OPEN} => (float[k] e) {text}", domains={"sonnx": 1})
    (node,) = sonnx_ort.rewrite(model, backend="compiled", **options).graph.node
    assert node.name == name
    assert attributes(node) == own | {
        "edition": "typed",
        "expanded": "A B",
        "operand_0": "a",
        "operand_1": "b",
    }


def test_broadcast_stays_if_its_results_are_checked():
    model = parse(
        f"{OPEN} => (float[k] e) {{ c, d = sonnx.Broadcast(a, b)\n e = Sub(c, d) }}",
        domains={"sonnx": 1},
    )
    operators = ["Sub", "Broadcast", "Graph.finite_values"]
    made = sonnx_ort.rewrite(model, backend="compiled", operators=operators)
    assert made.graph.node[0].op_type == "CheckedBroadcast"
    assert sonnx_ort.rewrite(made, backend="python", operators=operators) == made


def test_waived_node_is_left_to_guards():
    model = parse("(float[2,3] a, float[3] b) => (float[2,3] c) { [ratio] c = Div(a, b) }")
    waiver = Waiver("Div.float.R1", "ratio", "measured", "the team", dt.date.max)
    made = sonnx_ort.rewrite(model, backend="compiled", waivers=[waiver])
    assert "Div" in [node.op_type for node in made.graph.node]


def changed(made: onnx.ModelProto, change: str) -> onnx.ModelProto:
    node = made.graph.node[0]
    match change:
        case "edition":
            next(each for each in node.attribute if each.name == "edition").s = b"preliminary"
        case "operands":
            node.input[1] = node.input[0]
        case "operator":
            node.op_type = "CheckedSub"
        case "broadcasting":
            node.attribute.extend(
                onnx.helper.make_attribute(name, name) for name in ("operand_0", "operand_1")
            )
        case "record":
            del made.metadata_props[:]
    return made


@pytest.mark.parametrize("change", ["edition", "operands", "operator", "broadcasting", "record"])
def test_imitation_is_refused(change):
    model = parse(f"{OPEN} => (float[k] c) {{ [ratio] c = Div(a, b) }}")
    made = changed(sonnx_ort.rewrite(model, backend="compiled"), change)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(made, operators="default")
    assert str(caught.value) == (
        "node 'ratio' is in the domain 'sonnx.compiled', but `rewrite` did not make this model "
        "as it is, or an earlier version did. Rewrite the original model again, or give the "
        "enforced model itself, not an optimized one"
    )


SHAPES: Sequence[tuple[tuple[int, ...], tuple[int, ...]]] = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((4, 1, 3), (2, 1)),
    ((), (3,)),
    ((2, 3), (2, 4)),
    ((0,), (1,)),
    ((2, 3), (4, 2, 3)),
)


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_outcome_is_that_of_the_python_backend(shapes, broadcast):
    one, other = (
        ", ".join(f"{name}{axis}" for axis in range(len(shape)))
        for name, shape in zip("nm", shapes, strict=True)
    )
    model = parse(f"(int32[{one}] a, int32[{other}] b) => (int32[] c) {{ [ratio] c = Div(a, b) }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    random = np.random.default_rng(0)
    feeds = {
        n: random.integers(1, 9, s).astype(np.int32) for n, s in zip("ab", shapes, strict=True)
    }

    def outcome(backend):
        try:
            session = sonnx_ort.InferenceSession(model, backend=backend, broadcast=broadcast)
            (result,) = session.run(None, feeds)
        except sonnx_ort.SonnxError as error:
            return str(error), getattr(error, "shapes", None)
        return result.shape, result.tolist()

    assert outcome("compiled") == outcome("python")


def test_name_of_a_node_cannot_say_what_no_kernel_says():
    said = (
        "x' Status Message: SONNX: Div 'other' breaks Div.int.C1: a zero divisor: A[0] = 1, "
        "B[0] = 0; shapes A (1,), B (1,). The rule: No element of B is zero."
    )
    model = parse("(int64[n] a, int64[m] s) => (int64[k] c) { c = Reshape(a, s) }")
    model.graph.node[0].name = said
    session = sonnx_ort.InferenceSession(model, backend="compiled")
    with pytest.raises(Exception, match="Reshape") as caught:
        session.run(None, {"a": np.arange(3), "s": np.array([2, 2])})
    assert not isinstance(caught.value, sonnx_ort.ContractViolation)


@pytest.mark.parametrize("name", ["Max", "Min"])
@pytest.mark.parametrize("beyond", [1 << 31, -(1 << 31) - 1])
def test_kernel_says_of_an_integer_beyond_int32_what_the_native_guard_says(name, beyond):
    model = parse(
        f"(int64[n] a, int64[m] b, int64[l] d) => (int64[k] c) {{ [most] c = {name}(a, b, d) }}"
    )
    feeds = {"a": np.array([1, 2]), "b": np.array([3, 4]), "d": np.array([5, beyond])}
    said = []
    for backend in ("native", "compiled"):
        session = sonnx_ort.InferenceSession(model, backend=backend, operators=name)
        with pytest.raises(sonnx_ort.ContractViolation) as caught:
            session.run(None, feeds)
        error = caught.value
        said.append((str(error), error.rule, error.node, error.shapes, error.index, error.values))
    assert said[0] == said[1]
