"""Which nodes a run computes: it leaves out what only Shapes read, if it knows the shape."""

import hashlib
import json
from collections.abc import Mapping

import onnx
import pytest

from sonnx_ort.checker import Rejected, check
from sonnx_ort.checker.names import needed
from support.examined import enforced_with_certificate
from support.graphs import parse

ELSE = "else_branch = e () => (float[] q) { q = Abs(x) }>"
BRANCHES = f"<then_branch = t () => (float[] p) {{ p = Neg(a) }}, {ELSE}"
UNREAD = f"<then_branch = t () => (float[] p) {{ n = Neg(a) p = Abs(x) }}, {ELSE}"
GRAPHS: Mapping[str, tuple[str, set[str]]] = {
    "elements of an output": ("=> (float[] z) { a = Abs(x) z = Neg(a) }", {"a", "z"}),
    "elements that nothing reads": ("=> (float[] z) { a = Abs(x) z = Neg(x) }", {"a", "z"}),
    "a shape": ("=> (int64[] z) { b = Neg(x) a = Abs(b) z = Shape(a) }", {"z"}),
    "a shape that is not known": ("=> (int64[] z) { b = Neg(x) h = Abs(b) z = Shape(h) }",
        set("bhz")),
    "a shape that nothing reads": ("=> (float[] z) { a = Abs(x) s = Shape(a) z = Neg(x) }", {"z"}),
    "a shape and elements": ("=> (float[] z, int64[] s) { z = Abs(x) s = Shape(z) }", {"z", "s"}),
    "one of two results": ("=> (float[] z) { z, a = Split(x) s = Shape(a) }", {"z", "a"}),
    "a result of branches": (f"=> (float[] z) {{ a = Abs(x) z = If(c) {BRANCHES} }}", set("apqz")),
    "the shape of a result of branches": (
        f"=> (int64[] z) {{ a = Abs(x) b = If(c) {BRANCHES} z = Shape(b) }}", {"z"}),
    "elements that nothing in a branch reads": (
        f"=> (int64[] z) {{ a = Abs(x) b = If(c) {UNREAD} z = Shape(b) }}", set("anpbqz")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), GRAPHS.values(), ids=GRAPHS.keys())
def test_nodes_run_whose_elements_are_needed(text: str, expected: set[str]) -> None:
    graph = parse(f"(float[n] x, bool c) {text}").graph
    assert needed(graph, {"h"}) == expected


CONTENT = parse(
    "(int32[4] x, int32[4] y) => (int64[1] s) { z = Div(x, y) s = Shape(z) }"
).SerializeToString()


def test_node_of_which_only_the_shape_is_read_is_certified_if_it_runs() -> None:
    enforced, certificate = enforced_with_certificate(CONTENT)
    said = check(CONTENT, json.loads(certificate.to_json()), enforced)
    assert said == "5 checks hold in every run: 3 by proof, 2 by guards"


def test_node_that_may_not_run_is_rejected() -> None:
    enforced, certificate = enforced_with_certificate(CONTENT)
    model = onnx.load_model_from_string(enforced)
    loop, shape = model.graph.node[-2:]
    shape.input[0] = "z"
    model.graph.node.remove(loop)
    content = model.SerializeToString()
    claimed = json.loads(certificate.to_json())
    claimed["enforced"] = hashlib.sha256(content).hexdigest()
    with pytest.raises(Rejected, match="nothing but Shapes reads 'z': it may not run"):
        check(CONTENT, claimed, content)
