"""All operands have one and the same numeric type."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Judgement, Offence, at_run_time, proved, violated
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Example


class SameNumericType:
    """Each operand is of one of the twelve numeric types, and all are of the same one."""

    example = Example(
        "A float, B float",
        "A float, B double",
        "convert one operand with Cast, explicitly",
    )

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Compare the operands' types as far as they are known."""
        for operand in operands:
            name = operand.element_type
            if name is not None and ElementType.named(name) is None:
                return violated(f"{operand.letter} is of type {name}, which is not numeric")
        known = {o.element_type for o in operands if o.element_type is not None}
        if len(known) > 1:
            types = " and ".join(f"{o.letter} is {o.element_type}" for o in operands)
            return violated(types)
        unknown = " and ".join(o.letter for o in operands if o.element_type is None)
        if unknown:
            return at_run_time(
                f"the type of {unknown} is unknown; a session of other types does not start"
            )
        return proved(f"all are {known.pop()}")

    def judge_results(
        self, operands: Sequence[Operand], results: Sequence[Operand]
    ) -> Judgement | None:
        """Compare the declared types of results with the operands'."""
        for result in results:
            for operand in operands:
                clash = differing_types(operand, result)
                if clash:
                    return violated(clash)
        return None

    def offence(self, arrays: Sequence[npt.NDArray[Any]]) -> Offence | None:
        """Compare the arrays' dtypes."""
        first = arrays[0].dtype
        if all(array.dtype == first for array in arrays):
            return None
        return Offence("the types " + " and ".join(str(a.dtype) for a in arrays) + " differ")

    def hint(self, operands: Sequence[Operand]) -> str:
        """Say which types to choose from."""
        del operands
        return f"convert with Cast, explicitly, to one of {', '.join(ElementType)}"


def differing_types(operand: Operand, result: Operand) -> str:
    """Say that a result is declared with another type than an operand has; empty if it is not.

    Args:
        operand: The operand.
        result: The result, as the file declares it.
    """
    types = operand.element_type, result.element_type
    if None in types or types[0] == types[1]:
        return ""
    return f"{result.letter} is declared as {types[1]}, and {operand.letter} is {types[0]}"
