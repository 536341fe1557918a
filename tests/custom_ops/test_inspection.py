"""Kernels that look at what a node reads: shapes, elements, contracts, and attributes."""

import json
import tracemalloc

import numpy as np
import onnx
import pytest

from sonnx_ort.custom_ops import inspection
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.definition import KERNEL_TYPES
from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE
from sonnx_ort.custom_ops.inspection import (
    CHECKED_ELEMENTS,
    LEFT_OUT,
    checked_shape,
    checked_sizes,
    omitted,
    value_guard_name,
)
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract import Contract, SizeContract, ValueContract, contract_to_json
from sonnx_ort.profile.contract_rules import ShapeDemand
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.graph import FINITE, finite_elements
from support.execution import failure_of

LEAVES_OUT = [LEFT_OUT]
NO_ELEMENTS = np.array(omitted(OPERATORS["DequantizeLinear"], "x_zero_point"), np.int32)
ONE_IN_A_LINE = (
    "the rank of y_zero_point (1,) is 1, not 0; shapes X (), y_scale (), y_zero_point (1,)"
)
NO_BOUND = np.array(omitted(OPERATORS["Clip"], "max"), np.float32)
HALF, NOTHING = np.array(0.5, np.float32), np.array(0, np.int32)


def called(operator: str, *inputs, edition: str = "typed", **attributes):
    """Call the first kernel of an operator, as the graph does."""
    kernel = CUSTOM_OPERATORS[operator].definitions()[0].kernel
    arrays = [i if isinstance(i, np.ndarray) else np.array(i, np.int64) for i in inputs]
    demands = {name: json.dumps(value) for name, value in attributes.items()}
    return kernel(*arrays, node="the_node", edition=edition, **demands)


def plain(outputs):
    return [(output.dtype, output.tolist().tolist()) for output in outputs]


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "shape"),
    [
        ("MatMul", [[2, 3], [3, 4]], {}, [2, 3]),
        ("ArgMax", [np.ones((2, 3), np.float32)], {"axis": 1}, [2, 3]),
        ("ArgMax", [np.ones((2, 0), np.float32)], {"axis": None}, [2, 0]),
        ("ArgMax", [np.ones(3, np.int64)], {"axis": 0}, [3]),
        ("Clip", [HALF, HALF, HALF], {}, []),
        ("Clip", [np.ones(2, np.float32), NO_BOUND, HALF], {}, [2]),
        ("Clip", [np.ones(2, np.float32), HALF, NO_BOUND], {}, [2]),
        ("BatchNormalization", [[1, 2], np.float32([0, 1])], {}, [1, 2]),
        ("Slice", [[4], [3], [4], [0], [1]], {}, [4]),
        ("Conv", [[1, 2, 4, 4], [6, 1, 3, 3], [6]], {"group": 2}, [1, 2, 4, 4]),
        ("Conv", [[1, 2, 4, 4], [6, 2, 3, 3], LEAVES_OUT], {}, [1, 2, 4, 4]),
        ("MaxPool", [np.ones((1, 1, 2, 2), np.float32)], {"kernel_shape": [2, 2]}, [1, 1, 2, 2]),
        ("Gemm", [[2, 3], [3, 4], [2, 4]], {}, [2, 3]),
        ("Softmax", [np.ones((2, 3), np.float32)], {"axis": 1, "version": 13}, [2, 3]),
        ("Softmax", [np.ones((2, 3, 4), np.float32)], {"axis": 1, "version": 13}, [2, 3, 4]),
        ("Softmax", [np.ones((2, 3, 1), np.float32)], {"axis": 1, "version": 12}, [2, 3, 1]),
        ("Softmax", [np.ones((3, 2), np.float32)], {"axis": None, "version": 13}, [3, 2]),
        ("QuantizeLinear", [np.ones(2, np.float32), HALF, []], {}, [2]),
        ("DequantizeLinear", [np.ones(2, np.int32), [], NOTHING], {}, [2]),
        ("DequantizeLinear", [np.ones(2, np.int32), [], NO_ELEMENTS], {}, [2]),
        ("Concat", [[2, 3, 2, 4], [2, 2]], {"axis": 1}, [2, 3]),
    ],
)
@pytest.mark.parametrize("edition", ["typed", "preliminary"])
def test_kept_rules_give_the_first_shape_and_its_own(operator, inputs, attributes, shape, edition):
    outputs = called(operator, *inputs, edition=edition, **attributes)
    assert plain(outputs) == [(np.int64, shape), (np.int64, [len(shape)])]


