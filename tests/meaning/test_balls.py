"""Balls contain what the oracle says of each operator, exactly and with the errors of a format."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx_ort.meaning import COMPUTED, Undefined, meaning
from sonnx_ort.meaning.balls import NotFollowedError, ends, precisely
from sonnx_ort.meaning.documented import followed, meaning_of, operations
from sonnx_ort.meaning.node import ELEMENT_TYPES, Node, balls
from sonnx_ort.meaning.numbers import FLOAT_FORMATS, Kind, exact_elements
from sonnx_ort.meaning.results import Choices, Copies, Result
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Applied
from support.meaning_cases import EARLY, LATE, nodes
from support.meanings import Array, meaning_over_the_reals
from support.operator_cases import OPERATOR_CASES, elements

T = ElementType
F = np.float32
FORMATS = (T.FLOAT16, T.BFLOAT16, T.FLOAT, T.DOUBLE)
COUNT = 6
FLOATING = sorted(
    COMPUTED
    - {"And", "Or", "Xor", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "ConvInteger"}
)
REAL = ("Conv", "Exp", "Gemm", "LSTM", "LeakyRelu", "MatMul", "MaxPool", "Relu", "Sigmoid", "Sin")
REAL += ("Softmax", "Tanh")
POSITIVE = {"Sqrt": (0,), "Log": (0,), "Pow": (0,), "Div": (1,), "Mod": (1,), "Reciprocal": (0,)}
"""The operands that are made positive, so that the operators are defined for all elements."""

OPERANDS = {"Where": 3, "Max": 3, "Min": 3, "Abs": 1, "Neg": 1, "Reciprocal": 1, "Sqrt": 1}


def real(operand: Array | None) -> Array | None:
    """The operand with 1 in the place of NaN and infinities."""
    if operand is None or operand.dtype.kind in "biu":
        return operand
    kept = np.isfinite(operand.astype(float))
    return np.where(kept, operand, operand.dtype.type(1)).astype(operand.dtype)


def applied(operator: str, kind: ElementType) -> Iterator[Applied]:
    """Random nodes of an operator on numbers of a type; other tests of the oracle have them too."""
    with np.errstate(invalid="ignore"):
        made = nodes if operator in (*EARLY, *LATE) else of_elements
        for each in made(operator, kind, COUNT):
            operands = [real(operand) for operand in each.operands]
            for place in POSITIVE.get(operator, ()):
                operand = operands[place]
                assert operand is not None
                tame = np.where(operand == 0, 2, abs(operand))
                operands[place] = np.asarray(tame, operand.dtype)
            yield replace(each, operands=operands)


def of_elements(operator: str, kind: ElementType, _: int) -> Iterator[Applied]:
    generator = np.random.default_rng([*map(ord, operator)])
    said = OPERATOR_CASES[operator].attributes.get(kind.family, {})
    for shapes in (((4, 1), (3,), (2, 1, 1)), ((), (5,), ()), ((2, 3),) * 3):
        count = OPERANDS.get(operator, 2)
        operands = [elements(generator, kind, shape) for shape in shapes[:count]]
        if operator == "Where":
            operands[0] = elements(generator, T.BOOL, shapes[0])
        if operator == "PRelu":
            operands[1] = operands[1].ravel()[0]
        yield Applied(operator, operands, said)


def following(operator, version, attributes, operands, binary=None) -> tuple[Array, ...]:
    return followed(operator, Node(version, attributes, tuple(operands)), binary)


def follow(node: Applied, binary=None) -> tuple[Array, ...]:
    return following(node.operator, node.opset, node.attributes, node.operands, binary)


def pairs_of(result: Result) -> Iterator[tuple[object, object]]:
    """The ends of what is admitted of each element; None for one that is not finite."""
    admitted = result.admitted
    assert not isinstance(admitted, Choices)
    alone = isinstance(admitted, Copies)
    for end in (admitted.elements,) * 2 if alone else (admitted.lowest, admitted.highest):
        if end.dtype.kind in "biu":
            yield end.ravel().tolist()
            continue
        numbers = exact_elements(np.ascontiguousarray(end), ELEMENT_TYPES[end.dtype]).ravel()
        yield [
            flint.fmpq(n.value.numerator, n.value.denominator) if n.kind is Kind.FINITE else None
            for n in numbers
        ]


def contained(found: Array, result: Result) -> bool:
    """Whether balls contain all elements that are admitted, and exact results are admitted."""
    if found.dtype != object:
        return bool(result.admitted.admits(found).all())
    free = (result.undefined | getattr(result.admitted, "anything", result.undefined)).ravel()
    with flint.ctx.workprec(1 << 12):
        return all(
            anything
            or (
                not ball.is_finite()
                if None in pair
                else all(map(ball.contains, map(flint.arb, pair)))
            )
            for ball, anything, *pair in zip(found.ravel(), free, *pairs_of(result), strict=True)
        )


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("operator", FLOATING)
def test_balls_of_a_format_contain_all_admitted_results(operator, kind):
    tried = 0
    for node in applied(operator, T.INT8 if operator == "DequantizeLinear" else kind):
        binary = FLOAT_FORMATS[kind]
        if operator == "DequantizeLinear":
            binary = FLOAT_FORMATS[ELEMENT_TYPES[node.operands[1].dtype]]
        said = meaning(operator, node.opset, node.attributes, node.operands)
        if isinstance(said, Undefined):
            continue
        try:
            found = follow(node, binary)
        except NotFollowedError:
            continue
        for each, result in zip(found, said, strict=False):
            tried += 1
            assert each.shape == result.nearest.shape
            assert contained(each, result), node
    assert tried


@pytest.mark.parametrize("operator", REAL)
def test_balls_over_the_reals_contain_the_exact_results_closely(operator):
    for node in applied(operator, T.FLOAT):
        exact = [
            operand
            if operand is None or operand.dtype.kind in "biu"
            else np.array([Fraction(float(e)) for e in operand.ravel()], object).reshape(
                operand.shape
            )
            for operand in node.operands
        ]
        said = meaning_over_the_reals(operator, node.attributes, exact)
        assert not isinstance(said, Undefined)
        for each, result in zip(follow(node), said, strict=False):
            assert each.shape == result.shape
            for ball, pair in zip(each.ravel(), result.ravel(), strict=True):
                if pair is None:
                    continue
                ends = [flint.fmpq(end.numerator, end.denominator) for end in pair]
                with flint.ctx.workprec(1 << 10):
                    assert ball.overlaps(flint.arb(ends[0]).union(flint.arb(ends[1])))
                assert ball.rad() <= flint.arb(2) ** -180 * (1 + abs(ball)).upper()


def around(operand: Array | None, generator: np.random.Generator) -> tuple[Array, Array]:
    """Balls around numbers, and numbers in them."""
    if operand is None or operand.dtype.kind in "biu":
        return operand, operand
    numbers = np.clip(operand.astype(float), -20, 20)
    radius = generator.random(numbers.shape) * abs(numbers) / 4
    inside = numbers + radius * generator.uniform(-0.99, 0.99, numbers.shape)
    made = [flint.arb(*pair) for pair in zip(numbers.ravel(), np.ravel(radius), strict=True)]
    wide = np.empty(len(made), object)
    wide[:] = made
    return wide.reshape(numbers.shape), np.asarray(inside)


@pytest.mark.parametrize("operator", [each for each in FLOATING if each != "Range"])
def test_results_of_balls_contain_those_of_all_numbers_in_them(operator):
    generator = np.random.default_rng(3)
    for node in applied(operator, T.INT8 if operator == "DequantizeLinear" else T.FLOAT):
        made = [around(operand, generator) for operand in node.operands]
        try:
            found = follow(replace(node, operands=[wide for wide, _ in made]))
        except NotFollowedError:
            continue
        points = follow(replace(node, operands=[inside for _, inside in made]))
        for each, narrow in zip(found, points, strict=True):
            if each.dtype != object:
                assert np.array_equal(each, narrow)
                continue
            flat = balls(narrow).ravel()
            assert all(a.overlaps(b) for a, b in zip(each.ravel(), flat, strict=True))


X = np.random.default_rng(0).normal(size=(2, 3, 4))
IMAGE = np.random.default_rng(1).normal(size=(1, 2, 5, 6))
LONG = np.int64


@pytest.mark.parametrize(
    "node",
    [
        Applied("Transpose", [X], {"perm": [2, 0, 1]}),
        Applied("Identity", [X]),
        Applied("Expand", [X[:, :1], LONG([1, 3, 1])]),
        Applied("Tile", [X, LONG([1, 2, 1])]),
        Applied("Gather", [X, LONG([[2, 0], [-1, 1]])], {"axis": 1}),
        Applied("Split", [X, LONG([1, 3])], {"axis": -1}, 2),
        Applied("Split", [X], {"axis": -1, "num_outputs": 3}, 3),
        Applied("Pad", [X, LONG([0, 1, 0, 2, 0, 1]), np.array(0.5)]),
        Applied("Pad", [X, LONG([1, 0]), None, LONG([2])]),
        Applied("Pad", [X, LONG([0, 2, 0, 0, 1, 3])], {"mode": "reflect"}),
        Applied("Pad", [X, LONG([0, 2, 0, 0, 1, 3])], {"mode": "edge"}),
        Applied("Slice", [X, LONG([-9, 5]), LONG([9, -9]), LONG([1, 2]), LONG([1, -2])]),
        Applied("ConstantOfShape", [LONG([2, 1])], {"value": np.float64([1.5])}),
        Applied("Dropout", [X]),
        Applied("Floor", [X]),
        Applied("Ceil", [X]),
        Applied("Erf", [X]),
        Applied("Cos", [X]),
        Applied("HardSigmoid", [X], {"alpha": 0.25}),
        Applied("ReduceSum", [X, LONG([0, -1])], {"keepdims": 0}),
        Applied("ReduceSum", [X]),
        Applied("ReduceMean", [X, LONG([1])]),
        Applied("ReduceMax", [X, LONG([-1])]),
        Applied("ReduceMin", [X, LONG([-1])]),
        Applied("ReduceSumSquare", [X, LONG([-1])]),
        Applied("GlobalAveragePool", [IMAGE]),
        Applied("AveragePool", [IMAGE], {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1]}),
        Applied(
            "AveragePool",
            [IMAGE],
            {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1},
        ),
        Applied("LayerNormalization", [X, X[0, 0], X[1, 0]]),
        Applied("MatMul", [X, X[0].T]),
        Applied("Cast", [X], {"to": 11}),
    ],
    ids=lambda node: node.operator,
)
def test_operators_without_a_document_agree_with_the_reference_evaluator(node):
    names = list(node.names)
    outputs = [f"y{i}" for i in range(node.results)]
    said = {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in node.attributes.items()
    }
    alone = helper.make_node(node.operator, names, outputs, **said)
    evaluated = ReferenceEvaluator(alone).run(None, node.feeds)
    for each, expected in zip(follow(node), evaluated, strict=True):
        found = np.array([float(ball) for ball in each.ravel()]).reshape(each.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("approximate", "curve"),
    [
        ("none", lambda x: math.erf(x / math.sqrt(2))),
        ("tanh", lambda x: math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ],
)
def test_gelu_is_that_of_its_formula(approximate, curve):
    for ball, x in zip(*following("Gelu", 21, {"approximate": approximate}, [X]), X, strict=True):
        for each, number in zip(ball.ravel(), x.ravel(), strict=True):
            assert float(each) == pytest.approx(number / 2 * (1 + curve(number)), abs=1e-15)


def wide(*ends):
    made = np.empty(1, object)
    made[0] = flint.arb(ends[0]).union(flint.arb(ends[1]))
    return made


ONE = np.array([1.0])


@pytest.mark.parametrize(
    ("operator", "attributes", "operands", "clause"),
    [
        ("Add", {}, [np.array([1.0, np.nan]), ONE], "the element at [1] is NaN or infinite"),
        ("Relu", {}, [F(np.inf)], "the element at [] is NaN or infinite"),
        ("Add", {}, [np.zeros(2), np.zeros(3)], "the shapes (2,) and (3,) cannot be broadcast"),
        ("Div", {}, [ONE, wide(-1, 1)], "a divisor may be 0"),
        ("Div", {}, [np.int32([1]), np.int32([0])], "the operands break Div.int.C1"),
        ("Sqrt", {}, [wide(-1, 1)], "a radicand may be negative"),
        ("Log", {}, [wide(0, 1)], "the operand of a logarithm may be 0 or negative"),
        ("Acos", {}, [wide(0, 2)], "the operand of an arc cosine may be outside [-1, 1]"),
        ("Pow", {}, [wide(-1, 1), np.array([0.5])], "the base of a power may be 0 or negative"),
        ("Mod", {}, [wide(0.5, 1.5), ONE], "a quotient is too close to an integer"),
        ("Less", {}, [wide(0, 1), wide(1, 2)], "two elements are too close to be compared"),
        ("Equal", {}, [wide(0, 1), wide(0, 1)], "two elements are too close to be compared"),
        ("Cast", {"to": 6}, [wide(0.5, 1)], "a number is too close to an integer to be truncated"),
        ("Cast", {"to": 3}, [wide(100, 200)], "a number may be outside int8"),
        ("Cast", {"to": 9}, [wide(0, 1)], "a number is too close to 0 to be cast to a bool"),
        ("Gather", {}, [ONE, wide(0, 0.5)], "operand 1 is not known exactly"),
        ("Gather", {}, [ONE, np.array([1])], "an index is not in [-1, 0]"),
        ("Where", {}, [wide(0, 1), ONE, ONE], "operand 0 is not known exactly"),
        (
            "ArgMax",
            {},
            [np.concatenate([wide(0, 2), wide(1, 3)])],
            "several elements may be the largest",
        ),
        ("MatMul", {}, [np.zeros((2, 3)), np.zeros((2, 3))], "(2, 3) and (2, 3) have no product"),
        ("Softmax", {"axis": 2}, [ONE], "axis 2 is not in [-1, 0]"),
        (
            "Pad",
            {},
            [ONE, np.zeros(4, int), None, np.array([0, -1])],
            "the axes [0, -1] name one twice",
        ),
        ("Einsum", {}, [ONE], "the operator is not followed"),
        ("Add", {}, [ONE], "its operands or attributes are not those of the operator"),
    ],
)
def test_what_balls_do_not_decide_has_a_clause(operator, attributes, operands, clause):
    with pytest.raises(NotFollowedError) as caught:
        following(operator, 21, attributes, operands)
    assert str(caught.value) == clause


def test_error_that_no_one_bounds_is_not_followed_in_a_format():
    with pytest.raises(NotFollowedError, match=r"^no bound of the error of Cos is known$"):
        following("Cos", 21, {}, [ONE], FLOAT_FORMATS[T.FLOAT])


@pytest.mark.parametrize(
    ("operator", "operands", "lower", "upper"),
    [
        ("Relu", [wide(-1, 2)], 0, 2),
        ("Abs", [wide(-1, 2)], 0, 2),
        ("Max", [wide(-1, 2), wide(1, 1.5)], 1, 2),
        ("Min", [wide(-1, 2), wide(1, 1.5)], -1, 1.5),
        ("Clip", [wide(-3, 3), np.array(-1.0), np.array(2.0)], -1, 2),
        ("Pow", [wide(-2, 1), np.array([2])], 0, 4),
        ("Softmax", [np.concatenate([wide(-1, 1), wide(0, 0)])], 0.268941, 0.731059),
    ],
)
def test_overlapping_balls_are_bounded_closely(operator, operands, lower, upper):
    ball = following(operator, 21, {}, operands)[0][0]
    assert float(ball.lower()) == pytest.approx(lower, abs=1e-5)
    assert float(ball.upper()) == pytest.approx(upper, abs=1e-5)


def test_uncertain_level_is_a_ball_over_both_and_is_dequantized():
    operands = [wide(2.4, 2.6), np.array(1.0), np.uint8(3)]
    (levels,) = following("QuantizeLinear", 21, {}, operands)
    assert levels.dtype == object
    (numbers,) = following("DequantizeLinear", 21, {}, [levels, np.array(0.5), np.uint8(3)])
    assert all(numbers[0].contains(flint.arb(each)) for each in (1, 1.5))
    (certain,) = following("QuantizeLinear", 21, {}, [wide(2.6, 2.7), *operands[1:]])
    assert certain.dtype == np.uint8
    assert certain.tolist() == [6]


def test_convolution_of_uncertain_integers_is_a_ball():
    x, w = wide(1, 2).reshape(1, 1, 1), np.int8([[[3]]])
    (found,) = following("ConvInteger", 21, {}, [x, w, np.uint8(1)])
    assert (float(found.item().lower()), float(found.item().upper())) == pytest.approx(
        (0, 3), abs=1e-6
    )


def test_magnitude_beyond_the_format_leaves_everything_open():
    large = F([3e38])
    assert not following("Add", 21, {}, [large, large], FLOAT_FORMATS[T.FLOAT])[0][0].is_finite()
    assert following("Add", 21, {}, [large, large])[0][0].is_finite()


@pytest.mark.parametrize(
    ("operator", "attributes", "shapes", "count"),
    [
        ("Add", {}, [(4, 1), (3,)], 12),
        ("Exp", {}, [(2, 3)], 6),
        ("MatMul", {}, [(5, 2, 3), (3, 4)], 120),
        ("Gemm", {"transB": 1}, [(2, 3), (4, 3)], 24),
        ("Conv", {}, [(1, 2, 5, 5), (3, 2, 3, 3)], 9 * 54),
        ("MaxPool", {"kernel_shape": [2, 2]}, [(1, 2, 3, 3)], 2 * 4 * 4),
        ("LSTM", {}, [(3, 2, 4), (1, 8, 4), (1, 8, 2)], 6 * 48),
        ("GRU", {}, [(3, 2, 4), (1, 6, 4), (1, 6, 2)], 6 * 36),
    ],
)
def test_operations_are_counted_by_shapes(operator, attributes, shapes, count):
    operands = [np.zeros(shape, F) for shape in shapes]
    assert operations(operator, Node(21, attributes, tuple(operands))) == count


def test_precision_of_the_caller_is_kept():
    before = flint.ctx.prec
    following("Exp", 21, {}, [ONE])
    assert flint.ctx.prec == before


@pytest.mark.parametrize(("x", "expected"), [
    (-4, 0), (-3, 0), (0, 0), (3, 3), (4, 4), (1, Fraction(2, 3)), (-1, Fraction(-1, 3)),
])  # fmt: skip
def test_hard_swish_is_a_parabola_between_zero_and_the_number(
    x: int, expected: Fraction | int
) -> None:
    (found,) = followed("HardSwish", Node(14, {}, (np.array([x], np.float32),)))
    with precisely():
        low, high = ends(found.item())
    assert low <= expected <= high
    assert high - low < Fraction(1, 2**200)


def test_hard_swish_of_float_is_enclosed_as_kernels_round() -> None:
    x = np.float32([-2.9999998, 1e-42, 0.1, 2.5, 4])
    (result,) = meaning_of("HardSwish", Node(14, {}, (x,)))
    ways = [x * np.clip(x / F(6) + F(0.5), 0, 1), x * np.clip(x + F(3), 0, 6) / F(6)]
    assert [result.outside(each).any() for each in ways] == [False, False]
    assert result.outside(x * np.clip(x / F(6) + F(0.50001), 0, 1)).any()
    assert result.bound == (
        "the roundings of the gate and of the product, a quotient by 6 in any order (ours)"
    )


def test_hard_swish_on_a_midpoint_goes_to_the_even_neighbor() -> None:
    x = np.arange(1801, 1899, 2) * 3 / 2048
    exact = x * (x + 3) / 6
    assert (exact * 2**22 % 1 == 0.5).all()
    (result,) = meaning_of("HardSwish", Node(14, {}, (x.astype(F),)))
    np.testing.assert_array_equal(result.nearest, exact.astype(F))


def test_hard_swish_of_double_may_have_a_sixth_of_float() -> None:
    x = np.array([1.0, -2.0, 4.0])
    (result,) = meaning_of("HardSwish", Node(14, {}, (x,)))
    slopes = (1 / 6, float(F(1 / 6)), float(np.nextafter(F(1 / 6), F(1))))
    outside = [result.outside(x * np.clip(x * s + 0.5, 0, 1)).tolist() for s in slopes]
    assert outside == [[False] * 3, [False] * 3, [True, True, False]]
    np.testing.assert_array_equal(result.nearest, [2 / 3, -1 / 3, 4])


def test_hard_swish_of_what_is_not_finite_follows_its_formula() -> None:
    (result,) = meaning_of("HardSwish", Node(14, {}, (F([np.inf, -np.inf, np.nan, -9, 1]),)))
    np.testing.assert_array_equal(result.nearest[:4], F([np.inf, np.nan, np.nan, 0]))
    assert not result.outside(F([np.inf, np.nan, np.nan, -0.0, 2 / 3])).any()
    assert result.outside(F([0, 0, 0, 1e-9, 0])).all()
