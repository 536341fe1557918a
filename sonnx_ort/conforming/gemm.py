"""Gemm: products of two matrices, plus a third one of the same shape.

Gemm writes C into the result, broadcast and multiplied by beta, and adds the product to that. So C
may be broadcast and multiplied in front of it. Which routine is called depends on how A and B are
stored, but not if ONNX Runtime has packed B when the session started: a constant of float it packs
into one form, transposed or not. Of double there is one routine, which packs B, but sums up A in
other blocks if it is transposed. Without C, Gemm calls what MatMul calls.
"""

from functools import partial

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, Safety, Site
from sonnx_ort.conforming.products import MATRIX, OTHERWISE, WITH_SHAPES_IN_RUN, never_zero
from sonnx_ort.knowledge.declarations import constant_tensor

_A, _B, _C = 0, 1, 2
_WITH_EXPAND = 8


def _is_packed(site: Site) -> bool:
    """Whether ONNX Runtime packs B, a constant of float, when a session starts."""
    b = site.operand(_B)
    return site.facts.element_type(b) == "float" and constant_tensor(b) is not None


def transpose_operand(site: Site, position: int, *, exact: bool) -> bool:
    """Transpose an operand of a Gemm, and not within it: a constant, or by Transpose.

    Args:
        site: The node.
        position: Of the operand.
        exact: Whether only what keeps the bits is admitted.
    """
    of_double = position == _B and site.facts.element_type(site.operand(_B)) == "double"
    if exact and not (of_double or _is_packed(site)):
        raise NoChangeError(OTHERWISE)
    value = site.operand(position)
    tensor = constant_tensor(value)
    if tensor is not None:
        transposed = site.constant(np.ascontiguousarray(tensor.numpy().T), "transposed")
    else:
        transposed = site.add("Transpose", [value], "transposed", {"perm": [1, 0]})
    site.set_input(position, transposed)
    site.set_attribute("transA" if position == _A else "transB", 0)
    return True


def leave_c_out(site: Site) -> bool:
    """Leave out C where beta is 0, and give beta its default where it multiplies nothing.

    ONNX Runtime does not read C if beta is 0, and not beta if there is no C.
    """
    beta = site.node.attributes.get_float("beta", 1.0)
    if site.input(_C) is not None and beta != 0:
        return False
    if site.input(_C) is not None:
        site.set_input(_C, None)
    site.set_attribute("beta", 1.0)
    return True


def multiply_c(site: Site, *, exact: bool) -> bool:
    """Multiply C by beta in front: a constant, or by Mul.

    Args:
        site: The node.
        exact: Whether only what keeps the bits is admitted.
    """
    of_double = site.facts.element_type(site.operand(_C)) == "double"
    if exact and not (of_double or _is_packed(site)):
        raise NoChangeError(OTHERWISE)
    _multiply(site, _C, "beta")
    return True


def multiply_a(site: Site) -> bool:
    """Multiply A by alpha in front: a constant, or by Mul; or B if that is the constant."""
    constant = [constant_tensor(site.operand(position)) is not None for position in (_A, _B)]
    _multiply(site, _B if constant == [False, True] else _A, "alpha")
    return True


def _multiply(site: Site, position: int, attribute: str) -> None:
    value = site.operand(position)
    element_type = site.facts.element_type(value)
    if element_type is None:
        raise NoChangeError(f"the type of '{value.name}' is not known")
    dtype = ir.DataType[element_type.upper()].numpy()
    factor = np.asarray(site.node.attributes.get_float(attribute, 1.0), np.float32).astype(dtype)
    tensor = constant_tensor(value)
    if tensor is not None:
        with np.errstate(all="ignore"):
            product = site.constant(np.asarray(tensor.numpy() * factor, dtype), "multiplied")
    else:
        product = site.add("Mul", [value, site.constant(factor, attribute)], "multiplied")
    site.set_input(position, product)
    site.set_attribute(attribute, 1.0)


def expand_c(site: Site) -> bool:
    """Expand C to the shape of the product, in which Gemm writes it into the result.

    A C that has one row less than it has columns becomes a constant if the product has one row;
    else Expand repeats it. A size that only a run knows is that of A or B.
    """
    a, b, c = (site.operand(position) for position in (_A, _B, _C))
    sizes = (
        (a, 1 if site.integer("transA") else 0),
        (b, 0 if site.integer("transB") else 1),
    )
    for value, _ in sizes:
        if len(site.shape(value)) != MATRIX:
            raise NoChangeError(f"'{value.name}' is no matrix")
    known = [site.shape(value)[axis] for value, axis in sizes]
    own = site.shape(c)
    if len(own) > MATRIX:
        raise NoChangeError(f"'{c.name}' has more axes than the product")
    if any(size == 0 for size in known):
        raise NoChangeError("the product is empty")
    if site.integer("transA") or site.integer("transB"):
        if len(own) == MATRIX:
            raise NoChangeError("it transposes an operand whose sizes are not those of C")
        site.leave("Gemm.R3")
    first = _WITH_EXPAND if never_zero(known) else WITH_SHAPES_IN_RUN
    if site.opset < first:
        raise NoChangeError(
            f"before version {first} of the standard operators there is no Expand to such a shape"
        )
    tensor = constant_tensor(c)
    if tensor is not None and known[0] == 1 and tensor.size == known[1]:
        row = tensor.numpy().reshape(1, -1)
        site.set_input(_C, site.constant(row, "row"))
        return True
    numbers = [size for size in known if isinstance(size, int)]
    if len(numbers) == len(known):
        shape = site.constant(numbers, "shape")
    else:
        parts = [
            site.constant([size], "size") if isinstance(size, int) else site.size(*place)
            for size, place in zip(known, sizes, strict=True)
        ]
        shape = site.add("Concat", parts, "shape", {"axis": 0})
    site.set_input(_C, site.add("Expand", [c, shape], "expanded"))
    return True


def multiply_alone(site: Site) -> bool:
    """Make a MatMul of a Gemm without C, which calls the same routine with the same numbers."""
    if site.node.attributes.get_float("alpha", 1.0) != 1:
        raise NoChangeError("the product is multiplied by alpha")
    if site.integer("transA") or site.integer("transB"):
        raise NoChangeError("it transposes an operand")
    a, b = site.operand(_A), site.operand(_B)
    if any(len(site.shape(value)) != MATRIX for value in (a, b)):
        raise NoChangeError("an operand is no matrix")
    site.replace_by(site.add("MatMul", [a, b], "product", name=site.node.name))
    return True


CHANGES = (
    Change("remove C, or beta, which is not used", frozenset({"Gemm.R2.beta"}), leave_c_out),
    *(
        Change(
            f"transpose {'AB'[position]} in front",
            frozenset({f"Gemm.R2.trans{'AB'[position]}"}),
            partial(transpose_operand, position=position, exact=safety is Safety.SAFE),
            safety,
        )
        for position in (_A, _B)
        for safety in Safety
    ),
    Change(
        "multiply C by beta in front", frozenset({"Gemm.R2.beta"}), partial(multiply_c, exact=True)
    ),
    Change(
        "multiply C by beta in front",
        frozenset({"Gemm.R2.beta"}),
        partial(multiply_c, exact=False),
        Safety.UNSAFE,
    ),
    Change("multiply by alpha in front", frozenset({"Gemm.R2.alpha"}), multiply_a, Safety.UNSAFE),
    Change("expand C to the shape of the product", frozenset({"Gemm.R1", "Gemm.R3"}), expand_c),
    Change("multiply without a sum", frozenset({"Gemm.R4"}), multiply_alone),
)
"""The changes of Gemm."""