@pytest.mark.parametrize(("operator", "inputs", "attributes", "rule", "told"), [
    ("MatMul", [[2, 3], [3]], {}, "MatMul.C1",
     "the rank of B (3,) is 1, not 2; shapes A (2, 3), B (3,)"),
    ("ArgMax", [np.ones((2, 0), np.float32)], {"axis": 1}, "ArgMax.R5",
     "axis 1 of X (2, 0) is 0, not at least 1; shapes X (2, 0)"),
    ("ArgMax", [np.float32([1, np.nan, 3])], {"axis": 0}, "ArgMax.float.C1",
     "X is NaN: X[1] = nan; shapes X (3,)"),
    ("Clip", [np.float32([1, 2]), NO_BOUND, np.float32([7])], {}, "Clip.C1",
     "the rank of max (1,) is 1, not 0; shapes input (2,), max (1,)"),
    ("Clip", [np.float32([1, np.nan]), HALF, np.array(0, np.float32)], {}, "Clip.float.C3",
     "min 0.5 is above max 0.0, and input[1] is NaN; shapes input (2,), min (), max ()"),
    ("BatchNormalization", [[1, 2], np.float32([0, -1])], {}, "BatchNormalization.C3",
     "input_var is negative or NaN: input_var[1] = -1.0; shapes X (1, 2), input_var (2,)"),
    ("Conv", [[1, 4, 4, 4], [6, 1, 3, 3], LEAVES_OUT], {"group": 2}, "Conv.R3",
     "axis 1 of X (1, 4, 4, 4) is 4, not 2; shapes X (1, 4, 4, 4), W (6, 1, 3, 3)"),
    ("MaxPool", [np.ones((1, 1, 1, 2), np.float32)], {"kernel_shape": [2, 2]}, "MaxPool.fits",
     "axis 2 of X (1, 1, 1, 2) is 1, not at least 2; shapes X (1, 1, 1, 2)"),
    (
        "Gemm",
        [[2, 3], [3, 4], [1, 4]],
        {},
        "Gemm.R3",
        (
            "axis 0 of C (1, 4) is 1, and axis 0 of A (2, 3) is 2; shapes A (2, 3), B (3, 4), "
            "C (1, 4)"
        ),
    ),
    (
        "Slice",
        [[4, 4], [0], [4], [0], [1]],
        {},
        "Slice.R2",
        (
            "axis 0 of axes (1,) is 1, and the rank of X (4, 4) is 2; "
            "shapes X (4, 4), starts (1,), ends (1,), axes (1,), steps (1,)"
        ),
    ),
    ("Softmax", [np.ones((2, 3, 4), np.float32)], {"axis": 1, "version": 12}, "Softmax.C4",
     "axis 2 of X (2, 3, 4) is longer than 1; shapes X (2, 3, 4)"),
    ("Softmax", [np.ones(3, np.float32)], {"axis": None, "version": 12}, "Softmax.C2",
     "X (3,) has no axis 1; shapes X (3,)"),
    ("Softmax", [np.float32([[1], [-np.inf]])], {"axis": 1, "version": 28}, "Softmax.float.C6",
     "the line at [1, 0] along axis 1 is -inf throughout; shapes X (2, 1)"),
    ("QuantizeLinear", [HALF, HALF, [1]], {}, "QuantizeLinear.signature", ONE_IN_A_LINE),
    ("QuantizeLinear", [np.float32([np.nan]), np.array(0, np.float32), []], {},
     "QuantizeLinear.C1",
     "y_scale is 0 or NaN: y_scale[] = 0.0; shapes X (1,), y_scale (), y_zero_point ()"),
    ("DequantizeLinear", [np.array([-(2**31)], np.int32), [], NOTHING + 1], {},
     "DequantizeLinear.C1",
     "-2147483648 - 1 at [0] is beyond int32; shapes X (1,), x_scale (), x_zero_point ()"),
    ("Cast", [np.float32([1, 300])], {"to": onnx.TensorProto.INT8}, "Cast.float.C1",
     "X is NaN or beyond int8: X[1] = 300.0; shapes X (2,)"),
    ("Max", [np.float32([1, 2, 3]), [2, 1], [1, 1]], {}, "Max.float.R1",
     "the shapes (2,) and (1,) differ; shapes data_0 (2,), data_1 (1,)"),
])  # fmt: skip
def test_broken_rule_is_told_with_the_operands_that_are_given(
    operator, inputs, attributes, rule, told
):
    _, error = failure_of(called(operator, *inputs, **attributes))
    assert isinstance(error, ContractViolation)
    assert str(error).startswith(f"{operator} 'the_node' breaks {rule}: {told}. The rule: ")


