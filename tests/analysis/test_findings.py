"""What a graph as written leaves open or says wrongly, and what it does not."""

import onnx
import onnx.defs
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.analysis.schema_parameters import convertible_inputs
from support.graphs import parse

DOMAINS = {"my": 1}
X2 = "(float[2] x) => (float[2] z)"


def parsed(graph: str) -> onnx.ModelProto:
    return parse(graph, domains=DOMAINS)


def found(source: str | onnx.ModelProto, restriction: str) -> list[tuple[str, str]]:
    made = parsed(source) if isinstance(source, str) else source
    findings = sonnx_ort.check(made, operators="default").findings
    return [(f.place, f.detail) for f in findings if f.rule.id == restriction]


class TestLeftToInference:
    """Types break GR2; shapes are a finding of their own."""

    @pytest.mark.parametrize(
        ("graph", "untyped", "shapeless"),
        [
            (f"{X2} {{ a = Relu(x) z = Relu(a) }}", ["a"], ["a"]),
            (f"{X2} <float[2] a> {{ a = Relu(x) z = Relu(a) }}", [], []),
            (f"{X2} <float[] a> {{ a = Relu(x) z = Relu(a) }}", [], ["a"]),
            ("(float[] x) => (float[2] z) { z = Relu(x) }", [], ["x"]),
            (f"{X2} <float[2] w = {{1, 2}}> {{ z = Add(x, w) }}", [], []),
            (f"{X2} <float[?] a> {{ a = Relu(x) z = Relu(a) }}", [], []),
            (f"{X2} {{ s = SequenceConstruct(x) z = ConcatFromSequence<axis = 0>(s) }}", ["s"], []),
            (
                (
                    "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
                    "then_branch = t () => (float[2] p) { u = Relu(x) p = Neg(u) },"
                    " else_branch = e () => (float[2] q) <float[2] v> { v = Relu(x) q = Neg(v) }> }"
                ),
                ["u"],
                ["u"],
            ),
        ],
        ids=str,
    )
    def test_value(self, graph: str, untyped: list[str], shapeless: list[str]) -> None:
        no_type = [(f"value '{name}'", "the file gives no type") for name in untyped]
        no_shape = [(f"value '{name}'", "the file gives no shape") for name in shapeless]
        assert found(graph, "GR2") == no_type
        assert found(graph, "Graph.implicit_shape") == no_shape

    def test_output_that_is_left_out_is_no_value(self) -> None:
        made = parsed("(float[2] x) => (float[2] z) { a, m = Dropout(x) b = Relu(a) z = Relu(b) }")
        made.graph.node[0].output[1] = ""
        assert [place for place, _ in found(made, "GR2")] == ["value 'a'", "value 'b'"]

    def test_sequence_needs_no_shape(self) -> None:
        made = parsed(
            f"{X2} {{ s = SequenceConstruct(x) i = Constant<value_int = 0>()"
            " z = SequenceAt(s, i) }"
        )
        made.graph.value_info.append(
            helper.make_tensor_sequence_value_info("s", onnx.TensorProto.FLOAT, [2])
        )
        made.graph.value_info.append(helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []))
        assert found(made, "GR2") == []
        assert found(made, "Graph.implicit_shape") == []


