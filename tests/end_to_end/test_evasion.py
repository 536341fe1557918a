"""A model cannot talk its way around the pass: it is refused, or enforced all the same."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import binary_model, declared, parse

pytestmark = on_each_backend

X = np.array([1, 2, 3], np.float32)
ONE = np.ones(1, np.float32)
LEVELS = list(ort.GraphOptimizationLevel.__members__.values())


def run_plain(made: onnx.ModelProto, feeds: dict[str, np.ndarray], level: object = None) -> None:
    options = sonnx_ort.register()
    options.log_severity_level = 4
    if level is not None:
        options.graph_optimization_level = level
    ort.InferenceSession(sonnx_ort.rewrite(made).SerializeToString(), options).run(None, feeds)


def test_false_value_info_proves_nothing() -> None:
    made = parse("""(float[x] a, float[y] b) => (float[z] e) <float[3] c, float[3] d> {
        c = Identity(a)
        d = Identity(b)
        [div] e = Div(c, d)
    }""")
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, {"a": X, "b": ONE})
    assert caught.value.shapes == ((3,), (1,))


def test_false_value_info_does_not_reject_a_good_model() -> None:
    made = parse("""(float[x] a, float[y] b) => (float[z] e) <float[3] c, float[4] d> {
        c = Identity(a)
        d = Identity(b)
        [div] e = Div(c, d)
    }""")
    (result,) = sonnx_ort.InferenceSession(made).run(None, {"a": X, "b": X})
    np.testing.assert_array_equal(result, [1, 1, 1])


def test_alias_of_the_default_domain_is_enforced() -> None:
    made = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    made.graph.node[0].domain = "ai.onnx"
    made.opset_import[0].domain = "ai.onnx"
    with pytest.raises(sonnx_ort.ContractViolation):
        sonnx_ort.InferenceSession(made).run(None, {"A": X, "B": ONE})


def test_initializer_that_an_input_can_override_is_no_constant() -> None:
    made = binary_model("Div", "int32", [2], [2], c_shape=[2])
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0, 1], np.int32), "B"))
    (result,) = sonnx_ort.InferenceSession(made).run(
        None, {"A": np.array([4, 6], np.int32), "B": np.array([2, 3], np.int32)}
    )
    np.testing.assert_array_equal(result, [2, 2])


def shadowing(domain: str, name: str) -> onnx.ModelProto:
    made = binary_model("Div", "float", [3], [3], c_shape=[3])
    body = [helper.make_node("Mul", ["a", "b"], ["c"])]
    made.functions.append(
        helper.make_function(domain, name, ["a", "b"], ["c"], body, [helper.make_opsetid("", 17)])
    )
    if domain not in ("", "ai.onnx"):
        made.opset_import.append(helper.make_opsetid(domain, 1))
    return made


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        ("", "replaces the standard operator of that name"),
        ("ai.onnx", "replaces the standard operator of that name"),
        ("sonnx", "is in the domain 'sonnx', which is reserved for the enforced operators"),
        (
            "sonnx.compiled",
            "is in the domain 'sonnx.compiled', which is reserved for the enforced operators",
        ),
    ],
)
def test_function_that_shadows_an_operator_is_refused(domain: str, reason: str) -> None:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(shadowing(domain, "Div"))
    assert str(caught.value) == (
        f"the model-local function 'Div' {reason}; move it to another domain"
    )


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("claim", [None, [4]], ids=["no claim", "true claim"])
@pytest.mark.parametrize(
    ("operator", "constant", "shape"),
    [
        ("Reshape", [2, 2], [2, 2]),
        ("Reshape", [4], [4]),
        ("Reshape", [0], ["k"]),
        ("Unsqueeze", [0], [1, 4]),
        ("Expand", [4], [4]),
    ],
    ids=str,
)
def test_no_consumer_makes_the_optimizer_drop_the_guard(
    operator: str,
    constant: list[int],
    shape: list[int | str],
    claim: list[int] | None,
    level: ort.GraphOptimizationLevel,
) -> None:
    claims = "" if claim is None else f"{declared('float', claim)} q"
    made = parse(
        f"""(float[n] x, float[n] y) => ({declared("float", shape)} z) <{claims}> {{
            [div] q = Div(x, y)
            z = {operator}(q, s)
        }}""",
        constants={"s": np.array(constant)},
    )
    feeds = {"x": np.ones(4, np.float32), "y": ONE}
    with pytest.raises(Exception, match="Div 'div' breaks"):
        run_plain(made, feeds, level)


def test_run_fails_even_where_a_caller_lets_the_optimizer_drop_the_guard() -> None:
    made = parse("""(float[n] x, float[n] y) => (float[2,2] z) <int64[2] s = {2, 2}> {
        [div] q = Div(x, y)
        z = Reshape(q, s)
    }""")
    options = sonnx_ort.register()
    options.log_severity_level = 4
    options.add_session_config_entry("optimization.disable_specified_optimizers", "")
    enforced = sonnx_ort.rewrite(made).SerializeToString()
    feeds = {"x": np.ones(4, np.float32), "y": ONE}
    # Older versions of ONNX Runtime refuse to start such a session.
    with pytest.raises(Exception, match=r"Reshape|CheckedDiv"):
        ort.InferenceSession(enforced, options).run(None, feeds)


def test_constant_operands_are_not_folded_past_the_check() -> None:
    made = parse("""() => (int32[2] q)
    <int32[2] a = {-2147483648, 1}, int32[2] b = {-1, 1}> { [div] q = Div(a, b) }""")
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made)
    assert [o.rule.id for o in caught.value.report.violations] == ["Div.int.C2"]


def test_value_that_is_falsely_declared_a_scalar_is_checked_as_it_is() -> None:
    made = parse("""(float[] x) => (float[] z) <float a> {
        [first] a = Div(x, x)
        [second] z = Div(a, x)
    }""")
    session = sonnx_ort.InferenceSession(made, broadcast="explicit")
    (result,) = session.run(None, {"x": np.ones((2, 3), np.float32)})
    np.testing.assert_array_equal(result, np.ones((2, 3)))


def test_model_that_was_given_is_not_renamed() -> None:
    made = parse(
        """(float[1] x) => (float[1] z) { y = local.fun(x) z = local.fun(y) }
        <domain: "local", opset_import: ["": 17]> fun (a) => (b) {
            c = Constant <value = float[1] c {2}> ()
            [div] b = Div(a, c)
        }""",
        domains={"local": 1},
    )
    before = made.SerializeToString(deterministic=True)
    sonnx_ort.rewrite(made)
    assert made.SerializeToString(deterministic=True) == before
