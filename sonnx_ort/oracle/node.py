"""A node as the oracle sees it: version, attributes and operands."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.oracle.elements import Exact, exact_elements
from sonnx_ort.oracle.numbers import FLOAT_FORMATS, BinaryFormat, decode
from sonnx_ort.oracle.results import NotDefinedError, number, tensor
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

ELEMENT_TYPES: Mapping[np.dtype[Any], ElementType] = {t.dtype: t for t in ElementType}
"""The element types by their numpy dtypes."""


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes:
        version: The version of its operator.
        attributes: The attributes that it has; lists are sequences of numbers, tensors arrays.
        operands: All operands, None for omitted ones. Those over the reals are arrays of
            `Fraction`; others have the dtype of an element type.
        edition: The edition of the profile, which some operators depend on.
    """

    version: int
    attributes: Mapping[str, Any]
    operands: tuple[Array | None, ...]
    edition: Edition = Edition.TYPED

    def operand(self, place: int) -> Array:
        """An operand that cannot be omitted.

        Raises:
            ValueError: It is omitted.
        """
        found = self.optional(place)
        if found is None:
            raise ValueError(f"operand {place} is missing")
        return found

    def optional(self, place: int) -> Array | None:
        """An operand, or None if it is omitted."""
        return self.operands[place] if place < len(self.operands) else None

    def known(self, place: int) -> Array:
        """An operand whose elements decide what the node computes, such as a zero point."""
        return self.operand(place)

    def axis(self, default: int) -> int:
        """The axis of the first operand that the attribute `axis` names, counted from the first.

        Raises:
            NotDefinedError: There is none.
        """
        rank, axis = self.operand(0).ndim, self.integer("axis", default)
        if not -rank <= axis < rank:
            raise NotDefinedError(f"axis {axis} is not in [{-rank}, {rank - 1}]")
        return axis % rank

    def listed(self, place: int, name: str, since: int) -> list[int] | None:
        """The integers of an operand, which are an attribute before a version; None if left out."""
        if self.version < since:
            return self.integers(name, []) if name in self.attributes else None
        if self.optional(place) is None:
            return None
        return [int(each) for each in self.known(place).ravel()]

    def integers(self, name: str, default: list[int]) -> list[int]:
        """The integers of an attribute."""
        return [int(each) for each in self.attributes.get(name, default)]

    def integer(self, name: str, default: int) -> int:
        """The integer of an attribute."""
        return int(self.attributes.get(name, default))

    def factor(self, name: str, default: float) -> Any:
        """The number of an attribute, which ONNX keeps as a float; a `Fraction` stays as it is."""
        value = self.attributes.get(name, default)
        if isinstance(value, Fraction):
            return number(value)
        bits = int(np.array(value, np.float32).view(np.uint32))
        return decode(bits, FLOAT_FORMATS[ElementType.FLOAT])

    def element_type(self, place: int = 0) -> ElementType | None:
        """The type of an operand; None over the reals.

        Raises:
            ValueError: The dtype is none of the profile's.
        """
        dtype = self.operand(place).dtype
        if dtype.kind == "O":
            return None
        if dtype not in ELEMENT_TYPES:
            raise ValueError(f"operand {place} has dtype {dtype}, which no element type has")
        return ELEMENT_TYPES[dtype]

    def common_type(self, *places: int) -> ElementType | None:
        """The type that some operands have in common; None over the reals.

        Raises:
            ValueError: They have several, or one that is none of the profile's.
        """
        kinds = {self.element_type(k): None for k in places if self.optional(k) is not None}
        if len(kinds) > 1:
            raise ValueError(f"operands of {' and '.join(map(str, kinds))} have no meaning")
        return next(iter(kinds), None)

    def is_of_integers(self, place: int = 0) -> bool:
        """Whether an operand has an integer type."""
        element_type = self.element_type(place)
        return element_type is not None and element_type.family is Family.INTEGER

    def format(self, place: int = 0) -> BinaryFormat | None:
        """The format of an operand's floats; None over the reals.

        Raises:
            ValueError: It has no floats.
        """
        element_type = self.element_type(place)
        if element_type is None:
            return None
        if element_type not in FLOAT_FORMATS:
            raise ValueError(f"operand {place} of {element_type} has no meaning")
        return FLOAT_FORMATS[element_type]

    def exact(self, place: int = 0) -> Exact:
        """The exact elements of an operand: `Number` for floats and reals, else int or bool."""
        operand = self.operand(place)
        return exact_tensor(operand, self.element_type(place))


def exact_tensor(array: Array, element_type: ElementType | None) -> Exact:
    """The exact elements of an array; of `Fraction` if it has no element type."""
    if element_type is None:
        return tensor((number(Fraction(each)) for each in array.ravel().tolist()), array.shape)
    return exact_elements(np.ascontiguousarray(array).reshape(array.shape), element_type)
