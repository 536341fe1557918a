"""A guard holds a rule if its flags say what the rule demands, and not if they say less."""

from collections.abc import Sequence

import pytest

from sonnx_ort.checker import Rejected
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.facts import Facts, Tree
from sonnx_ort.checker.guards import holds_behind, require_guarded
from support.steps import after_all_steps, alone

X, Z, W = (("value", name) for name in "xzw")


def shape(tree: Tree) -> Tree:
    return ("Shape", (), tree)


def constant(*elements: float, kind: str = "int64") -> Tree:
    return ("constant", kind, (len(elements),), elements)


def of(operator: str, *operands: Tree) -> Tree:
    return (operator, (), *operands)


def cast(to: int, tree: Tree) -> Tree:
    return ("Cast", (("to", to),), tree)


def reduced(operator: str, tree: Tree) -> Tree:
    return (operator, (("keepdims", 0),), tree)


def along(operator: str, *operands: Tree) -> Tree:
    return (operator, (("axis", 0),), *operands)


def some(tree: Tree) -> Tree:
    """Whether a flag of a tensor is true."""
    return cast(9, reduced("ReduceMax", cast(2, tree)))


def some_float(tree: Tree) -> Tree:
    """The same for a type of which ONNX Runtime has no smaller one."""
    return of("Greater", reduced("ReduceMax", cast(1, tree)), constant(0.0, kind="float32"))


XZ = "float[2, 3] x, float[n] z"
NORMALIZED = alone("BatchNormalization(z, z, z, z, x)", XZ)
ZERO, ONE, MINUS_ONE = constant(0), constant(1), constant(-1)
BINARY = alone("Div(x, z)", "int32[n] x, int32[m] z")
OF_RANKS = alone("Div(x, z)", "int32[n] x, int32[m, k] z")
OF_LINES = alone("Div(x, z)", "int32[n] x, int32[n] z")
SHIFT = alone('BitShift<direction = "LEFT">(x, z)', "uint32[n] x, uint32[n] z")
THREE = alone("Max(x, z, w)", "int32[n] x, int32[m] z, int32[k] w")
EQUAL = of("Equal", shape(X), shape(Z))
EQUAL_RANKS = of("Equal", shape(shape(X)), shape(shape(Z)))

Case = tuple[str, str, Sequence[Tree], Sequence[Tree]]
"""A model, a rule, flags that are kept, and flags that are broken."""

SHAPES: dict[str, tuple[Case, bool]] = {
    "equal shapes": ((BINARY, "Div.int.R1", [EQUAL], []), True),
    "equal shapes, the other way round": (
        (BINARY, "Div.int.R1", [of("Equal", shape(Z), shape(X))], []),
        True,
    ),
    "part of what is kept": ((BINARY, "Div.int.R1", [of("And", EQUAL, EQUAL_RANKS)], []), True),
    "one of what is kept": ((BINARY, "Div.int.R1", [of("Or", EQUAL, EQUAL_RANKS)], []), False),
    "nothing": ((BINARY, "Div.int.R1", [], []), False),
    "broken equal shapes": ((BINARY, "Div.int.R1", [], [EQUAL]), False),
    "equal shapes of other ranks": ((OF_RANKS, "Div.int.R1", [EQUAL], []), False),
    "equal shapes and ranks": ((OF_RANKS, "Div.int.R1", [EQUAL, EQUAL_RANKS], []), True),
    "equal ranks alone": ((OF_RANKS, "Div.int.R1", [EQUAL_RANKS], []), False),
    "the same operand": ((alone("Div(x, x)", "int32[n] x"), "Div.int.R1", [], []), True),
    "three equal shapes": (
        (THREE, "Max.int.R1", [EQUAL, of("Equal", shape(X), shape(W))], []),
        True,
    ),
    "two of three equal shapes": ((THREE, "Max.int.R1", [EQUAL], []), False),
}