class TestImplicitConversion:
    """Operands of two types where the operator takes them of one as well."""

    @pytest.mark.parametrize(("inputs", "node", "detail"), [
        ("float[2] x, int64[2] y", "Pow(x, y)", "X is float and Y is int64"),
        ("float16[1, 2] x, float[2] s, float[2] m", "BatchNormalization(x, s, s, m, m)",
         "X is float16 and scale is float"),
        ("float[1, 2] x, float[2] s, double[2] m", "BatchNormalization(x, s, s, m, m)",
         "X is float and input_mean is double"),
        ("float16[1, 1, 2, 2] x, float[1, 1, 1, 2] g", "GridSample(x, g)", "X is float16 and"),
    ], ids=str)  # fmt: skip
    def test_is_found(self, inputs: str, node: str, detail: str) -> None:
        ((place, told),) = found(f"({inputs}) => (float[] z) {{ [n] z = {node} }}", "GR3")
        assert place.endswith(" 'n'")
        assert told.startswith(detail)
        assert told.endswith("; one is converted")

    @pytest.mark.parametrize(
        ("inputs", "node"),
        [
            ("float[2] x, float[2] y", "Pow(x, y)"),
            ("float[2] x, float[2] y", "Add(x, y)"),
            ("int32[2] x, int64[1] i", "Gather(x, i)"),
            ("int32[2] x, int64[1] i", "Slice(x, i, i, i, i)"),
            ("int32[2] x, int64 a", "CumSum(x, a)"),
            ("int64[2] i, int64 d, float[2] v", "OneHot(i, d, v)"),
            ("int32[2] x, float[1] like", "CastLike(x, like)"),
            ("uint8[2, 2] a, int8[2, 2] b", "MatMulInteger(a, b)"),
            ("float[2] x, float s, uint8 o", "QuantizeLinear(x, s, o)"),
            ("bool[2] c, float[2] x", "Where(c, x, x)"),
            ("float[2] x, int64 k", "TopK(x, k)"),
            ("float[2] x, float[1, 1] y", "my.Pow(x, y)"),
            ("float[1,1,2] x, float[3] s", "Resize(x, , s)"),
            ("float[2] x", "Dropout(x)"),
        ],
        ids=str,
    )
    def test_is_not_found(self, inputs: str, node: str) -> None:
        outputs = "z, y_" if "TopK" in node else "z"
        made = f"({inputs}) => (float[] z) {{ {outputs} = {node} }}"
        assert found(made, "GR3") == []

    def test_every_operator_that_converts_is_known(self) -> None:
        """A new version of ONNX may add one that takes several types and converts none."""
        newest = onnx.defs.onnx_opset_version()
        names = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
        converting = {name for name in names if convertible_inputs(name, newest, "")}
        assert converting - {"LinearAttention"} == {
            *("Attention", "BatchNormalization", "Dropout", "GridSample", "Pow"),
            *("QuantizeLinear", "RMSNormalization", "Resize"),
        }


PERM_LEFT_OUT = (
    "'perm' is left out; ONNX says: By default, reverse the dimensions, otherwise permute the axes "
    "according to the values given."
)