def test_attributes_demand_of_each_node_what_they_say():
    three_hundred = np.float32([300])
    kept = called("Cast", three_hundred, to=onnx.TensorProto.INT16)
    assert plain(kept)[1] == (np.int64, [1])
    _, error = failure_of(called("Cast", three_hundred, to=onnx.TensorProto.INT8))
    assert "beyond int8" in str(error)


@pytest.mark.parametrize("operator", ["MatMul", "Cast"])
def test_refusal_is_of_the_type_of_the_result(operator):
    inputs = [[[2], [2]]] if operator == "MatMul" else [[np.float32([np.nan])]]
    attributes = {} if operator == "MatMul" else {"to": onnx.TensorProto.INT8}
    result, shape = called(operator, *inputs[0], **attributes)
    failure_of((result, shape))
    expected = np.int64 if operator == "MatMul" else np.float32
    assert (result.dtype, shape.dtype) == (expected, np.int64)


@pytest.mark.parametrize(
    ("operator", "others"),
    [("Softmax", []), ("ArgMax", []), ("Clip", [np.array(-1, np.float32), HALF])],
)
def test_elements_are_not_made_numbers_of_python(operator, others):
    """A list of them takes ten times the memory, and longer than what ONNX Runtime computes."""
    x = np.full((500, 1000), 0.25, np.float32)
    tracemalloc.start()
    try:
        given = called(operator, x, *others, axis=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert plain(given)[0][1] == [500, 1000]
    assert peak < 2 * x.nbytes


NOTHING_IN_TWO_LINES, TWO_LINES_OF_NOTHING = (
    np.empty(shape, np.float32) for shape in ((0, 2), (2, 0))
)


@pytest.mark.parametrize(
    ("kept", "axis", "broken", "other_axis", "rule"),
    [
        (np.float32([1, 2, 3]), 0, np.float32([1, np.nan, 3]), 0, "ArgMax.float.C1"),
        (np.float32([0, 1]), 0, np.float32([0, 1]), 1, "ArgMax.R5"),
        (NOTHING_IN_TWO_LINES, 1, TWO_LINES_OF_NOTHING, 1, "ArgMax.R5"),
        (NOTHING_IN_TWO_LINES, 1, NOTHING_IN_TWO_LINES, 0, "ArgMax.R5"),
    ],
    ids=["elements", "attribute", "shape of the same bytes", "attribute of nothing"],
)
def test_operands_that_differ_in_one_thing_are_decided_anew(
    kept, axis: int, broken, other_axis: int, rule: str
) -> None:
    kernel = CUSTOM_OPERATORS["ArgMax"].definitions()[0].kernel
    given = {"node": "the_node", "edition": "typed"}
    assert plain(kernel(kept, axis=json.dumps(axis), **given))[0][1] == list(kept.shape)
    for _ in range(2):
        _, error = failure_of(kernel(broken, axis=json.dumps(other_axis), **given))
        assert error.rule == rule
    assert plain(kernel(kept, axis=json.dumps(axis), **given))[0][1] == list(kept.shape)


def test_few_operands_that_kept_the_rules_are_decided_once_while_they_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decided = []

    def count(*_):
        return lambda operands, *_: decided.append([operand.shape for operand in operands])

    monkeypatch.setattr(inspection, "make_decision", count)
    monkeypatch.setattr(inspection, "_MOST_REMEMBERED", 3)
    kernel = CUSTOM_OPERATORS["MatMul"].definitions()[0].kernel
    for rows in (2, 2, 3, 2, 4, 5, 2):
        kernel(np.array([rows, 3]), np.array([3, 4]), node="the_node", edition="typed")
    # The first three are forgotten for the fourth.
    assert [shapes[0][0] for shapes in decided] == [2, 3, 4, 5, 2]


def test_many_elements_are_looked_at_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = []
    monkeypatch.setattr(inspection, "make_decision", lambda *_: lambda *a: decided.append(a))
    kernel = CUSTOM_OPERATORS["ArgMax"].definitions()[0].kernel
    for _ in range(2):
        kernel(np.ones(1000, np.float32), axis="0", node="the_node", edition="typed")
    assert len(decided) == 2


@pytest.mark.parametrize(
    ("inputs", "cause"),
    [
        ([[2, 3]], "ValueError: zip() argument 2 is shorter than argument 1"),
        ([[2, -3], [3, 4]], "ValueError: "),
    ],
)
def test_what_keeps_the_kernel_from_finishing_is_no_violation(inputs, cause):
    outputs = called("MatMul", *inputs)
    assert outputs[0].dtype == np.int64
    code, error = failure_of(outputs)
    assert (code, type(error)) == (KERNEL_FAILURE, SonnxError)
    told = f"sonnx::MatMulOperands, node 'the_node': the kernel could not finish: {cause}"
    assert str(error).startswith(told)


@pytest.mark.parametrize(("operator", "name", "inputs", "attributes"), [
    ("MatMul", "MatMulOperands", [("int64", "int64")], ("node", "edition")),
    ("ArgMax", "ArgMaxOperands",
     [(t.value,) for t in KERNEL_TYPES if t is not ElementType.BOOL],
     ("node", "edition", "axis")),
    ("BatchNormalization", "BatchNormalizationOperands",
     [("int64", "float"), ("int64", "double")], ("node", "edition")),
    ("Slice", "SliceOperands", [("int64",) * 5], ("node", "edition")),
    ("Conv", "ConvOperands", [("int64",) * 3], ("node", "edition", "group")),
    ("ConvInteger", "ConvIntegerOperands",
     [("int64", "int64", t.value, "int64") for t in KERNEL_TYPES if t.family is Family.INTEGER],
     ("node", "edition", "group", "pads")),
    ("Softmax", "SoftmaxOperands", [("float",), ("double",)],
     ("node", "edition", "axis", "version")),
    ("QuantizeLinear", "QuantizeLinearOperands",
     [("float", "float", "int64"), ("double", "double", "int64")], ("node", "edition")),
])  # fmt: skip
def test_there_is_a_kernel_for_each_type_of_elements_that_are_looked_at(
    operator, name, inputs, attributes
):
    custom = CUSTOM_OPERATORS[operator]
    definitions = custom.definitions()
    assert [definition.inputs for definition in definitions] == inputs
    for definition in definitions:
        assert (definition.name, definition.output) == (name, "int64")
        assert definition.attributes == attributes
        assert definition.operator is custom.operator


NODE = {"node": "n", "operator": "Add", "value": "y", "contract": ""}


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3)])
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_shape_of_finite_elements_is_given(shape, element_type):
    elements = np.ones(shape, np.float32 if element_type == "float" else np.float64)
    given, its_shape = checked_shape(elements, **NODE, element_type=element_type)
    assert (tuple(given), tuple(its_shape)) == (shape, (len(shape),))


