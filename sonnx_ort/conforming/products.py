"""MatMul and Gemm: products of two matrices.

MatMul: products of two matrices, in place of those of stacks and of vectors. In ONNX Runtime,
MatMul of a stack of matrices by one matrix is one product: that of all rows of the stack, which lie
one after the other. So folding the stack into rows makes the call of the same routine with the
same numbers, of any type. The same holds for a vector in the place of A, which is one row, and for
stacks of one matrix. Other products are computed matrix by matrix, or with operands changed over,
and the routine for one row sums up in another order than that for several; only for integers, whose
sums are modulo 2^n, this makes no difference. Of two stacks, MatMul calls for each pair of matrices
the routine that a MatMul of these two calls, so that each product has the same bits.

Gemm: products of two matrices, plus a third one of the same shape. Gemm writes C into the result,
broadcast and multiplied by beta, and adds the product to that. So C may be broadcast and multiplied
in front of it. Which routine is called depends on how A and B are stored, but not if ONNX Runtime
has packed B when the session started: a constant of float it packs into one form, transposed or
not. Of double there is one routine, which packs B, but sums up A in other blocks if it is
transposed. Without C, Gemm calls what MatMul calls.
"""

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.conforming.bounds import SUMS
from sonnx_ort.conforming.change import (
    SLICED_BY_INPUTS,
    WITH_EXPAND,
    Change,
    NoChangeError,
    NodeEdit,
    TooEarlyError,
    converted,
)
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.terms.operand import Dimension, broadcast_shape

_A, _B, _C = 0, 1, 2
MATRIX = 2
"""The rank of a matrix."""

_WITH_ZERO_SIZES = 14
"""The first version of Reshape that can be asked for an empty tensor."""

OTHERWISE = "sums of products of floats may be rounded differently"
"""Why a change that may round otherwise is not made."""


def multiply_matrices(edit: NodeEdit, *, exact: bool) -> bool:
    """Let a MatMul multiply two matrices, or one more like these than before.

    `exact` admits only what keeps the bits.
    """
    a, b = edit.operand(_A), edit.operand(_B)
    rows, columns = edit.shape(a), edit.shape(b)
    _require_product(edit)
    exact = exact and not _of_integers(edit)
    leading = (*rows[:-MATRIX], *columns[:-MATRIX])
    match len(rows), len(columns):
        case 1, (1 | 2):
            _multiply_vectors(edit)
        case _, 1:
            _refuse_exact(exact=exact)
            _multiply_vectors(edit)
        case _, 2:
            _fold_rows(edit)
        case _ if all(size == 1 for size in leading):
            _remove_ones(edit)
        case _ if all(size == 1 for size in columns[:-MATRIX]):
            _refuse_exact(exact=exact)
            _remove_ones_of_b(edit)
        case _:
            _refuse_exact(exact=exact)
            _multiply_transposed(edit)
    return True


def _of_integers(edit: NodeEdit) -> bool:
    found = ElementType.named(edit.facts.element_type(edit.operand(_A)))
    return found is not None and found.family is Family.INTEGER


def _refuse_exact(*, exact: bool) -> None:
    if exact:
        raise NoChangeError(OTHERWISE)


def _require_product(edit: NodeEdit) -> None:
    """Refuse what no change makes a product of two matrices."""
    a, b = edit.operand(_A), edit.operand(_B)
    rows, columns = edit.shape(a), edit.shape(b)
    if not rows or not columns:
        raise NoChangeError("an operand is a scalar, which MatMul rejects")
    if len(rows) == 1 and len(columns) > MATRIX:
        raise NoChangeError(f"'{a.name}' is a vector, and '{b.name}' a batch of matrices")
    if len(columns) <= MATRIX or all(size == 1 for size in columns[:-MATRIX]):
        return
    if len(rows) != MATRIX:
        raise NoChangeError(
            f"'{a.name}' and '{b.name}' are both batches of matrices, and SONNX has no batched "
            "MatMul"
        )


def _multiply_vectors(edit: NodeEdit) -> None:
    """Take a vector for one row or one column, and remove that axis of the product."""
    a, b = edit.operand(_A), edit.operand(_B)
    op, removed = Operators(edit), list[int]()
    rank = len(edit.shape(a))
    if rank == 1:
        a = op.unsqueeze(a, [0])
        removed.append(0)
        rank = MATRIX
    if len(edit.shape(b)) == 1:
        b = op.unsqueeze(b, [1])
        removed.append(rank - 1)
    edit.replace_by(op.squeeze(op.MatMul(a, b, name=edit.node.name), removed))


