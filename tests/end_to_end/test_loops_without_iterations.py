"""A Loop without iterations gives the shape that it gives before the model is rewritten."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import on_one_thread, set_for

LEVELS = ["none", "all"]
FEEDS = {
    "trips": np.array(0),
    "go": np.array(True),
    "q": np.ones((2, 3), np.float32),
    "w": np.ones((2, 3), np.float32),
}
OPAQUE = "sizes = Constant<value_ints = [2, 3]>() chosen = Where(going, sizes, sizes)"


def collecting(
    output: str,
    body: str,
    *,
    q: str = "float[2, 3]",
    claims: str = "",
    before: str = "",
    functions: str = "",
) -> onnx.ModelProto:
    """Make a Loop that collects `o`, and whose output's Shape is read."""
    domains = {"own": 1} if functions else None
    return parse(
        f"(int64 trips, bool go, {q} q, float[2, 3] w) => (float[] y, int64[] d) {{ {before}"
        f" y = Loop<body = step (int64 i, bool going) => (bool still, {output} o) {claims} {{"
        f" still = Identity(going) {body} }}>(trips, go) d = Shape(y) }} {functions}",
        **({"domains": domains} if domains else {}),
    )


def carrying(state: str, output: str) -> onnx.ModelProto:
    """Make a Loop that collects what it computes of its state."""
    return parse(
        "(int64 trips, bool go, float[2, 3] q, float[2, 3] w) => (float[] f, float[] y) {"
        f" f, y = Loop<body = step (int64 i, bool going, {state} s)"
        f" => (bool still, float[] n, {output} o) {{"
        " still = Identity(going) n = Div(s, w) o = Sub(n, w) }>(trips, go, q) }"
    )


INNER = (
    "z = Loop<body = inner (int64 j, bool on) => (bool kept, float[] e)"
    " { kept = Identity(on) e = Div(q, w) }>(trips, go) o = Neg(z)"
)
CHOICE = (
    "o = If(going)<then_branch = one () => (float[] t) { t = Div(q, w) },"
    " else_branch = other () => (float[] e) { e = Sub(q, w) }>"
)

LOOPS = {
    "open symbols": collecting("float[a, b]", "o = Div(q, w)"),
    "nothing declared": collecting("float[]", "o = Div(q, w)"),
    "the sizes declared": collecting("float[2, 3]", "o = Div(q, w)"),
    "behind what is enforced": collecting("float[a, b]", "z = Div(q, w) o = Relu(z)"),
    "an input of open sizes": collecting("float[a, b]", "o = Div(q, q)", q="float[n, 3]"),
    "an input of unknown rank": collecting("float[]", "o = Div(q, w)", q="float[]"),
    "open sizes where a size is known": collecting(
        "float[a, b]", f"{OPAQUE} z = Reshape(q, chosen) o = Div(z, w)"
    ),
    "sizes that nothing but the file tells": collecting(
        "float[]", f"{OPAQUE} z = Reshape(q, chosen) o = Div(z, z)", claims="<float[2, 3] z>"
    ),
    "a declaration that inference contradicts": collecting(
        "float[7, b]", "z = Div(q, w) o = Relu(z)"
    ),
    "a declared rank that inference contradicts": collecting(
        "float[1, 2, 3]", "z = Div(q, w) o = Relu(z)"
    ),
    "an outer value": collecting("float[]", "o = Neg(z)", before="z = Div(q, w)"),
    "an element of a sequence": collecting(
        "float[]", "z = SequenceAt(s, i) o = Div(z, w)", before="s = SequenceConstruct(q, w)"
    ),
    "an optional": collecting(
        "float[]", "z = OptionalGetElement(s) o = Div(z, w)", before="s = Optional(q)"
    ),
    "branches": collecting("float[]", CHOICE),
    "a Loop in a Loop": collecting("float[]", INNER),
    "a Loop in a Loop, of a contradicted rank": collecting("float[a, b]", INNER),
    "a function": collecting(
        "float[]",
        "z = own.f(q) o = Div(z, w)",
        functions='<domain: "own", opset_import: ["": 20]> f (a) => (b) { b = Neg(a) }',
    ),
    "a state": carrying("float[]", "float[]"),
    "a state, collected with a rank": carrying("float[]", "float[a, b]"),
    "a declared state": carrying("float[2, 3]", "float[]"),
}


def shapes(session: ort.InferenceSession) -> list[object]:
    """The shapes of tensors without elements, and the elements of others."""
    feeds = {each.name: FEEDS[each.name] for each in session.get_inputs()}
    return [
        array.shape if array.size == 0 else array.tolist() for array in session.run(None, feeds)
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("operators", ["default", "profile"])
@BACKENDS
@pytest.mark.parametrize("name", LOOPS)
def test_shape_without_iterations_stays(
    name: str, backend: str, operators: str, level: str
) -> None:
    plain = ort.InferenceSession(LOOPS[name].SerializeToString(), on_one_thread(level))
    choices = {"operators": f"{operators},-Graph", "backend": backend}
    try:
        enforced = sonnx_ort.rewrite(LOOPS[name], **choices)
    except sonnx_ort.ModelRejected:
        pytest.skip("a rule is violated")
    options = sonnx_ort.register(set_for(backend, level), backend=backend)
    session = ort.InferenceSession(enforced.SerializeToString(), options)
    assert shapes(session) == shapes(plain)
    assert sonnx_ort.rewrite(enforced, **choices) == enforced


@pytest.mark.parametrize("name", ["open symbols", "a state", "a Loop in a Loop"])
def test_certified_model_gives_the_same_shape(name: str, tmp_path) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "enforced.onnx"
    onnx.save(LOOPS[name], source)
    certificate = tmp_path / "certificate.json"
    sonnx_ort.rewrite_file(source, target, backend="native", certificate=certificate)
    plain = ort.InferenceSession(source, on_one_thread())
    assert shapes(ort.InferenceSession(target, set_for("native", "all"))) == shapes(plain)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LOOPS)
def test_conforming_model_gives_the_same_shape(name: str, level: str) -> None:
    if "contradicts" in name:
        pytest.skip("what is declared falsely is corrected")
    conforming = sonnx_ort.conform(LOOPS[name]).model
    sessions = (
        ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
        for model in (LOOPS[name], conforming)
    )
    plain, changed = map(shapes, sessions)
    assert changed == plain
