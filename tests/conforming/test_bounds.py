"""Each change that rounds keeps the bound that it states, at the extremes of its operand's type."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from conforming.test_templates import BY_FUNCTION, CASES

import sonnx_ort
from sonnx_ort.conforming.bounds import OF_FUNCTIONS, Bound, Inputs, Reference
from sonnx_ort.conforming.decomposing import TEMPLATES
from sonnx_ort.conforming.rounds import CHANGES, TELLING_SIZES
from support.bounded import FLOATS, require_within, runs_within
from support.conformed import reasons, require_same_bits
from support.decomposed import Case, outputs
from support.graphs import parse

LINES = ("n,m",)
MORE = [
    *(
        Case(f"A = {each}(X)", LINES, dtypes, "T[n,m]", (opset,))
        for dtypes, operators in (
            (("float", "double", "float16"), {
                "Round": 22, "Cos": 22, "HardSigmoid": 22, "Sign": 13, "Mish": 18, "Shrink": 18,
                "Floor": 13, "Ceil": 13,
            }),
            (("float", "float16"), {
                "Elu": 22, "Softsign": 22, "ThresholdedRelu": 22, "Selu": 22, "Gelu": 20,
            }),
            (("float",), {"Celu": 12}),
        )
        for each, opset in operators.items()
    ),
    Case('A = Gelu <approximate = "tanh">(X)', LINES, ("double", "float16"), "T[n,m]", (20,)),
    *(
        Case(f"A = {each} <axes = [-1]>(X)", LINES, ("float16",), "T[n,1]", (13,))
        for each in ("ReduceLogSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
    ),
    *(
        Case(f"A = LpNormalization <p = {p}>(X)", LINES, ("float16", "double"), "T[n,m]", (22,))
        for p in (1, 2)
    ),
    Case("A = LayerNormalization(X, Y)", ("n,m,6", "6"), ("double", "float16"), "T[n,m,6]", (17,)),
    Case("A = CenterCropPad <axes = [1]>(X, K)", ("n,5",), ("float",), "T[n,3]", (18,),
        constants={"K": [3]}),
    Case("A = CastLike(X, K)", LINES, ("float",), "double[n,m]", (15,),
        constants={"K": np.zeros(1)}),
    Case("A = NegativeLogLikelihoodLoss(X, Y)", ("2,3", "2"), ("float", "double"), "T[]", (13, 22),
        ("int64",)),
    *(
        Case(f"A = SoftmaxCrossEntropyLoss <{form}>(X, Y)", ("2,3", "2"), ("float", "double"),
            shape, (13,), ("int64",))
        for form, shape in (('reduction = "mean"', "T[]"), ('reduction = "none"', "T[2]"))
    ),
    Case("A = ai.onnx.ml.FeatureVectorizer <inputdimensions = [2, 3]>(X, Y)", ("n,2", "n,3"),
        ("double",), "float[a,b]"),
    Case("A = ArgMin <axis = -1>(X)", LINES, ("float", "double", "float16"), "int64[n,1]", (13,)),
    *(
        Case(f"A, B = TopK <axis = 0, largest = {largest}>(X, K)", ("3,m",), ("float", "double"),
            "T[1,m]", (17,), further="int64[1,m]", constants={"K": [1]})
        for largest in (0, 1)
    ),
]  # fmt: skip


def bound_of(operator: str, dtype: str) -> Bound | None:
    """The bound of an operator for a type; None if there is none, or it is written exactly."""
    template = TEMPLATES.get(operator)
    if template is not None:
        return template.bound if dtype in template.near - template.exact else None
    known = OF_FUNCTIONS[operator]
    return known.bound if known.types is None or dtype in known.types else None


def operator_of(case: Case) -> str:
    name = case.node.partition("= ")[2].partition("(")[0].partition(" ")[0]
    return name.replace("ai.onnx.ml.", "ai.onnx.ml::")


TRIED = [
    pytest.param(case, dtype, opset, bound, id=f"{number}-{operator_of(case)}-{dtype}-{opset}")
    for number, case in enumerate([*CASES, *BY_FUNCTION, *MORE])
    for dtype in case.dtypes
    for opset in case.opsets[-1:]
    if dtype in FLOATS and (bound := bound_of(operator_of(case), dtype)) is not None
]


@pytest.mark.parametrize(("case", "dtype", "opset", "bound"), TRIED)
def test_results_keep_the_bound_at_extremes(
    case: Case, dtype: str, opset: int, bound: Bound
) -> None:
    model = case.model(dtype, opset)
    made = sonnx_ort.conform(model, rounding=True, measure=False)
    assert bound in {change.bound for change in made.changes}
    for name, feeds in runs_within(case, dtype, bound):
        given = {key: array for key, array in feeds.items() if key in names(model)}
        (before,), (after,) = outputs(model, [given]), outputs(made.model, [given])
        for wanted, found in zip(before, after, strict=True):
            try:
                require_within(bound, case, feeds, found, wanted)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error


def names(model: onnx.ModelProto) -> set[str]:
    return {value.name for value in model.graph.input}


_WEIGHTS = np.random.default_rng(5).standard_normal((4, 4)).astype(np.float32)
_LSTM = {
    "W": np.stack([np.concatenate([_WEIGHTS[:, :3]] * 2)]),
    "R": np.stack([np.concatenate([_WEIGHTS[:, :2]] * 2)]),
}
"""The weights of an LSTM of 3 inputs and 2 hidden ones."""

OF_FORMS = [
    Case("A = MatMul(X, Y)", ("n,4,4", "1,4,3"), ("float", "double"), "T[n,4,3]"),
    *(
        Case(f"A = Gemm <{form}>(X, Y, Z)", ("4,4", "4,4", "4,4"), ("float",), "T[4,4]")
        for form in ("transA = 1", "transB = 1", "beta = 0.3", "alpha = 0.3")
    ),
    Case("A = Max(X, Y)", ("3,4", "3,1"), ("float",), "T[3,4]"),
    Case("A = Pow(X, Y)", ("3,4", "3,1"), ("float",), "T[3,4]"),
    Case("A = MaxPool <kernel_shape = [33]>(X)", ("1,2,33",), ("float",), "T[1,2,1]"),
    Case("A, B = LSTM <hidden_size = 2>(X, W, R, , , Y)", ("5,2,3", "1,2,2"), ("float",),
        "T[5,1,2,2]", further="T[1,2,2]", constants=_LSTM),
    Case("A, B = LSTM <hidden_size = 2>(X, W, R, , , , Y)", ("20,2,3", "1,2,2"), ("float",),
        "T[20,1,2,2]", further="T[1,2,2]", constants=_LSTM),
    Case("A = Pow(X, Y)", ("n,4", "n,4"), ("float",), "T[n,4]", others=("int64",)),
    Case("A = Pow(X, E)", ("n,4",), ("float", "float16"), "T[n,4]",
        constants={"E": np.array([0.1, 1 / 3, -0.7, 7.3])}),
    Case("A = QuantizeLinear <axis = 1>(X, S, Z)", ("n,3",), ("float",), "int8[n,3]",
        constants={"S": np.float32([0.1, 0.5, 2]), "Z": np.int8([1, 1, 1])}),
    Case("u = ReduceSum <keepdims = 0>(X, K) A = Neg(u)", ("n,3",), ("float",), "T[a]",
        constants={"K": [-1]}),
]  # fmt: skip
"""Nodes of the set in a form that the profile does not have."""

_OF_FORMS = {each.title: each.bound for each in (*CHANGES, *TELLING_SIZES) if each.bound}


@pytest.mark.parametrize("case", OF_FORMS, ids=lambda case: case.node)
def test_results_of_another_form_keep_the_bounds_at_extremes(case: Case) -> None:
    for dtype in case.dtypes:
        model = case.model(dtype, 17)
        made = sonnx_ort.conform(model, rounding=True, measure=False)
        bounds = [change.bound for change in made.changes if change.bound is not None]
        assert bounds
        widest = max(bounds, key=lambda bound: bound.units)
        limit = min(bound.largest for bound in bounds)
        last = max(bounds, key=lambda bound: [*Inputs].index(bound.inputs))
        for name, feeds in runs_within(case, dtype, replace(last, largest=limit)):
            (before,), (after,) = outputs(model, [feeds]), outputs(made.model, [feeds])
            for wanted, found in zip(before, after, strict=True):
                try:
                    require_within(widest, case, feeds, found, wanted)
                except AssertionError as error:
                    raise AssertionError(f"{name}: {error}") from error


def test_every_bound_of_a_form_is_tried() -> None:
    made = {
        change.title
        for case in OF_FORMS
        for dtype in case.dtypes
        for change in sonnx_ort.conform(case.model(dtype, 17), rounding=True, measure=False).changes
    }
    assert _OF_FORMS.keys() - made == {DEQUANTIZED}


DEQUANTIZED = "write a difference times the scale"


def test_dequantized_elements_are_the_same_numbers() -> None:
    model = parse(
        "(int8[2,128] x) => (float[2,128] y) { y = DequantizeLinear <axis = 0> (x, s, z) }",
        constants={"s": np.float32([1e-3, 3e38]), "z": np.int8([-128, 127])},
    )
    made = sonnx_ort.conform(model, rounding=True, measure=False)
    (bound,) = {change.bound for change in made.changes if change.title == DEQUANTIZED}
    assert bound is not None
    assert (bound.units, bound.inputs) == (0, Inputs.ALL)
    feeds = {"x": np.arange(-128, 128, dtype=np.int8).reshape(2, 128)}
    require_same_bits(model, made.model, feeds)


WINDOWS = ("BlackmanWindow", "HammingWindow", "HannWindow")


@pytest.mark.parametrize("operator", WINDOWS)
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows_keep_the_bound_for_every_size(operator: str, periodic: int) -> None:
    bound = OF_FUNCTIONS[operator].bound
    assert (bound.of, bound.inputs) == (Reference.ONE, Inputs.ALL)
    for size in (1 if periodic else 2, 3, 16, 1000):
        model = parse(
            f"(float[{size}] x) => (float[{size}] y) "
            f"{{ w = {operator} <periodic = {periodic}> (k) y = Add(x, w) }}",
            constants={"k": np.array(size)},
        )
        made = sonnx_ort.conform(model, rounding=True, measure=False)
        assert bound in {change.bound for change in made.changes}
        feeds = {"x": np.zeros(size, np.float32)}
        ((before,),), ((after,),) = (outputs(each, [feeds]) for each in (model, made.model))
        apart = np.abs(before.astype(np.float64) - after)
        assert (apart <= bound.units * np.finfo(np.float32).eps).all(), size


@pytest.mark.parametrize("operator", WINDOWS)
def test_window_of_one_element_is_left_as_it_is(operator: str) -> None:
    model = parse(
        f"(float[1] x) => (float[1] y) {{ w = {operator} <periodic = 0> (k) y = Add(x, w) }}",
        constants={"k": np.array(1)},
    )
    assert reasons(model, rounding=True, measure=False)["Graph.operator_set"] == (
        "its definition by ONNX gives NaN for a window of one element"
    )


def test_every_bound_of_an_operator_is_tried() -> None:
    of_templates = {name for name, each in TEMPLATES.items() if each.near - each.exact & FLOATS}
    tried = {operator_of(each.values[0]) for each in TRIED}
    assert (of_templates | set(OF_FUNCTIONS)) - tried == set(WINDOWS)