def _fold_rows(edit: NodeEdit) -> None:
    """Multiply all rows of a stack at once, and make a stack of the product.

    Flatten gives all axes but the last one in one, also where the stack is empty.
    """
    a, b = edit.operand(_A), edit.operand(_B)
    op = Operators(edit)
    flat = op.Flatten(a, axis=len(edit.shape(a)) - 1)
    edit.replace_by(_unfolded(op, op.MatMul(flat, b, name=edit.node.name)))


def _unfolded(op: Operators, product: ir.Value) -> ir.Value:
    """The product of rows as a stack: A's shape, with B's columns on the last axis."""
    edit = op.edit
    a, b = edit.operand(_A), edit.operand(_B)
    rows, columns = edit.shape(a)[:-1], edit.shape(b)[-1]
    sizes = (*rows, columns)
    zero_sizes = 1 if edit.opset >= _WITH_ZERO_SIZES else None
    if any(not isinstance(size, int) or size == 0 for size in sizes):
        if zero_sizes is None and not never_zero(sizes[1:]):
            product = _with_an_axis_for_each_size(op, product, len(rows))
        return op.Reshape(product, _sizes(op), allowzero=zero_sizes)
    return op.Reshape(product, _sizes(op))


def never_zero(sizes: Sequence[Dimension]) -> bool:
    """Whether all sizes are known, and none is 0."""
    return all(isinstance(size, int) and size > 0 for size in sizes)


def _sizes(op: Operators) -> ir.Value:
    """The shape of the product of a stack by a matrix: a constant if all sizes are known."""
    edit = op.edit
    a, b = edit.operand(_A), edit.operand(_B)
    *rows, inner = edit.shape(a)
    columns = edit.shape(b)[-1]
    known = [size for size in (*rows, columns) if isinstance(size, int)]
    if len(known) > len(rows):
        return edit.constant(known, "shape")
    if columns == inner and isinstance(columns, int):
        return op.Shape(a)
    if all(isinstance(size, int) for size in rows):
        leading = edit.constant(known, "sizes")
    else:
        leading = op.slice(op.Shape(a), 0, 0, len(rows))
    return op.Concat(leading, [columns] if isinstance(columns, int) else op.size(b, 1), axis=0)


def _with_an_axis_for_each_size(op: Operators, product: ir.Value, leading: int) -> ir.Value:
    """The product, with axes of size 1 between, or of size 0 if it has no rows.

    Before version 14 a Reshape takes 0 for the size of the same axis of its operand. If the stack
    is empty there is a 0 on each of its axes to take, and else no 0 asks for one.
    """
    any_row = op.cast(op.size(product, 0), ir.DataType.BOOL)
    one_or_zero = op.cast(any_row, ir.DataType.INT64)
    axes = list(range(1, leading))
    spread = op.unsqueeze(product, axes)
    return op.Expand(spread, op.Concat([1], *(one_or_zero for _ in axes), [1], axis=0))


def _remove_ones(edit: NodeEdit) -> None:
    """Multiply the only matrix of a stack, and give the product the axes again."""
    a, b = edit.operand(_A), edit.operand(_B)
    op, ranks = Operators(edit), [len(edit.shape(value)) for value in (a, b)]
    one, other = (
        op.squeeze(value, list(range(rank - MATRIX)))
        for value, rank in zip((a, b), ranks, strict=True)
    )
    product = op.MatMul(one, other, name=edit.node.name)
    edit.replace_by(op.unsqueeze(product, list(range(max(ranks) - MATRIX))))


def _remove_ones_of_b(edit: NodeEdit) -> None:
    """Multiply a stack by the only matrix of another one."""
    a, b = edit.operand(_A), edit.operand(_B)
    op, rank, other = Operators(edit), len(edit.shape(a)), len(edit.shape(b))
    matrix = op.squeeze(b, list(range(other - MATRIX)))
    product = op.MatMul(a, matrix, name=edit.node.name)
    edit.replace_by(op.unsqueeze(product, list(range(other - rank))))


def _multiply_transposed(edit: NodeEdit) -> None:
    """Multiply a stack by a matrix, both transposed, in place of the matrix by the stack."""
    a, b = edit.operand(_A), edit.operand(_B)
    op, rank = Operators(edit), len(edit.shape(b))
    swapped = [*range(rank - MATRIX), rank - 1, rank - MATRIX]
    stack, matrix = op.Transpose(b, perm=swapped), op.Transpose(a, perm=[1, 0])
    product = op.MatMul(stack, matrix, name=edit.node.name)
    edit.replace_by(op.Transpose(product, perm=swapped))


