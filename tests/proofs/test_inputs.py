"""One guard at the inputs stands for the shapes of several nodes, and lets pass what agrees."""

import pytest
import z3

import sonnx_ort
from sonnx_ort.profile.element_type import ElementType
from support.graphs import parse
from support.proofs.guards import passes
from support.proofs.interpreter import Values
from support.proofs.mutation import Mutation, number, swapped
from support.proofs.run import Run
from support.proofs.tensors import operand, same_sizes
from support.proofs.theorem import Question, prove, refute

NODES = frozenset({"one", "other"})
TEXT = "(float[{s}] A, float[{s}] B) => (float[{s}] C, float[{s}] D) {{ {nodes} }}"
SHAPES = {"one symbol": "n", "two symbols": "n, m", "a size": "n, 3"}


def question(symbols: str, most: int | None = None, fault: Mutation | None = None) -> Question:
    nodes = "[one] C = Div(A, B) [other] D = Sub(A, B)"
    emitted = sonnx_ort.rewrite(parse(TEXT.format(s=symbols, nodes=nodes)), backend="native")
    sizes = [int(s) if s.strip().isdigit() else None for s in symbols.split(",")]
    operands = [operand(n, ElementType.FLOAT, len(sizes), sizes=sizes) for n in "AB"]
    one, other = (each.tensor.sizes for each in operands)

    def claim(_: Values, run: Run) -> z3.BoolRef:
        return run.passes == same_sizes(one, other)

    small = [] if most is None else [one.at(i) <= most for i in range(len(sizes))]
    small += [] if most is None else [other.at(i) <= most for i in range(len(sizes))]
    return Question(fault.of(emitted) if fault else emitted, operands, NODES, claim, small)


@pytest.mark.parametrize("symbols", SHAPES.values(), ids=SHAPES)
def test_inputs_pass_exactly_if_they_agree(symbols: str) -> None:
    prove(question(symbols))


@pytest.mark.parametrize(
    ("symbols", "fault"),
    [("n", swapped("shape_or_code")), ("n, m", number("axis_2", 0)), ("n, 3", number("axis", 1))],
    ids=str,
)
def test_fault_is_refuted_by_shapes_that_show_it(symbols: str, fault: Mutation) -> None:
    broken, feeds = refute([question(symbols, 3, fault)])
    agree = feeds["A"].shape == feeds["B"].shape
    assert passes(broken.model, NODES, feeds) is not agree
    assert passes(question(symbols).model, NODES, feeds) is agree
