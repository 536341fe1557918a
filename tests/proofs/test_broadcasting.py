"""Broadcasting gives the common shape, and each element where it belongs.

A dimension is the largest of its axis or 1; where one operand has the size 0 and another 1, there
is none. Unknown ranks are any ranks.

There is no Expand of bfloat16: elements are gathered by their positions, which are expanded. What
comes out is what an Expand of the operand to the common shape would give.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import onnx
import pytest
import z3

from support.proofs.broadcasts import NAME, Broadcasting
from support.proofs.guards import outcome, passes
from support.proofs.interpreter import Values
from support.proofs.meanings.expansion import expanded
from support.proofs.mutation import (
    Mutation,
    left_out,
    number,
    operator,
    reading,
    swapped,
    without_allowzero,
)
from support.proofs.rules import broadcastable, common_size, longest
from support.proofs.run import Run
from support.proofs.tensors import Operand, Tensor, Vector, for_all, operand, reduced, same_sizes
from support.proofs.theorem import Claim, NotProved, Question, prove, refute

DIV = "Div(A, B)"
WHERE = "Where(A, B, C)"
PAIR = "sonnx.Broadcast(A, B)"

FORMS: dict[str, tuple[Broadcasting, tuple[Mutation, ...]]] = {
    "any ranks": (Broadcasting("float[] A, float[] B", DIV),
        (number("impossible", 1), swapped("sizes_or_impossible"), swapped("aligned_2"))),
    "one of unknown rank": (Broadcasting("float[] A, float[?] B", DIV),
        (number("impossible", 1), number("one", 2))),
    "known ranks": (Broadcasting("float[?,?] A, float[?] B", DIV),
        (number("impossible", 1), number("one", 2), swapped("aligned"))),
    "equal ranks": (Broadcasting("float[?,?,?] A, float[?,1,?] B", DIV),
        (number("impossible", 1), number("one", 2))),
    "one of one element": (Broadcasting("float[?] A, float[1] B", DIV, within_int32=True),
        (number("one", 0),)),
    "one of one element, before Max took integers": (
        Broadcasting("float[?] A, float[1] B", DIV, opset=11),
        (number("forbidden", -1), number("code", 0)),
    ),
    "one of a known shape": (Broadcasting("float[2,3] A, float[?] B", DIV),
        (left_out("expanded"),)),
    "one to the other": (Broadcasting("float[?,2] A, float[1,?] B", DIV),
        (number("one", 2), number("code", 0), left_out("expanded"))),
    "three of known ranks": (Broadcasting("bool[?,?] A, float[?] B, float[?,?] C", WHERE),
        (operator("all_fit_2", "Or"), number("code", 2))),
    "the operator, known ranks": (Broadcasting("float[?] A, float[?,?] B", PAIR),
        (operator("fits", "And"), number("code", 2))),
    "the operator, any ranks": (Broadcasting("float[] A, float[] B", PAIR),
        (operator("fits", "And"), left_out("ranks_or_code"))),
    "the operator in bfloat16, known ranks": (Broadcasting("bfloat16[?] A, bfloat16[?,?] B", PAIR),
        (operator("fits", "And"), without_allowzero("placed_2"))),
    "the operator in bfloat16, any ranks": (Broadcasting("bfloat16[] A, bfloat16[] B", PAIR),
        (operator("fits", "And"), left_out("ranks_or_code"), without_allowzero("placed"))),
    "the operator in bfloat16, one of unknown rank": (
        Broadcasting("bfloat16[] A, bfloat16[?,?] B", PAIR),
        (operator("fits", "And"), without_allowzero("placed_2")),
    ),
}  # fmt: skip
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


_NO_NODE: frozenset[str] = frozenset()


def copied(model: onnx.ModelProto, form: Broadcasting) -> Question:
    """That outputs are the operands, expanded to their common shape.

    Args:
        model: What is emitted for the form, or that with a fault in it.
        form: A Broadcast.
    """
    return _question(model, [form.operand(declared, None) for declared in model.graph.input])


def copied_in_small(
    model: onnx.ModelProto, form: Broadcasting, most: int, ranks: int
) -> Iterator[Question]:
    """The same of operands whose sizes are told, so that the place of each element is.

    Args:
        model: What is emitted for the form, or that with a fault in it.
        form: A Broadcast of operands of unknown rank.
        most: The largest size.
        ranks: The largest rank.
    """
    shapes = [s for rank in range(ranks + 1) for s in product(range(most + 1), repeat=rank)]
    kinds = [form.operand(declared, 0).tensor.element_type for declared in model.graph.input]
    names = [declared.name for declared in model.graph.input]
    for chosen in product(shapes, repeat=len(names)):
        told = [
            operand(name, kind, len(shape), sizes=shape)
            for name, kind, shape in zip(names, kinds, chosen, strict=True)
        ]
        yield _question(model, told)


def _question(model: onnx.ModelProto, operands: Sequence[Operand]) -> Question:
    tensors = [each.tensor for each in operands]
    outputs = [output.name for output in model.graph.output]
    return Question(model, operands, _NO_NODE, _are_copies(tensors, outputs))


def _are_copies(tensors: Sequence[Tensor], outputs: Sequence[str]) -> Claim:
    shapes = [tensor.sizes for tensor in tensors]
    rank = longest([shape.length for shape in shapes])
    common = Vector(
        rank, lambda axis: common_size(shapes, reduced(rank - 1 - axis)), backwards=True
    )

    def claim(values: Values, run: Run) -> z3.BoolRef:
        pairs = zip(outputs, tensors, strict=True)
        copies = [_is_copy(values[name], expanded(run, tensor, common)) for name, tensor in pairs]
        return z3.Implies(run.passes, z3.And(copies))

    return claim


def _is_copy(one: Tensor, other: Tensor) -> z3.BoolRef:
    elements = for_all(one.elements.length, lambda i: one.elements.at(i) == other.elements.at(i))
    return z3.And(same_sizes(one.sizes, other.sizes), elements)


ANY = Broadcasting("bfloat16[] A, bfloat16[] B", PAIR)
COPIED = [
    ANY,
    Broadcasting("bfloat16[] A, bfloat16[?,?] B", PAIR),
    Broadcasting("bfloat16[?] A, bfloat16[?,?] B", PAIR),
    Broadcasting("bfloat16[?,?,?] A, bfloat16[?,1,?] B", PAIR),
    Broadcasting("bfloat16[?,?] A, bfloat16[?] B, bfloat16[?,?] C", "sonnx.Broadcast(A, B, C)"),
    Broadcasting("float[] A, float[] B", PAIR),
]
FAULTS = [
    left_out("expanded_positions"),
    reading("flat_2", "A"),
    reading("expanded_positions_2", "Z0_placed"),
]


@pytest.mark.parametrize("form", COPIED, ids=str)
def test_outputs_are_the_operands_expanded_to_their_common_shape(form: Broadcasting) -> None:
    prove(copied(form.emitted, form))


@pytest.mark.parametrize(
    "ranks", [pytest.param(1, id="1"), pytest.param(3, id="3", marks=pytest.mark.thorough)]
)
def test_each_element_of_small_operands_is_where_it_belongs(ranks: int) -> None:
    """The places are those that numpy gives."""
    for question in copied_in_small(ANY.emitted, ANY, most=2, ranks=ranks):
        prove(question)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_refuted_by_operands_that_show_it(fault: Mutation) -> None:
    broken = fault.of(ANY.emitted)
    with pytest.raises(NotProved):
        prove(copied(broken, ANY))
    _, feeds = refute(copied_in_small(broken, ANY, most=2, ranks=2))
    right = [array.astype(np.float64) for array in np.broadcast_arrays(*feeds.values())]
    for model, is_right in ((broken, False), (ANY.emitted, True)):
        found = [array.astype(np.float64) for array in outcome(model, feeds) or ()]
        equal = [np.array_equal(*pair, equal_nan=True) for pair in zip(found, right, strict=True)]
        assert all(equal) is is_right


def test_what_is_known_of_places_proves_nothing_false() -> None:
    question = copied(ANY.emitted, ANY)
    for claim in (lambda _values, run: run.passes, lambda _values, run: z3.Not(run.passes)):
        with pytest.raises(NotProved, match=r"^(sat|unknown): "):
            prove(question.about(claim))
