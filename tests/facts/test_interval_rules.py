"""What each rule makes of the intervals of a node's inputs."""

import itertools
from collections.abc import Callable, Sequence
from math import trunc

import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.catalog import BOUNDS_RULES, bounds_rule
from sonnx_ort.facts.sizes import Bounds, Rejected, Sizes, Symbolic

BIT = Bounds(0, 1)
COUNTS = Bounds(0, 2**63 - 1)
FEW = Bounds(3, 9)
UNKNOWN = "unknown"
WIDE = Bounds(0, 2**40)
"""More than int32 can hold, so that ONNX Runtime may take a smaller number of it for a larger."""


def answers(
    operator: str,
    *operands: Bounds | str | None,
    dtype: str = "int32",
    outputs: int = 1,
    shapes: Sequence[Sizes] = (),
    shared: frozenset[str] = frozenset(),
    **attributes: object,
) -> Sequence[Bounds | None]:
    """What a rule says, given each operand's interval or type; None leaves it out."""
    inputs = [None if operand is None else ir.val(None) for operand in operands]
    node = ir.node(operator, inputs, attributes, outputs=[ir.val(None) for _ in range(outputs)])
    pairs = [(value, o) for value, o in zip(inputs, operands, strict=True) if value is not None]
    known = {value: operand for value, operand in pairs if isinstance(operand, Bounds)}
    names = {value: operand for value, operand in pairs if isinstance(operand, str)}
    types = {value: None if name == UNKNOWN else name for value, name in names.items()}
    return BOUNDS_RULES[operator](
        GraphNode(
            node,
            17,
            Held(
                shapes=dict(zip(inputs, shapes, strict=False)),
                shared=shared,
                element_type=lambda value: types.get(value, dtype),
                bounds=known,
            ),
        )
    )


def intervals(lower: int, upper: int) -> list[Bounds]:
    numbers = range(lower, upper + 1)
    return [Bounds(a, b) for a, b in itertools.combinations_with_replacement(numbers, 2)]


def hull(results: Sequence[int]) -> Bounds:
    return Bounds(min(results), max(results))


def computed(operation: Callable[..., int], operands: Sequence[Bounds]) -> Bounds | None:
    """The interval of all results; None if there is none for some operands."""
    numbers = itertools.product(*(range(b.lower, b.upper + 1) for b in operands))
    try:
        return hull([operation(*chosen) for chosen in numbers])
    except ZeroDivisionError:
        return None


def found(operator: str, operands: Sequence[Bounds]) -> Bounds | None:
    try:
        (result,) = answers(operator, *operands)
    except Rejected:
        return None
    return result


OPERATIONS: dict[str, tuple[int, Callable[..., int]]] = {
    "Abs": (1, abs),
    "Add": (2, lambda a, b: a + b),
    "Clip": (3, lambda a, low, high: min(max(a, low), high)),
    "Div": (2, lambda a, b: trunc(a / b)),
    "Max": (3, max),
    "Min": (3, min),
    "Mul": (2, lambda a, b: a * b),
    "Neg": (1, lambda a: -a),
    "Relu": (1, lambda a: max(a, 0)),
    "Sign": (1, lambda a: (a > 0) - (a < 0)),
    "Sub": (2, lambda a, b: a - b),
}


@pytest.mark.parametrize("operator", OPERATIONS)
def test_interval_is_the_smallest_around_all_results(operator: str) -> None:
    count, operation = OPERATIONS[operator]
    reach = {1: 4, 2: 3, 3: 1}[count]
    cases = list(itertools.product(intervals(-reach, reach), repeat=count))
    results = {case: found(operator, case) for case in cases}
    assert results == {case: computed(operation, case) for case in cases}


