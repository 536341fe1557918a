"""What ends the process of a session, or takes all memory, is refused; nothing ends a check."""

import itertools
import json

import pytest

import sonnx_ort
from support.child import run_python
from support.graphs import parse
from support.soundness.isolated import run_attempts
from support.soundness.window_slices import CUBE

CHECK = """
import json, resource
import sonnx_ort
from support.graphs import parse
from support.refusals import refusals

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

def refused(cases):
    for name, graph, opset in cases:
        print(json.dumps([name, refusals(parse(graph, opset=opset))]), flush=True)

def check(cases):
    for text in cases:
        sonnx_ort.check(parse(text))
    print("ended")
"""

_SLICED = "<int64[1] s = {0}, int64[1] e = {1}, int64[1] k = {2}, int64[2] p = {-3, 0}>"
_NORMALIZED = "(float[3,4] x, float[4] w) => (float[3,4] y)"
_NEGATIVE = (
    "Slice '{}': its operand 'a' has a size of {}, at which shape inference and ONNX Runtime can "
    "end the process; correct the node, or the nodes that compute its operand"
)
_AXIS = (
    "LayerNormalization '(output y)': its axis is {}, and its operand has 2 axes, at which shape "
    "inference and ONNX Runtime can end the process; correct the node, or the nodes that compute "
    "its operand"
)
FATAL = {
    "Slice behind Conv": (
        (
            f"(float[1,1,2] x, float[1,1,5] w) => (float[?,?,?] y) {_SLICED}"
            " { a = Conv(x, w) [cut] y = Slice(a, s, e, k) }"
        ),
        17,
        _NEGATIVE.format("cut", -2),
    ),
    "Slice behind Conv, padding written out": (
        (
            f"(float[1,1,2] x, float[1,1,5] w) => (float[?,?,?] y) {_SLICED}"
            ' { a = Conv<auto_pad = "NOTSET">(x, w) [cut] y = Slice(a, s, e, k) }'
        ),
        17,
        _NEGATIVE.format("cut", -2),
    ),
    "Slice behind the indices of MaxPool": (
        (
            f"(float[1,1,2] x) => (int64[?,?,?] y) {_SLICED}"
            " { m, a = MaxPool<kernel_shape = [5]>(x) [cut] y = Slice(a, s, e, k) }"
        ),
        17,
        _NEGATIVE.format("cut", -2),
    ),
    "Slice behind Pad": (
        f"(float[2] x) => (float[?] y) {_SLICED} {{ a = Pad(x, p) y = Slice(a, s, e) }}",
        17,
        _NEGATIVE.format("(output y)", -1),
    ),
    "Slice behind Slice and Pad": (
        (
            f"(float[2] x) => (float[?] y) {_SLICED}"
            " { b = Slice(x, s, e) c = Relu(b) a = Pad(c, p) y = Slice(a, s, e) }"
        ),
        17,
        _NEGATIVE.format("(output y)", -2),
    ),
    "Slice in a branch": (
        (
            f"(float[2] x, bool c) => (float[?] z) {_SLICED} {{ a = Pad(x, p) z = If(c) <"
            "then_branch = t () => (float[?] u) { [cut] u = Slice(a, s, e) },"
            " else_branch = f () => (float[?] v) { v = Relu(x) }> }"
        ),
        17,
        _NEGATIVE.format("cut", -1),
    ),
    "LayerNormalization, axis before the first": (
        f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = -5>(x, w) }}",
        17,
        _AXIS.format(-5),
    ),
    "LayerNormalization, axis beyond 32 bits": (
        f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = 2147483648>(x, w) }}",
        17,
        _AXIS.format(2**31),
    ),
    "DFT of a scalar": (
        "(float x, int64 n) => (float[] y) { y = DFT(x, n) }",
        17,
        (
            "DFT '(output y)': its operand 'x' has fewer than two axes, at which shape inference "
            "and ONNX Runtime can end the process; correct the node, or the nodes that compute "
            "its operand"
        ),
    ),
}


