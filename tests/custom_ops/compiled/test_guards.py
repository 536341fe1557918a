"""The operator Guard fails where the rule is broken that a term states, and gives the rest on."""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pytest
from onnx import helper
from statements import kept_by

import sonnx_ort
from sonnx_ort.custom_ops.compiled.guards import GUARD, GuardOperand, guard_text, guarded_rules
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.contract import ValueContract
from sonnx_ort.profile.contract_rules import contract_requirement
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import COMPILED_DOMAIN
from sonnx_ort.profile.requirements.axes import AxesNamedOnce, EqualButOnAxis
from sonnx_ort.profile.requirements.differences import DifferenceWithinInt32
from sonnx_ort.profile.requirements.elements import INT32, NumbersUnderCrossedBounds, on_elements
from sonnx_ort.profile.requirements.exact_powers import ExactPower
from sonnx_ort.profile.requirements.lines import LinesAboveNegativeInfinity
from sonnx_ort.profile.requirements.quotients import NONZERO
from sonnx_ort.profile.requirements.reshaping import InferableSize
from sonnx_ort.profile.requirements.shapes import on_shapes
from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.profile.rule import Requirement, Rule
from sonnx_ort.terms.language import All, Each, Either, IfGiven, IsMultiple, SizesBehind, Tensor
from sonnx_ort.terms.numbers import FINITE_NUMBERS, NumberSet
from sonnx_ort.vectors.applied import special_values
from support.graphs import model, tensor
from support.ort_values import run
from support.sessions import quiet

LIBRARY = str(sonnx_ort.kernels_library())

Array = npt.NDArray[Any]


def session_of(types: Sequence[ElementType], tests: str, **attributes: str) -> ort.InferenceSession:
    """A session of one Guard, whose operands are of these types, on one thread."""
    names = [f"operand {place}" for place in range(len(types))]
    named = {f"operand_{place}": name for place, name in enumerate(names)}
    given = {"node": "n", "operator": "Op", "tests": tests, **named, **attributes}
    node = helper.make_node(GUARD, names, ["y"], domain=COMPILED_DOMAIN, **given)
    values = [tensor(name, kind.value, None) for name, kind in zip(names, types, strict=True)]
    results = [tensor("y", types[0].value, None)]
    made = model([node], values, results, opset=17, domains={COMPILED_DOMAIN: 1})
    options = quiet()
    options.register_custom_ops_library(LIBRARY)
    return ort.InferenceSession(made.SerializeToString(), options)


def rule_of(requirement: Requirement) -> Rule:
    """A rule that demands something, with the code of one that has a test."""
    code = next(guarded_rules()).code
    return Rule("Op.C1", code, requirement)


def guard_of(requirement: Requirement, types: Sequence[ElementType]) -> ort.InferenceSession:
    operands = [GuardOperand(i, f"operand {i}", kind) for i, kind in enumerate(types)]
    tests = guard_text(rule_of(requirement), operands, types[0])
    assert tests is not None
    return session_of(types, tests)


def passes(session: ort.InferenceSession, *arrays: Array) -> bool:
    """Whether the arrays pass, unchanged; otherwise the error says which rule is broken."""
    feeds = {f"operand {place}": array for place, array in enumerate(arrays)}
    try:
        (result,) = run(session, feeds)
    except Exception as error:
        if "SONNX: Op 'n' breaks " not in str(error):
            raise
        return False
    assert result is not None
    assert (result.shape, result.tobytes()) == (arrays[0].shape, arrays[0].tobytes())
    return True


def states(rule: str, given: Mapping[str, Array], **attributes: Any) -> bool:
    """Whether operands keep a rule, by the plain statement of it."""
    return bool(np.all(kept_by(rule, given, attributes)))


