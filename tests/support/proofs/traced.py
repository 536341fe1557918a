"""What a kernel of numpy computes, taken down while it runs on stand-ins for arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.terms import NEAREST, NotInterpreted, bits_of, nearest_float

PRECISIONS = {np.dtype(np.float32): 24, np.dtype(np.float64): 53}
"""The bits of the significands of the types that integers are divided in."""

_TYPES = {np.dtype(np.float32): ElementType.FLOAT, np.dtype(np.float64): ElementType.DOUBLE}


@dataclass(frozen=True)
class Quotient:
    """A quotient of two operands in a type of floats, of which the fraction is cut off.

    Attributes:
        computed_in: The type that they are converted to, and divided in.
        dividend: The name of the dividend.
        divisor: The name of the divisor.
    """

    computed_in: np.dtype[Any]
    dividend: str
    divisor: str


class TracedArray:
    """Stands for an array of integers: it takes down what is done with it."""

    def __init__(self, dtype: np.dtype[Any], content: str | Quotient | None) -> None:
        """Stand for an operand of that name, or for an array in which nothing is yet."""
        self.dtype = dtype
        self.content = content

    def __getattr__(self, name: str) -> Any:
        """Refuse whatever else a kernel may ask."""
        raise NotInterpreted(f"what a kernel does by way of {name}")

    def __array_function__(self, function: object, types: object, args: Any, kwargs: Any) -> Any:
        """Take a function down."""
        del types
        if function is np.empty_like and args == (self,) and not kwargs:
            return TracedArray(self.dtype, None)
        raise NotInterpreted(f"{function}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Take an operation down."""
        (out,) = options.pop("out", (None,))
        known = ufunc is np.divide and method == "__call__" and out is not None
        if not known or options.pop("casting", None) != "unsafe" or set(options) != {"dtype"}:
            raise NotInterpreted(f"{ufunc.__name__} with {options}")
        out.content = Quotient(np.dtype(options["dtype"]), *(one.content for one in inputs))
        return out


def trace(kernel: Callable[..., Any], element_type: ElementType) -> Quotient:
    """Run a kernel of two operands, and give what it computes.

    Args:
        kernel: The kernel.
        element_type: The type of its operands and its result.

    Raises:
        NotInterpreted: It does what nobody said the meaning of.
    """
    dtype = element_type.dtype
    result = kernel(TracedArray(dtype, "a"), TracedArray(dtype, "b"))
    if result.dtype != dtype or not isinstance(result.content, Quotient):
        raise NotInterpreted(f"a result {result.content} in {result.dtype}")
    return result.content


def is_truncated_quotient(quotient: Quotient, element_type: ElementType) -> z3.BoolRef:
    """That it is the quotient without its fraction, over the reals with what is true of rounding.

    Nearest rounding is off by at most the half of a unit in the last place, relatively, and gives
    an integer of as many bits as the significand has as it is. No number here is subnormal or
    beyond the type. Everything is said of numbers multiplied by b, which is positive: then it is
    linear, and Z3 decides it at once.

    Args:
        quotient: What is computed.
        element_type: The type of the operands.
    """
    precision = PRECISIONS[quotient.computed_in]
    most = 1 << (bits_of(element_type) - 1)
    # Rounding and cutting off are symmetric in the sign, so that magnitudes are enough.
    a, b, whole = z3.Ints("a b whole_times_b")
    found = z3.Real("found_times_b")
    given = [a >= 0, a <= most, b >= 1, b <= most]
    # The quotient of integers without its fraction, by its definition.
    given += [whole >= 0, whole <= a, a < whole + b]
    if most <= 1 << precision:
        # The operands are held as they are, and so is a quotient that is an integer.
        unit = z3.Q(1, 1 << precision)
        exact = z3.ToReal(a)
        given += [found - exact <= unit * exact, exact - found <= unit * exact]
        given.append(z3.Implies(a == whole, found == exact))
    return z3.Implies(z3.And(*given), z3.And(whole <= found, found < whole + b))


def is_bitwise_quotient(quotient: Quotient, element_type: ElementType) -> z3.BoolRef:
    """The same, bit by bit in the theory of floats: for operands `a` and `b` that keep the rules.

    Args:
        quotient: What is computed.
        element_type: The type of the operands.
    """
    bits = bits_of(element_type)
    a, b = z3.BitVecs("a b", bits)
    kind = _TYPES[quotient.computed_in]
    wide = [nearest_float(x, element_type, kind) for x in (a, b)]
    found = z3.fpToSBV(z3.RTZ(), z3.fpDiv(NEAREST, *wide), z3.BitVecSort(bits))
    smallest = z3.BitVecVal(1 << (bits - 1), bits)
    keeps = z3.And(b != 0, z3.Not(z3.And(a == smallest, b == -1)))
    return z3.Implies(keeps, found == a / b)
