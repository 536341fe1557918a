"""Attributes and omissions at which shape inference or a run ends the process are refused."""

import json

import pytest

import sonnx_ort
from support.child import run_python
from support.graphs import parse

_INFERENCE = "or shape inference ends the process"
_RUN = "or a run ends the process"
FATAL = {
    "GatherND, negative batch_dims": (
        (
            "(float[2,3] x, int64[2,1] i) => (float[?,?] y) {"
            " y = GatherND<batch_dims = -9223372036854775808>(x, i) }"
        ),
        17,
        (
            "GatherND '': its batch_dims is -9223372036854775808; it must not be negative, "
            + _INFERENCE
        ),
    ),
    "Split, fewer parts than outputs": (
        (
            "(float[2,8] x) => (float[?,?] a, float[?,?] b, float[?,?] c)"
            " { a, b, c = Split<axis = 1, num_outputs = 2>(x) }"
        ),
        18,
        (
            "Split '': its num_outputs is 2; it must not be less than the number of outputs, 3, "
            + _INFERENCE
        ),
    ),
    "RandomUniform, nothing between low and high": (
        "() => (float[2] y) { [dice] y = RandomUniform<low = 2.0, shape = [2]>() }",
        17,
        f"RandomUniform 'dice': its high is 1.0; it must not be less than 2.0, {_RUN}",
    ),
    "RandomUniform, no number": (
        "() => (float[2] y) { [dice] y = RandomUniform<low = nan, shape = [2]>() }",
        17,
        f"RandomUniform 'dice': its low is nan; it must be a number, {_RUN}",
    ),
    "RandomUniformLike, nothing between low and high": (
        "(float[2] x) => (float[2] y) { [dice] y = RandomUniformLike<high = -1.0>(x) }",
        17,
        f"RandomUniformLike 'dice': its high is -1.0; it must not be less than 0.0, {_RUN}",
    ),
    "RandomNormal, no deviation": (
        "() => (float[2] y) { [dice] y = RandomNormal<scale = 0.0, shape = [2]>() }",
        17,
        f"RandomNormal 'dice': its scale is 0.0; it must be greater than 0, {_RUN}",
    ),
    "RandomNormalLike, negative deviation": (
        "(float[2] x) => (float[2] y) { [dice] y = RandomNormalLike<scale = -1.0>(x) }",
        17,
        f"RandomNormalLike 'dice': its scale is -1.0; it must be greater than 0, {_RUN}",
    ),
    "Split, the first result left out": (
        '(float[4] x) => (float[2] b) { [parts] "", b = Split<axis = 0>(x) }',
        13,
        f"Split 'parts': its result 1 has no name; give it one, {_RUN}",
    ),
    "Split, the last result left out": (
        '(float[4] x) => (float[2] a) { a, "" = Split<axis = 0, num_outputs = 2>(x) }',
        18,
        f"Split '': its result 2 has no name; give it one, {_RUN}",
    ),
    "BatchNormalization, a mean left out": (
        (
            "(float[2,3] x, float[3] s) => (float[2,3] y)"
            ' { y, "", v = BatchNormalization<training_mode = 1>(x, s, s, s, s) }'
        ),
        15,
        f"BatchNormalization '': its result 2 has no name; give it one, {_RUN}",
    ),
    "Loop, a last state left out": (
        (
            "(int64 n, bool c, float[4] x) => (float[4] b)"
            ' { "", b = Loop(n, c, x, x) <body = t (int64 i, bool g, float[4] u, float[4] v)'
            " => (bool h, float[4] p, float[4] q) { h = Identity(g) p = Neg(u) q = Neg(v) }> }"
        ),
        17,
        f"Loop '': its result 1 has no name; give it one, {_RUN}",
    ),
    **{
        f"{operator}, an operand without a name": (
            f'(float[4] x) => (float[4] y) {{ [all] y = {operator}(x, "") }}',
            13,
            f"{operator} 'all': its operand 2 has no name; leave it out of the list, {_RUN}",
        )
        for operator in ("Max", "Min", "Mean", "Sum")
    },
    "Einsum, an operand without a name": (
        '(float[4] x) => (float[4] y) { y = Einsum<equation = "i,i->i">("", x) }',
        13,
        f"Einsum '': its operand 1 has no name; leave it out of the list, {_RUN}",
    ),
    "LayerNormalization, a bias without a name": (
        '(float[2, 4] x, float[4] w) => (float[2, 4] y) { y = LayerNormalization(x, w, "") }',
        17,
        f"LayerNormalization '': its operand 3 has no name; leave it out of the list, {_RUN}",
    ),
    "DFT, an axis without a name": (
        '(float[1, 4, 1] x) => (float[1, 4, 2] y) { y = DFT(x, "", "") }',
        20,
        f"DFT '': its operand 3 has no name; leave it out of the list, {_RUN}",
    ),
    "Split in a branch": (
        (
            "(float[4] x, bool c) => (float[2] y) { y = If(c) <"
            'then_branch = t () => (float[2] a) { a, "" = Split<axis = 0>(x) },'
            " else_branch = e () => (float[2] b, float[2] d) { b, d = Split<axis = 0>(x) }> }"
        ),
        13,
        f"Split '': its result 2 has no name; give it one, {_RUN}",
    ),
}
HARMLESS = {
    "Dropout, a mask left out": ('(float[2] x) => (float[2] y) { y, "" = Dropout(x) }', 13),
    "LayerNormalization without a bias": (
        "(float[2, 4] x, float[4] w) => (float[2, 4] y) { y = LayerNormalization(x, w) }",
        17,
    ),
    "Clip, two operands without names": (
        '(float[4] x) => (float[4] y) { y = Clip(x, "", "") }',
        13,
    ),
    "Split, two results with names": (
        "(float[4] x) => (float[2] a) { a, b = Split<axis = 0>(x) }",
        13,
    ),
    "GatherND, no batch": (
        "(float[2,3] x, int64[2,1] i) => (float[?,?] y) { y = GatherND<batch_dims = 0>(x, i) }",
        17,
    ),
    "Split, as many parts as outputs": (
        (
            "(float[2,8] x) => (float[?,?] a, float[?,?] b)"
            " { a, b = Split<axis = 1, num_outputs = 2>(x) }"
        ),
        18,
    ),
    "RandomUniform, one number between low and high": (
        "() => (float[2] y) { y = RandomUniform<low = 1.0, high = 1.0, shape = [2]>() }",
        17,
    ),
    "RandomNormal, a small deviation": (
        "() => (float[2] y) { y = RandomNormal<scale = 0.001, shape = [2]>() }",
        17,
    ),
}

