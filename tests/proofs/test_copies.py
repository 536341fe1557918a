"""A Broadcast gives each element of its operands where broadcasting puts it.

There is no Expand of bfloat16: elements are gathered by their positions, which are expanded. What
comes out is what an Expand of the operand to the common shape would give.
"""

import numpy as np
import pytest
import z3

from support.proofs.broadcasts import Broadcasting
from support.proofs.copies import copied, copied_in_small
from support.proofs.guards import outcome
from support.proofs.mutation import Mutation, left_out, reading
from support.proofs.theorem import NotProved, prove, refute

PAIR = "sonnx.Broadcast(A, B)"
ANY = Broadcasting("bfloat16[] A, bfloat16[] B", PAIR)
FORMS = [
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


@pytest.mark.parametrize("form", FORMS, ids=str)
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
