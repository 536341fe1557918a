"""Guards of any number of operands: solvers decide about some, induction about any.

Each further operand adds steps of the same kinds to the graph. What the steps before one have found
of the operands before is assumed, and what they find together is proved, of the emitted nodes.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import onnx
import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.elementwise import Single
from support.proofs.broadcasts import NAME, Broadcasting
from support.proofs.guards import computing, passes
from support.proofs.interpreter import interpret
from support.proofs.mutation import Mutation, number, operator, swapped
from support.proofs.nodes import Guarded, Ranks
from support.proofs.tensors import Vector, line
from support.proofs.theorem import NotProved, prove, prove_formula, refute

Step = tuple[str, tuple[str, ...], str]
"""An operator, what it reads, and what it gives."""


def of_same_shape(number: int) -> Iterator[Step]:
    """What lets operands of one known rank through where they have one shape."""
    yield from _shapes(number)
    yield "Constant", (), "code"
    yield from (("Equal", ("shape 0", f"shape {k}"), f"is equal {k}") for k in range(1, number))
    yield from _all([f"is equal {k}" for k in range(1, number)])
    yield "Where", ("all", "shape 0", "code"), "shape or code"
    yield "Reshape", ("operand 0", "shape or code"), "0"


def of_common_shape(number: int, *, any_rank: bool) -> Iterator[Step]:
    """What expands operands to their common shape, if they have one.

    Args:
        number: How many operands there are.
        any_rank: Whether ranks are unknown; else they are known, equal and beyond 1.
    """
    yield from _shapes(number)
    shapes = [f"shape {k}" for k in range(number)]
    if any_rank:
        ranks = [f"rank {k}" for k in range(number)]
        yield from (("Shape", (s,), r) for s, r in zip(shapes, ranks, strict=True))
        yield from _largest("largest rank", ranks)
        for k in range(number):
            yield "Neg", (f"rank {k}",), f"negative {k}"
            yield "Add", ("largest rank", f"negative {k}"), f"missing {k}"
            yield "ConstantOfShape", (f"missing {k}",), f"ones {k}"
            yield "Concat", (f"ones {k}", f"shape {k}"), f"aligned {k}"
        shapes = [f"aligned {k}" for k in range(number)]
    yield from _largest("largest", shapes)
    yield "Constant", (), "one"
    for k, shape in enumerate(shapes):
        yield "Equal", (shape, "one"), f"is one {k}"
        yield "Equal", (shape, "largest"), f"is largest {k}"
        yield "Or", (f"is largest {k}", f"is one {k}"), f"fits {k}"
    yield from _all([f"fits {k}" for k in range(number)])
    yield from [("Shape", ("largest",), "rank") if any_rank else ("Constant", (), "rank")]
    yield "Constant", (), "code"
    yield "Where", ("all", "rank", "code"), "rank or code"
    if any_rank:
        yield "Concat", ("rank or code", "rank"), "rank or code"
    yield "ReduceMin", ("rank or code",), "decided"
    yield "Reshape", ("largest", "decided"), "common shape"
    yield from (("Expand", (f"operand {k}", "common shape"), f"{k}") for k in range(number))


def _shapes(number: int) -> Iterator[Step]:
    yield from (("Shape", (f"operand {k}",), f"shape {k}") for k in range(number))


def _largest(name: str, values: Sequence[str]) -> Iterator[Step]:
    """The largest of values: each is compared with the largest of those before."""
    before = values[0]
    for k, value in enumerate(values[1:], start=1):
        found = name if value is values[-1] else f"{name} of {k + 1}"
        yield "Less", (before, value), f"{name} is smaller than {k}"
        yield "Where", (f"{name} is smaller than {k}", value, before), found
        before = found


def _all(conditions: Sequence[str]) -> Iterator[Step]:
    """Whether all conditions hold: each is joined to those before."""
    before = conditions[0]
    for k, condition in enumerate(conditions[1:], start=1):
        found = "all" if condition is conditions[-1] else f"all of {k + 1}"
        yield "And", (before, condition), found
        before = found


def steps_of(model: onnx.ModelProto, node: str, expected: Sequence[Step]) -> list[Step]:
    """The steps of a graph, with what they give called as in steps that are expected.

    Args:
        model: The model.
        node: The name of the guarded node, which is no step.
        expected: The steps that are expected, in their order.
    """
    names = {given.name: f"operand {k}" for k, given in enumerate(model.graph.input)}
    found = []
    emitted = [each for each in model.graph.node if each.name != node]
    for each, (_, _, called) in zip(emitted, expected, strict=True):
        (output,) = each.output
        found.append((each.op_type, tuple(names[name] for name in each.input), called))
        names[output] = called
    return found


def attributes_in(model: onnx.ModelProto) -> set[tuple[str, bytes]]:
    """Each operator of a graph with its attributes, but for the names of constants."""
    found = set()
    for node in model.graph.node:
        for attribute in node.attribute:
            plain = onnx.AttributeProto()
            plain.CopyFrom(attribute)
            plain.t.ClearField("name")
            found.add((node.op_type, plain.SerializeToString(deterministic=True)))
    return found


MOST = 10
"""The number of operands up to which graphs are read."""

NAMES = "ABCDEFGHIJ"
OPERATORS_OF_ANY = ("Max", "sonnx.Broadcast")


def broadcast(operator: str, ranks: Sequence[int | None]) -> Broadcasting:
    """An operator of operands of ranks, of which None is unknown."""
    shapes = ["" if rank is None else ",".join("?" * rank) for rank in ranks]
    inputs = ", ".join(f"int32[{shape}] {name}" for shape, name in zip(shapes, NAMES, strict=False))
    return Broadcasting(inputs, f"{operator}({', '.join(NAMES[: len(ranks)])})")


def proves(form: Broadcasting) -> None:
    for question in form.questions():
        prove(question)


SOME = [(1, 1, 1, 1), (2, 1, 2, 1), (3, 1, 2, 3), (2, 2, 2, 2, 2), (1, 3, 2, 1, 2), (2,) * 6]
"""Known ranks of four operands and more."""


@pytest.mark.parametrize("ranks", SOME, ids=str)
@pytest.mark.parametrize("node", OPERATORS_OF_ANY)
def test_operands_of_some_ranks_pass_exactly_if_they_fit(node: str, ranks: tuple[int, ...]) -> None:
    proves(broadcast(node, ranks))


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", list(product(range(1, 4), repeat=4)), ids=str)
def test_four_operands_of_every_small_rank_pass_exactly_if_they_fit(ranks: tuple[int, ...]) -> None:
    for node in OPERATORS_OF_ANY:
        proves(broadcast(node, ranks))


@pytest.mark.parametrize(
    "fault", [operator("all_fit_3", "Or"), number("code", 2), swapped("largest_3")], ids=str
)
def test_fault_is_refuted_by_shapes_that_show_it(fault: Mutation) -> None:
    form = broadcast("Max", (2, 1, 2, 1))
    broken = fault.of(form.emitted)
    _, feeds = refute(form.small_shapes(broken))
    fits = form.fits(feeds)
    assert passes(broken, {NAME}, feeds) is not fits
    assert passes(form.emitted, {NAME}, feeds) is fits


@pytest.mark.parametrize(
    "operands", [4, *(pytest.param(n, marks=pytest.mark.thorough) for n in (5, 6))]
)
@pytest.mark.parametrize("ranks", Ranks)
@pytest.mark.parametrize("node", ["Max", "Min"])
def test_operands_pass_exactly_if_they_have_one_shape(
    node: str, ranks: Ranks, operands: int
) -> None:
    prove(Guarded(Single(OPERATORS[node], ElementType.INT32, operands), ranks).question())


@pytest.mark.parametrize("ranks", [None, 2, 3], ids=str)
@pytest.mark.parametrize("node", OPERATORS_OF_ANY)
def test_each_operand_adds_the_same_steps_to_a_broadcast(node: str, ranks: int | None) -> None:
    of_three = attributes_in(broadcast(node, (ranks,) * 3).emitted)
    for operands in range(3, MOST + 1):
        emitted = broadcast(node, (ranks,) * operands).emitted
        expected = list(of_common_shape(operands, any_rank=ranks is None))
        assert steps_of(emitted, NAME, expected) == expected
        assert attributes_in(emitted) == of_three


def test_three_operands_are_broadcast_by_the_same_steps_whoever_reads_them() -> None:
    """Of unknown ranks, three are proved of Where."""
    form = Broadcasting("bool[] A, int32[] B, int32[] C", "Where(A, B, C)")
    expected = list(of_common_shape(3, any_rank=True))
    assert steps_of(form.emitted, NAME, expected) == expected
    assert attributes_in(form.emitted) == attributes_in(broadcast("Max", (None,) * 3).emitted)


@pytest.mark.parametrize("node", ["Max", "Min"])
def test_each_operand_adds_the_same_steps_to_the_look_at_shapes(node: str) -> None:
    def guarded(operands: int) -> Guarded:
        return Guarded(Single(OPERATORS[node], ElementType.INT32, operands), Ranks.EQUAL)

    for operands in range(3, MOST + 1):
        emitted, expected = guarded(operands).emitted, list(of_same_shape(operands))
        assert steps_of(emitted, NAME, expected) == expected
        assert attributes_in(emitted) == attributes_in(guarded(3).emitted)


AXIS, BEFORE = z3.Ints("axis before")
SIZE = z3.Function("size", z3.IntSort(), z3.IntSort(), z3.IntSort())
"""The size of an operand, by its number, on an axis."""


def largest_step(fault: Mutation | None = None) -> z3.ExprRef:
    """What one step gives for the largest size on an axis of the operands before and one more."""
    emitted = broadcast("Max", (2, 2, 2, 2)).emitted
    model = emitted if fault is None else fault.of(emitted)
    given = ["y_largest_2", "y_operand_shape_4"]
    before, own = z3.Function("largest", z3.IntSort(), z3.IntSort()), lambda i: SIZE(BEFORE, i)
    tensors = {
        name: line(ElementType.INT64, Vector(2, at))
        for name, at in zip(given, (before, own), strict=True)
    }
    values, _ = interpret(computing(model, ["y_largest_3"], given), tensors)
    return values["y_largest_3"].elements.at(AXIS)


def is_largest(size: z3.ExprRef, operands: z3.ArithRef) -> z3.BoolRef:
    """Whether a size on the axis is the largest of the first so many operands."""
    k = z3.FreshInt("k")
    there = z3.And(k >= 0, k < operands)
    return z3.And(
        z3.ForAll([k], z3.Implies(there, SIZE(k, AXIS) <= size)),
        z3.Exists([k], z3.And(there, SIZE(k, AXIS) == size)),
    )


def induction(found: z3.ExprRef) -> z3.BoolRef:
    """That a step finds the largest of one operand more."""
    before = z3.Function("largest", z3.IntSort(), z3.IntSort())(AXIS)
    known = z3.And(BEFORE >= 1, is_largest(before, BEFORE))
    return z3.Implies(known, is_largest(found, BEFORE + 1))


def test_largest_of_any_number_is_found_step_by_step() -> None:
    prove_formula(is_largest(SIZE(0, AXIS), z3.IntVal(1)))
    prove_formula(induction(largest_step()))


def test_step_that_finds_the_smaller_is_refuted() -> None:
    with pytest.raises(NotProved, match=r"^sat: "):
        prove_formula(induction(largest_step(swapped("largest_3"))))