NUMBERS = {
    "finite": FINITE_NUMBERS,
    "not NaN": NumberSet("NaN", admits_nan=False),
    "not zero": NONZERO,
    "neither zero nor NaN": NumberSet("0", admits_nan=False, admits_zero=False),
    "within int32": INT32,
    "not negative, or NaN": NumberSet("negative", lambda _: (0, math.inf)),
    "not positive": NumberSet("positive", lambda _: (-math.inf, -0.0), admits_nan=False),
    "from -1 to 1, or NaN": NumberSet("far", lambda _: (-1, 1)),
    "0 alone": NumberSet("other than 0", lambda _: (0, 0), admits_nan=False),
    "from a third to 1": NumberSet("far", lambda _: (1 / 3, 1), admits_nan=False),
    "nothing": NumberSet("there", lambda _: (5, 3), admits_nan=False),
    "subnormal": NumberSet("far", lambda _: (-(2.0**-149), 2.0**-149), admits_nan=False),
}
"""Sets of numbers."""

TYPES = [kind for kind in ElementType if kind.family is not Family.BOOLEAN]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=NUMBERS.keys())
def test_elements_pass_that_are_in_the_set(numbers: NumberSet, kind: ElementType) -> None:
    session = guard_of(on_elements("x", numbers), [kind])
    for element in [*special_values(kind), kind.dtype.type(0), kind.dtype.type(1)]:
        for array in (np.array(element), np.array([1, element, 1], kind.dtype)):
            if array.size > 1 and numbers.first_outside(np.array([1], kind.dtype)) is not None:
                continue
            assert passes(session, array) == (numbers.first_outside(array) is None), array
    assert passes(session, np.empty((3, 0), kind.dtype))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("place", [0, 1023, 1024, 2048, 3072, 4095, 4096, 32768, 99_999])
def test_one_element_outside_is_found_wherever_it_is(kind: ElementType, place: int) -> None:
    session = guard_of(on_elements("x", NONZERO), [kind])
    elements = np.ones((100, 1000), kind.dtype)
    assert passes(session, elements)
    elements.reshape(-1)[place] = 0
    with pytest.raises(Exception, match=rf"operand 0\[{place // 1000}, {place % 1000}\] = 0; "):
        run(session, {"operand 0": elements})


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", ["finite", "neither zero nor NaN", "from -1 to 1, or NaN"])
def test_element_is_judged_alike_wherever_it_is_in_a_block(name: str, kind: ElementType) -> None:
    session = guard_of(on_elements("x", NUMBERS[name]), [kind])
    for element in special_values(kind):
        number = element.item()
        nan, zero = math.isnan(number), number == 0
        match name:
            case "finite":
                allowed = not nan and abs(number) != math.inf
            case "from -1 to 1, or NaN":
                allowed = nan or -1 <= number <= 1
            case _:
                allowed = not nan and not zero
        for size, place in ((4096, 0), (4096, 1024), (4096, 4095), (4097, 4096), (8191, 5000)):
            elements = np.ones(size, kind.dtype)
            elements[place] = element
            assert passes(session, elements) == allowed, (number, size, place)


@pytest.mark.parametrize("kind", [t for t in TYPES if t.family is Family.FLOAT])
def test_whole_numbers_pass(kind: ElementType) -> None:
    requirement = contract_requirement(ValueContract("x", whole=True))
    session = guard_of(requirement, [kind])
    for element in [*special_values(kind), kind.dtype.type(-3), kind.dtype.type(2.5)]:
        array = np.array([element])
        assert passes(session, array) == (float(element) % 1 == 0), array


X, W = Tensor("operand 0"), Tensor("operand 1")

Sizes = tuple[int, ...]

