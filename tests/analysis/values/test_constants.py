"""Which values are constants, and what follows from constants alone."""

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest

import sonnx_ort
from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.profile.rule import Status
from support.graphs import parse


def produced(attributes, *, operator="Constant", domain=""):
    return ir.node(operator, [], attributes, domain=domain).outputs[0]


def initializer(tensor, *, overridable=False):
    value = ir.val("v", const_value=tensor)
    ir.Graph([value] if overridable else [], [], nodes=[], initializers=[value])
    return value


TENSOR = ir.tensor(np.array([3, 4], np.int64))
EXTERNAL = ir.ExternalTensor(
    "weights", offset=0, length=16, dtype=ir.DataType.INT64, shape=ir.Shape([2]), name="v"
)
PARAMETER = ir.RefAttr("value", "given", ir.AttributeType.TENSOR)


@pytest.mark.parametrize(
    ("value", "elements"),
    [
        pytest.param(produced({"value": TENSOR}), [3, 4], id="tensor"),
        pytest.param(produced({"value_int": 3}), 3, id="one number"),
        pytest.param(produced({"value_ints": [3, 4]}), [3, 4], id="numbers"),
        pytest.param(initializer(TENSOR), [3, 4], id="initializer"),
    ],
)
def test_elements_of_a_constant_are_known(value, elements):
    assert constant_tensor(value).numpy().tolist() == elements


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(ir.val("v"), id="input"),
        pytest.param(produced({}, operator="Relu"), id="computed"),
        pytest.param(produced({"value": TENSOR}, operator="Other"), id="another operator"),
        pytest.param(produced({"value": TENSOR}, domain="their.domain"), id="another domain"),
        pytest.param(produced({"value": TENSOR, "value_int": 3}), id="said twice"),
        pytest.param(produced({"value": PARAMETER}), id="parameter of a function"),
        pytest.param(initializer(TENSOR, overridable=True), id="that an input can override"),
        pytest.param(initializer(EXTERNAL), id="external"),
    ],
)
def test_elements_of_anything_else_are_unknown(value):
    assert constant_tensor(value) is None


def test_reading_a_constant_leaves_its_tensor_as_it_is():
    tensor = ir.tensor(np.array([3, 4], np.int64), name="given")
    constant_tensor(produced({"value": tensor}))
    assert tensor.name == "given"


HEAD = "(int32[2] x) => (int32[2] z) <int32[2] c = {4, -5}, int32[2] e = {3, 2}>"


def divides_by(nodes: str) -> onnx.ModelProto:
    return parse(f"{HEAD} {{ {nodes} [divide] z = Div(x, b) }}")


def known(made: onnx.ModelProto) -> np.ndarray | None:
    graph = load(made).graph_model
    divisor = next(node for node in graph.graph if node.name == "divide").inputs[1]
    assert divisor is not None
    return Facts(graph).constant(divisor)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("b = Add(c, e)", [7, -3]),
        ("b = Div(c, e)", [1, -2]),
        ("b = Mod(c, e)", [1, 1]),
        ("p = Mul(c, e) q = Sub(p, c) b = Neg(q)", [-8, 5]),
        ("s = Shape(x) t = Cast<to = 6>(s) b = Expand(t, s)", None),
        ("s = Shape(c) t = Cast<to = 6>(s) b = Expand(t, s)", [2, 2]),
        ("p = Less(c, e) b = Where(p, c, e)", [3, -5]),
        ("s = Constant<value = int32 {2}>() b = Div(c, s)", [2, -2]),
        ("s = Constant<value = int32 {0}>() b = Div(c, s)", None),
        ("s = Constant<value = int32 {0}>() b = Mod(c, s)", None),
        ("p = Less(c, e) b = Cast<to = 6>(p)", [0, 1]),
        ("p = Less(c, e) q = Not(p) b = Cast<to = 6>(q)", [1, 0]),
        ("p = Less(c, e) q = Xor(p, p) b = Cast<to = 6>(q)", [0, 0]),
        ("b = Max(c, e)", [4, 2]),
        ("u = Cast<to = 13>(e) b = Cast<to = 6>(u)", [3, 2]),
        ("i = Constant<value = int32 {1}>() j = Add(i, i) b = Range(i, j, i)", [1]),
    ],
)
def test_integers_are_computed_as_in_a_run(nodes: str, expected: list[int] | None) -> None:
    elements = known(divides_by(nodes))
    assert (None if elements is None else elements.tolist()) == expected


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param("b = Sub(x, c)", id="an input"),
        pytest.param("r = RandomNormal<shape = [2]>() b = Cast<to = 6>(r)", id="random numbers"),
        pytest.param("f = Cast<to = 1>(c) g = Sqrt(f) b = Cast<to = 6>(g)", id="floats"),
        pytest.param("f = Cast<to = 1>(c) b = Cast<to = 6>(f)", id="floats between"),
        pytest.param(
            "f = Constant<value = float[2] {4, 5}>() b = Cast<to = 6>(f)", id="a float constant"
        ),
        pytest.param("p = Sub(c, c) b = Div(e, p)", id="a rule is broken before"),
        pytest.param("b = Pow(c, e)", id="an operator that is not on the list"),
    ],
)
def test_nothing_is_claimed_of(nodes: str) -> None:
    assert known(divides_by(nodes)) is None


