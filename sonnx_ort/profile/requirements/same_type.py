"""All operands have the same type."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.rule import (
    DecidedBeforeRuns,
    Illustration,
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand

_USUAL = (
    ElementType.FLOAT,
    ElementType.DOUBLE,
    ElementType.INT32,
    ElementType.INT64,
    ElementType.UINT8,
    ElementType.INT8,
    ElementType.BOOL,
)
"""The types of examples, the likeliest first."""


@dataclass(frozen=True, slots=True)
class SameNumericType:
    """All operands have the same type, which is one of the allowed kinds.

    Attributes:
        result_type: The ONNX type of all results if it differs from the operands' type;
            `OF_THE_NODE` if it depends on the node or is not restricted.
        kinds: The allowed types; None for every type that ONNX has.
        family: The family of the operands for which it is demanded; None for all.
        shown: The names of two tensors in the example.
    """

    result_type: str | None = None
    kinds: tuple[ElementType, ...] | None = NUMERIC_TYPES
    family: Family | None = None
    shown: tuple[str, str] = ("A", "B")

    subject: ClassVar = Subject.TYPES

    @property
    def example(self) -> Illustration:
        """Two tensors of one allowed type, and of two, of the same family if it has more."""
        allowed = [k for k in self.kinds or ElementType if self.family in (None, k.family)]
        kept = next(kind for kind in _USUAL if kind in allowed)
        others = [kind for kind in _USUAL if kind is not kept]
        broken = next((kind for kind in others if kind.family is kept.family), others[0])
        one, other = self.shown
        return Illustration(
            f"{one} {kept}, {other} {kept}",
            f"{one} {kept}, {other} {broken}",
            "convert one operand with an explicit Cast",
        )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' known types."""
        for operand in operands:
            name, kinds = operand.element_type, self.kinds
            if name is not None and kinds is not None and ElementType.named(name) not in kinds:
                wanted = "numeric" if kinds == NUMERIC_TYPES else " or ".join(kinds)
                return violated(f"{operand.name} is of type {name}, which is not {wanted}")
        known = {o.element_type for o in operands if o.element_type is not None}
        if len(known) > 1:
            types = " and ".join(f"{o.name} is {o.element_type}" for o in operands)
            return violated(types)
        unknown = " and ".join(o.name for o in operands if o.element_type is None)
        if unknown:
            return at_run_time(
                f"the type of {unknown} is unknown; ONNX Runtime starts no session with other types"
            )
        return proved(f"all are {known.pop()}" if known else "no such operand is given")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared types of results with the operands' types."""
        if self.result_type == OF_THE_NODE:
            return None
        for result, operand in product(results, operands):
            if self.result_type is None:
                clash = differing_types(operand, result)
            else:
                clash = _another_type(result, self.result_type)
            if clash:
                return violated(clash)
        return None

    def violation(self, arrays: Sequence[npt.NDArray[Any]]) -> Violation | None:
        """Compare the arrays' dtypes."""
        first = arrays[0].dtype
        if all(array.dtype == first for array in arrays):
            return None
        return Violation("the types " + " and ".join(str(a.dtype) for a in arrays) + " differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """List the allowed types."""
        del operands
        kinds = "one type" if self.kinds is None else f"one of {', '.join(self.kinds)}"
        return f"convert with an explicit Cast to {kinds}"


@dataclass(frozen=True, slots=True)
class NotBoth(DecidedBeforeRuns):
    """The first operand is not of one type while the second is of another.

    Attributes:
        types: The two types.
    """

    types: tuple[ElementType, ElementType]
    example: Illustration

    subject: ClassVar = Subject.TYPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Look at both types; where one is unknown that might not be admitted, it is refused."""
        told = " and ".join(f"{o.name} is {o.element_type or 'of unknown type'}" for o in operands)
        known = [operand.element_type for operand in operands]
        may_be = all(found in (None, kind) for found, kind in zip(known, self.types, strict=True))
        return violated(told) if may_be else proved(told)


def differing_types(operand: Operand, result: Operand) -> str:
    """Describe a result declared with another type than the operand's; empty if they agree."""
    types = operand.element_type, result.element_type
    if None in types or types[0] == types[1]:
        return ""
    return f"{result.name} is declared as {types[1]}, and {operand.name} is {types[0]}"


def _another_type(result: Operand, expected: str) -> str:
    """Describe a result declared with another type than expected; empty if they agree."""
    if result.element_type in (None, expected):
        return ""
    return f"{result.name} is declared as {result.element_type}, and results are {expected}"
