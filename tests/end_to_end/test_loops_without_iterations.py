"""Loops without iterations and states of a Scan have the shapes that they had.

ONNX Runtime runs no Scan without the ranks of what its body gives, and ends the process where a
state is of another one (finding R7). An enforced model runs where the declaration is right, and
gives an error where it is not. Nothing in the body believes it.
"""

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import BACKENDS, on_each_backend
from support.child import run_python
from support.graphs import parse
from support.scans import feeds_of, subtracting
from support.sessions import LEVELS, on_one_thread, set_for

TWO_LEVELS = ["none", "all"]
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


@pytest.mark.parametrize("level", TWO_LEVELS)
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


@pytest.mark.parametrize("level", TWO_LEVELS)
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


Array = npt.NDArray[np.float32]

ENFORCED = """
import numpy as np, sonnx_ort
from support.graphs import parse

made = parse(
    "(int64[] s, int64[n] x, int64[] q) => (int64[] a, int64[] b) <int64[1] one = {1}> {"
    " a, b = Scan<num_scan_inputs = 1, body = step (int64[] t, int64 e) => (int64[] v, int64 o) {"
    " v = Sub(q, one) o = Identity(e) }>(s, x) }"
)
for backend in ("python", "native", "compiled"):
    session = sonnx_ort.InferenceSession(made, backend=backend)
    rank_4 = np.ones((1, 1, 1, 1), np.int64)
    try:
        session.run(None, {"s": rank_4, "x": np.ones(2, np.int64), "q": rank_4})
    except Exception as error:
        print(type(error).__name__)
"""

READ = """
import numpy as np, onnxruntime as ort, sonnx_ort
from support.scans import feeds_of, subtracting

for declared, shape in (("float[?]", (2, 1)), ("float[2]", (2, 1)), ("float[?,?]", (2,))):
    for backend in ("python", "native", "compiled"):
        made = sonnx_ort.InferenceSession(subtracting("float[]", declared), backend=backend)
        try:
            made.run(None, feeds_of(shape, shape))
        except Exception as error:
            print("as a Scan declares its state or output" in str(error))
"""


def outputs(session: ort.InferenceSession, given: dict[str, Array]) -> list[tuple[object, ...]]:
    arrays = (np.asarray(array) for array in session.run(None, given))
    return [(str(array.dtype), array.shape, array.tobytes()) for array in arrays]


def test_state_of_another_rank_ends_in_an_error() -> None:
    child = run_python(ENFORCED)
    assert child.killed_by is None, child
    assert len(child.stdout.splitlines()) == 3, child


@on_each_backend
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("state", "declared", "shape"),
    [
        ("float", "float", ()),
        ("float[]", "float", ()),
        ("float[]", "float[2]", (2,)),
        ("float[]", "float[?]", (2,)),
        ("float[]", "float[2,?]", (2, 0)),
        ("float[2]", "float[2]", (2,)),
        ("float[m,1]", "float[?,1]", (3, 1)),
    ],
)
def test_state_that_the_body_reads_is_given_in_the_declared_rank(
    state: str, declared: str, shape: tuple[int, ...], level: str
) -> None:
    made, given = subtracting(state, declared), feeds_of(shape, shape)
    untouched = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    enforced = sonnx_ort.InferenceSession(made, on_one_thread(level))
    assert outputs(enforced, given) == outputs(untouched, given)


def test_false_rank_of_a_state_that_the_body_reads_ends_in_an_error() -> None:
    child = run_python(READ)
    assert child.killed_by is None, child
    assert child.stdout.split() == ["True"] * 9, child


@on_each_backend
def test_body_does_not_believe_the_shape_that_it_gives_out() -> None:
    """ONNX Runtime would take the second difference for one of two elements by two."""
    made = parse(
        "(float[] s, float[n] x, float[] y, float[2] z) => (float[] last, float[] all) {"
        " last, all = Scan<num_scan_inputs = 1, body = step (float[] before, float[] element)"
        " => (float[2] after, float[2] out) {"
        " after = Sub(before, y) [second] out = Sub(after, z) }>(s, x) }"
    )
    session = sonnx_ort.InferenceSession(made)
    with pytest.raises(sonnx_ort.ContractViolation, match=r"'second' breaks Sub\.float\.R1"):
        session.run(None, feeds_of((1,), (1,)) | {"z": np.ones(2, np.float32)})


