"""Guards let pass exactly what keeps the rules, whatever the ranks, sizes and elements are.

Each proof is about the graph that the native backend emits. For each there are faults that one
could make in that graph; they are refuted, and what refutes them is run.
"""

from collections.abc import Iterator, Sequence

import onnx
import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from support.elementwise import Single, singles
from support.operator_cases import OPERATOR_CASES
from support.proofs.guards import passes
from support.proofs.mutation import Mutation, faults_of_elements, faults_of_shapes
from support.proofs.nodes import NAME, Guarded, Ranks
from support.proofs.theorem import NotProved, prove, refute

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
    "*.float.R1",
    "*.int.R1",
    "*.bool.R1",
    "*.int.C1",
    "*.int.C2",
    "Cast.float.C1",
    "Add.draft.float.shape",
    "Add.draft.int.shape",
    "Less.draft.float.shape",
    "Less.draft.int.shape",
    "Max.draft.shape",
    "Mul.draft.float.shape",
    "Mul.draft.int.shape",
    "Pow.draft.float.shape",
    "Pow.draft.int.shape",
    "Where.draft.float.shape",
    "Where.draft.int.shape",
    "Abs.draft.int.smallest",
    "Acos.draft.float.domain",
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