TERMS: dict[str, tuple[Any, Callable[[Sizes, Sizes], bool]]] = {
    "a rank": (X.rank == 2, lambda x, _: len(x) == 2),
    "a size": (X.size(0) >= 2, lambda x, _: x[0] >= 2),
    "a size from the end": (X.size(-1) <= 2, lambda x, _: x[-1] <= 2),
    "a size that is not there": (X.size(3) == 0, lambda *_: False),
    "sizes of two": (X.size(1) == W.size(0), lambda x, w: x[1] == w[0]),
    "a multiple": (3 * W.size(0) == X.size(0), lambda x, w: 3 * w[0] == x[0]),
    "a large multiple": (
        (1 << 62) * W.size(0) >= X.size(0),
        lambda x, w: (w[0] << 62) >= x[0],
    ),
    "a number that is a multiple": (IsMultiple(X.size(0), 2), lambda x, _: x[0] % 2 == 0),
    "an axis": (X.has_axis(-2), lambda x, _: len(x) >= 2),
    "an axis or the end": (X.has_axis(2, or_end=True), lambda x, _: len(x) >= 2),
    "sizes behind": (SizesBehind(X, -2, 1), lambda x, _: len(x) >= 2 and x[-1] <= 1),
    "all": (
        All((X.rank == 2, X.size(0) == 2, W.rank >= 1)),
        lambda x, w: len(x) == 2 and x[0] == 2 and len(w) >= 1,
    ),
    "one of two": (
        Either((X.rank == 1, W.size(0) == 3)),
        lambda x, w: len(x) == 1 or w[0] == 3,
    ),
    "each": (Each(lambda each: each.rank == 1), lambda x, w: len(x) == len(w) == 1),
    "an operand that is not given": (
        IfGiven(Tensor("operand 7"), X.rank == 9),
        lambda *_: True,
    ),
    "a shape": (X.is_of_shape(2, 3), lambda x, _: x == (2, 3)),
    "nothing": (All(()), lambda *_: True),
}
"""Terms, each with what it says of two shapes; of a size that is not there nothing holds."""

SHAPES = [(), (0,), (1,), (2,), (3,), (2, 3), (3, 2), (4, 1), (2, 1), (0, 3), (6, 2, 1)]


def holds(said: Callable[[Sizes, Sizes], bool], x: Sizes, w: Sizes) -> bool:
    try:
        return said(x, w)
    except IndexError:
        return False


@pytest.mark.parametrize(("term", "said"), TERMS.values(), ids=TERMS.keys())
def test_shapes_pass_of_which_the_term_holds(
    term: Any, said: Callable[[Sizes, Sizes], bool]
) -> None:
    requirement = on_shapes(("operand 0", "operand 1"), lambda _: term)
    session = guard_of(requirement, [ElementType.FLOAT, ElementType.INT64])
    for shapes in itertools.product(SHAPES, repeat=2):
        arrays = [np.zeros(shapes[0], np.float32), np.zeros(shapes[1], np.int64)]
        assert passes(session, *arrays) == holds(said, *shapes), shapes


@pytest.mark.parametrize("axis", [0, 1, -1, -2, 5, -5])
def test_shapes_pass_that_differ_on_the_axis_alone(axis: int) -> None:
    requirement = EqualButOnAxis(axis=axis)
    session = guard_of(requirement, [ElementType.FLOAT] * 2)
    for shapes in itertools.product(SHAPES, repeat=2):
        arrays = [np.zeros(shape, np.float32) for shape in shapes]
        # Scalars are left to another rule.
        of_scalars = shapes[0] == ()
        kept = of_scalars or states("Concat.C2", dict(zip("XY", arrays, strict=True)), axis=axis)
        assert passes(session, *arrays) == kept, shapes


def test_equal_shapes_pass() -> None:
    session = guard_of(RULES["Max.float.R1"].requirement, [ElementType.INT8] * 3)
    for shapes in itertools.product(SHAPES, repeat=2):
        arrays = [np.zeros(shape, np.int8) for shape in (shapes[0], *shapes)]
        assert passes(session, *arrays) == (shapes[0] == shapes[1]), shapes


@pytest.mark.parametrize("kind", [ElementType.FLOAT, ElementType.FLOAT16, ElementType.BFLOAT16])
@np.errstate(invalid="ignore")
def test_numbers_pass_unless_they_are_nan_under_crossed_bounds(kind: ElementType) -> None:
    requirement = NumbersUnderCrossedBounds()
    session = guard_of(requirement, [kind] * 3)
    bounds = [*(np.array(b, kind.dtype) for b in (-math.inf, -0.0, 0, 2, math.nan)), np.zeros(1)]
    for low, high in itertools.product(bounds, repeat=2):
        for elements in ([], [math.nan], [1, math.inf], [1, 2, math.nan]):
            arrays = [
                np.array(elements, kind.dtype),
                low.astype(kind.dtype),
                high.astype(kind.dtype),
            ]
            given = dict(zip(("input", "min", "max"), arrays, strict=True))
            # Bounds that are no scalars are left to another rule.
            kept = low.ndim + high.ndim > 0 or states("Clip.float.C3", given)
            assert passes(session, *arrays) == kept, arrays