@pytest.fixture(name="refusals", scope="module")
def _refusals() -> dict[str, list[str]]:
    """What check, rewrite and a session say of each; one child process decides all."""
    cases = [(name, graph, opset) for name, (graph, opset, _) in FATAL.items()]
    child = run_python(CHECK, f"refused({cases!r})")
    assert child.exit_status == 0, child
    return dict(map(json.loads, child.stdout.splitlines()))


@pytest.mark.parametrize("name", FATAL)
def test_what_ends_the_process_is_refused(name: str, refusals: dict[str, list[str]]) -> None:
    assert refusals[name] == [FATAL[name][2]] * 3


@pytest.mark.thorough
def test_slice_behind_windows_is_refused_where_one_does_not_fit() -> None:
    """These are all at which a session ends the process: no file need leave a default out."""
    stated, started = (
        run_attempts(f"support.soundness.window_slices:{function}", range(len(CUBE)))
        for function in ("stated", "start")
    )
    for case, line, session in zip(CUBE, stated, started, strict=True):
        size, refusal = line["result"]
        if size:  # in ceil mode some versions infer -1 where others infer 0
            assert refusal == (_NEGATIVE.format("(output y)", size) if size < 0 else ""), case
        assert refusal or "death" not in session, case
    assert sum("death" in session for session in started) > 0


def test_elements_of_long_vectors_are_not_followed() -> None:
    """Following each would take 7 GB here, and 14 s."""
    child = run_python(
        CHECK,
        """
        made = parse(
            "(float[100000000] x, float[100000000] y) => (float[?,?] z) <int64[1] k = {0}>"
            " { a = Unsqueeze(x, k) b = Unsqueeze(y, k) z = Div(a, b) }"
        )
        report = sonnx_ort.check(made)
        print(*(o.status for o in report.obligations if o.rule.id == "Div.float.R1"))
        """,
        timeout=60,
    )
    assert (child.exit_status, child.stdout) == (0, "proved\n"), child


_PADS = "<int64[2] p = {-3, 0}, int64[1] from = {0}, int64[1] to = {1}>"


