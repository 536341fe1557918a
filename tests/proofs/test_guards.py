"""Guards let pass exactly what keeps the rules, whatever ranks, sizes and elements are.

Each proof is about the graph that the native backend emits. For each there are faults that one
could make in that graph; they are refuted, and what refutes them is run.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
import pytest
import z3

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from support.elementwise import Single, singles
from support.graphs import parse
from support.operator_cases import OPERATOR_CASES
from support.pages import REPOSITORY
from support.proofs.guards import outcome, passes
from support.proofs.interpreter import Values, interpret
from support.proofs.mutation import Mutation, faults_of_elements, faults_of_shapes, number, swapped
from support.proofs.nodes import NAME, Guarded, Ranks
from support.proofs.run import Run
from support.proofs.tensors import operand, same_sizes
from support.proofs.terms import NEAREST
from support.proofs.theorem import NotProved, Question, prove, prove_formula, refute, value_of

FLOATS = [kind for kind in ElementType if kind.family is Family.FLOAT]
INTEGERS = [kind for kind in ElementType if kind.family is Family.INTEGER]
OLDER_VERSIONS = (9, 12)
ALWAYS = {n for n, case in OPERATOR_CASES.items() if case.boundaries} - {"Max", "Min"}
"""Operators of which no type waits for the thorough tests: they have rules about elements."""

SOMETIMES = (ElementType.FLOAT, ElementType.INT64, ElementType.UINT8, ElementType.BOOL)
"""The types of which no operator waits for them."""


def nodes() -> Iterator[Guarded]:
    """Every operator in every type that it is computed in, and every form that its guards have."""
    for single in singles():
        yield from (Guarded(single, ranks, single.opset) for ranks in Ranks)
    for source in FLOATS:
        for to in INTEGERS:
            number = onnx.TensorProto.DataType.Value(to.upper())
            cast = Single(OPERATORS["Cast"], source)
            yield Guarded(cast, Ranks.ANY, attributes=f"<to = {number}>")
    for kind in INTEGERS:
        division = Single(OPERATORS["Div"], kind)
        yield Guarded(division, Ranks.ANY, edition=Edition.PRELIMINARY)
        for opset in OLDER_VERSIONS:
            if kind.dtype.itemsize >= 4:
                yield Guarded(division, Ranks.ANY, opset)


def faults(guarded: Guarded) -> list[Mutation]:
    """Faults in the guards of elements, or in those of shapes where there are no others.

    Where ranks are known, and of scalars, the rest of the graph is the same.
    """
    found = list(faults_of_elements(guarded)) or list(faults_of_shapes(guarded))
    return found if guarded.ranks is Ranks.ANY else found[:1]


def is_quick(guarded: Guarded) -> bool:
    single = guarded.single
    always = single.operator.name in ALWAYS or single.element_type in SOMETIMES
    return always and (guarded.ranks is Ranks.ANY or single.operator.name == "Div")


def marked(cases: Sequence[tuple[object, ...]], quick: Sequence[bool]) -> list[object]:
    """Parameters of tests, of which all but the quick ones are thorough."""
    return [
        pytest.param(
            *case, id=" | ".join(map(str, case)), marks=() if at_once else (pytest.mark.thorough,)
        )
        for case, at_once in zip(cases, quick, strict=True)
    ]


ALL = list(nodes())
TWINS = [(g, f, number == 0) for g in ALL for number, f in enumerate(faults(g))]


@pytest.mark.satisfies(
    "*.float.R1 *.int.R1 *.bool.R1 *.int.C1 *.int.C2 Cast.float.C1 Add.draft.float.shape",
    "Add.draft.int.shape Less.draft.float.shape Less.draft.int.shape Max.draft.shape",
    "Mul.draft.float.shape Mul.draft.int.shape Pow.draft.float.shape Pow.draft.int.shape",
    "Where.draft.float.shape Where.draft.int.shape Abs.draft.int.smallest Acos.draft.float.domain",
    "Pow.draft.int.domain",
)
@pytest.mark.parametrize("guarded", marked([(g,) for g in ALL], [is_quick(g) for g in ALL]))
def test_guards_let_pass_exactly_what_keeps_the_rules(guarded: Guarded) -> None:
    prove(guarded.question())


@pytest.mark.parametrize(
    ("guarded", "fault"),
    marked(
        [(g, f) for g, f, _ in TWINS],
        [first and is_quick(g) and g.ranks is Ranks.ANY for g, _, first in TWINS],
    ),
)
def test_fault_is_refuted_by_operands_that_show_it(guarded: Guarded, fault: Mutation) -> None:
    broken = fault.of(guarded.emitted)
    small = guarded.small_shapes if not list(faults_of_elements(guarded)) else guarded.few_elements
    _, feeds = refute(small(broken))
    keeps = guarded.keeps_rules(feeds)
    assert passes(broken, {NAME}, feeds) is not keeps
    assert passes(guarded.emitted, {NAME}, feeds) is keeps


def test_page_says_how_many_nodes_have_a_counterpart() -> None:
    page = " ".join((REPOSITORY / "docs" / "proofs.md").read_text("utf-8").split())
    broken = sum(bool(faults(guarded)) for guarded in ALL)
    assert f"{broken} of the {len(ALL)} forms of element-wise operators" in page


@pytest.mark.parametrize("operator", ["Div", "Where", "Cast", "Max"])
def test_guards_are_the_same_for_every_known_rank(operator: str) -> None:
    guarded = Guarded(Single(OPERATORS[operator], ElementType.FLOAT), Ranks.EQUAL)
    ranks = [guarded.emitted_of_rank(rank).graph.node for rank in range(1, 6)]
    assert all(list(others) == list(ranks[0]) for others in ranks)


@pytest.mark.parametrize("operator", ["Div", "Pow"])
@pytest.mark.parametrize("ranks", Ranks)
def test_what_is_assumed_proves_nothing_false(ranks: Ranks, operator: str) -> None:
    guarded = Guarded(Single(OPERATORS[operator], ElementType.INT64), ranks)
    question = guarded.question()
    with pytest.raises(NotProved, match=r"^(sat|unknown): "):
        prove(question.about(lambda _values, run: run.passes))
    with pytest.raises(NotProved, match=r"^(sat|unknown): "):
        prove(question.about(lambda _values, run: z3.Not(run.passes)))


KINDS = pytest.mark.parametrize("kind", [ElementType.FLOAT, ElementType.DOUBLE], ids=str)


def emitted(kind: ElementType) -> onnx.ModelProto:
    single = Single(OPERATORS["Div"], kind)
    return Guarded(single, Ranks.EQUAL, edition=Edition.PRELIMINARY).emitted


def claim(model: onnx.ModelProto, kind: ElementType) -> tuple[z3.BoolRef, list[z3.ExprRef]]:
    operands = {name: operand(name, kind, 1, sizes=(1,)).tensor for name in "AB"}
    values, _ = interpret(model, operands)
    a, b = (tensor.elements.at(z3.IntVal(0)) for tensor in operands.values())
    infinity = z3.fpPlusInfinity(a.sort())
    defined = z3.If(z3.fpIsZero(b), infinity, z3.fpDiv(NEAREST, a, b))
    return values["y"].elements.at(0) == defined, [a, b]


@KINDS
def test_zero_divisors_alone_give_infinity(kind: ElementType) -> None:
    prove_formula(claim(emitted(kind), kind)[0])


@KINDS
def test_other_infinity_is_refuted_by_numbers_that_show_it(kind: ElementType) -> None:
    broken = number("infinity", -np.inf).of(emitted(kind))
    formula, numbers = claim(broken, kind)
    with pytest.raises(NotProved):
        prove_formula(formula)
    solver = z3.Solver()
    solver.add(z3.Not(formula))
    assert solver.check() == z3.sat
    a, b = (np.array([value_of(solver.model(), each, kind)]) for each in numbers)
    (found,), (right,) = (outcome(m, {"A": a, "B": b}) for m in (broken, emitted(kind)))
    assert not np.array_equal(found, right, equal_nan=True)
    assert np.array_equal(right, np.where(b == 0, np.inf, right), equal_nan=True)


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