@pytest.mark.parametrize("axis", [0, 1, -1, -3, 3])
@pytest.mark.parametrize("kind", [ElementType.FLOAT, ElementType.DOUBLE, ElementType.FLOAT16])
def test_lines_pass_that_are_not_negative_infinity_throughout(kind: ElementType, axis: int) -> None:
    requirement = LinesAboveNegativeInfinity(axis=axis)
    session = guard_of(requirement, [kind])
    random = np.random.default_rng(0)
    for shape in [*SHAPES, (2, 3, 2)]:
        for _ in range(8):
            array = np.where(random.random(shape) < 0.7, -np.inf, 1).astype(kind.dtype)
            array = np.where(random.random(shape) < 0.1, np.nan, array).astype(kind.dtype)
            kept = states("Softmax.float.C6", {"X": array}, axis=axis)
            assert passes(session, array) == kept, array


BASES = [-(2**63), -(2**53), -(2**32), -3, -2, -1, 0, 1, 2, 3, 94906265, 2**31, 2**53, 2**63 - 1]
EXPONENTS = [-(2**63), -2, -1, 0, 1, 2, 3, 7, 31, 52, 53, 63, 2**53 - 1, 2**53, 2**63 - 1]
INTEGERS = [kind for kind in TYPES if kind.family is Family.INTEGER]


@pytest.mark.parametrize("kind", INTEGERS)
def test_powers_pass_that_are_exact_and_of_the_type(kind: ElementType) -> None:
    session = guard_of(ExactPower(), [kind] * 2)
    limits = np.iinfo(kind.dtype)
    ends = [int(limits.min), int(limits.min) + 1, int(limits.max) - 1, int(limits.max)]
    bases, exponents = (
        [number for number in [*numbers, *ends] if limits.min <= number <= limits.max]
        for numbers in (BASES, EXPONENTS)
    )
    for base, exponent in itertools.product(bases, exponents):
        for beside in ([], [1, 2]):
            arrays = [np.array([*beside, n], kind.dtype) for n in (base, exponent)]
            given = dict(zip("XY", arrays, strict=True))
            assert passes(session, *arrays) == states("Pow.int.C2", given), (base, exponent)


@pytest.mark.parametrize("place", [0, 32767, 32768, 99_999])
def test_power_is_named_wherever_it_is(place: int) -> None:
    session = guard_of(ExactPower(), [ElementType.INT32] * 2)
    bases, exponents = (np.full((100, 1000), number, np.int32) for number in (2, 30))
    assert passes(session, bases, exponents)
    exponents.reshape(-1)[place] = 31
    at = f"[{place // 1000}, {place % 1000}]"
    found = re.escape(f"breaks {next(guarded_rules()).id}: operand 0{at} = 2, operand 1{at} = 31;")
    with pytest.raises(Exception, match=found):
        run(session, {"operand 0": bases, "operand 1": exponents})


def test_powers_of_two_shapes_are_not_judged() -> None:
    session = guard_of(ExactPower(), [ElementType.INT32] * 2)
    feeds = {f"operand {i}": np.ones(size, np.int32) for i, size in enumerate((2, 1))}
    with pytest.raises(Exception, match="Op 'n': a guard of powers got operands of two shapes"):
        run(session, feeds)


INT32_ENDS = [-(2**31), 1 - 2**31, -2, -1, 0, 1, 2, 2**31 - 2, 2**31 - 1]


def test_numbers_pass_whose_differences_are_of_int32() -> None:
    session = guard_of(DifferenceWithinInt32(), [ElementType.INT32] * 2)
    for x, *zeros in itertools.product(INT32_ENDS, repeat=3):
        for several in (zeros, zeros[:1], zeros[0], []):
            arrays = [np.array([0, x, 0], np.int32), np.array(several, np.int32)]
            given = dict(zip(("X", "x_zero_point"), arrays, strict=True))
            assert passes(session, *arrays) == states("DequantizeLinear.C1", given), arrays