_STACKS = frozenset({"MatMul.C1"})


def _is_packed(edit: NodeEdit) -> bool:
    """Whether ONNX Runtime packs B, a constant of float, when a session starts."""
    b = edit.operand(_B)
    return edit.facts.element_type(b) == "float" and constant_tensor(b) is not None


def transpose_operand(edit: NodeEdit, position: int, *, exact: bool) -> bool:
    """Transpose an operand of a Gemm, and not within it: a constant, or by Transpose.

    `exact` admits only what keeps the bits.
    """
    of_double = position == _B and edit.facts.element_type(edit.operand(_B)) == "double"
    if exact and not (of_double or _is_packed(edit)):
        raise NoChangeError(OTHERWISE)
    value = edit.operand(position)
    tensor = constant_tensor(value)
    if tensor is not None:
        transposed = edit.constant(np.ascontiguousarray(tensor.numpy().T), "transposed")
    else:
        transposed = Operators(edit).Transpose(value, perm=[1, 0])
    edit.set_input(position, transposed)
    edit.set_attribute("transA" if position == _A else "transB", 0)
    return True


def leave_c_out(edit: NodeEdit) -> bool:
    """Omit C where beta is 0, and give beta its default where it multiplies nothing.

    ONNX Runtime does not read C if beta is 0, and not beta if there is no C.
    """
    beta = edit.node.attributes.get_float("beta", 1.0)
    if edit.input(_C) is not None and beta != 0:
        return False
    if edit.input(_C) is not None:
        edit.set_input(_C, None)
    edit.set_attribute("beta", 1.0)
    return True


def multiply_c(edit: NodeEdit, *, exact: bool) -> bool:
    """Multiply C by beta in front: a constant, or by Mul.

    `exact` admits only what keeps the bits.
    """
    of_double = edit.facts.element_type(edit.operand(_C)) == "double"
    if exact and not (of_double or _is_packed(edit)):
        raise NoChangeError(OTHERWISE)
    _multiply_operand(edit, _C, "beta")
    return True


def multiply_a(edit: NodeEdit) -> bool:
    """Multiply A by alpha in front: a constant, or by Mul; or B if that is the constant."""
    constant = [constant_tensor(edit.operand(position)) is not None for position in (_A, _B)]
    _multiply_operand(edit, _B if constant == [False, True] else _A, "alpha")
    return True


def _multiply_operand(edit: NodeEdit, position: int, attribute: str) -> None:
    value = edit.operand(position)
    dtype = edit.dtype(value).numpy()
    stored = np.asarray(edit.node.attributes.get_float(attribute, 1.0), np.float32)
    factor = converted(stored, dtype)
    tensor = constant_tensor(value)
    if tensor is not None:
        with np.errstate(all="ignore"):
            product = edit.constant(np.asarray(tensor.numpy() * factor, dtype), "multiplied")
    else:
        product = Operators(edit).Mul(value, factor)
    edit.set_input(position, product)
    edit.set_attribute(attribute, 1.0)


def expand_c(edit: NodeEdit) -> bool:
    """Expand C to the shape of the product, in which Gemm writes it into the result.

    A C that has one row less than it has columns becomes a constant if the product has one row;
    else Expand repeats it. A size that only a run knows is that of A or B.
    """
    a, b, c = (edit.operand(position) for position in (_A, _B, _C))
    sizes = ((a, 1 if edit.integer("transA") else 0), (b, 0 if edit.integer("transB") else 1))
    for value, _ in sizes:
        if len(edit.shape(value)) != MATRIX:
            raise NoChangeError(f"'{value.name}' is no matrix")
    known = [edit.shape(value)[axis] for value, axis in sizes]
    own = edit.shape(c)
    if len(own) > MATRIX:
        raise NoChangeError(f"'{c.name}' has more axes than the product")
    if any(size == 0 for size in known):
        raise NoChangeError("the product is empty")
    _require_expansion(c, own, known)
    if edit.integer("transA") or edit.integer("transB"):
        if len(own) == MATRIX:
            raise NoChangeError("it transposes an operand whose sizes are not those of C")
        edit.does_not_fix("Gemm.R3")
    first = WITH_EXPAND if never_zero(known) else SLICED_BY_INPUTS
    if edit.opset < first:
        raise TooEarlyError(
            f"before version {first} of the standard operators there is no Expand to such a shape"
        )
    tensor = constant_tensor(c)
    if tensor is not None and known[0] == 1 and tensor.size == known[1]:
        row = tensor.numpy().reshape(1, -1)
        edit.set_input(_C, edit.constant(row, "row"))
        return True
    numbers = [size for size in known if isinstance(size, int)]
    op = Operators(edit)
    if len(numbers) == len(known):
        shape = edit.constant(numbers, "shape")
    else:
        parts = (
            [size] if isinstance(size, int) else op.size(*place)
            for size, place in zip(known, sizes, strict=True)
        )
        shape = op.Concat(*parts, axis=0)
    edit.set_input(_C, op.Expand(c, shape))
    return True


