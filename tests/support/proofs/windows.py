"""Nodes of operators whose operands have sizes that attributes and other operands decide."""

from collections.abc import Mapping

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import AttributeValue
from support.operator_cases import OPERATOR_CASES
from support.proofs.single_operands import SingleOperands

RANKS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "Conv": ((4, 4, 1), (3, 3, 1), (4, 4, 2), (3, 4, 1), (0, 4, 1), (4, 4, 0)),
    "ConvInteger": ((4, 4, 0, 0), (4, 4, 0, 1), (4, 4, 1, 0), (3, 3, 0, 0), (4, 4, 0, 2)),
    "MaxPool": ((4,), (3,), (0,), (5,)),
    "Gemm": ((2, 2, 2), (1, 2, 2), (2, 2, 1), (2, 1, 2), (2, 2, 0)),
    "LSTM": ((3,), (2,), (0,)),
}
"""The ranks of operands among which faults are looked for."""


def windowed(
    name: str, kind: ElementType, *, given: tuple[str, ...] = (), **said: AttributeValue
) -> SingleOperands:
    """A node of one of the operators of `RANKS`.

    Args:
        name: The operator.
        kind: The type of the operands that have none of their own.
        given: The names of the operands that are given; all by default.
        **said: Attributes beside those that it cannot do without.
    """
    case = OPERATOR_CASES[name]
    attributes = {**case.attributes.get(kind.family, {}), **said}
    hidden = attributes.get("hidden_size", 0)
    stored = {} if name != "LSTM" else stored_for(int(hidden))
    ranks = tuple(each[: len(given) or None] for each in RANKS[name])
    return SingleOperands(name, kind, given, attributes=attributes, stored=stored, ranks=ranks)


def stored_for(hidden: int) -> dict[str, tuple[int, ...]]:
    """The operands of an LSTM that are constant, for one feature and a batch of two."""
    state = (1, 2, hidden)
    return {
        "W": (1, 4 * hidden, 1),
        "R": (1, 4 * hidden, hidden),
        "B": (1, 8 * hidden),
        "sequence_lens": (2,),
        "initial_h": state,
        "initial_c": state,
        "P": (1, 3 * hidden),
    }