@pytest.mark.parametrize(
    ("operands", "attributes", "expected"),
    [
        ((Bounds(-9, 9), Bounds(4, 7)), {}, Bounds(0, 6)),
        ((Bounds(-9, 9), Bounds(-7, -4)), {}, Bounds(-6, 0)),
        ((Bounds(-9, 9), Bounds(-7, 4)), {}, Bounds(-6, 3)),
        ((Bounds(-9, 9), Bounds(-1, -1)), {}, Bounds(0, 0)),
        ((Bounds(-9, 9), Bounds(1, 1)), {}, Bounds(0, 0)),
        ((Bounds(-9, 9), Bounds(4, 7)), {"fmod": 1}, Bounds(-6, 6)),
        ((Bounds(-9, 9), Bounds(-7, 4)), {"fmod": 1}, Bounds(-6, 6)),
        ((Bounds(-1, 1), Bounds(-7, 4)), {"fmod": 1}, Bounds(-6, 6)),
        ((Bounds(0, 1), Bounds(4, 7)), {"fmod": 1}, Bounds(0, 6)),
        ((Bounds(-1, 0), Bounds(4, 7)), {"fmod": 1}, Bounds(-6, 0)),
        ((Bounds(-9, 9), Bounds(1, 1)), {"fmod": 1}, Bounds(0, 0)),
        ((Bounds(-9, 9), Bounds(0, 0)), {"fmod": 1}, Bounds(0, 0)),
    ],
    ids=str,
)
def test_remainder_is_smaller_than_the_divisor(
    operands: Sequence[Bounds], attributes: dict[str, int], expected: Bounds
) -> None:
    assert answers("Mod", *operands, **attributes) == [expected]


@pytest.mark.parametrize(
    ("shifted", "expected"),
    [
        (Bounds(2, 9), Bounds(0, 9)),
        (Bounds(0, 9), Bounds(0, 9)),
        (Bounds(-5, 9), Bounds(-5, 9)),
        (Bounds(-5, 0), Bounds(-5, 0)),
        (Bounds(-5, -3), Bounds(-5, -1)),
        (Bounds(-1, -1), Bounds(-1, -1)),
    ],
    ids=str,
)
def test_what_is_shifted_to_the_right_goes_towards_zero_or_minus_one(
    shifted: Bounds, expected: Bounds
) -> None:
    assert answers("BitShift", shifted, "int8", dtype="int8", direction="RIGHT") == [expected]


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((Bounds(5, 9), Bounds(-3, 4)), Bounds(0, 9)),
        ((Bounds(-3, 4), Bounds(5, 9)), Bounds(0, 9)),
        ((Bounds(5, 9), Bounds(2, 4)), Bounds(0, 4)),
        ((Bounds(0, 3), Bounds(-3, 4)), Bounds(0, 3)),
    ],
    ids=str,
)
def test_common_bits_are_no_more_than_those_of_a_number_that_is_not_negative(
    operands: Sequence[Bounds], expected: Bounds
) -> None:
    assert answers("BitwiseAnd", *operands) == [expected]


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("Clip", (WIDE, Bounds(2, 4), Bounds(4, 7)), Bounds(2, 7)),
        ("Clip", (WIDE, Bounds(2, 5), Bounds(4, 7)), Bounds(0, 2**40)),
        ("Clip", (WIDE, Bounds(9, 9), Bounds(7, 7)), Bounds(0, 2**40)),
        ("Clip", (WIDE, Bounds(-5, -5), Bounds(7, 7)), Bounds(-5, 2**40)),
        ("Clip", (WIDE, Bounds(-5, -4), Bounds(-3, -3)), Bounds(-5, 2**40)),
        ("Clip", (WIDE, Bounds(4, 7)), Bounds(0, 2**40)),
        ("Clip", (WIDE, None, Bounds(-7, -4)), Bounds(-7, 2**40)),
        ("Max", (WIDE, Bounds(4, 7)), Bounds(4, 2**40)),
        ("Max", (WIDE, Bounds(-7, -4)), Bounds(-7, 2**40)),
        ("Min", (WIDE, Bounds(-7, -4)), Bounds(-7, -4)),
        ("Min", (WIDE, Bounds(4, 7)), Bounds(0, 2**40)),
        ("Sign", (Bounds(1, 2**40),), Bounds(-1, 1)),
    ],
    ids=str,
)
def test_what_numbers_of_int64_may_be_mistaken_for_lies_in_the_interval(
    operator: str, operands: Sequence[Bounds | None], expected: Bounds
) -> None:
    assert answers(operator, *operands, dtype="int64") == [expected]


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "expected"),
    [
        ("Compress", (FEW, BIT), {}, FEW),
        ("Identity", (FEW,), {}, FEW),
        ("Where", (BIT, FEW, Bounds(1, 4)), {}, Bounds(1, 9)),
        # Kernels give 0 where a byte of the condition is neither 0 nor 1.
        ("Where", ("bool", FEW, Bounds(1, 4)), {}, Bounds(0, 9)),
        ("OneHot", (BIT, Bounds(5, 5), FEW), {}, FEW),
        ("Pad", (FEW, BIT), {}, Bounds(0, 9)),
        ("Pad", (FEW, BIT, Bounds(20, 21)), {}, Bounds(3, 21)),
        ("Pad", (FEW, BIT, None, BIT), {}, Bounds(0, 9)),
        ("Trilu", (FEW, Bounds(-9, -9)), {}, Bounds(0, 9)),
        ("Trilu", (Bounds(-9, -3),), {}, Bounds(-9, 0)),
        ("ScatterND", (FEW, BIT, Bounds(20, 21)), {}, Bounds(3, 21)),
        ("ScatterElements", (FEW, BIT, Bounds(-2, 3)), {"reduction": "none"}, Bounds(-2, 9)),
    ],
    ids=str,
)
def test_elements_are_those_of_the_inputs(
    operator: str, operands: Sequence[Bounds], attributes: dict[str, str], expected: Bounds
) -> None:
    assert answers(operator, *operands, **attributes) == [expected]


