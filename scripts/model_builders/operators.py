"""The operators that are enforced where that is asked for, one model or a few each."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import onnx

from model_builders import bundle as make
from model_builders.bundle import Array, Bundle, bundle
from model_builders.graphs import OPSET, parse
from sonnx_ort.models import Case, Outputs
from sonnx_ort.profile.catalog import OPERATORS

_INF, _NAN = np.inf, np.nan
_SMALLEST = -(2**31)
_FALSE_AND_TRUE = np.array([False, False, True, True]), np.array([False, True, False, True])
_BITS = make.int32([12, -1, 255, _SMALLEST]), make.int32([10, 7, -256, -1])
_FLOATS = (
    make.float32([1, 2, 3, 0.0, -_INF, _INF, _NAN, _NAN]),
    make.float32([3, 2, 1, -0.0, 1, _INF, 1, _NAN]),
)
_SUMMANDS = (
    make.float32([1, 2**24, 3.0e38, _INF, -0.0, _NAN]),
    make.float32([-1, 1, 3.0e38, -_INF, -0.0, 1]),
)
_THREE = (
    make.float32([1, 5, -_INF, _NAN, 1]),
    make.float32([3, 4, -2, 1, _NAN]),
    make.float32([2, 6, -1, _INF, 9]),
)
_SLOPED = make.float32([1, -2, -0.5, 0, -_INF, _NAN]), make.float32([9, 0.25, -0.1, 9, 2, 0])
_CHOICES = (
    np.array([True, False, True, False]),
    make.int32([1, 2, 3, 4]),
    make.int32([-1, -2, -3, -4]),
)

_OF_ONE_SIZE: Mapping[str, tuple[str, tuple[Array, ...]]] = {
    "Add": ("Sums are rounded once; inf - inf is NaN.", _SUMMANDS),
    "Mul": (
        "Products wrap modulo 2^32.",
        (make.int32([6, -7, 65536, _SMALLEST]), make.int32([7, 3, 65537, -1])),
    ),
    "Max": ("The largest of three, and NaN where an operand is.", _THREE),
    "Min": (
        "The smallest of three integers.",
        (make.int32([1, 5, _SMALLEST]), make.int32([3, 4, 2**31 - 1]), make.int32([2, 6, 0])),
    ),
    "PRelu": ("Elements below zero times their slope, the others as they are.", _SLOPED),
    "And": ("Whether both conditions hold.", _FALSE_AND_TRUE),
    "Or": ("Whether any of two conditions holds.", _FALSE_AND_TRUE),
    "Xor": ("Whether exactly one of two conditions holds.", _FALSE_AND_TRUE),
    "BitwiseAnd": ("The bits that are set in both integers, in two's complement.", _BITS),
    "BitwiseOr": ("The bits that are set in any of two integers, in two's complement.", _BITS),
    "BitwiseXor": ("The bits that differ in two integers, in two's complement.", _BITS),
    "Equal": ("NaN is equal to nothing, not even to NaN; -0 and 0 are equal.", _FLOATS),
    "Less": ("NaN is less than nothing, and -0 not less than 0.", _FLOATS),
    "LessOrEqual": ("NaN is not less than or equal to anything, -0 and 0 are.", _FLOATS),
    "Greater": ("NaN is greater than nothing, and 0 not greater than -0.", _FLOATS),
    "GreaterOrEqual": ("NaN is not greater than or equal to anything, -0 and 0 are.", _FLOATS),
    "Where": ("Elements of one of two tensors, as conditions say.", _CHOICES),
}
"""What the model of an operator shows, and operands for it."""


def of_one_size() -> Iterator[Bundle]:
    """Models that declare all inputs with one size; ONNX Runtime broadcasts them nevertheless."""
    for operator, (shows, operands) in _OF_ONE_SIZE.items():
        words = "".join(f"_{letter}" if letter.isupper() else letter for letter in operator)
        short = (*operands[:-1], operands[-1][:1])
        cases = {"n and n": operands, "n and 1": short}
        yield _one_node(f"{words.lower().strip('_')}_of_one_size", shows, operator, cases)


def of_elements() -> Iterator[Bundle]:
    """Operators that have no result for some elements, and those that have one for all of them."""
    x = make.int32([-7, 7, 0, _SMALLEST + 1])
    yield _one_node(
        "abs_int32",
        "The smallest integer has no magnitude in its type: ONNX Runtime gives it back, negative.",
        "Abs",
        {"in the type": (x,), "smallest": (make.int32([1, _SMALLEST]),)},
    )
    x, y, width = (np.array(a, np.uint8) for a in ([1, 1, 255, 0], [0, 7, 4, 7], [0, 7, 8, 9]))
    yield _one_node(
        "bit_shift_uint8",
        "A shift by all bits or more is refused: versions of ONNX Runtime differ in its result.",
        "BitShift",
        {"within the width": (x, y), "by the width": (x, width), "n and 1": (x, y[:1])},
        '<direction = "LEFT">',
    )
    a, b = make.int32([7, -7, 7, -7, _SMALLEST, -1]), make.int32([3, 3, -3, -3, 10, _SMALLEST])
    yield _one_node(
        "mod_int32",
        "x % 0 and smallest % -1 are refused; ONNX Runtime up to 1.31.1 dies of the latter.",
        "Mod",
        {
            "sign of the divisor": (a, b),
            "x % 0": (make.int32([7, 8, 9]), make.int32([3, 0, 0])),
            "smallest % -1": (make.int32([7, _SMALLEST]), make.int32([-1, -1])),
            "n and 1": (a, b[:1]),
        },
    )
    x, y = make.int32([2, -3, 7, 0, -1]), make.int32([10, 3, 0, 0, 31])
    yield _one_node(
        "pow_int32",
        "Of 0 to the power -1 ONNX Runtime makes -2147483648; negative exponents are refused.",
        "Pow",
        {
            "small": (x, y),
            "0 to the power -1": (make.int32([3, 2, 0]), make.int32([1, 0, -1])),
            "n and 1": (x, y[:1]),
        },
    )
    for operator, mistake in (("Max", "0 is the larger"), ("Min", "3000000000 the smaller")):
        within = np.array([5, -6, 2**31 - 1]), np.array([3, 0, _SMALLEST])
        beyond = np.array([5, 3_000_000_000]), np.array([3, 0])
        yield _one_node(
            f"{operator.lower()}_int64",
            f"Of 3000000000 and 0, {mistake} up to ONNX Runtime 1.31.1; beyond int32 is refused.",
            operator,
            {"within int32": within, "beyond int32": beyond},
        )
    # None with an irrational logarithm is among them: machines differ in the last bit of those.
    x = make.float32([1, 0, -0.0, -1, _INF, -_INF, _NAN])
    named = {"Neg": "Negative", "Reciprocal": "Inverse", "Sqrt": "Root", "Log": "Logarithm"}
    results = {
        name: make.only_output(make.outcome(operator, x)) for operator, name in named.items()
    }
    declared = ", ".join(f"float[n] {name}" for name in results)
    nodes = (
        f"[{make.NODE_NAMES[operator]}] {name} = {operator}(X)" for operator, name in named.items()
    )
    made = make.case("zeros, below zero, infinite, NaN", Outputs(results), X=x)
    yield bundle(
        "functions_of_every_float",
        "Neg, Reciprocal, Sqrt and Log have a result for every float; none is refused.",
        parse(f"(float[n] X) => ({declared}) {{ {' '.join(nodes)} }}"),
        [replace(made, operators=",".join(named))],
    )
    yield _one_node(
        "acos_float",
        "1.5 is no cosine: ONNX Runtime makes NaN of it without a word.",
        "Acos",
        {"cosines": (make.float32([1, _NAN]),), "no cosine": (make.float32([0.5, 1.5]),)},
    )
    converted = {
        "in the type": make.float32([-0.5, 2.75, -(2.0**31), 2147483520]),
        "2^31": make.float32([1, 2147483648]),
        "-3e9": make.float32([-3.0e9, 1]),
    }
    yield bundle(
        "cast_float_to_int32",
        "ONNX leaves undefined what int32 cannot hold; 2^31 becomes -2147483648 on one machine.",
        _model("float[n] X", "int32[n] Y", "Cast", "X", "<to = 6>"),
        [_case(name, "Cast", {"to": 6}, X=x) for name, x in converted.items()],
    )


def of_single_operands() -> Iterator[Bundle]:
    """Operators whose rules speak of shapes of single operands, and of places on their axes."""
    a, b = make.float32([[1, 2], [3, 4]]), make.float32([[5, 6], [7, 8]])
    factors = {"matrices": a, "stack": np.stack([a, b]), "vector": a[0]}
    yield bundle(
        "mat_mul_of_any_rank",
        "A stack of matrices is refused, which ONNX Runtime multiplies by one without a word.",
        parse(
            "(float[n] elements, int64[r] sizes, float[b, c] B) => (float[p, q] Y) "
            f"{{ A = Reshape(elements, sizes) [{make.NODE_NAMES['MatMul']}] Y = MatMul(A, B) }}"
        ),
        [
            replace(
                _case(name, "MatMul", A=factor, B=b),
                inputs={"elements": factor.ravel(), "sizes": np.array(factor.shape), "B": b},
            )
            for name, factor in factors.items()
        ],
    )
    # A variance of 3 and an epsilon of 1 have a root that is exact.
    x, ones = make.float32([[1, 5], [-3, 0]]), make.float32([1, 1])
    fixed = {"X": x, "scale": make.float32([2, 4]), "B": ones, "input_mean": ones}
    inputs = ", ".join(f"float[c] {name}" for name in ("scale", "B", "input_mean", "input_var"))
    operator, attributes = "BatchNormalization", {"epsilon": 1.0}
    variances = {"variances": make.float32([3, 3]), "negative variance": make.float32([3, -0.5])}
    yield bundle(
        "batch_normalization_float",
        "A negative variance is refused: ONNX Runtime makes NaN of it without a word.",
        _model(
            f"float[n, c] X, {inputs}",
            "float[n, c] Y",
            operator,
            "X, scale, B, input_mean, input_var",
            "<epsilon = 1.0>",
        ),
        [
            _case(name, operator, attributes, **fixed, input_var=variance)
            for name, variance in variances.items()
        ],
    )
    x, low = make.float32([-2, 0.5, 7]), make.float32(0)
    yield bundle(
        "clip_float",
        "A bound is a scalar: one of shape (1,), which ONNX Runtime takes too, is refused.",
        _model(
            "float[n] input, float min, float max", "float[n] output", "Clip", "input, min, max"
        ),
        [
            _case("scalars", "Clip", input=x, min=low, max=make.float32(1)),
            _case("bound of shape (1,)", "Clip", input=x, min=low, max=make.float32([1])),
        ],
    )
    x, names = make.float32([10, 11, 12, 13]), ("starts", "ends", "axes", "steps")
    places = {
        "every second": [[1, 4, 0, 2]],
        "backwards": [[-1, -5, 0, -1]],
        "no axis named": np.empty((0, 4)),
        "start behind the last": [[4, 4, 0, 1]],
        "end beyond the axis": [[0, 2**31, 0, 1]],
        "start behind the end": [[3, 1, 0, 1]],
    }
    cases = [
        _case(name, "Slice", X=x, **dict(zip(names, np.array(chosen, np.int64).T, strict=True)))
        for name, chosen in places.items()
    ]
    inputs = ", ".join(f"int64[k] {name}" for name in names)
    yield bundle(
        "slice_float",
        "Places beyond an axis are refused: ONNX Runtime gives an empty tensor without a word.",
        _model(f"float[n] X, {inputs}", "float[m] Y", "Slice", f"X, {', '.join(names)}"),
        cases,
    )
    x, attributes = make.float32([[1, 7, 7], [3, 2, 1]]), {"axis": 1, "keepdims": 0}
    yield bundle(
        "arg_max_float",
        "Of the largest elements the place of the first; an axis that holds nothing is refused.",
        _model(
            *("float[n, m] X", "int64[n] Y", "ArgMax", "X"),
            "<axis = 1, keepdims = 0, select_last_index = 0>",
        ),
        [
            _case("largest", "ArgMax", attributes, X=x),
            _case("nothing", "ArgMax", attributes, X=np.empty((2, 0), np.float32)),
        ],
    )


def _one_node(
    name: str,
    shows: str,
    operator: str,
    operands: Mapping[str, tuple[Array, ...]],
    attributes: str = "",
) -> Bundle:
    """A model of one element-wise node, with inputs of one size, and a case for each operands."""
    profiled, first = OPERATORS[operator], next(iter(operands.values()))
    names = profiled.operand_names(len(first))
    types = [make.element_type_of(operand) for operand in first]
    inputs = ", ".join(f"{t}[n] {name}" for t, name in zip(types, names, strict=True))
    result = f"{profiled.result_type or types[-1]}[n] {profiled.result}"
    cases = (
        make.case(what, make.outcome(operator, *given), **dict(zip(names, given, strict=True)))
        for what, given in operands.items()
    )
    return bundle(
        name,
        shows,
        _model(inputs, result, operator, ", ".join(names), attributes),
        [replace(made, operators=operator) for made in cases],
    )


def _model(
    inputs: str, result: str, operator: str, operands: str, attributes: str = ""
) -> onnx.ModelProto:
    name = result.rpartition(" ")[2]
    node = f"[{make.NODE_NAMES[operator]}] {name} = {operator} {attributes}({operands})"
    opset = max(OPSET, OPERATORS[operator].versions[0])
    return parse(f"({inputs}) => ({result}) {{ {node} }}", opset=opset)


def _case(
    name: str, operator: str, attributes: Mapping[str, int | float] | None = None, **inputs: Array
) -> Case:
    found = make.node_outcome(operator, inputs, attributes)
    return replace(make.case(name, found, **inputs), operators=operator)