@pytest.mark.parametrize(("graph", "message"), [
    pytest.param(
        f"(float[2] x, int64[1] s, int64[1] e) => (float[?] y) {_PADS}"
        " { a = Pad(x, p) [cut] y = Slice(a, s, e) }",
        _NEGATIVE.format("cut", -1),
        id="Slice",
    ),
    pytest.param(
        f"(float[2] x, int64[1] s, int64[1] e) => (float[?] y) {_PADS}"
        " { a0 = Slice(x, from, to) a1 = Relu(a0) a = Pad(a1, p) y = Slice(a, s, e) }",
        _NEGATIVE.format("(output y)", -2),
        id="Slice behind Slice and Pad",
    ),
    pytest.param(
        f"(float[2] x, int64[1] s, int64[1] e) => (float[?] y) {_PADS}"
        " { a0 = Slice(x, from, to) a1 = Pad(x, p) a = Add(a0, a1) y = Slice(a, s, e) }",
        _NEGATIVE.format("(output y)", -1),
        id="Slice behind Slice and what has a negative size",
    ),
    pytest.param(f"{_NORMALIZED} {{ y, m, v = LayerNormalization<axis = 2>(x, w) }}",
        _AXIS.format(2), id="LayerNormalization"),
    pytest.param(
        "(float[3,4] x, float[4] w) => (float[?,?] y) <int64[1] from = {0}, int64[1] to = {1}>"
        " { q = Constant<value_float = 1.0>() x0 = Mul(x, q) x1 = Slice(x0, from, to)"
        " x2 = Relu(x1) y, m, v = LayerNormalization<epsilon = 0.1, axis = 2>(x2, w) }",
        _AXIS.format(2),
        id="LayerNormalization behind Slice",
    ),
    pytest.param(
        "(bool c, float[3,4] x, float[4] w) => (float[?,?] y)"
        " <int64[1] from = {0}, int64[1] to = {1}> { a = If(c) <"
        "then_branch = t () => (float[?,?] u) { b = Relu(x) u = Slice(b, from, to) },"
        " else_branch = f () => (float[?,?] v) { v = Relu(x) }>"
        " y, m, v = LayerNormalization<axis = 2>(a, w) }",
        _AXIS.format(2),
        id="LayerNormalization behind a branch with a Slice",
    ),
    pytest.param(
        "(float[3,4] x, float[4] w, int64 trips, bool go) => (float[?,?] y)"
        " <int64[1] from = {0}, int64[1] to = {1}> { a = Slice(x, from, to)"
        " b, l = Loop(trips, go, a) <body = body (int64 i, bool g, float[?,?] state)"
        " => (bool still, float[?,?] next, float[?,?] each) { still = Identity(g)"
        " next = Relu(state) each, m, v = LayerNormalization<axis = 7>(a, w) }>"
        " y = Relu(b) }",
        _AXIS.format(7).replace("output y", "output each"),
        id="LayerNormalization in a body, of what is outside",
    ),
    pytest.param("(float[3] x, int64 n) => (float[?] y) { y = DFT(x, n) }",
        FATAL["DFT of a scalar"][2], id="DFT"),
])  # fmt: skip
def test_refusal_names_the_node_and_what_is_wrong_with_it(graph: str, message: str) -> None:
    """The bounds of each Slice are open and no axis lies before the first: it would be survived."""
    made = parse(graph)
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        sonnx_ort.check(made)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(
            f"{_NORMALIZED} {{ y = LayerNormalization<axis = 5>(x, w) }}",
            id="LayerNormalization with one result, an axis behind the last",
        ),
        *(
            pytest.param(
                f"{_NORMALIZED} {{ y, m, v = LayerNormalization<epsilon = 0.1{axis}>(x, w) }}",
                id=f"LayerNormalization with three results{axis}",
            )
            for axis in ("", ", axis = 1", ", axis = 0", ", axis = -1", ", axis = -2")
        ),
        pytest.param(
            "(float[4] x, float[4] w) => (float[4] y) { y, m, v = LayerNormalization(x, w) }",
            id="LayerNormalization of one axis",
        ),
        pytest.param(
            "(float[3,4] x, int64 n) => (float[?,?] y) { y = DFT(x, n) }", id="DFT of two axes"
        ),
        pytest.param(
            "(float[3,4] x, float[4] w, int64 trips, bool go) => (float[?,?] y)"
            " <int64[1] from = {0}, int64[1] to = {1}> { a = Slice(x, from, to)"
            " y, l = Loop(trips, go, a) <body = body (int64 i, bool g, float[?,?] state)"
            " => (bool still, float[?,?] next, float[?,?] each) { still = Identity(g)"
            " next = Relu(state) each, m, v = LayerNormalization(a, w) }> }",
            id="body that reads what a Slice gives",
        ),
    ],
)
def test_what_is_harmless_is_not_refused(graph: str) -> None:
    assert sonnx_ort.check(parse(graph)).obligations


JOINED = " ".join(f"v{n + 1} = Gather(v{n}, v{n})" for n in range(40))
ADDED = " ".join(f"v{n + 1} = Unsqueeze(v{n}, a)" for n in range(1500))
DOUBLED = " ".join(f"v{n + 1} = Concat<axis = 0>(v{n}, v{n})" for n in range(40))
FILLED = "v = ConstantOfShape<value = int64[1] {1}>(n) y = ConstantOfShape(v)"
FROM = "(int64[1, 1] v0) => (int64[] y)"