NUMBERS: dict[str, tuple[Case, bool]] = {
    "no zero": ((BINARY, "Div.int.C1", [], [some(of("Equal", Z, ZERO))]), True),
    "no zero, by floats": ((BINARY, "Div.int.C1", [], [some_float(of("Equal", Z, ZERO))]), True),
    "no zero, by a condition": (
        (BINARY, "Div.int.C1", [], [some(of("Equal", cast(9, Z), constant(0, kind="bool")))]),
        True,
    ),
    "no one": ((BINARY, "Div.int.C1", [], [some(of("Equal", Z, ONE))]), False),
    "no zero of another operand": ((BINARY, "Div.int.C1", [], [some(of("Equal", X, ZERO))]), False),
    "no zero and one": ((BINARY, "Div.int.C1", [], [some(of("Equal", Z, constant(0, 1)))]), False),
    "nothing equal to an operand": ((BINARY, "Div.int.C1", [], [some(of("Equal", Z, X))]), False),
    "all zero": ((BINARY, "Div.int.C1", [some(of("Equal", Z, ZERO))], []), False),
    "above zero": (
        (BINARY, "Div.int.C1", [of("Greater", reduced("ReduceMin", Z), ZERO)], []),
        True,
    ),
    "above zero, by floats": (
        (BINARY, "Div.int.C1", [of("Greater", reduced("ReduceMin", cast(1, Z)), ZERO)], []),
        True,
    ),
    "not above zero": (
        (BINARY, "Div.int.C1", [], [of("Greater", reduced("ReduceMin", Z), ZERO)]),
        False,
    ),
    "above minus one": (
        (BINARY, "Div.int.C1", [of("Greater", reduced("ReduceMin", Z), MINUS_ONE)], []),
        False,
    ),
    "one of two flags": (
        (BINARY, "Div.int.C1", [], [of("Or", some(of("Equal", Z, ZERO)), some(of("Equal", X, X)))]),
        True,
    ),
    "one flag of each element": (
        (BINARY, "Div.int.C1", [], [some(of("Or", of("Less", Z, ZERO), of("Equal", Z, ZERO)))]),
        True,
    ),
    "one flag of each element beside others": (
        (BINARY, "Div.int.C1", [], [some(of("Or", of("Equal", Z, ZERO), of("Equal", X, ZERO)))]),
        False,
    ),
    "one flag beside none": (
        (BINARY, "Div.int.C1", [],
         [some(of("Or", of("Equal", Z, ZERO), of("Less", Z, constant())))]),
        False,
    ),
    "one flag of something else": (
        (BINARY, "Div.int.C1", [], [some(of("Or", of("Equal", Z, X), of("Equal", Z, X)))]),
        False,
    ),
    "no negative exponent": (
        (alone("Pow(x, x)", "int32[n] x"), "Pow.int.C1", [], [some(of("Less", X, ZERO))]),
        True,
    ),
    "no place beyond the type": (
        (SHIFT, "BitShift.int.C1", [], [some(of("Greater", Z, constant(31)))]),
        True,
    ),
    "no place beyond a larger type": (
        (SHIFT, "BitShift.int.C1", [], [some(of("Greater", Z, constant(63)))]),
        False,
    ),
    "no exponent below another number": (
        (alone("Pow(x, x)", "int32[n] x"), "Pow.int.C1", [], [some(of("Less", X, MINUS_ONE))]),
        False,
    ),
    "no smallest number": (
        (alone("Abs(x)", "int8[n] x"), "Abs.int.C1", [], [some(of("Less", X, constant(-127)))]),
        True,
    ),
    "no number below a larger one": (
        (alone("Abs(x)", "int16[n] x"), "Abs.int.C1", [], [some(of("Less", X, constant(-127)))]),
        True,
    ),
    "another smallest number": (
        (alone("Abs(x)", "int8[n] x"), "Abs.int.C1", [], [some(of("Less", X, constant(-128)))]),
        False,
    ),
}  # fmt: skip


def quotients(
    *,
    smallest: int = -(2**31),
    a: Tree = X,
    b: Tree = Z,
    lines: tuple[int, int, int] = (-1, -1, -1),
    other: int = -1,
    copied: Tree | None = None,
    counted: tuple[int, str, int] = (9, "ReduceMax", 7),
) -> Tree:
    """Flags of quotients that are not representable, looked at if a dividend is the smallest."""
    is_smallest = of("Equal", a, constant(smallest))
    to_bool, operator, to_number = counted
    numbers = cast(2, is_smallest if copied is None else copied)
    count = cast(to_number, cast(to_bool, reduced(operator, numbers)))
    copies = of("Reshape", count, constant(lines[0]))
    first = of("Tile", of("Reshape", is_smallest, constant(lines[1])), copies)
    second = of("Tile", of("Reshape", b, constant(lines[2])), copies)
    return some(of("And", first, of("Equal", second, constant(other))))


