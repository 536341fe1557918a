"""The broadcast of operands, written out in front of the operator: with the same bits."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.conforming.broadcasts import EQUAL_SHAPES
from support.conformed import conformed, require_fixed, require_same_bits, violated
from support.graphs import operators, parse
from support.sessions import on_one_thread

ZEROS = "it may give 0 instead of -0 or the reverse, because more than one operand may have zeros"
MINUS_ZERO = "a -0 may become 0, because its kernel broadcasts Y"
PRODUCT = "its kernel multiplies if one exponent of 2 or 3 is for many elements"
TYPES = {"float": np.float32, "bool": np.bool_, "uint8": np.uint8, "int64": np.int64}
SPECIAL = (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 2.0, 3.0)


def random(element_type: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng((seed, *shape))
    if element_type == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if element_type != "float":
        return rng.integers(1, 9, shape).astype(TYPES[element_type])
    numbers = rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.5, rng.choice(SPECIAL, shape), numbers).astype(np.float32)


def model_of(
    operator: str,
    *operands: str,
    result: str,
    constants: Mapping[str, np.ndarray] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    names = [f"X{index}" for index in range(len(operands))]
    declared = ", ".join(f"{o} {n}" for o, n in zip(operands, names, strict=True))
    given = ", ".join([*names, *(constants or {})])
    return parse(
        f"({declared}) => ({result} Y) {{ [node] Y = {operator}({given}) }}",
        constants=constants,
        opset=opset,
    )


def reason_of(model: onnx.ModelProto) -> str:
    """Why the only rule that stays violated does."""
    ((_, reason),) = sonnx_ort.conform(model, operators="profile,-Graph").remaining
    return reason


def rank(rules: set[str]) -> bool:
    return rules <= EQUAL_SHAPES and bool(rules)


ARITHMETIC = ["Add", "Sub", "Mul", "Div", "Mod<fmod=1>"]
OF_FLOATS = [*ARITHMETIC, "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
KNOWN = [
    ((5, 7), (7,)), ((1000,), (1,)), ((3, 100), (3, 1)), ((4, 1, 6), (5, 1)), ((5, 1), (1, 7)),
    ((1, 1), (1,)), ((0, 3), (3,)), ((33,), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("operator", OF_FLOATS)
@pytest.mark.parametrize("shapes", KNOWN, ids=str)
def test_a_broadcast_of_known_sizes_is_written_out_and_keeps_the_bits(
    operator: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    common = ",".join(map(str, np.broadcast_shapes(*shapes)))
    result = f"{'float' if operator in ARITHMETIC else 'bool'}[{common}]"
    for one, other in (shapes, shapes[::-1]):
        operands = [f"float[{','.join(map(str, shape))}]" for shape in (one, other)]
        model = model_of(operator, *operands, result=result)
        assert rank(violated(model))
        require_fixed(model, {"X0": random("float", one), "X1": random("float", other, 1)})


@pytest.mark.parametrize(
    ("operator", "element_type"),
    [("Or", "bool"), ("And", "bool"), ("Xor", "bool"), ("Max", "uint8"), ("Min", "int64"),
     ("Mod", "int64"), ("Div", "int64"), ("BitShift<direction=\"LEFT\">", "uint8"),
     ("BitwiseAnd", "int64"), ("PRelu", "float")],
)  # fmt: skip
def test_other_types_and_operators_keep_their_bits(operator: str, element_type: str) -> None:
    operands = [f"{element_type}[n,5]", f"{element_type}[5]"]
    opset = 18 if operator.startswith("Bitwise") else 15
    model = model_of(operator, *operands, result=f"{element_type}[n,5]", opset=opset)
    assert rank(violated(model))
    other = random(element_type, (5,), 1)
    runs = ({"X0": random(element_type, (rows, 5)), "X1": other} for rows in (0, 1, 40))
    require_fixed(model, *runs)


OPEN = [
    ("a,b", "b"), ("a,1", "b"), ("a,1,5", "q,p,1"), ("a,b,c", "b,1"), ("a,b,1,c", "1,d,1"),
    ("2,a,b", "1,b"), ("a,5", "b,1,5"),
]  # fmt: skip


def ran(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray] | None:
    """The results; None if the run ends with an error."""
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    try:
        return session.run(None, feeds)
    except Exception:  # noqa: BLE001 - the classes of ONNX Runtime's errors are its own
        return None


@pytest.mark.parametrize("opset", [10, 13, 17])
@pytest.mark.parametrize(("one", "other"), OPEN)
def test_open_sizes_give_the_same_bits_or_the_same_error_in_every_run(
    one: str, other: str, opset: int
) -> None:
    rank_of_both = max(len(one.split(",")), len(other.split(",")))
    result = f"float[{','.join(f'r{axis}' for axis in range(rank_of_both))}]"
    model = model_of("Add", f"float[{one}]", f"float[{other}]", result=result, opset=opset)
    assert rank(violated(model))
    made = conformed(model)
    assert not violated(made)
    fitting = 0
    symbols = [size for size in f"{one},{other}".split(",") if not size.isdigit()]
    for sizes in product((0, 1, 3), repeat=len(symbols)):
        numbers = iter(sizes)
        shapes = [
            tuple(int(size) if size.isdigit() else next(numbers) for size in shape.split(","))
            for shape in (one, other)
        ]
        feeds = {f"X{index}": random("float", shape) for index, shape in enumerate(shapes)}
        first, second = ran(model, feeds), ran(made, feeds)
        assert (first is None) == (second is None), shapes
        if first is not None:
            require_same_bits(model, made, feeds)
            fitting += 1
    assert fitting


def test_an_operand_that_has_the_common_shape_tells_it() -> None:
    made = conformed(model_of("Mul", "float[a,b]", "float[1]", result="float[a,b]"))
    assert operators(made) == ["Shape", "Expand", "Mul"]


def test_a_common_shape_that_is_known_is_a_constant() -> None:
    made = conformed(model_of("Mul", "float[2,3]", "float[3]", result="float[2,3]"))
    assert operators(made) == ["Expand", "Mul"]


def test_sizes_of_several_operands_stay_known_behind_the_broadcast() -> None:
    model = model_of("Mul", "float[a,1,5]", "float[b,1]", result="float[a,b,5]")
    report = sonnx_ort.check(conformed(model), backend="native", operators="Mul")
    (shapes,) = [o for o in report.obligations if o.rule.id == "Mul.float.R1"]
    assert shapes.status == "proved"


def test_where_broadcast_is_explicit_nothing_is_written_out() -> None:
    model = model_of("Mul", "float[a,b]", "float[1]", result="float[a,b]")
    assert operators(conformed(model, broadcast="explicit")) == ["Mul"]


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_largest_and_smallest_beside_a_constant_without_zeros_keep_the_bits(operator: str) -> None:
    limit = np.array([1e-3], np.float32)
    model = model_of(operator, "float[a,b]", result="float[a,b]", constants={"L": limit})
    require_fixed(model, *({"X0": random("float", (n, 33))} for n in (0, 1, 9)))


@pytest.mark.parametrize("limit", [None, 0.0, -0.0])
def test_zeros_of_both_operands_keep_a_broadcast_of_largest(limit: float | None) -> None:
    model = (
        model_of("Max", "float[a,b]", "float[1]", result="float[a,b]")
        if limit is None
        else model_of(
            "Max", "float[a,b]", result="float[a,b]",
            constants={"L": np.array([limit], np.float32)},
        )
    )  # fmt: skip
    assert reason_of(model).startswith(ZEROS)
    assert not violated(conformed(model, rounding=True, measure=False))


WHERE = [
    (("bool[4,9]", "float[b]", "float[4,9]"), ((4, 9), (9,), (4, 9))),
    (("bool[b]", "float[1]", "float[a,9]"), ((9,), (1,), (4, 9))),
    (("bool[4,1]", "float[b]", "float[1,9]"), ((4, 1), (9,), (1, 9))),
    (("bool[1,9]", "float[4,9]", "float[4,1]"), ((1, 9), (4, 9), (4, 1))),
    (("bool[a,b]", "float[1]", "float[1]"), ((4, 9), (1,), (1,))),
]


def feeds_of_where(shapes: Sequence[tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    kinds = zip(("bool", "float", "float"), shapes, strict=True)
    return {f"X{index}": random(*each, seed) for index, each in enumerate(kinds)}


@pytest.mark.parametrize(("operands", "shapes"), WHERE, ids=str)
def test_a_where_that_takes_apart_in_full_keeps_the_bits(
    operands: tuple[str, str, str], shapes: tuple[tuple[int, ...], ...]
) -> None:
    model = model_of("Where", *operands, result="float[r,s]")
    assert rank(violated(model))
    require_fixed(model, *(feeds_of_where(shapes, seed) for seed in range(8)))


ONE_PART = [
    (("bool[a,b]", "float[c,d]", "float[1]"), 1),
    (("bool[b]", "float[c,d]", "float[a,1]"), 2),
    (("bool[a,1]", "float[c,d]", "float[1]"), 1),
    (("bool[1]", "float[c,d]", "float[a,1]"), 1),
]


@pytest.mark.parametrize(("operands", "expanded"), ONE_PART, ids=str)
def test_a_where_of_a_part_in_its_shape_keeps_the_bits_and_leaves_the_rest_to_a_run(
    operands: tuple[str, str, str], expanded: int
) -> None:
    model = model_of("Where", *operands, result="float[r,s]")
    assert rank(violated(model))
    made = conformed(model)
    assert not violated(made)
    assert operators(made).count("Expand") == expanded
    for seed, sizes in enumerate(product((1, 2, 3), repeat=4)):
        given = dict(zip("abcd", sizes, strict=True)) | {"1": 1}
        shapes = [
            tuple(given[size] for size in operand.partition("[")[2].rstrip("]").split(",") if size)
            for operand in operands
        ]
        feeds = feeds_of_where(shapes, seed)
        first, second = ran(model, feeds), ran(made, feeds)
        assert (first is None) == (second is None), shapes
        if first is not None:
            require_same_bits(model, made, feeds)


@pytest.mark.parametrize("given", ["Log", "Abs"])
def test_a_where_of_operands_without_minus_zero_is_written_out(given: str) -> None:
    model = parse(
        f"(bool[b] C, float[a,b] X) => (float[a,b] Y) {{ P = {given}(X)  Y = Where(C, P, Z) }}",
        constants={"Z": np.array(0, np.float32)},
    )
    sizes = product((0, 1, 2, 9), repeat=2)
    require_fixed(model, *({"C": random("bool", s[1:]), "X": random("float", s)} for s in sizes))


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_largest_and_smallest_of_operands_without_minus_zero_keep_the_bits(operator: str) -> None:
    model = parse(
        f"(float[a,b] X, float[b] Z) => (float[a,b] Y)"
        f" {{ P = Log(X)  Q = Sub(Z, E)  Y = {operator}(P, Q, N) }}",
        constants={"E": np.array(8, np.float32), "N": np.array([0], np.float32)},
    )
    shapes = product((0, 1, 2, 33), repeat=2)
    runs = ({"X": random("float", each), "Z": random("float", each[1:]) + 8} for each in shapes)
    require_fixed(model, *runs)


def test_a_where_whose_kernel_keeps_minus_zero_stays() -> None:
    model = model_of("Where", "bool[b]", "float[a,b]", "float[1]", result="float[a,b]")
    assert reason_of(model).startswith(MINUS_ZERO)
    assert not violated(conformed(model, rounding=True, measure=False))


def test_a_where_of_integers_is_written_out() -> None:
    model = model_of("Where", "bool[b]", "int64[a,b]", "int64[1]", result="int64[a,b]")
    whole, one = random("int64", (4, 9)), random("int64", (1,), 1)
    require_fixed(model, {"X0": random("bool", (9,)), "X1": whole, "X2": one})


@pytest.mark.parametrize("exponent", [0.5, -1.0, 4.0, 1.7, 0.0])
def test_powers_that_are_no_products_for_the_kernel_keep_the_bits(exponent: float) -> None:
    constants = {"E": np.array([exponent], np.float32)}
    model = model_of("Pow", "float[a,b]", result="float[a,b]", constants=constants)
    made = conformed(model)
    assert operators(made) == ["Shape", "Expand", "Pow"]
    require_same_bits(model, made, *({"X0": random("float", (n, 300))} for n in (0, 1, 9)))


def test_a_base_is_expanded_to_the_shape_of_the_exponents() -> None:
    model = model_of("Pow", "float[1]", "float[a,b]", result="float[a,b]")
    runs = (
        {n: random("float", s, i) for n, s in (("X0", (1,)), ("X1", (4, 50)))} for i in range(5)
    )
    require_fixed(model, *runs)


@pytest.mark.parametrize("operand", ["float[1]", "float[b]"])
def test_exponents_that_may_be_products_for_the_kernel_stay(operand: str) -> None:
    model = model_of("Pow", "float[a,b]", operand, result="float[a,b]")
    assert reason_of(model).startswith(PRODUCT)


def test_shapes_without_a_common_one_give_the_reason() -> None:
    model = model_of("Add", "float[a,3]", "float[2]", result="float[a,3]")
    reason = "the shapes (a, 3) and (2,) cannot be broadcast to each other"
    assert reason_of(model).startswith(reason)


@pytest.mark.parametrize("other", ["float[2,3]", "float[3]"])
def test_a_declared_result_of_another_shape_gives_the_reason(other: str) -> None:
    model = model_of("Add", "float[2,3]", other, result="float[2,4]")
    assert "declares for its result" in reason_of(model)


def test_old_models_whose_common_shape_a_run_knows_give_the_reason() -> None:
    model = model_of("Add", "float[a,1]", "float[b]", result="float[a,b]", opset=9)
    assert reason_of(model).startswith("version 9 of the standard operators slices by attributes")


def test_models_without_expand_give_the_reason() -> None:
    model = model_of("Add", "float[2,3]", "float[3]", result="float[2,3]", opset=7)
    reason = "before version 8 of the standard operators there is no Expand"
    assert reason_of(model).startswith(reason)


ONES = {
    "one axis": (("[n]", "[1]"), [(3,), (1,), (0,)], [(1,)]),
    "two axes in one operand": (
        ("[b,4,h,w]", "[1,4,1,1]"), [(2, 4, 3, 5), (1, 4, 1, 1)], [(1, 4, 1, 1)]
    ),
    "an axis in each operand": (("[1,n]", "[b,1]"), [(1, 3), (1, 1)], [(2, 1), (0, 1)]),
    "an axis beside one that is open in both": (
        ("[1,n]", "[b,m]"), [(1, 3)], [(2, 3), (1, 3), (0, 3)]
    ),
}  # fmt: skip


def of_ones(operator: str, case: str) -> onnx.ModelProto:
    one, other = ONES[case][0]
    return model_of(operator, f"float{one}", f"float{other}", result="float[]")


@pytest.mark.parametrize("case", ONES)
@pytest.mark.parametrize("operator", ["Add", "Div"])
def test_size_1_beside_an_open_size_is_repeated_and_keeps_the_bits(
    operator: str, case: str
) -> None:
    before = of_ones(operator, case)
    after = conformed(before)
    assert "Expand" in operators(after)
    for one, other in product(*ONES[case][1:]):
        feeds = {"X0": random("float", one), "X1": random("float", other, 1)}
        require_same_bits(before, after, feeds)


def test_open_sizes_are_enforced_in_the_conformed_model_without_a_violation() -> None:
    made = sonnx_ort.conform(of_ones("Add", "two axes in one operand"))
    (change,) = (each for each in made.changes if each.operator == "Add")
    title = "repeat an operand of size 1 along an open axis"
    assert (change.title, change.rules) == (title, ("Add.float.R1",))
    (status,) = (o.status for o in made.report.obligations if o.rule.id == "Add.float.R1")
    assert status == "proved"
    feeds = {"X0": np.ones((2, 4, 3, 5), np.float32), "X1": np.ones((1, 4, 1, 1), np.float32)}
    enforced = sonnx_ort.InferenceSession(sonnx_ort.rewrite(made.model, operators="Add"))
    np.testing.assert_array_equal(enforced.run(None, feeds)[0], 2)


def test_open_sizes_beside_each_other_are_left_to_runs() -> None:
    after = conformed(model_of("Add", "float[n,1]", "float[m,k]", result="float[]"))
    session = sonnx_ort.InferenceSession(sonnx_ort.rewrite(after, operators="Add"))
    feeds = {"X0": np.ones((1, 1), np.float32), "X1": np.ones((2, 3), np.float32)}
    with pytest.raises(sonnx_ort.ContractViolation, match=r"the shapes \(1, 3\) and \(2, 3\)"):
        session.run(None, feeds)


@pytest.mark.parametrize(("one", "other"), [("[2,0]", "[1,3]"), ("[n,1,2]", "[3,m,3]")])
def test_nothing_is_repeated_where_no_size_fits(one: str, other: str) -> None:
    model = model_of("Add", f"float{one}", f"float{other}", result="float[]")
    assert [c for c in sonnx_ort.conform(model).changes if c.operator == "Add"] == []
    marked = [o.rule.id for o in sonnx_ort.check(model, operators="profile").mendable]
    assert "Add.float.R1" not in marked


PADDED = """(float[1,4] x) => (float[1,1] y)
    <int64 length = {6}, int64[1] one = {1}, int64[1] four = {4}, int64[4] last = {0, 0, 0, 1}> {
    size = Shape <start = 1, end = 2> (x)
    wanted = Expand(length, one)
    missing = Sub(wanted, size)
    repeated = Expand(missing, four)
    pads = Mul(repeated, last)
    whole = Pad(x, pads)
    y = ReduceMax(whole) }"""


def test_sizes_that_were_broadcast_explicitly_are_known_still() -> None:
    """Else a ReduceMax of what is padded to a length could be one of nothing, which stays."""
    made = sonnx_ort.conform(parse(PADDED, opset=17), rounding=True, measure=False)
    assert made.remaining == ()
