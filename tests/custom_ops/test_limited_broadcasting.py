"""The kernel behind limited broadcasting gives a shape or a message, whatever comes in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonnx_ort.custom_ops.failure_channel import KERNEL_FAILURE, LOG
from sonnx_ort.custom_ops.inspection import ALIGNED_SHAPE, aligned_shape
from sonnx_ort.errors import ContractViolation, SonnxError
from sonnx_ort.profile.catalog import RULES
from support.execution import INTEGERS, failure_of


def called(a, b, axis="", operator="Div", rule="Div.float.R1"):
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
    outputs = called(a, b, axis)
    assert [o.tolist().tolist() for o in outputs] == [shape, [len(shape)]]
    assert [o.dtype for o in outputs] == [np.int64, np.int64]


def test_violation_has_its_fields():
    outputs = called((4, 5), (1, 5))
    assert [(output.dtype, output.size) for output in outputs] == [(np.int64, 0), (np.int64, 1)]
    code, error = failure_of(outputs)
    assert code == RULES["Div.float.R1"].code
    assert isinstance(error, ContractViolation)
    assert (error.rule, error.operator, error.node) == ("Div.float.R1", "Div", "the_node")
    assert (error.shapes, error.index, error.values) == (((4, 5), (1, 5)), None, None)


@given(INTEGERS, INTEGERS, st.text(), st.integers().map(str) | st.text())
def test_kernel_survives_whatever_a_model_feeds_it(sizes, ranks, text, axis):
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
def test_what_keeps_the_kernel_from_finishing_is_no_violation(asked, cause):
    code, error = failure_of(called((4, 5), (1, 5), **asked))
    assert code == KERNEL_FAILURE
    assert type(error) is SonnxError
    operator, _, told = cause.partition("|")
    expected = f"sonnx::{operator}, node 'the_node': the kernel could not finish: {told}"
    assert str(error) == expected


def test_kernel_is_registered_for_shapes_alone():
    assert ALIGNED_SHAPE.inputs == ("int64", "int64")
    assert ALIGNED_SHAPE.output == "int64"