N, M = Symbolic.named("n"), Symbolic.named("m")
FILLED = Symbolic.named("filled", Bounds(1, 9))


@pytest.mark.parametrize(
    ("shapes", "shared"),
    [
        (((2, 3), (2, 5)), ""),
        (((N, 3), (N, 5)), ""),
        (((N, 3), (N, 0)), "m"),
        (((FILLED, 3), (2, 1)), ""),
        (((FILLED, 3), (N, 0)), ""),
        (((N,), (M,)), "n"),
    ],
    ids=str,
)
def test_joined_tensors_have_elements_of_the_inputs(shapes: Sequence[Sizes], shared: str) -> None:
    axis, operands = len(shapes[0]) - 1, (FEW, Bounds(1, 4))
    found = answers("Concat", *operands, shapes=shapes, shared=frozenset(shared), axis=axis)
    assert found == [Bounds(1, 9)]


@pytest.mark.parametrize(
    ("shapes", "shared"),
    [
        (((N, 3), (M, 5)), ""),
        (((N, 3), (N, 5)), "n"),
        (((2, 3), (M, 5)), ""),
        (((2, 3), (0, 5)), ""),
        (((N, 0), (0, 5)), ""),
        (((N, 3), (N,)), ""),
    ],
    ids=str,
)
def test_nothing_is_known_of_joined_tensors_if_an_empty_one_may_leave_elements_unwritten(
    shapes: Sequence[Sizes], shared: str
) -> None:
    with pytest.raises(Rejected):
        answers("Concat", FEW, FEW, shapes=shapes, shared=frozenset(shared), axis=1)


def test_every_part_has_elements_of_the_whole() -> None:
    assert answers("Split", FEW, outputs=3) == [FEW, FEW, FEW]


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((Bounds(5, 6), Bounds(2, 9), Bounds(1, 2)), Bounds(5, 8)),
        ((Bounds(5, 6), Bounds(2, 9), Bounds(0, 2)), Bounds(5, 8)),
        ((Bounds(5, 6), Bounds(2, 9), Bounds(-2, -1)), Bounds(3, 6)),
        ((Bounds(5, 6), Bounds(2, 9), Bounds(-2, 0)), Bounds(3, 6)),
        ((Bounds(5, 6), Bounds(2, 9), Bounds(-2, 2)), Bounds(3, 8)),
        ((Bounds(5, 5), Bounds(9, 9), Bounds(-2, 2)), Bounds(5, 8)),
        ((Bounds(9, 9), Bounds(5, 5), Bounds(-2, 2)), Bounds(6, 9)),
        ((Bounds(1, 1), Bounds(1 - 2**31, -5), Bounds(-2, -1)), Bounds(2 - 2**31, 1)),
        ((Bounds(0, 0), Bounds(5, 2**31 - 1), Bounds(1, 2)), Bounds(0, 2**31 - 2)),
    ],
    ids=str,
)
def test_range_goes_from_its_start_and_not_as_far_as_its_limit(
    operands: Sequence[Bounds], expected: Bounds
) -> None:
    assert answers("Range", *operands) == [expected]