def with_other_copies() -> Tree:
    """Flags whose divisor is copied more often."""
    flag = quotients()
    both = flag[2][2][2]
    first, (*equal, (*tile, _), minus_one) = both[2], both[3]
    return some(of("And", first, (*equal, (*tile, ONE), minus_one)))


def uncounted() -> Tree:
    """Flags that are copied as often as a constant says."""
    is_smallest = of("Equal", X, constant(-(2**31)))
    first = of("Tile", of("Reshape", is_smallest, MINUS_ONE), ZERO)
    second = of("Tile", of("Reshape", Z, MINUS_ONE), ZERO)
    return some(of("And", first, of("Equal", second, MINUS_ONE)))


QUOTIENTS: dict[str, tuple[Tree, bool]] = {
    "smallest by minus one": (quotients(), True),
    "another smallest number": (quotients(smallest=-128), False),
    "another dividend": (quotients(a=Z), False),
    "another divisor": (quotients(b=X), False),
    "another number": (quotients(other=1), False),
    "copies of another shape": (quotients(lines=(1, -1, -1)), False),
    "flags of another shape": (quotients(lines=(-1, 1, -1)), False),
    "divisors of another shape": (quotients(lines=(-1, -1, 1)), False),
    "copies by another flag": (quotients(copied=of("Equal", X, ZERO)), False),
    "copies if all are the smallest": (quotients(counted=(9, "ReduceMin", 7)), False),
    "copies by another number": (quotients(counted=(6, "ReduceMax", 7)), False),
    "other copies of divisors": (with_other_copies(), False),
    "copies by a constant": (uncounted(), False),
    "another flag": (some(of("Equal", X, Z)), False),
}


def sliced(starts: str = "1", axes: str = "0", steps: str = "1", x: str = "n") -> str:
    named = {"s": starts, "a": axes, "p": steps}
    stored = ", ".join(
        f"int64[{len(said.split(','))}] {name} = {{{said}}}" for name, said in named.items()
    )
    count = len(starts.split(","))
    return alone("Slice(x, s, z, a, p)", f"float[{x}] x, int64[{count}] z", stored)


A, S = ("value", "a"), ("value", "s")
GATHERED = along("Gather", shape(X), A)
BEYOND = [of("Less", Z, of("Neg", shape(X))), of("Less", shape(X), Z)]


def ordered(
    ends: Tree = Z, zero: Tree = ZERO, sizes: Tree | None = None, counted: Tree = Z, start: Tree = S
) -> Tree:
    below = of("Less", Z, zero)
    return of("Less", of("Where", below, of("Add", counted, sizes or shape(X)), ends), start)