class TestDefaults:
    @pytest.mark.parametrize(
        ("node", "expected"),
        [
            ("z = Softmax(x)", ["'axis' is left out; ONNX assumes -1"]),
            ("z = Softmax<axis = -1>(x)", []),
            ("z = LeakyRelu(x)", ["'alpha' is left out; ONNX assumes 0.009999999776482582"]),
            (
                "z = HardSigmoid<beta = 0.5>(x)",
                ["'alpha' is left out; ONNX assumes 0.20000000298023224"],
            ),
            ("z = DepthToSpace<blocksize = 1>(y)", ["'mode' is left out; ONNX assumes 'DCR'"]),
            ("z = Relu(x)", []),
            ("z = Transpose(x)", [PERM_LEFT_OUT]),
            ("z = Transpose<perm = [0]>(x)", []),
            ("z = my.Softmax(x)", []),
        ],
        ids=str,
    )
    def test_attribute(self, node: str, expected: list[str]) -> None:
        graph = f"(float[2] x, float[1, 1, 1, 1] y) => (float[] z) {{ {node} }}"
        assert [detail for _, detail in found(graph, "GR4")] == expected

    def test_default_of_the_version_that_the_model_imports(self) -> None:
        made = parsed("(float[2, 2] x) => (float[2, 2] z) { z = Softmax(x) }")
        made.opset_import[0].version = 11
        assert found(made, "GR4") == [
            ("Softmax '(output z)'", "'axis' is left out; ONNX assumes 1")
        ]

    @pytest.mark.satisfies("Gemm.draft.attributes")
    @pytest.mark.parametrize(
        ("node", "names"),
        [
            ("Slice(x, i, i)", ["axes", "steps"]),
            ("Slice(x, i, i, i)", ["steps"]),
            ('Slice(x, i, i, "", i)', ["axes"]),
            ("Slice(x, i, i, i, i)", []),
            ("Clip(x)", ["min", "max"]),
            ("Squeeze(x)", ["axes"]),
            ("ReduceSum<keepdims = 1, noop_with_empty_axes = 0>(x)", ["axes"]),
            (
                'Conv<group = 1, auto_pad = "NOTSET">(y, y)',
                ["dilations", "kernel_shape", "pads", "strides"],
            ),
            ('Conv<group = 1, auto_pad = "VALID">(y, y)', ["dilations", "kernel_shape", "strides"]),
            (
                "MaxPool<kernel_shape = [1, 1], ceil_mode = 0, storage_order = 0>(y)",
                ["auto_pad", "dilations", "pads", "strides"],
            ),
            ("Gemm<alpha = 1.0, beta = 1.0, transA = 0, transB = 0>(x, x)", ["C"]),
            ("Gemm(x, x)", ["C"]),
        ],
        ids=str,
    )
    def test_what_onnx_gives_a_meaning_when_it_is_absent(self, node: str, names: list[str]) -> None:
        graph = f"(float[2] x, float[1, 1, 1, 1] y, int64[1] i) => (float[] z) {{ z = {node} }}"
        details = [detail for _, detail in found(graph, "GR4")]
        assert sorted(detail.split("'")[1] for detail in details) == sorted(names)

    def test_sentence_of_the_document_is_told(self) -> None:
        graph = "(float[2] x, int64[1] i) => (float[] z) { z = Slice(x, i, i) }"
        assert [detail.partition("; ")[2] for _, detail in found(graph, "GR4")] == [
            "ONNX says: If `axes` are omitted, they are set to `[0, ..., r-1]`.",
            "ONNX says: Defaults to 1s.",
        ]


