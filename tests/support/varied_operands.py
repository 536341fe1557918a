"""Operands of rules that runs decide: examples, and random ones that just keep or break them."""

import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.applied import special_values
from support.operator_cases import OPERATOR_CASES

Arrays = Sequence[np.ndarray]

OTHER_EXAMPLES: Mapping[str, str] = {
    "Cast.float.C1": "X [2147483520.0, -0.5], float, to=6",
    "Concat.C2": "X0 (2, 2, 3), X1 (2, 2, 5), X2 (2, 2, 1), axis -1",
    "Div.R5": "A [6, 9], B [3, 2], both int32",
    "MaxPool.C1": "X (1, 3, 2, 2), dilations=[2, 3], pads=[1, 1, 1, 1]",
    "MaxPool.fits": "X (1, 3, 4, 4), kernel_shape=[2, 3], pads=[0, 1, 0, 0]",
    "Reshape.allowzero.C3": "X (4, 3), S [-1, 3], allowzero=1",
    "Slice.C2": "X (4, 3), starts [3, 0], ends [4, 2], axes [0, 1], steps [1, 1]",
    "Slice.R6": "X (4, 3), starts [3, 0], ends [4, 2], axes [0, 1], steps [1, 1]",
    "Slice.R8": "X (4, 3), starts [3, 0], ends [4, 2], axes [0, 1], steps [1, 1]",
    "Softmax.C2": "X (2, 3), axis=-2",
    "Softmax.C4": "X (2, 3, 1), axis=-2",
}
"""Operands of rules whose examples leave something out, or for forms beside those of examples."""

NUMBERS = (0, 1, 2, 3, -1, -2, -3, 7, 33, 127, -128)

CHECKED = [
    rule
    for rule in RULES.values()
    if rule.requirement.subject in {Subject.OWN_SHAPE, Subject.ELEMENTS}
    and rule.id.partition(".")[0] in OPERATOR_CASES
]


NO_EXAMPLES = {"Div.R5", "Cast.float.C1", "Slice.C2", "Slice.R6", "Slice.R8"}
"""The rules whose examples leave something out that decides."""


def examples() -> Iterator[tuple[Rule, str]]:
    """The rules that runs decide, each with operands."""
    for rule in CHECKED:
        for text in (rule.example.kept, OTHER_EXAMPLES.get(rule.id)):
            if text in OTHER_EXAMPLES.values() or (text and rule.id not in NO_EXAMPLES):
                yield rule, text


def is_of(kind: ElementType, rule: Rule) -> bool:
    """Whether a rule is one of a family of types, if it is of one alone."""
    families = {*rule.id.split(".")} & {*Family}
    return not families or kind.family in families


def varied(
    rng: random.Random,
    rule: Rule,
    operands: Sequence[Operand],
    kind: ElementType,
    *,
    of_one_shape: bool,
) -> Arrays:
    """Operands with other sizes, axes and elements here and there.

    Args:
        rng: Chooses.
        rule: The rule that they are for.
        operands: Those of an example.
        kind: The type of the operands that have no type of their own.
        of_one_shape: Whether they stay of one shape.
    """
    arrays = []
    for operand in operands:
        shape = [*operand.shape]
        if not of_one_shape and operand.constant is None and rng.random() < 0.7:
            shape = _other_shape(rng, shape)
        of_kind = operands[0].constant is not None or operand.constant is None
        dtype = kind.dtype if of_kind else operand.constant.dtype
        array = np.ones(shape, dtype)
        if operand.constant is not None:
            with np.errstate(all="ignore"):
                array = operand.constant.astype(dtype)
            _change(rng, array, kind if of_kind else ElementType.INT64, special=of_kind)
        arrays.append(array)
    _put_at_a_boundary(rng, rule, kind, arrays)
    return arrays


def _put_at_a_boundary(rng: random.Random, rule: Rule, kind: ElementType, arrays: Arrays) -> None:
    """Put elements that only just keep or break the rule in one place of operands of one shape."""
    boundaries = OPERATOR_CASES[rule.id.partition(".")[0]].boundaries
    own = [each for each in boundaries if each.rule == rule.id and kind in each.types]
    rows = [row for each in own for row in (*each.inside(kind), *each.outside(kind))]
    of_one_shape = len({array.shape for array in arrays}) == 1
    if rows and of_one_shape and arrays[0].size and rng.random() < 0.5:
        place, row = rng.randrange(arrays[0].size), rng.choice(rows)
        for array, element in zip(arrays, row, strict=False):
            array.flat[place] = element


def _other_shape(rng: random.Random, shape: list[int]) -> list[int]:
    match rng.choice(("size", "size", "size", "more", "less")):
        case "more":
            shape.insert(rng.randint(0, len(shape)), rng.randint(0, 3))
        case "less" if shape:
            shape.pop(rng.randrange(len(shape)))
        case _ if shape:
            shape[rng.randrange(len(shape))] = rng.randint(0, 4)
    return shape


def _change(rng: random.Random, array: np.ndarray, kind: ElementType, *, special: bool) -> None:
    for place in range(array.size):
        if rng.random() < 0.5:
            numbers = [*NUMBERS, *special_values(kind).tolist()] if special else NUMBERS
            with np.errstate(all="ignore"):
                array.flat[place] = np.array(rng.choice(numbers)).astype(array.dtype)