LAYOUTS: dict[str, tuple[Case, bool]] = {
    "no empty axis": (
        (alone("Reshape(x, s)", "float[n] x, int64[1] s"), "Reshape.allowzero.C3", [],
         [some(of("Equal", shape(X), ZERO))]),
        True,
    ),
    "no empty axis where 0 is a size": (
        (alone("Reshape<allowzero = 1>(x, s)", "float[n] x, int64[1] s"), "Reshape.allowzero.C3",
         [], [some(of("Equal", shape(X), ZERO))]),
        False,
    ),
    "no flag of an empty axis": (
        (alone("Reshape(x, s)", "float[n] x, int64[1] s"), "Reshape.allowzero.C3", [], []),
        False,
    ),
    "ranks": (
        (alone("MatMul(x, z)", XZ), "MatMul.C1",
         [of("Equal", shape(shape(X)), constant(2)), of("Equal", shape(shape(Z)), constant(2))],
         []),
        True,
    ),
    "another rank": (
        (alone("MatMul(x, z)", XZ), "MatMul.C1",
         [of("Equal", shape(shape(X)), constant(2)), of("Equal", shape(shape(Z)), constant(3))],
         []),
        False,
    ),
    "ranks of operands that are given": (
        (alone("Clip(x, , z)", XZ), "Clip.C1",
         [of("Equal", shape(shape(X)), ZERO), of("Equal", shape(shape(Z)), ZERO)], []),
        True,
    ),
    "ranks of a rule of another operator": (
        (alone("QuantizeLinear(w, x, z)", "float[n] w, float[?] x, uint8[?] z"),
         "QuantizeLinear.signature",
         [of("Equal", shape(shape(X)), ZERO), of("Equal", shape(shape(Z)), ZERO)], []),
        True,
    ),
    "every axis": (
        (sliced(), "Slice.R2", [of("Equal", shape(A), shape(shape(X)))], []),
        True,
    ),
    "every axis of another value": (
        (sliced(), "Slice.R2", [of("Equal", shape(S), shape(shape(X)))], []),
        False,
    ),
    "starts": ((sliced(), "Slice.R8", [], [of("Less", shape(X), constant(2))]), True),
    "other starts": ((sliced(), "Slice.R8", [], [of("Less", shape(X), constant(1))]), False),
    "starts of named axes": (
        (sliced("1", "1", x="n, m"), "Slice.R8", [], [of("Less", GATHERED, constant(2))]),
        True,
    ),
    "starts of all axes for named ones": (
        (sliced("1", "1", x="n, m"), "Slice.R8", [], [of("Less", shape(X), constant(2))]),
        False,
    ),
    "starts of all axes": (
        (sliced("1, 1", "0, 1", "1, 1", x="n, m"), "Slice.R8", [],
         [of("Less", shape(X), constant(2, 2))]),
        True,
    ),
    "starts from behind": (
        (sliced("-1"), "Slice.R8", [], [of("Less", shape(X), ZERO)]),
        False,
    ),
    "starts of steps backwards": (
        (sliced(steps="-1"), "Slice.R8", [], [of("Less", shape(X), constant(2))]),
        False,
    ),
    "ends": ((sliced(), "Slice.C2", [], BEYOND), True),
    "ends in front alone": ((sliced(), "Slice.C2", [], BEYOND[:1]), False),
    "ends behind alone": ((sliced(), "Slice.C2", [], BEYOND[1:]), False),
    "ends of steps backwards": ((sliced(steps="-1"), "Slice.C2", [], BEYOND), False),
    "an order": ((sliced(), "Slice.R6", [], [ordered()]), True),
    "an order of other ends": ((sliced(), "Slice.R6", [], [ordered(ends=S)]), False),
    "an order of ends counted otherwise": ((sliced(), "Slice.R6", [], [ordered(counted=S)]), False),
    "an order by other sizes": ((sliced(), "Slice.R6", [], [ordered(sizes=GATHERED)]), False),
    "an order by another number": ((sliced(), "Slice.R6", [], [ordered(zero=ONE)]), False),
    "an order by no number": ((sliced(), "Slice.R6", [], [ordered(zero=W)]), False),
    "an order of other starts": ((sliced(), "Slice.R6", [], [ordered(start=A)]), False),
    "an order of steps backwards": ((sliced(steps="-1"), "Slice.R6", [], [ordered()]), False),
}  # fmt: skip

JOINED = alone("Concat<axis = 0>(x, z)", "float[n, 3] x, float[m, k] z")
JOINED_ALIKE = alone("Concat<axis = 0>(x, z)", "float[n, 3] x, float[m, 3] z")
MASK = constant(True, False, kind="bool")
LARGEST = alone("ArgMax<axis = 1>(x)", "float[n, m] x")
NEGATIVE = alone("ArgMax<axis = -1>(x)", "float[n, m] x")


def of_place(*place: float, x: Tree = X, least: Tree = ONE) -> list[Tree]:
    return [of("Less", along("Gather", shape(x), constant(*place)), least)]


AXES: dict[str, tuple[Case, bool]] = {
    "equal sizes but for the axis": (
        (JOINED, "Concat.C2", [of("Or", of("Equal", shape(X), shape(Z)), MASK)], []),
        True,
    ),
    "equal sizes but for the axis, the other way round": (
        (JOINED, "Concat.C2", [of("Or", of("Equal", shape(Z), shape(X)), MASK)], []),
        True,
    ),
    "equal sizes but for another axis": (
        (JOINED, "Concat.C2",
         [of("Or", of("Equal", shape(X), shape(Z)), constant(False, True, kind="bool"))], []),
        False,
    ),
    "sizes that are known to be equal": ((JOINED_ALIKE, "Concat.C2", [], []), True),
    "sizes that are not known to be equal": ((JOINED, "Concat.C2", [], []), False),
    "sizes of other ranks": (
        (JOINED.replace("[m, k]", "[m]"), "Concat.C2",
         [of("Or", of("Equal", shape(X), shape(Z)), MASK)], []),
        False,
    ),
    "three operands": (
        (alone("Concat<axis = 0>(x, z, w)", "float[n, 3] x, float[m, 3] z, float[n, k] w"),
         "Concat.C2", [], []),
        False,
    ),
    "an axis with elements": ((LARGEST, "ArgMax.R5", [], of_place(1)), True),
    "an axis with elements, of the whole shape": (
        (LARGEST, "ArgMax.R5", [], [some(of("Less", shape(X), constant(0, 1)))]),
        True,
    ),
    "an axis with elements, from behind": ((LARGEST, "ArgMax.R5", [], of_place(-1)), False),
    "another axis with elements": ((LARGEST, "ArgMax.R5", [], of_place(0)), False),
    "an axis with elements of another value": ((LARGEST, "ArgMax.R5", [], of_place(1, x=Z)), False),
    "an axis with an element or none": (
        (LARGEST, "ArgMax.R5", [], of_place(1, least=ZERO)),
        False,
    ),
    "an axis of a vector of one flag more": (
        (LARGEST, "ArgMax.R5", [], [some(of("Less", shape(X), ONE))]),
        False,
    ),
    "no flag of an axis": ((LARGEST, "ArgMax.R5", [], []), False),
    "a flag of something else": ((LARGEST, "ArgMax.R5", [], [of("Less", X, ONE)]), False),
}  # fmt: skip