@pytest.mark.parametrize(
    ("element_type", "largest", "beyond"),
    [("float16", 65519.996, 65520), ("bfloat16", 3.3961773e38, 3.3961776e38)],
)
def test_narrow_floats_are_rounded_as_their_type_is(element_type, largest, beyond):
    finite, infinite = (np.array([number], np.float32) for number in (largest, beyond))
    assert tuple(checked_shape(finite, **NODE, element_type=element_type)[0]) == (1,)
    code, error = failure_of(checked_shape(infinite, **NODE, element_type=element_type))
    assert (code, error.index, error.values) == (1314, (0,), (np.inf,))


@pytest.mark.parametrize("element_type", ["no type", None])
def test_kernel_that_cannot_finish_fails(element_type):
    code, _ = failure_of(checked_shape(np.ones(1), **NODE, element_type=element_type))
    assert code == KERNEL_FAILURE


def test_name_of_a_guard_has_an_operator_that_errors_are_read_by():
    name = value_guard_name("aten::add", "n", FINITE, finite_elements("y"))
    assert name.startswith("aten__add 'n' breaks the SONNX")
    assert name.endswith("1314 Graph.finite; 'y' must not be NaN or infinite")


def test_kernels_take_the_numbers_that_kernels_may_take():
    """A kernel that takes 16-bit floats would end the process."""
    assert [kernel.inputs for kernel in CHECKED_ELEMENTS] == [
        (kind.value,) for kind in KERNEL_TYPES
    ]