@pytest.mark.parametrize(
    ("operands", "dtype"),
    [
        ((Bounds(2, 2), Bounds(1 - 2**31, -5), Bounds(-2, -1)), "int32"),
        ((Bounds(9, 9), Bounds(-(2**31), -5), Bounds(-2, -1)), "int32"),
        ((Bounds(-1, 0), Bounds(5, 2**31 - 1), Bounds(1, 2)), "int32"),
        ((Bounds(0, 0), Bounds(0, 2**53 + 1), Bounds(1, 1)), "int64"),
    ],
    ids=str,
)
def test_range_whose_length_may_not_be_counted_has_no_interval(
    operands: Sequence[Bounds], dtype: str
) -> None:
    with pytest.raises(Rejected):
        answers("Range", *operands, dtype=dtype)


def test_range_is_counted_exactly_up_to_the_numbers_that_double_tells_apart() -> None:
    operands = Bounds(0, 0), Bounds(0, 2**53), Bounds(1, 1)
    assert answers("Range", *operands, dtype="int64") == [Bounds(0, 2**53 - 1)]


@pytest.mark.parametrize(
    ("operands", "of_the_elements"), [((FEW, BIT), FEW), (("float", BIT), None)], ids=str
)
def test_what_is_found_has_elements_of_the_input_and_positions(
    operands: Sequence[Bounds | str], of_the_elements: Bounds | None
) -> None:
    assert answers("TopK", *operands, outputs=2) == [of_the_elements, COUNTS]
    counted = [of_the_elements, COUNTS, COUNTS, Bounds(1, COUNTS.upper)]
    assert answers("Unique", *operands, outputs=4) == counted


@pytest.mark.parametrize("operand", ["float", "bfloat16", "int8", "string"])
def test_comparison_of_other_than_bools_gives_a_truth_value(operand: str) -> None:
    assert answers("Equal", operand, operand, dtype="bool") == [BIT]


def test_comparison_of_truth_values_gives_one() -> None:
    assert answers("Equal", BIT, BIT, dtype="bool") == [BIT]


@pytest.mark.parametrize(
    ("operator", "operands", "dtype", "attributes"),
    [
        ("Abs", ("int8",), "int8", {}),
        ("Add", (FEW, "float"), "int32", {}),
        ("And", (BIT, "bool"), "bool", {}),
        ("BitShift", (FEW, BIT), "uint8", {"direction": "LEFT"}),
        ("BitwiseAnd", (Bounds(-1, 9), Bounds(-1, 4)), "int32", {}),
        ("Compress", (FEW, "bool"), "int32", {}),
        ("ConstantOfShape", (BIT,), "float", {}),
        ("ConstantOfShape", (BIT,), "int8", {"value": ir.tensor([1, 2])}),
        ("ConstantOfShape", (BIT,), "float", {"value": ir.tensor([1.0])}),
        ("Div", (FEW, BIT), "int32", {}),
        ("Equal", (BIT, "bool"), "bool", {}),
        ("Equal", ("bool", BIT), "bool", {}),
        ("Equal", (UNKNOWN, UNKNOWN), "bool", {}),
        ("Mod", (FEW, FEW), "int32", {"fmod": 2}),
        ("Pad", (FEW, BIT, "float"), "int32", {}),
        ("ScatterND", (FEW, BIT, FEW), "int32", {"reduction": "add"}),
        ("Where", (BIT, FEW), "int32", {}),
        ("Where", (BIT, FEW, None), "int32", {}),
    ],
    ids=str,
)
def test_rule_says_nothing_of_what_it_does_not_know(
    operator: str,
    operands: Sequence[Bounds | str | None],
    dtype: str,
    attributes: dict[str, object],
) -> None:
    with pytest.raises(Rejected):
        answers(operator, *operands, dtype=dtype, **attributes)


def test_magnitude_of_unsigned_numbers_is_their_own() -> None:
    assert answers("Abs", Bounds(0, 5), dtype="uint8") == [Bounds(0, 5)]


@pytest.mark.parametrize(
    ("operator", "attributes", "version", "reason"),
    [
        ("Compress", {}, 8, "version 0 is not verified"),
        ("Identity", {"other": 1}, 17, "other is not verified"),
        ("Det", {}, 17, "the bounds of a Det have no rule"),
    ],
    ids=str,
)
def test_only_verified_nodes_have_a_rule(
    operator: str, attributes: dict[str, int], version: int, reason: str
) -> None:
    with pytest.raises(Rejected) as caught:
        bounds_rule(GraphNode(ir.node(operator, [], attributes), version))
    assert str(caught.value) == reason