NONES = constant(-1, -1, -1, -1)
POOL = alone("MaxPool<kernel_shape = [2, 3]>(x)", "float[1, 1, n, m] x")


def short(
    axes: Sequence[float] = (2, 3),
    least: Sequence[float] = (2, 3),
    nones: Tree = NONES,
    x: Tree = X,
) -> list[Tree]:
    sizes = along("Gather", along("Concat", shape(x), nones), constant(*axes))
    return [some(of("Less", sizes, constant(*least)))]


def sized(size: float, axis: float = 1, none: float = -1) -> Tree:
    around = along("Concat", shape(X), constant(none, none, none, none))
    return of("Equal", along("Gather", around, constant(axis)), constant(size))


WINDOWS: dict[str, tuple[list[Tree], bool]] = {
    "both axes": (short(), True),
    "both axes, one by one": ([*short([2], [2]), *short([3], [3])], True),
    "larger sizes": (short(least=[5, 5]), True),
    "one axis": (short([2], [2]), False),
    "one axis twice": (short([2, 2], [2, 3]), False),
    "smaller sizes": (short(least=[2, 2]), False),
    "sizes of another value": (short(x=Z), False),
    "too few sizes of no axes": (short(nones=constant(-1, -1, -1)), False),
    "positive sizes of no axes": (short(nones=constant(9, 9, 9, 9)), False),
    "sizes that are no constants": (
        [some(of("Less", along("Gather", along("Concat", shape(X), NONES), constant(2, 3)), Z))],
        False,
    ),
    "another flag": ([some(of("Less", X, ZERO))], False),
}
GROUPS: dict[str, tuple[list[Tree], bool]] = {
    "one size": ([sized(4)], True),
    "another size": ([sized(5)], False),
    "the size of another axis": ([sized(4, 0)], False),
    "the size of no axis": ([sized(4, none=4)], False),
}
W_SIZES, X_SIZES, X_OR_THE_MULTIPLE = (
    along("Gather", along("Concat", shape(value), constant(none, none)), ONE)
    for value, none in ((Z, -1), (X, -2), (X, -4))
)
CHANNELS: dict[str, tuple[list[Tree], bool]] = {
    "a multiple": ([of("Equal", of("Mul", W_SIZES, constant(4)), X_SIZES)], True),
    "another multiple": ([of("Equal", of("Mul", W_SIZES, constant(2)), X_SIZES)], False),
    "equal sizes": ([of("Equal", W_SIZES, X_SIZES)], False),
    "no axis as long as a multiple of no axis": (
        [of("Equal", of("Mul", W_SIZES, constant(4)), X_OR_THE_MULTIPLE)],
        False,
    ),
    "the other way round": ([of("Equal", X_SIZES, of("Mul", W_SIZES, constant(4)))], False),
}
GROUPED = alone("Conv<group = 4>(x, z)", "float[1, n, 8, 8] x, float[4, 1, 3, 3] z")

LOWEST = constant(-3.4e38, kind="float32")
INFINITE = constant(float("-inf"), kind="float32")
NO_NAN = of("IsNaN", X)
BELOW = of("Less", X, LOWEST)
ABOVE = of("Greater", X, constant(1, kind="float32"))