WITH_A_BATCH = """
(float[1,2] s, float[1,n,2] x) => (float[1,2] last, float[1,n,2] all) {
    last, all = Scan<num_scan_inputs = 1, body = step (float[2] before, float[2] element)
        => (float[2] after, float[2] out)
    { after = Sub(before, element) out = Identity(after) }>(, s, x)
}"""


@pytest.mark.parametrize("level", LEVELS)
def test_scan_with_a_batch_gives_a_state_that_its_body_reads(level: str) -> None:
    made = parse(WITH_A_BATCH, opset=8)
    given = {
        "s": np.array([[1, 2]], np.float32),
        "x": np.arange(6, dtype=np.float32).reshape(1, 3, 2),
    }
    untouched = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    enforced = sonnx_ort.InferenceSession(made, on_one_thread(level), backend="python")
    assert outputs(enforced, given) == outputs(untouched, given)


def test_guards_need_a_scan_without_a_batch() -> None:
    with pytest.raises(sonnx_ort.InvalidModel, match="version 9, which defines Scan differently"):
        sonnx_ort.rewrite(parse(WITH_A_BATCH, opset=8), backend="native")


SCAN = """
import numpy as np, onnxruntime as ort, sonnx_ort
from support.graphs import parse

model = parse('''
    (float[] s, float[k, 2] x, float[2] d) => (float[] a, float[] b, float[] z)
    {
        a, b = Scan<num_scan_inputs = 1, body = body (float[] t, float[2] e) =>
            (float[3] o, float[2] p) { o = Identity(t) p = Identity(e) }>(s, x)
        z = Div(d, d)
    }''')
for value in (*model.graph.input[:1], *model.graph.output):
    value.type.tensor_type.ClearField("shape")
options = ort.SessionOptions()
options.log_severity_level = 4
"""

RUN = """
for state in (3,), (4, 2), (4,):
    try:
        ones = np.ones(state, np.float32), np.ones((4, 2), np.float32), np.ones(2, np.float32)
        print([output.shape for output in session.run(None, dict(zip("sxd", ones)))])
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.mark.parametrize("backend", [pytest.param(None, marks=pytest.mark.thorough), "python"])
def test_scan_that_is_enforced_fails_just_as_the_original_does(backend):
    """A smaller rank without sizes would end the process (tests/upstream/test_shapes.py)."""
    start = "session = ort.InferenceSession(model.SerializeToString(), options)"
    if backend is not None:
        start = f"session = sonnx_ort.InferenceSession(model, options, backend='{backend}')"
    child = run_python(SCAN, start, RUN)
    assert child.exit_status == 0, child
    outcomes = ["[(3,), (4, 2), (2,)]", "InvalidArgument", "InvalidArgument"]
    assert child.stdout.splitlines() == outcomes, child


MODEL = """
import numpy as np, sonnx_ort
from support.graphs import parse

model = parse('''(int8[n] x, int8[m] y) => (int8[] z) {
  no = Constant<value = bool {0}>()
  z = If(no) <
    else_branch = outer_else () => (int8[] o) {
      i = If(no) <
        else_branch = inner_else () => (int8[] p) { d = Div(x, y) p = Identity(d) },
        then_branch = inner_then () => (int8[] q) { q = Identity(x) }
      >
      o = Identity(i)
    },
    then_branch = outer_then () => (int8[] r) { r = Identity(y) }
  >
}''')
session = sonnx_ort.InferenceSession(model, backend="native")

def run(x, y):
    feeds = {"x": np.array(x, np.int8), "y": np.array(y, np.int8)}
    try:
        print(session.run(None, feeds)[0].tolist())
    except sonnx_ort.ContractViolation as violation:
        print(violation.rule)
"""


RUNS = {
    "kept": ([-128, 9], [2, -1], "[-64, -9]"),
    "smallest by -1": ([-128, 9], [-1, 2], "Div.int.C2"),
    "zero divisor": ([1, 9], [0, 2], "Div.int.C1"),
    "shapes that differ": ([1, 9], [1], "Div.int.R1"),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What came of each run, up to one that ended the process."""
    child = run_python(MODEL, *(f"run({x}, {y})" for x, y, _ in RUNS.values()))
    return dict(zip(RUNS, child.stdout.splitlines(), strict=False))


@pytest.mark.parametrize("name", RUNS)
def test_session_starts_and_keeps_the_rules(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes.get(name) == RUNS[name][-1]
