"""An exponent of one element is read for all, and is looked at once; the base is expanded.

ONNX Runtime broadcasts that element itself, so that no copies of it are made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import onnx
import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.layout import E1
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.broadcasting import Broadcastable
from sonnx_ort.profile.rule import Rule, Subject
from support.proofs.agreement import Array
from support.proofs.broadcasts import NAME, Broadcasting, has_common_shape, known_rank
from support.proofs.guards import computing, depending, passes, reaching
from support.proofs.interpreter import Values
from support.proofs.mutation import Mutation, number, off_by, operator, swapped
from support.proofs.nodes import as_given
from support.proofs.rules import demanded, kept
from support.proofs.run import Run, told_first
from support.proofs.tensors import Operand, Tensor, operand, term
from support.proofs.theorem import Claim, Question, prove, refute

NAMES = ("X", "Y")

EXPANDED = "y_expanded"
"""The base with the common shape."""


@dataclass(frozen=True)
class SingleExponent(Broadcasting):
    """A Pow whose exponent is declared with sizes of 1 alone."""

    node: str = "Pow(X, Y)"

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules about elements."""
        family = Family.INTEGER if self.inputs.startswith("int") else Family.FLOAT
        rules = OPERATORS["Pow"].rules(Edition.TYPED, family)
        return tuple(r for r in rules if r.requirement.subject is Subject.ELEMENTS and r.in_run)

    def kept(self, tensors: Sequence[Tensor]) -> z3.BoolRef:
        """Whether operands pass: they have a common shape, and the exponent keeps the rules."""
        about_elements = [kept(rule, NAMES, tensors) for rule in self.rules]
        return z3.And(demanded(Broadcastable(), tensors), *about_elements)

    def fits(self, feeds: Mapping[str, Array]) -> bool:
        """Whether arrays keep the rules, by the profile's own decision on expanded operands."""
        if not super().fits(feeds):
            return False
        operands = np.broadcast_arrays(*(feeds[name] for name in NAMES))
        decided = (r.requirement.violation(r.select_operands(NAMES, operands)) for r in self.rules)
        return all(violation is None for violation in decided)

    @property
    def of_any_rank(self) -> bool:
        """Whether the rank of the base is unknown."""
        return known_rank(self.emitted.graph.input[0]) is None

    def small_shapes(self, model: onnx.ModelProto) -> Iterator[Question]:
        """The same of bases of told sizes: where an expanded one has its elements is known then."""
        base, exponent = (self.operand(declared, None) for declared in model.graph.input)
        declared = [d.dim_value or None for d in model.graph.input[0].type.tensor_type.shape.dim]
        for sizes in SMALL:
            alike = len(declared) == len(sizes) and all(map(_admits, declared, sizes))
            if alike or self.of_any_rank:
                told = operand(base.name, base.tensor.element_type, len(sizes), sizes=sizes)
                yield self._question(model, [told, exponent], [])

    @property
    def expands(self) -> bool:
        """Whether the base is expanded: its rank is unknown, or smaller than the exponent's."""
        return any(EXPANDED in node.output for node in self.emitted.graph.node)

    def claims(self) -> Iterator[Question]:
        """What is proved.

        Operands pass exactly if they keep the rules; the base then has the common shape, the
        exponent is what was given, and a refused run is told by the first rule that is broken. The
        graph is cut where the base is expanded.
        """
        operands = [self.operand(declared, None) for declared in self.emitted.graph.input]
        read = reaching(self.emitted, {NAME})
        if not self.expands:
            yield from self._expanding(self.emitted, operands, read[0])
            yield from self._deciding(self.emitted, operands)
            return
        base, exponent = operands
        yield from self._expanding(computing(self.emitted, [EXPANDED]), operands, EXPANDED)
        kind = base.tensor.element_type
        expanded = operand(EXPANDED, kind, z3.Int("expanded.rank"))
        behind = computing(self.emitted, read, [EXPANDED])
        yield from self._deciding(behind, [expanded, exponent])

    def _expanding(
        self, model: onnx.ModelProto, operands: Sequence[Operand], expanded: str
    ) -> Iterator[Question]:
        """That a size of 0 is refused by the rule about it, and all others give the base."""
        tensors = [each.tensor for each in operands]
        fits = demanded(Broadcastable(), tensors)
        sizes = [tensor.sizes for tensor in tensors]
        wanted = fits if self.expands else self.kept(tensors)
        claims: Sequence[Claim] = (
            lambda _, run: z3.Implies(wanted, run.passes),
            lambda _, run: z3.Implies(run.passes, wanted),
            lambda values, run: z3.Implies(run.passes, has_common_shape(values[expanded], sizes)),
            lambda _, run: z3.Implies(z3.Not(fits), told_first(run, E1)),
        )
        own, other = (term(tensor.rank) for tensor in tensors)
        cases = [own < other, own == other, own > other] if self.of_any_rank else [z3.BoolVal(True)]
        for claim, case in product(claims, cases):
            yield Question(model, operands, frozenset({NAME}), claim, [case])

    def _deciding(self, model: onnx.ModelProto, operands: Sequence[Operand]) -> Iterator[Question]:
        """That the exponent decides, and that nothing else changes."""
        tensors = [each.tensor for each in operands]
        # A common shape has as many axes as the exponent, and so one for a code at least.
        common = term(tensors[0].rank) >= term(tensors[1].rank)
        fits = common if self.expands else demanded(Broadcastable(), tensors)
        keeping = [kept(rule, NAMES, tensors) for rule in self.rules]
        pairs = list(zip(tensors, reaching(self.emitted, {NAME}), strict=True))

        def unchanged(values: Values, run: Run) -> z3.BoolRef:
            return z3.Implies(
                run.passes, z3.And([as_given(one, values[name]) for one, name in pairs])
            )

        def told(_: Values, run: Run) -> z3.BoolRef:
            # With several rules, by the first that is broken.
            by_rule = [
                z3.Implies(z3.And(*keeping[:place], z3.Not(holds)), told_first(run, rule))
                for place, (rule, holds) in enumerate(zip(self.rules, keeping, strict=True))
            ]
            return z3.And(by_rule)

        for claim in (lambda _, run: run.passes == z3.And(keeping), unchanged, told):
            yield Question(model, operands, frozenset({NAME}), claim, [fits])


