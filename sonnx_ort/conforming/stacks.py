"""MatMul of two stacks of matrices: products of their matrices, one by one.

In ONNX Runtime, MatMul of stacks calls for each pair of matrices the routine that a MatMul of these
two calls, with the same numbers in the same order in memory. So each product has the same bits.
"""

from math import prod

import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit
from sonnx_ort.conforming.products import MATRIX, WITH_SHAPES_IN_RUN
from sonnx_ort.conforming.template import Operators
from sonnx_ort.terms.operand import broadcast_shape

MOST_MATRICES = 64
"""Stacks of more matrices are not multiplied one by one."""


def multiply_one_by_one(edit: NodeEdit) -> bool:
    """Take the matrices out of both stacks, multiply them, and stack the products.

    Raises:
        NoChangeError: The number of matrices is known only in a run, or is large.
    """
    a, b = edit.operand(0), edit.operand(1)
    stacks = [edit.shape(value)[:-MATRIX] for value in (a, b)]
    if min(len(edit.shape(value)) for value in (a, b)) < MATRIX or not any(stacks):
        return False
    common = broadcast_shape(*stacks)
    sizes = [size for stack in (*stacks, common or ()) for size in stack]
    if common is None or not all(isinstance(size, int) for size in sizes):
        raise NoChangeError("how many matrices the stacks have is known only in a run")
    number = prod(size for size in common if isinstance(size, int))
    if not 0 < number <= MOST_MATRICES:
        raise NoChangeError(f"the stacks have {number:,} matrices, and not 1 to {MOST_MATRICES}")
    if edit.opset < WITH_SHAPES_IN_RUN:
        raise NoChangeError(
            f"before version {WITH_SHAPES_IN_RUN} of the standard operators no Slice is made"
        )
    op = Operators(edit, ir.DataType.INT64)
    edit.replace_by(_stacked(op, (a, b), [int(str(size)) for size in common], ()))
    return True


def _stacked(
    op: Operators, operands: tuple[ir.Value, ir.Value], sizes: list[int], at: tuple[int, ...]
) -> ir.Value:
    """The products at the first indices, which follow those that are given."""
    if len(at) == len(sizes):
        return op.MatMul(*(_matrix(op, operand, at) for operand in operands))
    parts = [_stacked(op, operands, sizes, (*at, index)) for index in range(sizes[len(at)])]
    rows = [op.Unsqueeze(part, axes=[0]) for part in parts]
    return rows[0] if len(rows) == 1 else op.Concat(*rows, axis=0)


def _matrix(op: Operators, stack: ir.Value, at: tuple[int, ...]) -> ir.Value:
    """The matrix of a stack at these indices of the common stack; an axis of size 1 is repeated."""
    sizes = op.edit.shape(stack)[:-MATRIX]
    axes = list(range(len(sizes)))
    if not axes:
        return stack
    starts = [
        0 if size == 1 else index for size, index in zip(sizes, at[-len(sizes) :], strict=True)
    ]
    ends = [start + 1 for start in starts]
    part = op.Slice(stack, starts, ends, axes, [1] * len(axes))
    return op.Squeeze(part, axes=axes)


CHANGES = (
    Change(
        "multiply the matrices of the stacks one by one",
        frozenset({"MatMul.C1"}),
        multiply_one_by_one,
    ),
)
"""The changes of products of stacks."""