def multiply_alone(edit: NodeEdit) -> bool:
    """Make a MatMul of a Gemm without C, which calls the same routine with the same numbers."""
    if edit.node.attributes.get_float("alpha", 1.0) != 1:
        raise NoChangeError("the product is multiplied by alpha")
    if edit.integer("transA") or edit.integer("transB"):
        raise NoChangeError("it transposes an operand")
    a, b = edit.operand(_A), edit.operand(_B)
    if any(len(edit.shape(value)) != MATRIX for value in (a, b)):
        raise NoChangeError("an operand is no matrix")
    edit.replace_by(Operators(edit).MatMul(a, b, name=edit.node.name))
    return True


def _require_expansion(c: ir.Value, own: Sequence[Dimension], wanted: Sequence[Dimension]) -> None:
    for size, other in zip(reversed(own), reversed(wanted), strict=False):
        if isinstance(size, int) and isinstance(other, int) and size not in (1, other):
            raise NoChangeError(f"'{c.name}' cannot be broadcast to the shape of the product")


MOST_MATRICES = 64
"""Stacks of more matrices are not multiplied one by one."""


def multiply_one_by_one(edit: NodeEdit) -> bool:
    """Take the matrices out of both stacks, multiply them, and stack the products."""
    a, b = edit.operand(0), edit.operand(1)
    stacks = [edit.shape(value)[:-MATRIX] for value in (a, b)]
    if min(len(edit.shape(value)) for value in (a, b)) < MATRIX or not any(stacks):
        return False
    common = broadcast_shape(*stacks)
    sizes = [size for stack in (*stacks, common or ()) for size in stack]
    if common is None or not all(isinstance(size, int) for size in sizes):
        raise NoChangeError(
            "the number of matrices in a batch depends on the input", edit.fixing_sizes(a, b)
        )
    number = prod(size for size in common if isinstance(size, int))
    if not 0 < number <= MOST_MATRICES:
        raise NoChangeError(f"the batches have {number:,} matrices, not 1 to {MOST_MATRICES}")
    op = Operators(edit)
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
    return op.concat(rows, 0)


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


_MATMUL, _GEMM = verified_of("MatMul"), verified_of("Gemm")

CHANGES = (
    Change("multiply two matrices", _STACKS, partial(multiply_matrices, exact=True), _MATMUL),
    Change(
        "multiply two matrices, possibly by another routine of the kernel",
        _STACKS,
        partial(multiply_matrices, exact=False),
        _MATMUL,
        SUMS,
    ),
    Change(
        "multiply the matrices of the batches one by one", _STACKS, multiply_one_by_one, _MATMUL
    ),
    Change("remove C, or beta, which is not used", frozenset({"Gemm.R2.beta"}), leave_c_out, _GEMM),
    *(
        Change(
            f"transpose {'AB'[position]} in front",
            frozenset({f"Gemm.R2.trans{'AB'[position]}"}),
            partial(transpose_operand, position=position, exact=bound is None),
            _GEMM,
            bound,
        )
        for position in (_A, _B)
        for bound in (None, SUMS)
    ),
    Change(
        "multiply C by beta in front",
        frozenset({"Gemm.R2.beta"}),
        partial(multiply_c, exact=True),
        _GEMM,
    ),
    Change(
        "multiply C by beta in front",
        frozenset({"Gemm.R2.beta"}),
        partial(multiply_c, exact=False),
        _GEMM,
        SUMS,
    ),
    Change(
        "multiply by alpha in front",
        frozenset({"Gemm.R2.alpha"}),
        multiply_a,
        _GEMM,
        SUMS,
    ),
    Change(
        "expand C to the shape of the product", frozenset({"Gemm.R1", "Gemm.R3"}), expand_c, _GEMM
    ),
    Change("multiply without a sum", frozenset({"Gemm.R4"}), multiply_alone, _GEMM),
)
"""The changes of MatMul and Gemm."""