def test_difference_reads_the_operands_that_the_text_names() -> None:
    session = session_of([ElementType.INT32, ElementType.FLOAT, ElementType.INT32],
                         f"{CODE} difference 0 2")  # fmt: skip
    x, scale = np.array([2**31 - 1, 5], np.int32), np.ones((), np.float32)
    assert passes(session, x, scale, np.array(1, np.int32))
    assert not passes(session, x, scale, np.array(-1, np.int32))


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("written", [False, True], ids=["an operand", "an attribute"])
def test_axes_pass_that_are_named_once(rank: int, *, written: bool) -> None:
    data = np.zeros((1,) * rank, np.float32)
    for axes in itertools.chain.from_iterable(
        itertools.product(range(-3, 3), repeat=count) for count in range(4)
    ):
        if written and not axes:
            continue
        requirement = AxesNamedOnce(axes=axes if written else None)
        kinds = [ElementType.FLOAT, *([] if written else [ElementType.INT64])]
        arrays = [data, *([] if written else [np.array(axes, np.int64)])]
        given = dict(zip("XA", arrays, strict=False))
        kept = states("Squeeze.A.C2", given, axes=axes)
        session = _of_axes(requirement, tuple(kinds))
        assert passes(session, *arrays) == kept, axes


@cache
def _of_axes(requirement: AxesNamedOnce, kinds: tuple[ElementType, ...]) -> ort.InferenceSession:
    return guard_of(requirement, kinds)


CUTS = {
    SliceDemand.START_WITHIN: "Slice.R8",
    SliceDemand.END_WITHIN: "Slice.C2",
    SliceDemand.IN_ORDER: "Slice.R6",
}

ENDS = [-(2**63), -(2**31), -6, -5, -4, -1, 0, 1, 4, 5, 6, 2**31 - 1, 2**63 - 1]


@pytest.mark.parametrize("demand", SliceDemand)
@pytest.mark.parametrize("kind", [ElementType.INT64, ElementType.INT32])
def test_places_pass_that_a_slice_may_have(kind: ElementType, demand: SliceDemand) -> None:
    requirement = Slicing(demand)
    session = guard_of(requirement, [ElementType.FLOAT, *[kind] * 4])
    limits = np.iinfo(kind.dtype)
    ends = [end for end in ENDS if limits.min <= end <= limits.max]
    data = np.zeros((3, 5), np.float32)
    for start, end, axis, step in itertools.product(ends, ends, (1, -1, 2), (1, -1, 0)):
        places = [np.array([place], kind.dtype) for place in (start, end, axis, step)]
        given = dict(zip(("X", "starts", "ends", "axes", "steps"), (data, *places), strict=True))
        kept = states(CUTS[demand], given)
        assert passes(session, data, *places) == kept, (start, end, axis, step)


@pytest.mark.parametrize("copies_zeros", [False, True])
def test_sizes_pass_that_follow_from_the_others(copies_zeros: bool) -> None:
    requirement = InferableSize(copies_zeros=copies_zeros)
    session = guard_of(requirement, [ElementType.UINT8, ElementType.INT64])
    for shape, sizes in itertools.product(SHAPES, ([], [-1], [0, -1], [2, 3], [0], [-1, 3])):
        arrays = [np.zeros(shape, np.uint8), np.array(sizes, np.int64)]
        given = dict(zip("XS", arrays, strict=True))
        kept = states("Reshape.allowzero.C3", given, allowzero=int(not copies_zeros))
        assert passes(session, *arrays) == kept, (shape, sizes)


CODE = next(guarded_rules()).code
FLOATS = [ElementType.FLOAT] * 2

