"""Operands of one numeric type."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy.typing as npt

from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.rule import (
    Judgement,
    Subject,
    Violation,
    at_run_time,
    proved,
    violated,
)
from sonnx_ort.terms.operand import Operand


@dataclass(frozen=True, slots=True)
class SameNumericType:
    """All operands have the same type, which is one of the allowed kinds.

    Attributes:
        result_type: The ONNX type of all results if it differs from the operands' type;
            `OF_THE_NODE` if it depends on the node or is not restricted.
        kinds: The allowed types, by their ONNX names.
        family: The family of the operands for which it is demanded; None for all.
        added: Those of the allowed types that the draft does not list.
    """

    result_type: str | None = None
    kinds: tuple[str, ...] = NUMERIC_TYPES
    family: Family | None = None
    added: tuple[ElementType, ...] = ()

    subject: ClassVar = Subject.TYPES

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' known types."""
        for operand in operands:
            name = operand.element_type
            if name is not None and name not in self.kinds:
                wanted = "numeric" if self.kinds == NUMERIC_TYPES else " or ".join(self.kinds)
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
        if not known:
            return proved("no such operand is given")
        common = known.pop()
        note = ", a type that sonnx_ort adds to those of SONNX" if common in self.added else ""
        return proved(f"all are {common}{note}")

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
        return f"convert with an explicit Cast to one of {', '.join(self.kinds)}"


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