def test_broken_rule_is_a_violation_before_any_session_starts() -> None:
    report = sonnx_ort.check(
        divides_by("p = Sub(c, e) q = Add(p, e) b = Sub(c, q)"), operators="default"
    )
    (violation,) = report.violations
    assert (violation.rule.id, violation.status) == ("Div.int.C1", Status.VIOLATED)
    assert violation.evidence == "the constant B 'b' is zero at [0]"


@pytest.mark.parametrize("backend", ["native", "python"])
def test_broken_rule_is_rejected_by_each_backend(backend: str) -> None:
    with pytest.raises(sonnx_ort.ModelRejected, match=r"Div\.int\.C1"):
        sonnx_ort.rewrite(divides_by("b = Sub(c, c)"), backend=backend)


@pytest.mark.parametrize(("count", "computed"), [(2**12, True), (2**12 + 1, False)])
def test_large_tensors_are_not_computed(count: int, computed: bool) -> None:
    made = parse(
        f"(int64[n] x) => (int64[n] z) <int64[1] one = {{1}}, int64[1] size = {{{count}}}>"
        " { b = Expand(one, size) [divide] z = Div(x, b) }"
    )
    elements = known(made)
    assert (None if elements is None else len(elements)) == (count if computed else None)


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize(("count", "computed"), [(2**12, True), (2**12 + 1, False)])
def test_large_constants_are_not_read(dtype: str, count: int, computed: bool) -> None:
    made = parse(
        "(int64[1] x) => (int64[1] z) <int64[1] i = {1}>"
        " { g = Gather(w, i) b = Cast<to = 7>(g) [divide] z = Div(x, b) }",
        constants={"w": np.ones(count, dtype)},
    )
    assert (known(made) is not None) is computed


def test_version_of_an_operator_is_that_of_the_model() -> None:
    made = parse(
        "(int32[2] x) => (int32[2] z) <int32[1, 2] c = {4, -5}>"
        " { b = Squeeze<axes = [0]>(c) [divide] z = Div(x, b) }",
        opset=11,
    )
    elements = known(made)
    assert elements is not None
    assert elements.tolist() == [4, -5]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What each session would have been made of; none is."""
    asked: list[tuple[Any, ...]] = []

    def refuse(*arguments: Any) -> None:
        asked.append(arguments)
        raise RuntimeError

    monkeypatch.setattr(onnxruntime, "InferenceSession", refuse)
    return asked


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([4, 5], [1, 0]),
        ([4, 5], 0),
        ([[4], [5]], [1, 0]),
        # These would end the process.
        ([-(2**31), 1], [-1, 1]),
        ([-(2**31), 1], -1),
        ([4, 5], [1, 2, 3]),
    ],
)
def test_no_kernel_is_asked_to_break_a_rule(
    one: list[int], other: list[int] | int, asked: list[tuple[Any, ...]]
) -> None:
    made = parse(
        "(int32[2] x) => (int32[] z) { b = Div(p, q) [divide] z = Div(x, b) }",
        constants={"p": np.array(one, np.int32), "q": np.array(other, np.int32)},
    )
    assert known(made) is None
    assert asked == []


def test_kernel_of_the_processor_is_asked_in_one_thread(asked: list[tuple[Any, ...]]) -> None:
    assert known(divides_by("b = Add(c, e)")) is None
    ((_, options, providers),) = asked
    assert (options.intra_op_num_threads, providers) == (1, ["CPUExecutionProvider"])


def test_kernel_that_refuses_is_not_heard(capfd: pytest.CaptureFixture[str]) -> None:
    assert known(divides_by("s = Constant<value_ints = [3]>() b = Reshape(c, s)")) is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("length", "computed"), [(200, True), (400, False)])
def test_long_chains_are_not_computed(length: int, computed: bool) -> None:
    # Twice as many paths lead to each further value.
    nodes = " ".join(f"v{i + 1} = Sub(v{i}, v{i})" for i in range(length))
    elements = known(divides_by(f"v0 = Identity(c) {nodes} b = Identity(v{length})"))
    assert (elements is not None) is computed
