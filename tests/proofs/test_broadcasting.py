"""Explicit broadcasting gives the common shape of the document, or fails.

A dimension is the largest of its axis or 1; where one operand has the size 0 and another 1, there
is none. Unknown ranks are any ranks.
"""

from collections.abc import Sequence
from itertools import product

import pytest
import z3

from support.proofs.broadcasts import NAME, Broadcasting
from support.proofs.guards import passes
from support.proofs.interpreter import Values
from support.proofs.mutation import Mutation, left_out, number, operator, swapped, without_allowzero
from support.proofs.rules import broadcastable
from support.proofs.run import Run
from support.proofs.theorem import prove, refute

DIV = "Div(A, B)"
WHERE = "Where(A, B, C)"
PAIR = "sonnx.Broadcast(A, B)"

FORMS: dict[str, tuple[Broadcasting, tuple[Mutation, ...]]] = {
    "any ranks": (
        Broadcasting("float[] A, float[] B", DIV),
        (number("impossible", 1), swapped("sizes_or_impossible"), swapped("aligned_2")),
    ),
    "one of unknown rank": (
        Broadcasting("float[] A, float[?] B", DIV),
        (number("impossible", 1), number("one", 2)),
    ),
    "known ranks": (
        Broadcasting("float[?,?] A, float[?] B", DIV),
        (number("impossible", 1), number("one", 2), swapped("aligned")),
    ),
    "equal ranks": (
        Broadcasting("float[?,?,?] A, float[?,1,?] B", DIV),
        (number("impossible", 1), number("one", 2)),
    ),
    "one of one element": (
        Broadcasting("float[?] A, float[1] B", DIV, within_int32=True),
        (number("one", 0),),
    ),
    "one of one element, before Max took integers": (
        Broadcasting("float[?] A, float[1] B", DIV, opset=11),
        (number("forbidden", -1), number("code", 0)),
    ),
    "one of a known shape": (
        Broadcasting("float[2,3] A, float[?] B", DIV),
        (left_out("expanded"),),
    ),
    "one to the other": (
        Broadcasting("float[?,2] A, float[1,?] B", DIV),
        (number("one", 2), number("code", 0), left_out("expanded")),
    ),
    "three of known ranks": (
        Broadcasting("bool[?,?] A, float[?] B, float[?,?] C", WHERE),
        (operator("all_fit_2", "Or"), number("code", 2)),
    ),
    "the operator, known ranks": (
        Broadcasting("float[?] A, float[?,?] B", PAIR),
        (operator("fits", "And"), number("code", 2)),
    ),
    "the operator, any ranks": (
        Broadcasting("float[] A, float[] B", PAIR),
        (operator("fits", "And"), left_out("ranks_or_code")),
    ),
    "the operator in bfloat16, known ranks": (
        Broadcasting("bfloat16[?] A, bfloat16[?,?] B", PAIR),
        (operator("fits", "And"), without_allowzero("placed_2")),
    ),
    "the operator in bfloat16, any ranks": (
        Broadcasting("bfloat16[] A, bfloat16[] B", PAIR),
        (operator("fits", "And"), left_out("ranks_or_code"), without_allowzero("placed")),
    ),
    "the operator in bfloat16, one of unknown rank": (
        Broadcasting("bfloat16[] A, bfloat16[?,?] B", PAIR),
        (operator("fits", "And"), without_allowzero("placed_2")),
    ),
}
LONG: dict[str, tuple[Broadcasting, tuple[Mutation, ...]]] = {
    "three of any ranks": (
        Broadcasting("bool[] A, float[] B, float[] C", WHERE),
        (operator("all_fit_2", "Or"), left_out("ranks_or_code")),
    )
}
ALL = [
    *(pytest.param(*form, id=name) for name, form in FORMS.items()),
    *(pytest.param(*form, id=name, marks=pytest.mark.thorough) for name, form in LONG.items()),
]


@pytest.mark.parametrize(("form", "faults"), ALL)
def test_operands_pass_exactly_if_they_have_a_common_shape(
    form: Broadcasting, faults: tuple[Mutation, ...]
) -> None:
    del faults
    for question in form.questions():
        prove(question)


@pytest.mark.parametrize(("form", "faults"), ALL)
def test_faults_are_refuted_by_shapes_that_show_them(
    form: Broadcasting, faults: tuple[Mutation, ...]
) -> None:
    for fault in faults:
        broken = fault.of(form.emitted)
        _, feeds = refute(form.small_shapes(broken))
        fits = form.fits(feeds)
        assert passes(broken, {NAME}, feeds) is not fits, fault
        assert passes(form.emitted, {NAME}, feeds) is fits


def declared(ranks: Sequence[int]) -> str:
    """Inputs of ranks, of open sizes."""
    shapes = (f"float[{','.join('?' * rank)}]" if rank else "float" for rank in ranks)
    return ", ".join(f"{shape} {name}" for shape, name in zip(shapes, "ABC", strict=False))


@pytest.mark.parametrize("ranks", list(product(range(1, 5), repeat=2)), ids=str)
def test_two_operands_of_every_small_rank_pass_exactly_if_they_fit(ranks: tuple[int, ...]) -> None:
    for node in (DIV, PAIR):
        for question in Broadcasting(declared(ranks), node).questions():
            prove(question)


@pytest.mark.parametrize("ranks", [(0, 0), (0, 2), (1, 0)], ids=str)
def test_what_is_declared_as_a_scalar_passes_as_one_and_otherwise_only_if_it_fits(
    ranks: tuple[int, ...],
) -> None:
    passing, _ = Broadcasting(declared(ranks), DIV).questions()
    shapes = [each.tensor.sizes for each in passing.operands]
    as_declared = [shape.length == rank for shape, rank in zip(shapes, ranks, strict=True)]

    def claim(_: Values, run: Run) -> z3.BoolRef:
        fits = broadcastable(shapes)
        exact = z3.Implies(z3.And(fits, *as_declared), run.passes)
        return z3.And(z3.Implies(run.passes, fits), exact)

    prove(passing.about(claim))


@pytest.mark.thorough
@pytest.mark.parametrize("ranks", list(product(range(1, 4), repeat=3)), ids=str)
def test_three_operands_of_every_small_rank_pass_exactly_if_they_fit(
    ranks: tuple[int, ...],
) -> None:
    for node in ("Max(A, B, C)", "sonnx.Broadcast(A, B, C)"):
        for question in Broadcasting(declared(ranks), node).questions():
            prove(question)
