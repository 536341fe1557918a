"""A proof at a node of a body, or behind one, holds whatever the file declares of shapes."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

import sonnx_ort
from sonnx_ort.loading.file_traversal import all_graphs
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread

ADD = "s = Shape(v) e = Expand(one, s) [add] r = Add(v, e)"
SUM = f"{ADD} o = ReduceSum<keepdims = 0>(r)"
SCAN = "u, z = Scan<num_scan_inputs = 1, body = g (float[] si, float[IN] xi)"
LOOP = "w, z = Loop<body = g (int64 i, bool c, float[IN] k) => (bool d, float[] so"

PLACES = {
    "what a Scan takes apart": f"{SCAN.replace('xi', 'v')} => (float[] so, float[] o)"
    f" {{ so = Identity(si) {SUM} }}>(zero, a)",
    "the state of a Scan": "w, z = Scan<num_scan_inputs = 1, body = g (float[IN] v, float[] xi)"
    f" => (float[] so, float[] o) {{ so = Identity(v) {SUM} }}>(a, a)",
    "the state of a Loop": f"{LOOP.replace(' k)', ' v)')}, float[] o)"
    f" {{ d = Identity(c) so = Identity(v) {SUM} }}>(two, yes, a)",
    "a value around a Loop": f"{LOOP}, float[] o)"
    f" {{ d = Identity(c) so = Identity(k) v = Neg(a) {SUM} }}>(two, yes, a)",
    "a value around a Scan": f"{SCAN} => (float[] so, float[] o)"
    f" {{ so = Identity(si) v = Neg(a) {SUM} }}>(zero, a)",
    "a value around an If": "z = If(go) <then_branch = t () => (float[] o) {"
    " s = Shape(a) e = Expand(one, s) [add] r = Add(a, e) o = ReduceSum<keepdims = 0>(r) },"
    " else_branch = f () => (float[] p) { p = Identity(zero) }>",
    "what an If gives": "v = If(go) <then_branch = t () => (float[] o) { o = Neg(a) },"
    f" else_branch = f () => (float[] p) {{ p = Abs(x) }}> {ADD} z = Identity(r)",
    "what a Loop gives": f"{LOOP.replace('w, z', 'v')})"
    f" {{ d = Identity(c) so = Neg(k) }}>(two, yes, a) {ADD} z = Identity(r)",
    "what a Loop collects": f"{LOOP.replace('w, z', 'q, v')}, float[] o)"
    f" {{ d = Identity(c) so = Neg(k) o = Neg(a) }}>(two, yes, a) {ADD} z = Identity(r)",
    "what a Scan collects": f"{SCAN.replace('u, z', 'q, v')} => (float[] so, float[] o)"
    f" {{ so = Identity(si) o = Neg(xi) }}>(zero, a) {ADD} z = Identity(r)",
}
"""What reads the value `a`, and gives `v` of the shape of `a` to an Add, or a row of it."""

ROWS = ("what a Scan takes apart",)
"""Where `v` is a row."""

OUTER = ("", "n2, k2", "3, 4", "1, 4")
INNER = ("", "n3, k3", "3, 4", "1, 4")
NONE = "none"
"""The level at which a session changes no graph."""

FEEDS = ((1, 1), (1, 4))


def model(place: str, outer: str = "", inner: str = "") -> onnx.ModelProto:
    """The model, with the sizes that it declares of `a`, and those that the body declares."""
    one = "1" if place in ROWS else "1, 1"
    text = PLACES[place].replace("IN", inner)
    return parse(
        f"(float[n, k] x, bool[] go) => (float[] z) <float[{one}] one = {{1}}, float zero = {{0}},"
        f" int64 two = {{2}}, bool yes = {{1}}, float[{outer}] a> {{ a = Abs(x) {text} }}"
    )


def last_size(sizes: str) -> str:
    return sizes.rpartition(",")[2].strip()


def declared_otherwise(place: str) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The model with false and true declarations of values outside and inside of a body."""
    of_rows, text = place in ROWS, PLACES[place]
    inner_sizes = INNER if "IN" in text else ("",)
    for outer, inner, result in product(OUTER, inner_sizes, ("", "3, 4")):
        made = model(place, outer, last_size(inner) if "[IN] xi" in text or of_rows else inner)
        if result:
            declare(made, "r", last_size(result) if of_rows else result)
        yield f"a [{outer}], body [{inner}], r [{result}]", made


