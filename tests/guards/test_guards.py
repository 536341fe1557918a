"""The flag of a guard says whether operands keep its rule, whatever was known of them before.

Whether they do is said by `statements`, which know nothing of the terms that make guards.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper
from statements import kept_by

from sonnx_ort.checker.expressions import Expressions, Tree
from sonnx_ort.guards.catalog import breach, compares_each, deciding_guard
from sonnx_ort.guards.guard import GuardedNode, Precondition
from sonnx_ort.profile.contract import ValueContract
from sonnx_ort.profile.contract_rules import contract_requirement
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.graph import FINITE
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.shapes import OnShapes, on_shapes
from sonnx_ort.profile.rule import VERSION, Rule, Status, Subject
from sonnx_ort.terms.evaluation import answer_in_run
from sonnx_ort.terms.language import All, Each, Either, IsMultiple, SizesBehind, Tensor, Term
from sonnx_ort.terms.operand import Operand, Shape
from sonnx_ort.vectors.applied import special_values
from sonnx_ort.vectors.examples import read
from support.operator_cases import OPERATOR_CASES
from support.varied_operands import examples, is_of, varied

Array = np.ndarray

_BY_ELEMENTS: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Div": np.floor_divide,
    "Equal": np.equal,
    "Floor": np.floor,
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

TRIALS = 120
OPSETS = (21, 13, 9)
CASES = [pytest.param(rule, text, id=f"{rule.id}: {text}") for rule, text in examples()]


@pytest.mark.parametrize(("rule", "text"), CASES)
def test_flag_says_whether_the_rule_is_kept(rule: Rule, text: str) -> None:
    rng = random.Random(rule.id)  # noqa: S311 - no cryptography
    opsets = cycle(OPSETS)
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
        of_one_shape = guard.precondition is ONE_SHAPE
        arrays = varied(rng, rule, operands, kind, of_one_shape=of_one_shape)
        selected = bound.select_operands(names, arrays)
        given = dict(zip(bound.select_operands(names, names), selected, strict=True))
        kept = bool(np.all(kept_by(rule.id, given, {**attributes, VERSION: 1})))
        for known, judged in _known(bound, operands, arrays):
            if judged is Status.VIOLATED:
                # Such a model is not enforced, and no guard is made.
                assert not kept, f"{attributes} {selected} known {known}"
                continue
            flag = guard.look(
                Expressions(next(opsets)),
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


def _known(
    rule: Rule, operands: Sequence[Operand], arrays: Arrays
) -> Iterator[tuple[Sequence[Operand], Status]]:
    """What may have been known of the operands, and what that decides.

    Shapes, ranks or nothing, and elements or not; and behind a declared scalar another rank. What
    is demanded of shapes is also read as if all axes were there: to gather the size of another
    fails.
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
    known = [
        replace(each, scalar_inputs=True)
        for each in of_shapes(lambda a: (1,) * (a.ndim + 1), elements=False)
    ]
    judged = rule.requirement.judge(rule.select_operands(names, known)).status
    if judged is not Status.VIOLATED:
        yield known, judged
    if isinstance(rule.requirement, OnShapes):
        yield of_shapes(lambda _: (None,) * 256, elements=False), Status.PROVED


def _named(array: np.ndarray) -> str:
    return {"float32": "float", "float64": "double"}.get(str(array.dtype), str(array.dtype))


X, Z = Tensor("X"), Tensor("Z")
TERMS: Mapping[str, Term] = {
    "one size is another": X.size(1) == Z.size(-1),
    "one size is at least another": X.size(2) >= Z.size(2),
    "one size is at most another": X.size(2) <= Z.size(2),
    "a size is at least no element": X.size(-3) >= 0,
    "a size is at most a number": X.size(-3) <= 4,
    "sizes from both ends": All((X.size(0) == 2, X.size(-1) == 3)),
    "sizes between limits, and a rank": All((X.size(0) >= 2, X.size(0) <= 3, X.rank == 2)),
    "a multiple beside a plain size": All((2 * X.size(0) == Z.size(0), X.size(1) == Z.size(1))),
    "divisible": IsMultiple(X.size(0), 2),
    "divisible, and a rank": All((X.rank == 2, IsMultiple(X.size(0), 2))),
    "a scalar or a size": Either((X.rank == 0, X.size(0) == 3)),
    "one rank for each": Each(lambda each: each.rank == 2),
    "an axis from the front": X.has_axis(1),
    "an axis from the end": X.has_axis(-2),
    "short behind the first axis": SizesBehind(X, 0, 1),
    "short behind the last axis but one": SizesBehind(X, -2, 2),
    "short behind the last axis": SizesBehind(X, -1, 0),
}
SHAPES = ((), (2,), (3,), (2, 3), (4, 3), (3, 1, 1), (2, 4, 3), (4, 6, 0))


@pytest.mark.parametrize("name", TERMS)
def test_flag_of_a_term_says_whether_it_holds(name: str) -> None:
    """Of all shapes, whatever is known of them; no node of the flag fails.

    That the axis is there before sizes behind it, another rule says.
    """
    term = TERMS[name]
    there = X.has_axis(term.axis) if isinstance(term, SizesBehind) else X.rank >= 0
    guard = deciding_guard(on_shapes(("X", "Z"), lambda _: term))
    assert guard is not None
    found = set()
    for place, shapes in enumerate(product(SHAPES, SHAPES)):
        if not answer_in_run(there, ("X", "Z"), shapes).holds:
            continue
        arrays = {n: np.ones(shape) for n, shape in zip("XZ", shapes, strict=True)}
        holds = bool(answer_in_run(term, ("X", "Z"), shapes).holds)
        for operands in _knowledge(shapes):
            flag = guard.look(
                Expressions(OPSETS[place % len(OPSETS)]),
                [("value", "X"), ("value", "Z")],
                GuardedNode(operands, ElementType.DOUBLE, ElementType.DOUBLE),
            )
            said = bool(np.all(evaluated(flag.value, arrays) == flag.when_kept))
            assert said is holds, f"{shapes}, known {operands}"
        found.add(holds)
    assert found == ({True} if name == "short behind the last axis" else {True, False})