CHECK = """
import json
from support.graphs import parse
from support.refusals import refusals

for name, graph, opset in CASES:
    print(json.dumps([name, refusals(parse(graph, opset=opset))]), flush=True)
"""


@pytest.fixture(name="refusals", scope="module")
def _refusals() -> dict[str, list[str]]:
    """What check, rewrite and a session say of each; one child process decides all."""
    cases = [(name, graph, opset) for name, (graph, opset, *_) in (FATAL | HARMLESS).items()]
    child = run_python(f"CASES = {cases!r}{CHECK}")
    assert child.exit_status == 0, child
    return dict(map(json.loads, child.stdout.splitlines()))


@pytest.mark.parametrize("name", FATAL)
def test_attribute_that_ends_the_process_is_refused(
    name: str, refusals: dict[str, list[str]]
) -> None:
    assert refusals[name] == [FATAL[name][2]] * 3


@pytest.mark.parametrize("name", HARMLESS)
def test_attribute_at_the_limit_is_not_refused(name: str, refusals: dict[str, list[str]]) -> None:
    assert refusals[name] == []


@pytest.mark.parametrize(
    ("call", "parameters", "batch_dims", "told"),
    [
        ("local.f(x, i)", "", "batch_dims = -1", "its batch_dims is -1; it must not be"),
        (
            "local.f<n = 1>(x, i)",
            "<n>",
            "batch_dims: int = @n",
            "its batch_dims depends on the call of the function",
        ),
    ],
    ids=["negative", "decided by the call"],
)
def test_fatal_batch_dims_in_a_function_are_refused(
    call: str, parameters: str, batch_dims: str, told: str
) -> None:
    made = parse(
        f"(float[2,3] x, int64[2,1] i) => (float[?,?] y) {{ y = {call} }}"
        f'<opset_import: ["" : 17], domain: "local"> f {parameters}(a, b) => (c)'
        f" {{ c = GatherND<{batch_dims}>(a, b) }}",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.InvalidModel, match=told):
        sonnx_ort.check(made, operators="default")