REFUSED = {
    "nothing": ("", "has no test"),
    "no number": ("x within", "a number is missing"),
    "another rule": ("9998 same", "a rule or a kind of test is unknown"),
    "another kind": (f"{CODE} even", "a rule or a kind of test is unknown"),
    "no kind": (f"{CODE}", "a rule or a kind of test is unknown"),
    "an operand that is not there": (
        f"{CODE} within 2 1 0 1 0 1",
        "an operand of a test is missing",
    ),
    "powers without limits": (f"{CODE} power 7", "bits are missing"),
    "powers of floats": (f"{CODE} power 1 0 0 0", "a type is unknown"),
    "powers of an unknown type": (f"{CODE} power 99 0 0 0", "a type is unknown"),
    "a difference of one operand": (f"{CODE} difference 0", "a number is missing"),
    "a difference to no operand": (f"{CODE} difference 0 2", "an operand of a test is missing"),
    "a difference of no operand": (f"{CODE} difference 2 0", "an operand of a test is missing"),
    "a difference below the first": (f"{CODE} difference 0 -1", "an operand is negative"),
    "an axis that is no number": (f"{CODE} once 0 x", "a number is missing"),
    "an operand below the first": (f"{CODE} within -1 1 0 1 0 1", "an operand is negative"),
    "a type without numbers": (f"{CODE} within 0 9 0 1 0 1", "a type is unknown"),
    "an unknown type": (f"{CODE} within 0 99 0 1 0 1", "a type is unknown"),
    "no end": (f"{CODE} within 0 1 0", "bits are missing"),
    "more than a test": (f"{CODE} same 1", "a test goes on after its end"),
    "fractions of integers": (f"{CODE} whole 0 7 0 1 0 1", "a type has no fractions"),
    "too few operands": (f"{CODE} slice 0", "an operand of a test is missing"),
    "an unknown word": (f"{CODE} shapes is rank 0 many", "a number is missing"),
    "a number with a tail": (f"{CODE} shapes is rank 0 number 1x", "a number is missing"),
    "half a term": (f"{CODE} shapes is rank 0", "a term ends too early"),
    "more than a term": (f"{CODE} shapes is rank 0 rank 0 rank 0", "a term goes on after its end"),
    "a number for a term": (f"{CODE} shapes rank 0", "a term begins with a number"),
    "no operand": (f"{CODE} shapes is rank 2 rank 0", "names an operand that is not there"),
    "all of nothing": (f"{CODE} shapes all 0", "a term is about nothing"),
    "a factor of 0": (f"{CODE} shapes multiple rank 0 0", "a factor is not positive"),
    "a factor below 0": (f"{CODE} shapes is times -2 rank 0 rank 0", "a factor is negative"),
    "a deep term": (f"{CODE} shapes {'all 1 ' * 99} is rank 0 rank 0", "a term is too deep"),
}


@pytest.mark.parametrize(("tests", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_session_refuses_what_guards_do_not_know(tests: str, reason: str) -> None:
    with pytest.raises(Exception, match="; rewrite the original model") as caught:
        session_of(FLOATS, tests)
    assert reason in str(caught.value)


def test_operand_of_another_type_than_the_test_has_fails() -> None:
    session = session_of(FLOATS, f"{CODE} within 1 7 0 1 0 1")
    with pytest.raises(Exception, match="another type than it was made for"):
        run(session, dict.fromkeys(["operand 0", "operand 1"], np.zeros(3, np.float32)))


@pytest.mark.parametrize(
    "test", ["difference 0 1", "difference 1 0", "power 6 0 0 0", "power 7 0 0 0", "once"]
)
def test_operands_of_other_types_than_a_test_reads_fail(test: str) -> None:
    types = [ElementType.INT32, ElementType.FLOAT]
    session = session_of(types, f"{CODE} {test}")
    feeds = {f"operand {i}": np.zeros(3, kind.dtype) for i, kind in enumerate(types)}
    with pytest.raises(Exception, match="another type than it was made for"):
        run(session, feeds)


@pytest.mark.thorough
def test_bounds_of_large_multiples_fail_where_they_cannot_be_compared() -> None:
    term = (1 << 62) * W.size(0) == (1 << 62) * X.size(0)
    requirement = on_shapes(("operand 0", "operand 1"), lambda _: term)
    session = guard_of(requirement, FLOATS)
    arrays = [np.zeros(size, np.float32) for size in (0, 1, 4)]
    assert passes(session, arrays[1], arrays[1])
    assert passes(session, arrays[0], arrays[0])
    assert not passes(session, arrays[2], arrays[2])