def _admits(declared: int | None, size: int) -> bool:
    return declared in (None, size)


SMALL = ((), (0,), (1,), (2,), (0, 1), (1, 1), (1, 2))
"""Shapes of bases among which faults are looked for."""

KINDS = ("int64", "int32", "float")
FORMS = [
    SingleExponent(f"{kind}{base} X, {kind}{exponent} Y")
    for kind in KINDS
    for base, exponent in (
        ("[]", "[1]"),
        ("[]", "[1,1]"),
        ("[?]", "[1]"),
        ("[?,?]", "[1]"),
        ("[?,?,?]", "[1,1]"),
        ("[?,?,?,?]", "[1]"),
        ("[?]", "[1,1]"),
        ("[2,?]", "[1]"),
        ("[2,3]", "[1,1]"),
    )
]
FAULTS: list[tuple[SingleExponent, Mutation]] = [
    (form, fault)
    for form, faults in (
        (
            SingleExponent("int64[?,?] X, int64[1] Y"),
            (number("code", 2), number("code_2", 0), swapped("positive"), off_by("limit", 1)),
        ),
        (
            SingleExponent("int32[] X, int32[1] Y"),
            (operator("fits", "And"), swapped("rank_or_code"), number("limit", -(2.0**31))),
        ),
        (SingleExponent("int64[1,2] X, int64[1,1] Y"), (number("code", 0), swapped("is_below"))),
    )
    for fault in faults
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_base_passes_exactly_if_the_rules_are_kept(form: SingleExponent) -> None:
    assert reaching(form.emitted, {NAME})[1] == "Y"
    for question in form.claims():
        prove(question)


@pytest.mark.parametrize("form", [form for form in FORMS if form.expands], ids=str)
def test_two_parts_are_the_whole_graph(form: SingleExponent) -> None:
    """What decides about elements waits for what expands."""
    nodes = [node for node in form.emitted.graph.node if node.name != NAME]
    read = reaching(form.emitted, {NAME})
    first = computing(form.emitted, [EXPANDED]).graph.node
    second = computing(form.emitted, read, [EXPANDED]).graph.node
    assert all(node in first or node in second for node in nodes)
    waiting = depending(form.emitted, [EXPANDED])
    assert all(node.output[0] in waiting for node in second if node.name)


@pytest.mark.parametrize(("form", "fault"), FAULTS, ids=str)
def test_fault_is_refuted_by_operands_that_show_it(form: SingleExponent, fault: Mutation) -> None:
    broken = fault.of(form.emitted)
    _, feeds = refute(form.small_shapes(broken))
    fits = form.fits(feeds)
    assert passes(broken, {NAME}, feeds) is not fits
    assert passes(form.emitted, {NAME}, feeds) is fits
