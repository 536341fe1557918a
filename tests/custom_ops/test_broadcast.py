"""The kernels behind Broadcast and limited broadcasting: a shape, or a message."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from restrictions import broadcast

from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE, LOG
from sonnx_ort.custom_ops.inspection import (
    ALIGNED_SHAPE,
    BROADCAST_SHAPE,
    aligned_shape,
    common_shape,
)
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.catalog import RULES
from support.broadcasting import shapes_of_tensors
from support.execution import INTEGERS, failure_of

E1 = 71


def called(*shapes, names=None):
    """Call the kernel as the lowered graph does."""
    sizes = np.array([size for shape in shapes for size in shape], np.int64)
    ranks = np.array([len(shape) for shape in shapes], np.int64)
    operands = json.dumps(names or [f"x{index}" for index in range(len(shapes))])
    return common_shape(sizes, ranks, "the_node", operands)


def plain(outputs):
    return [output.tolist().tolist() for output in outputs]


@pytest.mark.parametrize(("shapes", "names", "message"), [
    ([(3,), (2,)], ["x", "y"],
     "axis 0 has size 3 in X0 and 2 in X1; shapes X0 'x' (3,), X1 'y' (2,)"),
    (
        [(0,), ()],
        ["batch", "scale"],
        (
            "axis 0 has size 0 in X0 and 1 in X1 (which has no such axis); shapes X0 'batch' "
            "(0,), X1 'scale' ()"
        ),
    ),
    ([(1,), (4, 2), (4, 3)], ["x", "y", "z"],
     "axis 1 has size 2 in X1 and 3 in X2; shapes X0 'x' (1,), X1 'y' (4, 2), X2 'z' (4, 3)"),
    ([(3,), (2,)], ["", "it's"],
     "axis 0 has size 3 in X0 and 2 in X1; shapes X0 '' (3,), X1 'it's' (2,)"),
    ([(3,), (2,)], ["two\nlines", "größe"],
     "axis 0 has size 3 in X0 and 2 in X1; shapes X0 'two\\x0alines' (3,), X1 'größe' (2,)"),
])  # fmt: skip
def test_violation_names_tensors_axis_and_sizes(shapes, names, message):
    code, error = failure_of(called(*shapes, names=names))
    assert code == E1
    assert str(error) == (
        f"Broadcast 'the_node' breaks Broadcast.E1: {message}. "
        "The rule: A dimension is the largest of its axis, or 1."
    )


def test_violation_has_its_fields():
    _, error = failure_of(called((3,), (1, 2)))
    assert isinstance(error, ContractViolation)
    assert (error.rule, error.operator, error.node) == ("Broadcast.E1", "Broadcast", "the_node")
    assert (error.shapes, error.index, error.values) == (((3,), (1, 2)), None, None)


@pytest.mark.satisfies("Broadcast.step_1", "Broadcast.condition_2")
@example([(2,) * 8, ()])
@example([(1,)] * 9 + [(7,)])
@given(st.integers(1, 4).flatmap(shapes_of_tensors))
def test_kernel_gives_the_oracles_shape_or_fails_where_the_oracle_does(shapes):
    outcome = broadcast(*(np.zeros(shape, np.int8) for shape in shapes))
    outputs = called(*shapes)
    assert [output.dtype for output in outputs] == [np.int64, np.int64]
    if isinstance(outcome, tuple):
        assert plain(outputs) == [list(outcome[0].shape), [outcome[0].ndim]]
        return
    _, error = failure_of(outputs)
    assert isinstance(error, ContractViolation)
    assert (error.rule, error.shapes) == (outcome.rule, tuple(shapes))


@given(INTEGERS, INTEGERS, st.text(), st.text())
def test_kernel_survives_whatever_a_model_feeds_it(sizes, ranks, node, operands):
    result, shape = common_shape(sizes, ranks, node, operands)
    assert (result.dtype, shape.dtype) == (np.int64, np.int64)
    if shape.size and shape[0] < 0:
        LOG.take(-int(shape[0]))


@pytest.mark.parametrize(
    ("sizes", "ranks", "operands"),
    [
        pytest.param(None, None, "x", id="no arrays"),
        pytest.param(np.array([2, 3]), np.array([1, 1]), '["x"]', id="fewer names than tensors"),
        pytest.param(np.array([2, 3]), np.array([1, 1]), "x", id="names that are no JSON"),
        pytest.param(np.array([2, 3]), np.array([1, 1]), "7", id="names that are no list"),
    ],
)
def test_what_keeps_the_kernel_from_finishing_is_no_violation(sizes, ranks, operands):
    code, error = failure_of(common_shape(sizes, ranks, "the_node", operands))
    assert code == KERNEL_FAILURE
    assert type(error) is SonnxError
    assert str(error).startswith("sonnx::Broadcast, node 'the_node': the kernel could not finish: ")


def aligned(a, b, axis="", operator="Div", rule="Div.float.R1"):
    """Call the kernel as the lowered graph does."""
    sizes, ranks = np.array([*a, *b], np.int64), np.array([len(a), len(b)], np.int64)
    return aligned_shape(sizes, ranks, "the_node", operator, rule, axis)


@pytest.mark.parametrize(
    ("a", "b", "axis", "shape"),
    [
        ((2, 3), (3,), "", [3]),
        ((2, 3), (2,), "0", [2, 1]),
        ((2, 3), (2,), "-2", [2, 1]),
        ((2, 3), (1,), "7", [1]),
        ((2, 3), (), "1", [1]),
        ((0, 3), (0,), "0", [0, 1]),
        ((), (), "", []),
    ],
    ids=str,
)
def test_kernel_gives_the_aligned_shape_and_its_own_shape(a, b, axis, shape):
    outputs = aligned(a, b, axis)
    assert [o.tolist().tolist() for o in outputs] == [shape, [len(shape)]]
    assert [o.dtype for o in outputs] == [np.int64, np.int64]


def test_violation_of_limited_broadcasting_has_its_fields():
    outputs = aligned((4, 5), (1, 5))
    assert [(output.dtype, output.size) for output in outputs] == [(np.int64, 0), (np.int64, 1)]
    code, error = failure_of(outputs)
    assert code == RULES["Div.float.R1"].code
    assert isinstance(error, ContractViolation)
    assert (error.rule, error.operator, error.node) == ("Div.float.R1", "Div", "the_node")
    assert (error.shapes, error.index, error.values) == (((4, 5), (1, 5)), None, None)


@given(INTEGERS, INTEGERS, st.text(), st.integers().map(str) | st.text())
def test_limited_kernel_survives_whatever_a_model_feeds_it(sizes, ranks, text, axis):
    result, shape = aligned_shape(sizes, ranks, text, text, text, axis)
    assert (result.dtype, shape.dtype) == (np.int64, np.int64)
    if shape.size and shape[0] < 0:
        LOG.take(-int(shape[0]))


@pytest.mark.parametrize(
    ("asked", "cause"),
    [
        ({"axis": "x"}, "Div|ValueError: invalid literal for int() with base 10: 'x'"),
        ({"operator": "Celu"}, "Celu|KeyError: 'Celu'"),
        ({"rule": "Celu.R1"}, "Div|KeyError: 'Celu.R1'"),
    ],
    ids=str,
)
def test_what_keeps_the_limited_kernel_from_finishing_is_no_violation(asked, cause):
    code, error = failure_of(aligned((4, 5), (1, 5), **asked))
    assert code == KERNEL_FAILURE
    assert type(error) is SonnxError
    operator, _, told = cause.partition("|")
    expected = f"sonnx::{operator}, node 'the_node': the kernel could not finish: {told}"
    assert str(error) == expected


@pytest.mark.parametrize("kernel", [BROADCAST_SHAPE, ALIGNED_SHAPE], ids=lambda kernel: kernel.name)
def test_kernel_is_registered_for_shapes_alone(kernel):
    assert (kernel.inputs, kernel.output) == (("int64", "int64"), "int64")
