"""The flag of a guard says whether operands keep its rule, whatever was known of them before.

Whether they do is said by `statements`, which know nothing of the terms that make guards.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper
from statements import kept_by

from sonnx_ort.checker.facts import Expressions, Tree
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.guard import GuardedNode, Precondition
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import VERSION, Rule, Status, Subject
from sonnx_ort.suite.applied import special_values
from sonnx_ort.suite.examples import read
from sonnx_ort.terms.operand import Operand, Shape
from support.operator_cases import OPERATOR_CASES

Array = np.ndarray

_BY_ELEMENTS: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Equal": np.equal,
    "Gather": lambda sizes, places: np.take(sizes, places, axis=0),
    "Greater": np.greater,
    "IsNaN": np.isnan,
    "Less": np.less,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Pow": np.power,
    "Range": np.arange,
    "Reshape": lambda array, shape: np.reshape(array, tuple(shape)),
    "Shape": lambda array: np.array(array.shape, np.int64),
    "Sub": np.subtract,
    "Tile": lambda array, copies: np.tile(array, tuple(copies)),
    "Where": np.where,
}


def evaluated(tree: Tree, values: Mapping[str, Array]) -> Array:
    """What an expression gives.

    Args:
        tree: The expression.
        values: The values that it reads, by name.

    Raises:
        ValueError: ONNX Runtime would refuse the shapes.
        IndexError: It would refuse a place.
    """
    match tree:
        case ("value", name):
            return values[name]
        case ("constant", kind, dims, elements):
            return np.array(elements, kind).reshape(dims)
    operator, attributes, *inputs = tree
    operands = [evaluated(each, values) for each in inputs]
    said = {name: _value(value) for name, value in attributes}
    with np.errstate(all="ignore"):
        return np.asarray(_calculated(operator, operands, said))


def _calculated(operator: str, operands: list[Array], said: Mapping[str, Any]) -> Any:
    match operator:
        case "Cast":
            return operands[0].astype(helper.tensor_dtype_to_np_dtype(said["to"]))
        case "Concat":
            return np.concatenate(operands, said["axis"])
        case "ReduceMax" | "ReduceMin" | "ReduceSum":
            axes = operands[1] if len(operands) > 1 else said.get("axes")
            return _reduced(operator, operands[0], axes)
        case "Slice":
            first, last = operands[1:] or [np.array(said[n]) for n in ("starts", "ends")]
            return operands[0][int(first[0]) : int(last[0])]
        case _:
            return _BY_ELEMENTS[operator](*operands)


def _reduced(operator: str, array: Array, axes: Any) -> Array:
    over = None if axes is None else tuple(np.ravel(axes).tolist())
    if operator == "ReduceSum":
        return array.sum(over)
    limits = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
    if operator == "ReduceMax":
        return array.max(over, initial=-np.inf if array.dtype.kind == "f" else limits.min)
    return array.min(over, initial=np.inf if array.dtype.kind == "f" else limits.max)


def _value(value: Any) -> Any:
    return (
        helper.get_attribute_value(AttributeProto.FromString(value))
        if isinstance(value, bytes)
        else value
    )


Arrays = Sequence[np.ndarray]

OTHER_EXAMPLES: Mapping[str, str] = {
    "Cast.float.C1": "X [2147483520.0, -0.5], float, to=6",
    "Concat.C2": "X0 (2, 3), X1 (5, 3), X2 (1, 3), axis 0",
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

TRIALS = 120
OPSETS = (21, 13, 9)
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
    """The rules that guards hold, each with operands."""
    for rule in CHECKED:
        for text in (rule.requirement.example.kept, OTHER_EXAMPLES.get(rule.id)):
            if text in OTHER_EXAMPLES.values() or (text and rule.id not in NO_EXAMPLES):
                yield rule, text


CASES = [pytest.param(rule, text, id=f"{rule.id}: {text}") for rule, text in examples()]


@pytest.mark.parametrize(("rule", "text"), CASES)
def test_flag_says_whether_the_rule_is_kept(rule: Rule, text: str) -> None:
    rng = random.Random(rule.id)  # noqa: S311 - no cryptography
    operands, attributes = read(text)
    bound = rule.of_node(attributes)
    requirement, guard = bound.requirement, deciding_guard(bound.requirement)
    assert guard is not None
    names = [operand.name for operand in operands]
    of_shape = requirement.subject is Subject.OWN_SHAPE
    if of_shape:
        operands = [replace(operand, constant=None) for operand in operands]
    kinds = [
        kind
        for kind in OPERATOR_CASES[rule.id.partition(".")[0]].kernels
        if guard.binds(kind) and not of_shape and is_of(kind, rule)
    ]
    found = set()
    for _ in range(TRIALS):
        kind = rng.choice(kinds or [ElementType.FLOAT])
        arrays = _varied(rng, operands, kind, of_one_shape=guard.precondition is ONE_SHAPE)
        _put_at_a_boundary(rng, rule, kind, arrays)
        selected = bound.select_operands(names, arrays)
        given = dict(zip(bound.select_operands(names, names), selected, strict=True))
        kept = bool(kept_by(rule.id, given, {**attributes, VERSION: 1}).all())
        for known, judged in _known(bound, operands, arrays):
            if judged is Status.VIOLATED:
                # Such a model is not enforced, and no guard is made.
                assert not kept, f"{attributes} {selected} known {known}"
                continue
            flag = guard.look(
                Expressions(rng.choice(OPSETS)),
                [("value", name) for name in bound.select_operands(names, names)],
                GuardedNode(known, kind, kind),
            )
            try:
                said = evaluated(flag.value, dict(zip(names, arrays, strict=True)))
            except (IndexError, ValueError):
                # ONNX Runtime ends such a run with an error.
                continue
            passes = bool(np.all(said == flag.when_kept))
            told = f"{attributes} {[a.shape for a in selected]} {selected} known {known}"
            assert kept or not passes, told
            assert passes or not kept or judged is Status.PROVED, told
            found.add(passes)
    assert found == {True, False}


ONE_SHAPE = Precondition.ONE_SHAPE


def is_of(kind: ElementType, rule: Rule) -> bool:
    """Whether a rule is one of a family of types, if it is of one alone."""
    families = {*rule.id.split(".")} & {*Family}
    return not families or kind.family in families


def _varied(
    rng: random.Random, operands: Sequence[Operand], kind: ElementType, *, of_one_shape: bool
) -> Arrays:
    """Operands with other sizes, axes and elements here and there."""
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


def _known(
    rule: Rule, operands: Sequence[Operand], arrays: Arrays
) -> Iterator[tuple[Sequence[Operand], Status]]:
    """What may have been known of the operands, and what that decides.

    Shapes, ranks or nothing, and elements or not. What is demanded of shapes is also read as if all
    axes were there: to gather the size of another fails.
    """
    names = [operand.name for operand in operands]

    def of_shapes(shape: Callable[[np.ndarray], Shape | None], *, elements: bool) -> list[Operand]:
        return [
            replace(
                operand,
                element_type=_named(array),
                shape=shape(array),
                constant=array if elements and place and operand.constant is not None else None,
            )
            for place, (operand, array) in enumerate(zip(operands, arrays, strict=True))
        ]

    shapes = (lambda a: a.shape, lambda a: (None,) * a.ndim, lambda _: None)
    for shape, elements in product(shapes, (True, False)):
        known = of_shapes(shape, elements=elements)
        yield known, rule.requirement.judge(rule.select_operands(names, known)).status
    if isinstance(rule.requirement, OnShapes):
        yield of_shapes(lambda _: (None,) * 256, elements=False), Status.PROVED


def _named(array: np.ndarray) -> str:
    return {"float32": "float", "float64": "double"}.get(str(array.dtype), str(array.dtype))