class TestDeadNodes:
    DETAIL = "none of its outputs contributes to an output of the graph"

    @pytest.mark.parametrize(
        ("graph", "dead"),
        [
            (f"{X2} {{ z = Relu(x) [d] a = Neg(x) }}", ["Neg 'd'"]),
            (f"{X2} {{ [d] a = Neg(x) [e] b = Relu(a) z = Relu(x) }}", ["Neg 'd'", "Relu 'e'"]),
            (f"{X2} {{ [k] a = Neg(x) [e] b = Relu(a) z = Relu(a) }}", ["Relu 'e'"]),
            (f"{X2} {{ [k] z, a = Dropout(x) }}", []),
            (f"{X2} {{ [d] a, b = Dropout(x) z = Relu(x) }}", ["Dropout 'd'"]),
        ],
        ids=str,
    )
    def test_node(self, graph: str, dead: list[str]) -> None:
        assert found(graph, "Graph.dead_node") == [(place, self.DETAIL) for place in dead]

    def test_node_that_only_a_body_reads_is_alive(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { [k] a = Neg(x) z = If(c) <"
            "then_branch = t () => (float[2] p) { p = Relu(a) },"
            " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
        )
        assert found(graph, "Graph.dead_node") == []

    def test_node_of_a_body(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
            "then_branch = t () => (float[2] p) { p = Relu(x) [d] u = Neg(x) },"
            " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
        )
        assert found(graph, "Graph.dead_node") == [("Neg 'd'", self.DETAIL)]

    @pytest.mark.parametrize("name", ["", "sink"])
    def test_node_without_outputs(self, name: str) -> None:
        made = parsed(f"{X2} {{ z = Relu(x) }}")
        made.graph.node.append(helper.make_node("Sink", ["x"], [], domain="my", name=name))
        places = [place for place, _ in found(made, "Graph.dead_node")]
        assert len(places) == 1
        assert places[0].startswith("Sink ")


class TestUnusedInputs:
    @pytest.mark.parametrize(
        ("graph", "unused"),
        [
            ("(float[2] x, float[2] y) => (float[2] z) { z = Relu(x) }", ["input 'y'"]),
            ("(float[2] x) => (float[2] z) { z = Relu(x) }", []),
            (
                (
                    "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
                    "then_branch = t () => (float[2] p) { p = Relu(x) },"
                    " else_branch = e () => (float[2] q) { q = Neg(x) }> }"
                ),
                [],
            ),
        ],
        ids=str,
    )
    def test_input(self, graph: str, unused: list[str]) -> None:
        assert found(graph, "Graph.unused_input") == [
            (place, "nothing reads it") for place in unused
        ]


class TestFalseClaims:
    @pytest.mark.parametrize(
        ("size", "claim", "detail"),
        [
            ("2", "float[3] a", "declared (3,), is (2,)"),
            ("2", "float[2, 3] a", "declared (2, 3), is (2,)"),
            ("2", "float[2] a", None),
            ("2", "float[m] a", None),
            ("2", "float[] a", None),
            # The size of n may be 3.
            ("n", "float[3] a", None),
            ("n", "float[n, 3] a", "declared (n, 3), is (n,)"),
        ],
        ids=str,
    )
    def test_shape_of_a_value(self, size: str, claim: str, detail: str | None) -> None:
        graph = f"(float[{size}] x) => (float[] z) <{claim}> {{ a = Relu(x) z = Relu(a) }}"
        expected = [] if detail is None else [("value 'a'", detail)]
        assert found(graph, "Graph.false_claim") == expected

    @pytest.mark.parametrize(
        ("output", "detail"),
        [
            ("float[3]", "declared (3,), is (2,)"),
            ("double[2]", "declared double, is float"),
            ("float[2]", None),
        ],
        ids=str,
    )
    def test_output(self, output: str, detail: str | None) -> None:
        graph = f"(float[2] x) => ({output} z) {{ z = Relu(x) }}"
        expected = [] if detail is None else [("value 'z'", detail)]
        assert found(graph, "Graph.false_claim") == expected

    def test_value_of_a_body(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
            "then_branch = t () => (float[3] p) { p = Relu(x) },"
            " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
        )
        assert found(graph, "Graph.false_claim") == [("value 'p'", "declared (3,), is (2,)")]

    def test_initializer(self) -> None:
        made = parsed("(float[2] x) => (float[2] z) <float[2] k = {1, 2}> { z = Add(x, k) }")
        made.graph.value_info.append(
            helper.make_tensor_value_info("k", onnx.TensorProto.INT32, [3])
        )
        assert found(made, "Graph.false_claim") == [
            ("value 'k'", "declared int32, is float"),
            ("value 'k'", "declared (3,), is (2,)"),
        ]

    def test_false_claim_rejects_nothing_and_proves_nothing(self) -> None:
        made = parsed(
            "(float[n] x, float[m] y) => (float[] z) <float[3] a, float[3] b>"
            " { a = Relu(x) b = Relu(y) z = Div(a, b) }"
        )
        report = sonnx_ort.check(made, operators="default")
        assert report.ok
        assert report.counts["runtime"] == 1
        sonnx_ort.rewrite(made)


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
def test_findings_reject_no_model(broadcast: str) -> None:
    made = parsed(
        "(float[2] x, float[2] y) => (float[2] z) <float[3] a>"
        " { a = Relu(x) b = Softmax(a) z = Div(x, x) }"
    )
    report = sonnx_ort.check(made, operators="default", broadcast=broadcast)
    assert {f.rule.id for f in report.findings} == {
        *("GR2", "GR4", "Graph.implicit_shape"),
        *("Graph.dead_node", "Graph.unused_input", "Graph.false_claim"),
    }
    assert report.ok
    sonnx_ort.rewrite(made, broadcast=broadcast)
