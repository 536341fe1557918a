"""A model cannot talk its way around the pass: it is refused, or enforced all the same."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from support.backends import on_each_backend
from support.graphs import binary_model, model, tensor

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


def test_one_symbol_for_two_inputs_proves_nothing() -> None:
    made = binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])
    with pytest.raises(Exception, match="breaks the SONNX profile"):
        run_plain(made, {"A": X, "B": ONE})


def test_false_value_info_proves_nothing() -> None:
    made = model(
        [
            helper.make_node("Identity", ["a"], ["c"]),
            helper.make_node("Identity", ["b"], ["d"]),
            helper.make_node("Div", ["c", "d"], ["e"], name="div"),
        ],
        [tensor("a", "float", ["x"]), tensor("b", "float", ["y"])],
        [tensor("e", "float", ["z"])],
        value_info=[tensor("c", "float", [3]), tensor("d", "float", [3])],
    )
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(made).run(None, {"a": X, "b": ONE})
    assert caught.value.shapes == ((3,), (1,))


def test_false_value_info_does_not_reject_a_good_model() -> None:
    made = model(
        [
            helper.make_node("Identity", ["a"], ["c"]),
            helper.make_node("Identity", ["b"], ["d"]),
            helper.make_node("Div", ["c", "d"], ["e"], name="div"),
        ],
        [tensor("a", "float", ["x"]), tensor("b", "float", ["y"])],
        [tensor("e", "float", ["z"])],
        value_info=[tensor("c", "float", [3]), tensor("d", "float", [4])],
    )
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
        ("", "takes the place of the standard operator of that name"),
        ("ai.onnx", "takes the place of the standard operator of that name"),
        ("sonnx", "lies in the domain 'sonnx', which belongs to the enforced operators"),
    ],
)
def test_function_that_shadows_an_operator_is_refused(domain: str, reason: str) -> None:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(shadowing(domain, "Div"))
    assert str(caught.value) == (
        f"the model-local function 'Div' {reason}; move it to a domain of its own"
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
    made = model(
        [
            helper.make_node("Div", ["x", "y"], ["q"], name="div"),
            helper.make_node(operator, ["q", "s"], ["z"]),
        ],
        [tensor("x", "float", ["n"]), tensor("y", "float", ["n"])],
        [tensor("z", "float", shape)],
        initializers=[onnx.numpy_helper.from_array(np.array(constant), "s")],
        value_info=[] if claim is None else [tensor("q", "float", claim)],
    )
    feeds = {"x": np.ones(4, np.float32), "y": ONE}
    with pytest.raises(Exception, match="Div 'div' breaks the SONNX profile"):
        run_plain(made, feeds, level)


def test_run_fails_even_where_a_caller_lets_the_optimizer_drop_the_guard() -> None:
    made = model(
        [
            helper.make_node("Div", ["x", "y"], ["q"], name="div"),
            helper.make_node("Reshape", ["q", "s"], ["z"]),
        ],
        [tensor("x", "float", ["n"]), tensor("y", "float", ["n"])],
        [tensor("z", "float", [2, 2])],
        initializers=[onnx.numpy_helper.from_array(np.array([2, 2]), "s")],
    )
    options = sonnx_ort.register()
    options.log_severity_level = 4
    options.add_session_config_entry("optimization.disable_specified_optimizers", "")
    enforced = sonnx_ort.rewrite(made).SerializeToString()
    feeds = {"x": np.ones(4, np.float32), "y": ONE}
    # Older versions of ONNX Runtime refuse to start such a session.
    with pytest.raises(Exception, match="Reshape"):
        ort.InferenceSession(enforced, options).run(None, feeds)


def test_constant_operands_are_not_folded_past_the_check() -> None:
    made = model(
        [helper.make_node("Div", ["a", "b"], ["q"], name="div")],
        [],
        [tensor("q", "int32", [2])],
        initializers=[
            onnx.numpy_helper.from_array(np.array([-(2**31), 1], np.int32), "a"),
            onnx.numpy_helper.from_array(np.array([-1, 1], np.int32), "b"),
        ],
    )
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(made)
    assert [o.rule.id for o in caught.value.report.violations] == ["Div.int.C2"]


def test_false_sizes_do_not_reach_the_check_of_shapes() -> None:
    made = model(
        [
            helper.make_node("Neg", ["x"], ["a"]),
            helper.make_node("Neg", ["y"], ["b"]),
            helper.make_node("Div", ["a", "b"], ["z"], name="div"),
        ],
        [tensor("x", "float", ["n"]), tensor("y", "float", ["m"])],
        [tensor("z", "float", ["k"])],
        value_info=[tensor("a", "float", [3]), tensor("b", "float", [3])],
    )
    session = sonnx_ort.InferenceSession(made, broadcast="explicit")
    (result,) = session.run(None, {"x": ONE, "y": ONE})
    np.testing.assert_array_equal(result, [1])


def test_value_that_is_falsely_declared_a_scalar_is_checked_as_it_is() -> None:
    made = model(
        [
            helper.make_node("Div", ["x", "x"], ["a"], name="first"),
            helper.make_node("Div", ["a", "x"], ["z"], name="second"),
        ],
        [tensor("x", "float", None)],
        [tensor("z", "float", None)],
        value_info=[tensor("a", "float", [])],
    )
    session = sonnx_ort.InferenceSession(made, broadcast="explicit")
    (result,) = session.run(None, {"x": np.ones((2, 3), np.float32)})
    np.testing.assert_array_equal(result, np.ones((2, 3)))


@pytest.mark.parametrize("claims", [[], [3]], ids=["no claim", "a claim"])
def test_node_of_which_only_the_shape_is_read_is_enforced(claims: list[int]) -> None:
    made = model(
        [
            helper.make_node("Div", ["x", "y"], ["a"], name="div"),
            helper.make_node("Shape", ["a"], ["z"]),
        ],
        [tensor("x", "float", ["n"]), tensor("y", "float", [3])],
        [tensor("z", "int64", [1])],
        value_info=[tensor("a", "float", claims)] if claims else [],
    )
    with pytest.raises(sonnx_ort.ContractViolation):
        sonnx_ort.InferenceSession(made).run(None, {"x": ONE, "y": X})


def test_model_that_was_given_is_not_renamed() -> None:
    constant = onnx.numpy_helper.from_array(np.array([2], np.float32), "c")
    body = [
        helper.make_node("Constant", [], ["c"], value=constant),
        helper.make_node("Div", ["a", "c"], ["b"], name="div"),
    ]
    imports = [helper.make_opsetid("", 17)]
    made = model(
        [
            helper.make_node("fun", ["x"], ["y"], domain="local"),
            helper.make_node("fun", ["y"], ["z"], domain="local"),
        ],
        [tensor("x", "float", [1])],
        [tensor("z", "float", [1])],
        functions=[helper.make_function("local", "fun", ["a"], ["b"], body, imports)],
        domains={"local": 1},
    )
    before = made.SerializeToString(deterministic=True)
    sonnx_ort.rewrite(made)
    assert made.SerializeToString(deterministic=True) == before