def declare(made: onnx.ModelProto, name: str, sizes: str) -> None:
    """Declare a value in the graph that has it."""
    for graph in all_graphs(made):
        if any(name in node.output for node in graph.node):
            graph.value_info.append(declaration(name, sizes))


def declaration(name: str, sizes: str) -> onnx.ValueInfoProto:
    given = [int(size) if size.isdigit() else size for size in sizes.split(", ")]
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, given)


def declared_in_the_body(place: str) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The model in which a body declares a value of the graph around it."""
    for name, sizes in product(("a", "x", "one"), ("n2, k2", "3, 4", "1, 4")):
        made = model(place)
        for graph in all_graphs(made)[1:]:
            graph.value_info.append(declaration(name, sizes))
        yield f"the body says {name} [{sizes}]", made


def undeclared(made: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the shapes that it declares of floats, but for those of its inputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    for graph in all_graphs(copy):
        del graph.value_info[:]
        inner = graph.input if graph.name in "gtf" else ()
        for entry in (*inner, *graph.output):
            if entry.type.tensor_type.elem_type == TensorProto.FLOAT:
                entry.type.tensor_type.ClearField("shape")
    return copy


def results(made: onnx.ModelProto, level: str) -> list[str]:
    """What runs give, or that they end with an error."""
    found = []
    for shape in FEEDS:
        x = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape) + 1
        try:
            session = ort.InferenceSession(made.SerializeToString(), on_one_thread(level))
            (z,) = session.run(["z"], {"x": x, "go": np.array(True)})
            found.append(f"{z.shape} {z.tolist()}")
        except (Fail, InvalidArgument, RuntimeException):
            found.append("an error")
    return found


def judged(made: onnx.ModelProto, folder: Path) -> tuple[bool, bool]:
    """Whether the rule of the Add is proved, and whether it is certified."""
    onnx.save(made, folder / "m.onnx")
    certified = sonnx_ort.certify(folder / "m.onnx", operators="Add").obligations
    report = sonnx_ort.check(made, operators="Add", forecast=False)
    (found,) = (o for o in report.obligations if o.rule.id == "Add.float.R1")
    return found.status == "proved", any(o.rule.id == "Add.float.R1" for o in certified)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_proved_holds_whatever_is_declared(place: str, tmp_path: Path) -> None:
    for name, made in (*declared_otherwise(place), *declared_in_the_body(place)):
        proved, certified = judged(made, tmp_path)
        assert proved == certified, name
        if proved:
            expected = results(undeclared(made), NONE)
            for level in LEVELS:
                pairs = zip(results(made, level), expected, strict=True)
                assert {own for own, without in pairs if own != without} <= {"an error"}, name


CHANGED = ("what a Scan takes apart", "a value around an If")


@pytest.mark.parametrize("place", CHANGED)
def test_runs_depend_on_what_is_declared_of_bodies(place: str, tmp_path: Path) -> None:
    """Else the test above would show nothing: each of these broadcasts, and none is proved."""
    changed = []
    for name, made in (*declared_otherwise(place), *declared_in_the_body(place)):
        found, expected = results(made, "all")[0], results(undeclared(made), NONE)[0]
        if found not in ("an error", expected):
            changed.append((name, judged(made, tmp_path)))
    assert len(changed) >= 2
    assert {each for _, each in changed} == {(False, False)}