ELEMENTS: dict[str, tuple[Case, bool]] = {
    "neither": ((POOL, "MaxPool.float.C2", [], [some(BELOW), some(NO_NAN)]), True),
    "neither, in one flag": ((POOL, "MaxPool.float.C2", [], [some(of("Or", BELOW, NO_NAN))]), True),
    "no NaN alone": ((POOL, "MaxPool.float.C2", [], [some(NO_NAN)]), False),
    "nothing below alone": ((POOL, "MaxPool.float.C2", [], [some(BELOW)]), False),
    "nothing below infinity": (
        (POOL, "MaxPool.float.C2", [], [some(of("Less", X, INFINITE)), some(NO_NAN)]),
        False,
    ),
    "nothing below a limit of no elements": (
        (POOL, "MaxPool.float.C2", [], [some(of("Less", X, constant())), some(NO_NAN)]),
        False,
    ),
    "no NaN where it is asked for": ((LARGEST, "ArgMax.float.C1", [], [some(NO_NAN)]), True),
    "no NaN where nothing says so": ((LARGEST, "ArgMax.float.C1", [], []), False),
    "nothing outside where NaN is admitted": (
        (alone("Acos(x)"), "Acos.float.C1", [], [some(of("Less", X, ZERO)), some(ABOVE)]),
        True,
    ),
    "nothing above alone where NaN is admitted": (
        (alone("Acos(x)"), "Acos.float.C1", [], [some(ABOVE)]),
        False,
    ),
    "no negative variance": (
        (NORMALIZED, "BatchNormalization.C3", [],
         [some(of("Less", X, ZERO)), some(NO_NAN)]),
        True,
    ),
    "no negative variance, but NaN": (
        (NORMALIZED, "BatchNormalization.C3", [],
         [some(of("Less", X, ZERO))]),
        False,
    ),
    "no variance that is NaN": (
        (NORMALIZED, "BatchNormalization.C3", [], [some(NO_NAN)]),
        False,
    ),
}  # fmt: skip


def guards_of_windows() -> dict[str, tuple[Case, bool]]:
    return {name: ((POOL, "MaxPool.fits", [], b), holds) for name, (b, holds) in WINDOWS.items()}


def guards_of_groups() -> dict[str, tuple[Case, bool]]:
    return {name: ((GROUPED, "Conv.R3", b, []), holds) for name, (b, holds) in GROUPS.items()}


def guards_of_channels() -> dict[str, tuple[Case, bool]]:
    return {
        name: ((GROUPED, "Conv.channels", k, []), holds) for name, (k, holds) in CHANNELS.items()
    }


def guards_of_quotients() -> dict[str, tuple[Case, bool]]:
    found: dict[str, tuple[Case, bool]] = {
        name: ((OF_LINES, "Div.int.C2", [], [flag]), holds)
        for name, (flag, holds) in QUOTIENTS.items()
    }
    above = of("Greater", reduced("ReduceMin", Z), ZERO)
    return {**found, "positive divisors": ((OF_LINES, "Div.int.C2", [above], []), True)}


CASES = {
    f"{kind}: {name}": case
    for kind, table in (
        ("shapes", SHAPES),
        ("numbers", NUMBERS),
        ("quotients", guards_of_quotients()),
        ("layouts", LAYOUTS),
        ("axes", AXES),
        ("windows", guards_of_windows()),
        ("groups", guards_of_groups()),
        ("channels", guards_of_channels()),
        ("elements", ELEMENTS),
    )
    for name, case in table.items()
}


@pytest.mark.parametrize("name", CASES)
def test_guard_holds_what_its_flags_say(name: str) -> None:
    (text, rule, kept, broken), expected = CASES[name]
    model = after_all_steps(text)
    beside = Enforced(model, model.proto)
    facts = Facts(frozenset(kept), frozenset(broken))
    assert holds_behind(model.node("y"), beside, facts, rule) is expected


UNGUARDED = {
    "a rule of another operator": ("Sub.int.R1", "the node is a Div"),
    "a rule without known guards": (
        "Div.int.R2",
        "Div.int.R2 of the node of 'y' has no guards of a known form",
    ),
    "a rule that no guard holds": ("Div.int.R1", "Div.int.R1 of the node of 'y' is not guarded"),
}


@pytest.mark.parametrize("name", UNGUARDED)
def test_rule_without_a_guard_is_rejected(name: str) -> None:
    rule, message = UNGUARDED[name]
    model = after_all_steps(BINARY)
    with pytest.raises(Rejected) as caught:
        require_guarded(model.node("y"), Enforced(model, model.proto), "y", rule)
    assert str(caught.value) == message