IN_RANGE = contract_to_json(Contract((ValueContract("y", (-1.0, 2.5), "a gain"),)))


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        (np.array([0, 2.6], np.float32), "y[1] = 2.5999999046325684"),
        (np.array([[0, np.nan]], np.float32), "y[0, 1] = nan"),
        (np.array(-2), "y[] = -2"),
    ],
)
def test_element_outside_of_a_contract_is_named(elements, words):
    kind = {"f": "float", "i": "int64"}[elements.dtype.kind]
    node = {**NODE, "contract": IN_RANGE}
    code, error = failure_of(checked_shape(elements, **node, element_type=kind))
    assert (code, error.rule) == (1317, "Contract.range")
    assert f"Add 'n' breaks Contract.range: y is outside of -1 to 2.5 (a gain): {words}" in str(
        error
    )


def test_ends_of_a_contract_are_within_it():
    node = {**NODE, "contract": IN_RANGE}
    given, _ = checked_shape(np.array([-1, 2.5], np.float32), **node, element_type="float")
    assert tuple(given) == (2,)


OF_X = ShapeDemand("x", (SizeContract("n", 1, 4), 3), ((0, "y", 1),))
"""The first axis of x is as long as the second one of y."""


def sizes_of(*shapes):
    """The shapes in one vector, and their ranks."""
    sizes = [size for shape in shapes for size in shape]
    return np.array(sizes, np.int64), np.array([len(shape) for shape in shapes], np.int64)


def test_input_whose_sizes_are_kept_gives_its_own_shape():
    given, its_shape = checked_sizes(*sizes_of((2, 3), (7, 2)), OF_X.to_json())
    assert (tuple(given), tuple(its_shape)) == ((2, 3), (2,))


@pytest.mark.parametrize(("shapes", "reason"), [
    (((2, 4), (7, 2)), "axis 1 of x (2, 4) is 4, not 3"),
    (((5, 3), (7, 5)), "axis 0 of x (5, 3) is 5; the contract says 1 to 4 for n"),
    (((2, 3), (2, 7)), "axis 0 of x (2, 3) is 2, and axis 1 of y (2, 7) is 7; n is 1 to 4"),
    (((2, 3, 1), (7, 2)), "the rank of x (2, 3, 1) is 3, not 2"),
])  # fmt: skip
def test_input_whose_sizes_break_a_contract_fails(shapes, reason):
    code, error = failure_of(checked_sizes(*sizes_of(*shapes), OF_X.to_json()))
    assert (code, error.rule, error.shapes) == (1319, "Contract.sizes", shapes)
    assert reason in str(error)