TOO_MANY = (
    "{}: the results of the nodes up to this one can have more than 524288 axes in all, which "
    "shape inference lists; compute with fewer axes\n"
)
TOO_LONG = (
    "{} '(output y)': its operand '{}' has {} elements, one for each axis, at which shape "
    "inference and ONNX Runtime can end the process; correct the node, or the nodes that compute "
    "its operand\n"
)
REFUSED = {
    "joined": (f"{FROM} {{ {JOINED} y = Identity(v40) }}",
        TOO_MANY.format("Gather '(output v18)'")),
    "added": (f"{FROM} <int64[2] a = {{0, 1}}> {{ {ADDED} y = Identity(v1500) }}",
        TOO_MANY.format("Unsqueeze '(output v723)'")),
    "declared": ("(int64[1099511627776] v) => (float[] y) { y = ConstantOfShape(v) }",
        TOO_LONG.format("ConstantOfShape", "v", 1 << 40)),
    "declared for a Reshape": (
        "(float[2] x, int64[1099511627776] v) => (float[] y) { y = Reshape(x, v) }",
        TOO_LONG.format("Reshape", "v", 1 << 40),
    ),
    "doubled": (
        f"(float[2] x) => (float[] y) {{ v0 = Shape(x) {DOUBLED} y = ConstantOfShape(v40) }}",
        TOO_LONG.format("ConstantOfShape", "v40", 1 << 40),
    ),
    "filled": (f"() => (float[] y) <int64[1] n = {{1000000000}}> {{ {FILLED} }}",
        TOO_LONG.format("ConstantOfShape", "v", 10**9)),
    "filled by a shape": (f"(float[1000000000] x) => (float[] y) {{ n = Shape(x) {FILLED} }}",
        TOO_LONG.format("ConstantOfShape", "v", 10**9)),
}  # fmt: skip


CHECK_ONE = """
try:
    sonnx_ort.check(parse(GRAPH))
    print("checked")
except sonnx_ort.InvalidModel as error:
    print(error)
"""


@pytest.mark.parametrize("name", REFUSED)
def test_too_many_axes_are_refused(name: str) -> None:
    graph, answer = REFUSED[name]
    child = run_python(CHECK, f"GRAPH = {graph!r}{CHECK_ONE}", timeout=60)
    assert (child.exit_status, child.stdout) == (0, answer), child


_FAR = (1 << 31, 1 << 32, -(1 << 32), 1 << 62, -(1 << 63), -2305843009213693949)
_CUT = (
    "(int64[5] x) => (float[] y)"
    " <int64[1] s = {4}, int64[1] e = {-9223372036854775808}, int64[1] a = {0}>"
)


def sliced(source: str, steps: str) -> str:
    return _CUT + f"{{ {source} t = {steps} r = Slice(v, s, e, a, t) y = ConstantOfShape(r) }}"


SOURCES = ("v = Constant<value_ints = [3, 4, 5]>()", "v = Shape(x)", "v = Identity(x)")
STEPS = (
    *(f"Constant<value_ints = [{step}]>()" for step in (*_FAR, 0)),
    *(f"Constant<value = int64[1] {{{step}}}>()" for step in _FAR),
    "Mul(e, e)",
    "Neg(e)",
)


def test_check_of_far_steps_ends() -> None:
    cases = [sliced(*case) for case in itertools.product(SOURCES, STEPS)]
    child = run_python(CHECK, f"check({cases!r})", timeout=240)
    assert (child.exit_status, child.stdout) == (0, "ended\n"), child


def test_check_of_vectors_that_double_ends() -> None:
    """Nothing but the elements tells the length of the first vector."""
    doubled = " ".join(f"c{n + 1} = Concat<axis = 0>(c{n}, c{n})" for n in range(40))
    text = (
        "(float[2] x) => (float[] y) <int64[4] k = {1, 1, 1, 1}, int64[1] s = {0}>"
        f" {{ e = Add(s, s) c0 = Slice(k, s, e) {doubled} y = Reshape(x, c40) }}"
    )
    child = run_python(CHECK, f"check([{text!r}])", timeout=120)
    assert (child.exit_status, child.stdout) == (0, "ended\n"), child
