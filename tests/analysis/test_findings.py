"""What a graph as written leaves open or says wrongly."""

import onnx.parser
import pytest

import sonnx_ort

DEAD = "graph.dead_node: no output of it contributes to one of the graph"
HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def findings(graph: str) -> list[str]:
    return [str(finding) for finding in sonnx_ort.check(parsed(graph)).findings]


def parsed(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEAD} {graph}")


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (
            "g (float[2] x) => (float[2] z) { a = Relu(x) z = Relu(a) }",
            ["value 'a': GR2: the file gives neither type nor shape"],
        ),
        (
            "g (float[2] x, int64[2] y) => (float[2] z) { z = Pow(x, y) }",
            ["Pow '(output z)': GR3: its operands are float and int64; one is converted"],
        ),
        (
            "g (float[2] x) => (float[2] z) { z = Softmax(x) }",
            ["Softmax '(output z)': GR4: 'axis' is left out; ONNX assumes -1"],
        ),
        (
            "g (float[2] x) => (float[2] z) { a = Relu(x) b = Relu(a) z = Relu(x) }",
            [
                f"Relu '(output a)': {DEAD}",
                f"Relu '(output b)': {DEAD}",
            ],
        ),
        (
            "g (float[2] x, float[2] y) => (float[2] z) { z = Relu(x) }",
            ["input 'y': graph.unused_input: nothing reads it"],
        ),
        (
            "g (float[2] x) => (float[2] z) <float[3] a> { a = Relu(x) z = Relu(x) s = Shape(a) }",
            [
                "value 'a': graph.false_claim: declared (3,), is (2,)",
            ],
        ),
        (
            "g (float[2] x) => (float[2] z) <double[2] a> { a = Relu(x) z = Relu(x) s = Shape(a) }",
            ["value 'a': graph.false_claim: declared double, is float"],
        ),
        ("g (float[2] x) => (float[2] z) <float[2] a> { a = Relu(x) z = Relu(a) }", []),
    ],
    ids=["GR2", "GR3", "GR4", "dead", "unused", "false shape", "false type", "none"],
)
def test_finding(graph: str, expected: list[str]) -> None:
    found = findings(graph)
    assert [f for f in found if f in expected] == expected
    assert found or not expected


def test_findings_reject_nothing() -> None:
    made = parsed("g (float[2] x, float[2] y) => (float[2] z) { a = Relu(x) z = Softmax(x) }")
    assert sonnx_ort.check(made).ok
    sonnx_ort.rewrite(made)
