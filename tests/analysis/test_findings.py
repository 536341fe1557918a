"""What a graph as written leaves open or says wrongly, and what it does not."""

import onnx
import onnx.parser
import pytest
from onnx import helper

import sonnx_ort

HEAD = '<ir_version: 8, opset_import: ["" : 17, "my" : 1]> g'
X2 = "(float[2] x) => (float[2] z)"


def parsed(graph: str) -> onnx.ModelProto:
    made: onnx.ModelProto = onnx.parser.parse_model(f"{HEAD} {graph}")
    return made


def found(source: str | onnx.ModelProto, restriction: str) -> list[tuple[str, str]]:
    made = parsed(source) if isinstance(source, str) else source
    findings = sonnx_ort.check(made).findings
    return [(f.place, f.detail) for f in findings if f.restriction.id == restriction]


class TestTypesLeftToInference:
    NEITHER = "the file gives neither type nor shape"

    @pytest.mark.parametrize(
        ("graph", "expected"),
        [
            (f"{X2} {{ a = Relu(x) z = Relu(a) }}", [("value 'a'", NEITHER)]),
            (f"{X2} <float[2] a> {{ a = Relu(x) z = Relu(a) }}", []),
            (
                f"{X2} <float[] a> {{ a = Relu(x) z = Relu(a) }}",
                [("value 'a'", "the file gives no shape")],
            ),
            (
                "(float[] x) => (float[2] z) { z = Relu(x) }",
                [("value 'x'", "the file gives no shape")],
            ),
            (f"{X2} <float[2] w = {{1, 2}}> {{ z = Add(x, w) }}", []),
            (f"{X2} <float[?] a> {{ a = Relu(x) z = Relu(a) }}", []),
        ],
        ids=str,
    )
    def test_value(self, graph: str, expected: list[tuple[str, str]]) -> None:
        assert found(graph, "GR2") == expected

    def test_values_of_bodies(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
            "then_branch = t () => (float[2] p) { u = Relu(x) p = Neg(u) },"
            " else_branch = e () => (float[2] q) <float[2] v> { v = Relu(x) q = Neg(v) }> }"
        )
        assert found(graph, "GR2") == [("value 'u'", self.NEITHER)]

    def test_output_of_a_sequence_needs_no_shape(self) -> None:
        made = parsed(
            f"{X2} {{ s = SequenceConstruct(x) i = Constant<value_int = 0>()"
            " z = SequenceAt(s, i) }"
        )
        made.graph.value_info.append(
            helper.make_tensor_sequence_value_info("s", onnx.TensorProto.FLOAT, [2])
        )
        made.graph.value_info.append(helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []))
        assert found(made, "GR2") == []


class TestImplicitConversion:
    @pytest.mark.parametrize(
        ("y", "expected"),
        [
            (
                "int64[2]",
                [("Pow '(output z)'", "its operands are float and int64; one is converted")],
            ),
            ("float[2]", []),
        ],
    )
    def test_pow(self, y: str, expected: list[tuple[str, str]]) -> None:
        assert found(f"(float[2] x, {y} y) => (float[2] z) {{ z = Pow(x, y) }}", "GR3") == expected

    def test_other_operators_convert_nothing(self) -> None:
        assert found("(float[2] x, float[2] y) => (float[2] z) { z = Add(x, y) }", "GR3") == []


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
            ("z = Transpose(x)", []),
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


class TestDeadNodes:
    DETAIL = "no output of it contributes to one of the graph"

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
        assert found(graph, "graph.dead_node") == [(place, self.DETAIL) for place in dead]

    def test_node_that_only_a_body_reads_is_alive(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { [k] a = Neg(x) z = If(c) <"
            "then_branch = t () => (float[2] p) { p = Relu(a) },"
            " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
        )
        assert found(graph, "graph.dead_node") == []

    def test_node_of_a_body(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
            "then_branch = t () => (float[2] p) { p = Relu(x) [d] u = Neg(x) },"
            " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
        )
        assert found(graph, "graph.dead_node") == [("Neg 'd'", self.DETAIL)]

    @pytest.mark.parametrize("name", ["", "sink"])
    def test_node_without_outputs(self, name: str) -> None:
        made = parsed(f"{X2} {{ z = Relu(x) }}")
        made.graph.node.append(helper.make_node("Sink", ["x"], [], domain="my", name=name))
        places = [place for place, _ in found(made, "graph.dead_node")]
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
        assert found(graph, "graph.unused_input") == [
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
        assert found(graph, "graph.false_claim") == expected

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
        assert found(graph, "graph.false_claim") == expected

    def test_value_of_a_body(self) -> None:
        graph = (
            "(float[2] x, bool c) => (float[2] z) { z = If(c) <"
            "then_branch = t () => (float[3] p) { p = Relu(x) },"
            " else_branch = e () => (float[2] q) { q = Relu(x) }> }"
        )
        assert found(graph, "graph.false_claim") == [("value 'p'", "declared (3,), is (2,)")]

    def test_false_claim_rejects_nothing_and_proves_nothing(self) -> None:
        made = parsed(
            "(float[n] x, float[m] y) => (float[] z) <float[3] a, float[3] b>"
            " { a = Relu(x) b = Relu(y) z = Div(a, b) }"
        )
        report = sonnx_ort.check(made)
        assert report.ok
        assert report.counts["runtime"] == 1
        sonnx_ort.rewrite(made)


@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
def test_findings_reject_no_model(broadcast: str) -> None:
    made = parsed(
        "(float[2] x, float[2] y) => (float[2] z) <float[3] a>"
        " { a = Relu(x) b = Softmax(a) z = Div(x, x) }"
    )
    report = sonnx_ort.check(made, broadcast=broadcast)
    assert {f.restriction.id for f in report.findings} == {
        *("GR2", "GR4", "graph.dead_node", "graph.unused_input", "graph.false_claim"),
    }
    assert report.ok
    sonnx_ort.rewrite(made, broadcast=broadcast)