def _knowledge(shapes: Sequence[tuple[int, ...]]) -> Iterator[Sequence[Operand]]:
    """What may be known: shapes, ranks, nothing, and another rank behind a declared scalar."""
    kinds: Sequence[tuple[Callable[[tuple[int, ...]], Shape | None], bool]] = (
        (lambda shape: shape, False),
        (lambda shape: (None,) * len(shape), False),
        (lambda _: None, False),
        (lambda shape: (1,) * (len(shape) + 1), True),
    )
    for known, scalars in kinds:
        yield [
            Operand(n, n, "", "double", known(shape), scalar_inputs=scalars)
            for n, shape in zip("XZ", shapes, strict=True)
        ]


FLOATS = (ElementType.FLOAT, ElementType.DOUBLE, ElementType.FLOAT16)
INTEGERS = tuple(map(ElementType, ("int8", "uint8", "int32", "uint32", "int64", "uint64")))
CONTRACTS = [
    (ValueContract("x"), FLOATS),
    (ValueContract("x", (-1, 2)), FLOATS),
    (ValueContract("x", (0.5, 2)), FLOATS),
    (ValueContract("x", (-1e30, 1e30)), FLOATS[:2]),
    (ValueContract("x", whole=True), FLOATS),
    (ValueContract("x", ((0.5, 2), (-1, 1)), axis=0), FLOATS),
    (ValueContract("x", ((0.5, 2), (-1, 1)), axis=-2), FLOATS),
    (ValueContract("x", (0, 100)), INTEGERS),
    (ValueContract("x", (1, 100)), INTEGERS),
    (ValueContract("x", ((0, 2), (1, 100)), axis=-1), INTEGERS),
]


@pytest.mark.parametrize(
    ("entry", "kind"), [(entry, kind) for entry, kinds in CONTRACTS for kind in kinds]
)
def test_flag_says_whether_a_value_breaks_its_contract(
    entry: ValueContract, kind: ElementType
) -> None:
    """Of a matrix, with one element here and there that is at an end or beyond."""
    requirement, dtype = contract_requirement(entry), kind.dtype
    numbers = special_values(kind).tolist()
    numbers += [1, 2, 3, 100, 101] if kind in INTEGERS else [-1, 0.5, 1, 2, 2.25, -1e30, 2e30]
    known = GuardedNode([Operand("x", "x", "", kind, shape=(None, None))], kind, kind)
    flag = breach(Expressions(21), requirement, [("value", "x")], known)
    rng, found = random.Random(str(entry)), set()  # noqa: S311 - no cryptography
    for _ in range(TRIALS):
        with np.errstate(all="ignore"):
            array = np.array([[1, 1], [1, 1]]).astype(dtype)
            for place in rng.sample(range(4), rng.randint(0, 2)):
                array.flat[place] = np.array(rng.choice(numbers)).astype(dtype)
        broken = requirement.violation_of(("x",), (array,)) is not None
        assert bool(evaluated(flag, {"x": array})) is broken, array
        found.add(broken)
    assert found == {True, False}


OTHERS = [
    (ValueContract("x"), (ElementType.BFLOAT16,)),
    (ValueContract("x", (0, 100)), tuple(map(ElementType, ("int16", "uint16")))),
    (ValueContract("x", (-2, 2), whole=True), FLOATS[:2]),
]
LIMITED = [
    *((contract_requirement(e), kind) for e, kinds in CONTRACTS + OTHERS for kind in kinds),
    *((FINITE.requirement, kind) for kind in FLOATS),
]


@pytest.mark.parametrize(("requirement", "kind"), LIMITED)
def test_buffer_is_hidden_where_a_guard_makes_tensors_as_large_as_the_value(
    requirement: OnElements, kind: ElementType
) -> None:
    known = GuardedNode([Operand("x", "x", "", kind, shape=(None, None))], kind, kind)
    flag = breach(Expressions(21), requirement, [("value", "x")], known)
    array = np.ones((2, 2), kind.dtype)
    sizes = [evaluated(each, {"x": array}).size for each in _results(flag)]
    assert (max(sizes) >= array.size) is compares_each(requirement, kind)


def _results(tree: Tree) -> Iterator[Tree]:
    """What the operators of an expression compute."""
    if tree[0] not in ("value", "constant"):
        yield tree
        _, _, *inputs = tree
        yield from (result for each in inputs for result in _results(each))


def test_sum_that_overflows_breaks_no_wide_range() -> None:
    entry, kind = ValueContract("x", (-1e38, 1e38)), ElementType.FLOAT
    known = GuardedNode([Operand("x", "x", "", kind, shape=(None,))], kind, kind)
    flag = breach(Expressions(21), contract_requirement(entry), [("value", "x")], known)
    array = np.array([1e38] * 4 + [-1e38] * 4, np.float32)
    assert not evaluated(flag, {"x": array})
