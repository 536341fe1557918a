"""What the python backend made is recognized; a model that was changed since is refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort import Contract, ValueContract
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.metadata import OPTIMIZERS
from support.graphs import binary_model, parse, tensor

GRAPHS = {
    "branch": (
        "(float[n] x, float[n] w, bool c) => (float[n] y) { y = If(c) <then_branch = t () => "
        "(float[n] p) { p = Div(x, w) }, else_branch = e () => (float[n] q) { q = Sub(x, w) }> }"
    ),
    "Loop": (
        "(float[n] x, float[m] z, int64 k, bool c) => (float[n] y) { y = Loop(k, c, x) <body = b "
        "(int64 i, bool g, float[n] s) => (bool h, float[n] t) "
        "{ h = Identity(g) t = Div(s, z) }> }"
    ),
    "Scan": (
        "(float[n] a, float[k,n] x) => (float[n] z, float[k,n] y) { z, y = "
        "Scan<num_scan_inputs = 1, body = b (float[n] s, float[n] e) => (float[n] t, float[n] o) "
        "{ t = Sub(s, e) o = Div(e, s) }>(a, x) }"
    ),
    "declared as a scalar": "(float x, float[n] z) => (float[?] y) { [r] y = Div(x, z) }",
    "read for its shape": (
        "(float[n] x, float[m] z) => (int64[1] y) { [r] q = Div(x, z) y = Shape(q) }"
    ),
    "Div": "(float[n] x, float[n] z) => (float[n] y) { [r] y = Div(x, z) }",
    "Div of float16": "(float16[n] x, float16[m] z) => (float16[?] y) { [r] y = Div(x, z) }",
    "Div of version 6": (
        "(float[n,m] x, float[m] z) => (float[?,?] y)"
        " { [r] y = Div<broadcast = 1, axis = 1>(x, z) }"
    ),
    "Where": "(bool[?] c, float[?] x, float[?] z) => (float[?] y) { [r] y = Where(c, x, z) }",
    "PRelu": "(float[?] x, float[?] z) => (float[?] y) { [r] y = PRelu(x, z) }",
    "Where of float16": (
        "(bool[n] c, float16[n] x, float16[n] z) => (float16[n] y) { [r] y = Where(c, x, z) }"
    ),
    "Where behind Cast": (
        "(bool[n] c, double[n] x0, float[n] z) => (float[n] y)"
        " { x = Cast<to = 1>(x0) [r] y = Where(c, x, z) }"
    ),
    "Pow of float16": "(float16[n] x, float16[n] z) => (float16[n] y) { [r] y = Pow(x, z) }",
    "Pow of one element": "(float[n] x, float[1] z) => (float[n] y) { [r] y = Pow(x, z) }",
    "Mod": "(int32[n] x, int32[n] z) => (int32[n] y) { [r] y = Mod(x, z) }",
    "Mod behind Cast": (
        "(int64[n] x0, int32[n] z) => (int32[n] y) { x = Cast<to = 6>(x0) [r] y = Mod(x, z) }"
    ),
    "Max": "(float[n] x, float[n] z) => (float[n] y) { [r] y = Max(x, z) }",
    "Max of float16": "(float16[n] x, float16[n] z) => (float16[n] y) { [r] y = Max(x, z) }",
    "Cast": "(float[n] x) => (int32[n] y) { [r] y = Cast<to = 6>(x) }",
    "Cast of float16": "(float16[n] x) => (int8[n] y) { [r] y = Cast<to = 3>(x) }",
    "MatMul": "(float[n,k] x, float[m,l] z) => (float[?,?] y) { [r] y = MatMul(x, z) }",
    "BatchNormalization of float16": (
        "(float16[n,3,k] x, float16[3] s, float16[3] b, float16[3] m, float16[3] v)"
        " => (float16[?,?,?] y)"
        " { [r] y = BatchNormalization(x, s, b, m, v) }"
    ),
    "Clip from above": "(float[n] x, float[] a) => (float[n] y) { [r] y = Clip(x, , a) }",
    "Clip from below": "(float[n] x, float[] a) => (float[n] y) { [r] y = Clip(x, a) }",
    "Slice": (
        "(float[n,m] x, int64[2] a, int64[2] b, int64[2] c, int64[2] d) => (float[?,?] y)"
        " { [r] y = Slice(x, a, b, c, d) }"
    ),
    "Softmax": "(float[n,m] x) => (float[?,?] y) { [s] y = Softmax<axis = 1>(x) }",
    "DequantizeLinear without a zero point": (
        "(int32[n] x, float s) => (float[?] y) { [d] y = DequantizeLinear(x, s) }"
    ),
    "ArgMax": "(float[n,m] x) => (int64[?,?] y) { [r] y = ArgMax<axis = 1>(x) }",
}

REFUSED = (
    "node '.*' is in the domain 'sonnx', but `rewrite` did not make this model as it is, or an "
    "earlier version did. Rewrite the original model again, or give the enforced model itself, "
    "not an optimized one"
)


def rewritten(name: str) -> onnx.ModelProto:
    graph = GRAPHS[name]
    made = parse(graph, opset=6 if "broadcast = 1" in graph else 17)
    return sonnx_ort.rewrite(made, broadcast="explicit", operators="all,-Graph", backend="python")


@pytest.mark.parametrize("name", GRAPHS)
def test_more_operators_are_enforced_as_in_the_original(name: str) -> None:
    original = parse(GRAPHS[name], opset=6 if "broadcast = 1" in GRAPHS[name] else 17)
    choices = {"broadcast": "explicit", "backend": "python"}
    few = sonnx_ort.rewrite(original, operators="Div", **choices)
    again = sonnx_ort.rewrite(few, operators="all,-Graph", **choices)
    assert again.graph == rewritten(name).graph


Change = Callable[[onnx.ModelProto], None]
Forgery = Callable[[onnx.GraphProto], None]


def giving(made: onnx.ModelProto, name: str) -> onnx.NodeProto:
    """The node that gives a value."""
    return next(node for node in made.graph.node if name in node.output)


def reads(*inputs: str, of: str = "y") -> Change:
    """A node reads something else."""

    def change(made: onnx.ModelProto) -> None:
        giving(made, of).input[:] = inputs

    return change


def becomes(operator: str, domain: str = "", *, of: str = "y") -> Change:
    """A node becomes one of another operator."""

    def change(made: onnx.ModelProto) -> None:
        giving(made, of).op_type = operator
        giving(made, of).domain = domain

    return change


def says(name: str, value: int, *, of: str = "y") -> Change:
    """An attribute of a node says something else."""

    def change(made: onnx.ModelProto) -> None:
        node = giving(made, of)
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


def read_elsewhere(name: str) -> Change:
    def change(made: onnx.ModelProto) -> None:
        made.graph.node.append(helper.make_node("Identity", [name], ["leak"]))

    return change


def given(name: str) -> Change:
    """A value becomes an output of the model."""

    def change(made: onnx.ModelProto) -> None:
        made.graph.output.append(tensor(name, "float", None))

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("PRelu", becomes("PRelu", "com.example")),
        ("PRelu", becomes("Mean")),
        ("PRelu", reads("y_guarded_2", "y_expanded")),
        ("PRelu", reads("y_guarded_2", "z")),
        ("PRelu", reads("y_expanded", "y_expanded_2")),
        ("PRelu", read_elsewhere("y_guarded_2")),
        ("PRelu", given("y_guarded_2")),
        ("Pow of float16", becomes("Cast", "com.example", of="y_z_as_float")),
        ("Pow of float16", becomes("Cast", "com.example", of="y_as_float16")),
        ("Pow of float16", says("to", onnx.TensorProto.DOUBLE, of="y_as_float16")),
        ("Pow of float16", read_elsewhere("y_as_float16")),
        ("Pow of float16", read_elsewhere("y_guarded")),
        ("Pow of one element", becomes("Expand", "com.example", of="y_expanded")),
        ("Mod", reads("y_guarded", "z")),
        ("Mod", reads("z", "y_guarded")),
        ("Mod behind Cast", reads("x0", "y_guarded")),
        ("Max", becomes("Concat", "com.example", of="y_elements")),
        ("Max", becomes("Add", of="y_flat_2")),
        ("Max", becomes("Concat", "com.example", of="y_operand_shapes")),
        ("Max", reads("y_operand_shape", "y_operand_shape", of="y_operand_shapes")),
        ("Max", says("end", 1, of="y_operand_shape_2")),
        ("Max", becomes("Concat", "com.example", of="y_ranks")),
        ("Max", reads("y_operand_shape_3", "y_operand_shape_3", of="y_ranks")),
        ("Max", becomes("Size", of="y_operand_shape_4")),
        ("Cast", says("to", onnx.TensorProto.INT8)),
        ("MatMul", becomes("MatMul", "com.example")),
        ("MatMul", becomes("Add")),
        ("MatMul", reads("y_of_its_shape", "x")),
        ("MatMul", reads("z", "y_of_its_shape")),
        ("MatMul", reads("z", "y_guarded", of="y_of_its_shape")),
        ("MatMul", reads("y_guarded", "x", of="y_of_its_shape")),
        ("MatMul", becomes("Size", of="y_operand_shape_2")),
        ("MatMul", says("start", -1, of="y_operand_shape_2")),
        ("MatMul", says("start", 1, of="y_operand_shape_2")),
        ("MatMul", read_elsewhere("y_guarded")),
        ("MatMul", read_elsewhere("y_of_its_shape")),
        ("MatMul", given("y_of_its_shape")),
        ("BatchNormalization of float16", says("to", onnx.TensorProto.DOUBLE, of="y_v_as_float16")),
        ("BatchNormalization of float16", becomes("Cast", "com.example", of="y_v_as_float16")),
        ("BatchNormalization of float16", reads("y_of_its_shape", "s", "b", "m", "v")),
        ("Clip from above", reads("y_of_its_shape", "a", "a")),
        ("Clip from above", reads("y_of_its_shape")),
        ("Clip from below", reads("y_of_its_shape")),
        ("Clip from below", reads("y_of_its_shape", "a", "a")),
        ("Slice", reads("y_of_its_shape", "b", "b", "c", "d")),
        ("Slice", reads("y_of_its_shape", "a", "b", "c")),
        ("ArgMax", says("axis", 0)),
    ],
)
def test_changed_model_is_refused(name: str, change: Change) -> None:
    made = rewritten(name)
    made.opset_import.append(helper.make_opsetid("com.example", 1))
    change(made)
    with pytest.raises(sonnx_ort.InvalidModel, match=REFUSED):
        sonnx_ort.check(made, operators="default")


def enforced() -> onnx.ModelProto:
    return sonnx_ort.rewrite(binary_model("Div", "float", ["n"], ["n"], c_shape=["n"]))


def result_as_output(graph: onnx.GraphProto) -> None:
    graph.output.append(tensor(graph.node[0].output[0], "float", ["n"]))


def shape_as_output(graph: onnx.GraphProto) -> None:
    graph.output.append(tensor(graph.node[0].output[1], "int64", ["n"]))


def result_read_elsewhere(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("Relu", [graph.node[0].output[0]], ["leak"]))


def shape_of_something_else(graph: onnx.GraphProto) -> None:
    graph.node.insert(0, helper.make_node("Shape", ["A"], ["own_shape"]))
    graph.node[2].input[1] = "own_shape"


def another_guard(graph: onnx.GraphProto) -> None:
    graph.node[1].op_type = "Expand"


def guard_with_attribute(graph: onnx.GraphProto) -> None:
    graph.node[1].attribute.append(helper.make_attribute("allowzero", 1))


def renamed_guard(graph: onnx.GraphProto) -> None:
    graph.node[1].name = "Div 'another_node' breaks the SONNX profile"


def unknown_operator(graph: onnx.GraphProto) -> None:
    graph.node[0].op_type = "Unheard"


def one_input(graph: onnx.GraphProto) -> None:
    del graph.node[0].input[1]


def more_attributes(graph: onnx.GraphProto) -> None:
    graph.node[0].attribute.append(helper.make_attribute("unchecked", 1))


def unknown_edition(graph: onnx.GraphProto) -> None:
    next(a for a in graph.node[0].attribute if a.name == "edition").s = b"none"


def without_record(graph: onnx.GraphProto) -> None:
    for node in graph.node:
        del node.metadata_props[:]


def of_an_earlier_version(graph: onnx.GraphProto) -> None:
    without_record(graph)
    graph.node[0].op_type = "Div"


def with_another_node(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("Sub", ["C", "B"], ["D"], name="late"))
    graph.output.append(tensor("D", "float", ["n"]))


@pytest.mark.parametrize("use", [sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.InferenceSession])
@pytest.mark.parametrize(
    "forge",
    [
        result_as_output,
        shape_as_output,
        result_read_elsewhere,
        shape_of_something_else,
        another_guard,
        guard_with_attribute,
        renamed_guard,
        unknown_operator,
        one_input,
        more_attributes,
        unknown_edition,
        without_record,
        of_an_earlier_version,
        with_another_node,
    ],
)
def test_forged_node_is_refused(forge: Forgery, use: Callable[[onnx.ModelProto], object]) -> None:
    made = enforced()
    forge(made.graph)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        use(made)
    assert str(caught.value) == (
        "node 'the_node' is in the domain 'sonnx', but `rewrite` did not make this model as it "
        "is, or an earlier version did. Rewrite the original model again, or give the enforced "
        "model itself, not an optimized one"
    )


@pytest.mark.parametrize("use", [sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.InferenceSession])
def test_broadcast_of_the_compiled_kernels_is_refused(
    use: Callable[[onnx.ModelProto], object],
) -> None:
    """Broadcast is an operator of the profile in one of the two domains alone."""
    made = parse(
        """(float[n] x, float[n] y) => (float[n] z, float[n] w) {
            [share] z, w = sonnx.compiled.Broadcast(x, y) }""",
        domains={"sonnx.compiled": 1},
    )
    with pytest.raises(
        sonnx_ort.InvalidModel, match=r"^node 'share' is in the domain 'sonnx\.comp"
    ):
        use(made)


@pytest.mark.parametrize("backend", Backend)
@pytest.mark.parametrize(("given", "made"), [(8, 11), (11, 11), (12, 12)])
def test_enforced_model_has_a_format_that_older_runtimes_refuse(
    backend: str, given: int, made: int
) -> None:
    model = parse("(float[n] x, float[m] y) => (float[n] z) { z = Div(x, y) }", ir_version=given)
    enforced = sonnx_ort.rewrite(model, backend=backend)
    assert enforced.ir_version == made
    assert sonnx_ort.rewrite(enforced, backend=backend) == enforced


def test_model_without_its_entry_is_refused() -> None:
    made = enforced()
    del made.metadata_props[:]
    with pytest.raises(sonnx_ort.InvalidModel, match=REFUSED):
        sonnx_ort.rewrite(made)


@pytest.mark.parametrize("backend", ["native", "compiled"])
def test_model_that_names_no_optimizers_is_recognized(backend: str) -> None:
    """Earlier versions named them only where something is proved of numbers."""
    original = parse(GRAPHS["Div"])
    made = sonnx_ort.rewrite(original, backend=backend)
    (entry,) = (entry for entry in made.metadata_props if entry.key == OPTIMIZERS)
    made.metadata_props.remove(entry)
    assert sonnx_ort.rewrite(made, backend=backend) == made


def test_text_that_is_not_utf_8_is_refused() -> None:
    made = enforced()
    made.graph.node[0].attribute[0].s = b"\xff\xfe"
    with pytest.raises(sonnx_ort.InvalidModel, match=REFUSED):
        sonnx_ort.rewrite(made)


def test_other_edition_is_refused() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(enforced(), edition="preliminary")
    assert str(caught.value) == (
        "the model is already rewritten with the edition 'typed'; rewrite the original model with "
        "'preliminary'"
    )


@pytest.mark.parametrize("backend", ["python", "native"])
def test_other_contract_is_refused(backend: str) -> None:
    kept, other = (Contract((ValueContract("x", (0, most)),)) for most in (1, 2))
    model = parse("(float[n] x, float[n] y) => (float[n] z) { z = Div(x, y) }")
    made = sonnx_ort.rewrite(model, backend=backend, contract=kept)
    for contract in (kept, Contract()):
        assert sonnx_ort.rewrite(made, backend=backend, contract=contract) == made
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(made, backend=backend, contract=other)
    assert str(caught.value) == (
        "the model is already rewritten, with another contract; rewrite the original model with "
        "this one"
    )


@pytest.mark.parametrize("backend", ["native", "compiled"])
def test_other_backend_is_refused(backend: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(enforced(), backend=backend)
    assert str(caught.value) == (
        "the model is already rewritten with the python backend; rewrite the original model with "
        f"the {backend} backend"
    )


def test_enforced_operator_in_a_function_is_refused() -> None:
    made = enforced()
    body = [
        helper.make_node("Div", ["a", "b"], ["r", "s"], domain="sonnx", node="d", edition="typed")
    ]
    imports = [helper.make_opsetid("sonnx", 1)]
    made.functions.append(helper.make_function("own", "f", ["a", "b"], ["r"], body, imports))
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model-local function 'f' contains operators of the domain 'sonnx', which only "
        "`rewrite` may insert; use the standard operators"
    )


def test_unknown_version_of_the_domain_is_refused() -> None:
    made = enforced()
    next(o for o in made.opset_import if o.domain == "sonnx").version = 2
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model imports version 2 of the domain 'sonnx'; only version 1 exists"
    )


def test_import_that_no_node_uses_says_nothing() -> None:
    made = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    made.opset_import.append(helper.make_opsetid("sonnx", 1000))
    imports = {entry.domain: entry.version for entry in sonnx_ort.rewrite(made).opset_import}
    assert imports["sonnx"] == 1


def test_report_of_a_rewritten_model_is_that_of_its_original() -> None:
    report = sonnx_ort.check(enforced(), operators="default")
    assert [(o.rule.id, o.node, o.status, o.evidence) for o in report.obligations] == [
        ("Div.float.R2", "the_node", "proved", "all are float"),
        ("Div.float.RG1", "the_node", "proved", "all operands are dense"),
        (
            "Div.float.R1",
            "the_node",
            "runtime",
            (
                "axis 0 is n in both, but several dimensions of the inputs are declared so, and "
                "ONNX Runtime does not require them to be equal; the model checks it in each run"
            ),
        ),
    ]


MAX = "(int64[n] x, int64[n] z) => (int64[n] y) { [m] y = Max(x, z) }"


def test_model_made_beside_another_onnxruntime_is_enforced_for_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Versions before 1.32 compute Max of int64 wrongly beyond int32."""
    original, choices = parse(MAX), {"backend": "python", "operators": "Max"}
    made = sonnx_ort.rewrite(original, **choices)
    monkeypatch.setattr(onnxruntime, "__version__", "1.31.1")
    older = sonnx_ort.rewrite(original, **choices)
    assert older != made
    assert sonnx_ort.rewrite(older) == older
    assert sonnx_ort.rewrite(made) == older
    told = sonnx_ort.check(made, operators="Max").obligations
    assert any("an older version is installed" in o.evidence for o in told)
    monkeypatch.undo()
    assert sonnx_ort.rewrite(older) == older


def test_model_with_external_data_is_recognized(tmp_path: Path) -> None:
    weights = np.arange(1, 1025, dtype=np.float32)
    graph = "(float[1024] x) => (float[1024] y) { y = Div(x, w) }"
    model = parse(graph, constants={"w": weights})
    source, once, twice = (tmp_path / f"{name}.onnx" for name in ("source", "once", "twice"))
    onnx.save(model, source, save_as_external_data=True, location="weights", size_threshold=0)
    sonnx_ort.rewrite_file(source, once, backend="python")
    sonnx_ort.rewrite_file(once, twice, backend="python")
    assert once.read_bytes() == twice.read_bytes()


def test_function_is_recognized_where_it_is_written_out() -> None:
    function = '<domain: "own", opset_import: ["": 17]> scaled (a, b) => (c) { c = Div(a, b) }'
    graph = f"(float[n] x, float[n] z) => (float[n] y) {{ y = own.scaled(x, z) }} {function}"
    made = sonnx_ort.rewrite(parse(graph, domains={"own": 1}), backend="python")
    assert [node.op_type for node in made.graph.node] == ["CheckedDiv", "Reshape"]
    assert sonnx_ort.rewrite(made) == made
