"""Equal, Less, LessOrEqual, Greater and GreaterOrEqual."""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.source import Source

_OF_LESS_ALONE = "The draft of the working group covers only Less."
_NUMBERS = (Family.FLOAT, Family.INTEGER)


def _comparison(  # noqa: PLR0913 - a row of a table, by name
    name: str,
    first_code: int,
    source: Source,
    *,
    versions: tuple[int, ...],
    whether: str,
    families: tuple[Family, ...] = _NUMBERS,
    broadcast_types: str = "in every numeric type",
    oldest_kernels: int = 7,
) -> Operator:
    """An operator that compares elements of two tensors of one shape and type."""
    rules = CommonRules(name, first_code, source, result_type="bool")
    return Operator(
        name=name,
        description=f"""
            `{name}`: whether {whether}.

            Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros
            are equal.

            ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
            symbol, {broadcast_types} except bfloat16, for which it has no kernel.
        """,
        operands=("A", "B"),
        versions=versions,
        contracts=rules.contracts(*families),
        result_type="bool",
        oldest_kernels=oldest_kernels,
    )


EQUAL = _comparison(
    "Equal",
    321,
    by_analogy("Equal"),
    versions=(1, 7, 11, 13, 19),
    whether="elements of two tensors of one shape and type are equal",
    families=(*_NUMBERS, Family.BOOLEAN),
    broadcast_types="in conditions and in every numeric type",
)

LESS = _comparison(
    "Less",
    341,
    working_group("Less"),
    versions=(1, 7, 9, 13),
    whether="elements of a tensor are less than those of another one",
)

LESS_OR_EQUAL = _comparison(
    "LessOrEqual",
    361,
    by_analogy("LessOrEqual", _OF_LESS_ALONE),
    versions=(12, 16),
    whether="elements of a tensor are at most those of another one",
    oldest_kernels=12,
)

GREATER = _comparison(
    "Greater",
    381,
    by_analogy("Greater", _OF_LESS_ALONE),
    versions=(1, 7, 9, 13),
    whether="elements of a tensor are greater than those of another one",
)

GREATER_OR_EQUAL = _comparison(
    "GreaterOrEqual",
    401,
    by_analogy("GreaterOrEqual", _OF_LESS_ALONE),
    versions=(12, 16),
    whether="elements of a tensor are at least those of another one",
    oldest_kernels=12,
)
