"""Exponents of the type of their base, and scalars in place of vectors of one element."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.conformed import conformed, require_same_bits, violated
from support.graphs import parse
from support.sessions import on_one_thread

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int32": np.int32,
    "int64": np.int64,
}
OTHERWISE = "of floats the power may be rounded otherwise"


def random(element_type: str, *shape: int) -> np.ndarray:
    rng = np.random.default_rng((7, *shape))
    if element_type.startswith("int"):
        return rng.integers(-9, 9, shape).astype(TYPES[element_type])
    scale = rng.choice([1, 1, 100, 0.01], shape)
    numbers = (rng.standard_normal(shape) * scale).astype(TYPES[element_type])
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
    return np.where(rng.random(shape) < 0.05, special, numbers).astype(TYPES[element_type])


def power(
    base: str, shape: str, exponent: np.ndarray | str, *, result: str = "", opset: int = 17
) -> onnx.ModelProto:
    constants = {} if isinstance(exponent, str) else {"E": exponent}
    declared = f", {exponent} E" if isinstance(exponent, str) else ""
    return parse(
        f"({base}[{shape}] X{declared}) => ({base}[{result or shape}] Z)"
        " { [power] Z = Pow(X, E) }",
        constants=constants,
        opset=opset,
    )


def reasons(model: onnx.ModelProto, **choices: object) -> dict[str, str]:
    return {o.rule.id: reason for o, reason in sonnx_ort.conform(model, **choices).remaining}


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("opset", [12, 13, 17])
@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        ("float", np.array(2)),
        ("float", np.array([3], np.int32)),
        ("float", np.array(3.0)),
        ("double", np.array(7)),
        ("double", np.array(0.3, np.float32)),
        ("double", np.array([1, 2, 3, 4, 5])),
        ("double", "int64[5]"),
        ("double", "int32[n,5]"),
        ("double", "float[n,1]"),
        ("int32", np.array(3)),
        ("int32", np.array([2.0], np.float32)),
        ("int64", np.array([0, 1, 2, 3, 4], np.int32)),
        ("int64", "int32[5]"),
    ],
)
def test_an_exponent_gets_the_type_of_the_base_and_the_bits_stay(
    base: str, exponent: np.ndarray | str, opset: int
) -> None:
    model = power(base, "n,5", exponent, opset=opset)
    rules = {f"Pow.{'int' if base.startswith('int') else 'float'}.R2"}
    assert violated(model, broadcast="explicit") == rules
    made = conformed(model, broadcast="explicit")
    assert not violated(made, broadcast="explicit")
    assert not {"GR3", *rules} & set(reasons(model, broadcast="explicit"))
    for rows in (0, 1, 2, 300):
        feeds = {"X": random(base, rows, 5)}
        if isinstance(exponent, str):
            element_type, _, shape = exponent[:-1].partition("[")
            sizes = [rows if size == "n" else int(size) for size in shape.split(",")]
            feeds["E"] = np.abs(random(element_type, *sizes))
        require_same_bits(model, made, feeds)


def test_a_constant_exponent_is_converted_without_a_node() -> None:
    made = conformed(power("float", "n,5", np.array(2)), broadcast="explicit")
    assert operators(made) == ["Pow"]


KEPT = [
    ("float", np.array(5), OTHERWISE),
    ("float", np.array(0.5), OTHERWISE),
    ("float", "int64[5]", OTHERWISE),
    ("float16", np.array(2.0, np.float32), OTHERWISE),
    ("int32", np.array(0.5, np.float32), "an exponent is no number of int32"),
    ("int32", np.array(2**40), "an exponent is no number of int32"),
    ("int32", "int64[5]", "an exponent may be no number of int32"),
    ("int64", "float[5]", "an exponent may be no number of int64"),
]


@pytest.mark.parametrize(("base", "exponent", "reason"), KEPT)
def test_an_exponent_that_keeps_its_type_gives_the_reason(
    base: str, exponent: np.ndarray | str, reason: str
) -> None:
    given = reasons(power(base, "n,5", exponent), broadcast="explicit")
    (why,) = (why for rule, why in given.items() if rule.endswith(".R2"))
    assert why.startswith(reason)


def test_a_square_of_columns_of_one_is_no_product_for_the_kernel() -> None:
    given = reasons(power("float", "n,1", np.array(2)), broadcast="explicit")
    assert given["Pow.float.R2"].startswith(OTHERWISE)


@pytest.mark.parametrize("exponent", [row[1] for row in KEPT[:4]], ids=str)
def test_an_unsafe_change_converts_the_exponents_of_floats(exponent: np.ndarray | str) -> None:
    model = power("float", "n,5", exponent)
    assert not violated(conformed(model, broadcast="explicit", unsafe=True), broadcast="explicit")


@pytest.mark.parametrize("base", ["float", "double", "int32", "int64"])
@pytest.mark.parametrize("exponent", [2, 3])
@pytest.mark.parametrize("element_type", ["float", "int64"])
@pytest.mark.parametrize("shape", ["n,5", "n,s,64", "300"])
def test_a_square_or_cube_becomes_a_product_of_the_same_bits(
    base: str, exponent: int, element_type: str, shape: str
) -> None:
    model = power(base, shape, np.array(exponent, TYPES[element_type]))
    made = conformed(model)
    assert operators(made) == ["Mul"] * (exponent - 1)
    assert made.graph.node[-1].name == "power"
    for size in (0, 1, 7):
        sizes = [int(s) if s.isdigit() else size for s in shape.split(",")]
        require_same_bits(model, made, {"X": random(base, *sizes)})


@pytest.mark.parametrize("shape", ["n,1", "n", "1"])
def test_a_power_that_the_kernel_may_not_multiply_stays_one(shape: str) -> None:
    model = power("float", shape, np.array(2, np.float32))
    assert operators(conformed(model)) == ["Pow"]


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize("bounds", ["(X, L, H)", "(X, L)", "(X, , H)", "(X, L, D)"])
def test_bounds_of_one_element_become_scalars(bounds: str, opset: int) -> None:
    model = parse(
        f"(float[n] X, float[1] D) => (float[n] Y, float[1] Z) {{ Y = Clip{bounds}  Z = Neg(D) }}",
        constants={"L": np.array([-0.5], np.float32), "H": np.array([0.5], np.float32)},
        opset=opset,
    )
    assert violated(model) == {"Clip.C1"}
    made = conformed(model)
    assert not violated(made)
    given = np.array([0.3], np.float32)
    require_same_bits(model, made, *({"X": random("float", n), "D": given} for n in (0, 1, 50)))


def test_a_bound_of_unknown_length_gives_the_reason() -> None:
    model = parse("(float[n] X, float[m] H) => (float[n] Y) { Y = Clip(X, , H) }")
    given = reasons(model)["Clip.C1"]
    assert given == "how many elements 'H' has is known only in a run"


@pytest.mark.parametrize("element_type", ["float", "int64"])
def test_start_limit_and_step_of_one_element_become_scalars(element_type: str) -> None:
    model = parse(
        f"({element_type}[1] L) => ({element_type}[n] Y) {{ Y = Range(S, L, D) }}",
        constants={
            "S": np.array([1], TYPES[element_type]),
            "D": np.array([2], TYPES[element_type]),
        },
    )
    assert violated(model) == {"Range.scalars"}
    made = conformed(model)
    assert not violated(made)
    require_same_bits(model, made, *({"L": np.array([n], TYPES[element_type])} for n in (0, 9)))


SCALE, ZERO = np.array([0.02], np.float32), np.array([7], np.uint8)


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (4, 5), (0, 5)])
def test_one_scale_of_an_axis_becomes_a_scalar_that_has_no_axis(
    shape: tuple[int, int], axis: int, opset: int
) -> None:
    model = parse(
        f"(float[n,m] X) => (uint8[n,m] Y) {{ Y = QuantizeLinear<axis={axis}>(X, S, Z) }}",
        constants={"S": SCALE, "Z": ZERO},
        opset=opset,
    )
    wrong_axis = {"QuantizeLinear.R1"} if axis != 1 else set()
    assert violated(model) == {"QuantizeLinear.signature", *wrong_axis}
    made = conformed(model)
    assert not violated(made)
    require_same_bits(model, made, {"X": random("float", *shape)})


@pytest.mark.parametrize("opset", [10, 13, 17])
def test_scales_that_a_run_gives_are_squeezed(opset: int) -> None:
    model = parse(
        "(int32[n,m] X, float[1] S) => (float[n,m] Y) { Y = DequantizeLinear(X, S) }", opset=opset
    )
    assert violated(model) == {"DequantizeLinear.signature"}
    made = conformed(model)
    assert not violated(made)
    require_same_bits(model, made, {"X": random("int32", 4, 5), "S": SCALE})


@pytest.mark.parametrize("scale", ["S", "D"])
def test_a_zero_point_that_is_left_out_is_0_of_uint8(scale: str) -> None:
    model = parse(
        "(float[n] X, float[1] D) => (uint8[n] Y, float[1] N)"
        f" {{ Y = QuantizeLinear(X, {scale})  N = Neg(D) }}",
        constants={"S": np.array(0.02, np.float32)},
    )
    assert "QuantizeLinear.given" in violated(model)
    made = conformed(model)
    assert not violated(made)
    require_same_bits(model, made, {"X": random("float", 99), "D": SCALE})


@pytest.mark.parametrize(
    ("attributes", "rule", "reason"),
    [
        ("axis=0", "signature", "'S' is no vector of one element"),
        ("axis=0", "R1", "the axis is that of its scales"),
        ("axis=0, block_size=2", "signature", "it has one scale for each block of elements"),
        ("axis=0, output_dtype=3", "given", "its results are not uint8, which the profile wants"),
    ],
)  # fmt: skip
def test_scales_of_an_axis_give_the_reason(attributes: str, rule: str, reason: str) -> None:
    result = "int8" if "output" in attributes else "uint8"
    scale = (
        np.full((2, 3), 0.5, np.float32) if "block" in attributes else np.array([1, 2], np.float32)
    )
    model = parse(
        f"(float[{4 if 'block' in attributes else 2},3] X) => ({result}[n,m] Y)"
        f" {{ Y = QuantizeLinear<{attributes}>(X, S) }}",
        constants={"S": scale},
        opset=21,
    )
    assert reasons(model)[f"QuantizeLinear.{rule}"].startswith(reason)


def test_a_scalar_has_no_axis_also_for_a_vector() -> None:
    model = parse(
        "(int32[n] X) => (float[n] Y) { Y = DequantizeLinear<axis=0>(X, S) }",
        constants={"S": np.array(0.5, np.float32)},
    )
    made = conformed(model)
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    np.testing.assert_array_equal(session.run(None, {"X": np.array([3], np.int32)})[0], [1.5])
