"""Nodes of versions 1 and 6 whose second operand the native backend lines up with the first.

Of unknown ranks, the graph is cut where the second operand is lined up: what comes before is a
claim about the two operands, what comes behind one about the first and any that is lined up.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import onnx
import z3

import sonnx_ort
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import E1
from sonnx_ort.profile.requirements.broadcasting import Broadcastable
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import Rule
from support.graphs import parse
from support.proofs.agreement import Array
from support.proofs.broadcasts import NAME, SIZES_AT_MOST, known_rank
from support.proofs.guards import computing, reaching
from support.proofs.interpreter import Values
from support.proofs.rules import (
    broadcastable,
    has_one_element,
    is_inside,
    is_part,
    lined_up,
    lines_up,
    start_of,
)
from support.proofs.run import told_first
from support.proofs.tensors import Operand, Tensor, for_all, operand, same_sizes, term
from support.proofs.theorem import Claim, Question

ELEMENT_TYPE = ElementType.FLOAT


@dataclass(frozen=True)
class LinedUp:
    """A model of one node that asks for limited broadcasting.

    Attributes:
        inputs: The inputs A and B, as text.
        axis: The attribute; None if it is not set.
        operator: The operator.
        opset: The version of the standard operators.
    """

    inputs: str
    axis: int | None = None
    operator: str = "Div"
    opset: int = 6

    def __str__(self) -> str:
        """Say which."""
        axis = "at the last axis" if self.axis is None else f"axis {self.axis}"
        return f"{self.operator} of {self.inputs}, {axis}"

    @property
    def limits(self) -> LimitedBroadcasting:
        """What is allowed."""
        return LimitedBroadcasting(self.axis)

    @cached_property
    def rule(self) -> Rule:
        """The rule that an operand breaks which does not line up."""
        found = sonnx_ort.check(
            self.original, operators="all,-Graph", broadcast="explicit", forecast=False
        )
        (rule,) = (o.rule for o in found.obligations if o.rule.id.endswith(".R1"))
        return rule

    @cached_property
    def original(self) -> onnx.ModelProto:
        """The model before it is rewritten."""
        axis = "" if self.axis is None else f", axis = {self.axis}"
        node = f"[{NAME}] y = {self.operator} <broadcast = 1{axis}> (A, B)"
        return parse(f"({self.inputs}) => (float[] y) {{ {node} }}", opset=self.opset)

    @cached_property
    def emitted(self) -> onnx.ModelProto:
        """What the native backend makes of it."""
        return sonnx_ort.rewrite(
            self.original, backend="native", broadcast="explicit", operators="all,-Graph"
        )

    @cached_property
    def aligned(self) -> str:
        """The name of the second operand with the axes of size 1 behind its own, if it gets any."""
        reshaped = (n.output[0] for n in self.emitted.graph.node if n.op_type == "Reshape")
        return next((name for name in reshaped if name == "y_aligned"), "B")

    def lining_up(self) -> Iterator[Question]:
        """That B is lined up exactly if it lines up, by cases of where the part would start."""
        model = computing(self.emitted, [self.aligned])
        operands = self._operands(self.emitted, backwards=False)
        a, b = (each.tensor for each in operands)
        claims = self._claims_of_lining_up(a, b)
        for where, claim in product(self._places(a, b), claims):
            yield Question(model, operands, frozenset(), claim, [where])

    def expanding(self) -> Iterator[Question]:
        """That a tensor that is lined up, whatever it was, gets the shape of A, or is refused."""
        read = reaching(self.emitted, {NAME})
        model = computing(self.emitted, read, [self.aligned])
        a, _ = self._operands(self.emitted, backwards=True)
        b = operand(self.aligned, ELEMENT_TYPE, z3.Int("aligned.rank"), backwards=True)
        sizes = [a.tensor.sizes, b.tensor.sizes]

        def below(from_the_end: int | z3.ArithRef) -> z3.BoolRef:
            own, other = (each.aligned_at(from_the_end, 1) for each in reversed(sizes))
            return z3.Or(own == 1, own == other)

        known = [term(b.tensor.rank) <= term(a.tensor.rank), for_all(b.tensor.rank, below)]
        fits = broadcastable(sizes)
        claims: Sequence[Claim] = (
            lambda _, run: z3.Implies(fits, run.passes),
            lambda _, run: z3.Implies(run.passes, fits),
            *(_gets_shape_of(a.tensor, name) for name in read),
            lambda _, run: z3.Implies(z3.Not(fits), told_first(run, E1)),
        )
        for claim in claims:
            yield Question(model, [a, b], frozenset(), claim, known)

    def whole(self) -> Iterator[Question]:
        """All of that of operands of known ranks, of the graph as it is."""
        operands = self._operands(self.emitted, backwards=False)
        a, b = (each.tensor for each in operands)
        read = reaching(self.emitted, {NAME})
        lining = lines_up(self.limits, a.sizes, b.sizes)
        fits = broadcastable([a.sizes, lined_up(self.limits, a.sizes, b.sizes)])
        claims: Sequence[Claim] = (
            self._passing(a, b),
            *(_gets_shape_of(a, name) for name in read),
            lambda values, run: z3.Implies(run.passes, self._at_its_axes(a, b, values)),
            lambda _, run: z3.Implies(z3.Not(lining), told_first(run, self.rule)),
            lambda _, run: z3.Implies(z3.And(lining, z3.Not(fits)), told_first(run, E1)),
        )
        for claim in claims:
            yield Question(self.emitted, operands, frozenset({NAME}), claim)

    def small_shapes(self, model: onnx.ModelProto) -> Iterator[Question]:
        """That exactly what lines up passes, of small shapes, of a model with a fault in it."""
        ranks = [range(4) if known_rank(each) is None else (None,) for each in model.graph.input]
        for chosen in product(*ranks):
            operands = self._operands(model, backwards=True, ranks=chosen)
            a, b = (each.tensor for each in operands)
            small = [t.sizes.for_all(lambda i, s=t.sizes: s.at(i) <= SIZES_AT_MOST) for t in (a, b)]
            yield Question(model, operands, frozenset({NAME}), self._passing(a, b), small)

    def keeps_rules(self, feeds: Mapping[str, Array]) -> bool:
        """Whether B lines up with A and both have a common shape, by the profile's own decision."""
        a, b = (feeds[name] for name in "AB")
        if self.limits.violation(a.shape, b.shape) is not None:
            return False
        behind = self.limits.trailing_axes(a.ndim, b.ndim) or 0
        aligned = b.reshape(b.shape + (1,) * behind)
        return Broadcastable().violation([a, aligned]) is None

    def _operands(
        self, model: onnx.ModelProto, *, backwards: bool, ranks: Sequence[int | None] = (None, None)
    ) -> list[Operand]:
        made = []
        for declared, rank in zip(model.graph.input, ranks, strict=True):
            known = known_rank(declared)
            if known is None:
                length = z3.Int(f"{declared.name}.rank") if rank is None else rank
                made.append(operand(declared.name, ELEMENT_TYPE, length, backwards=backwards))
                continue
            dims = declared.type.tensor_type.shape.dim
            sizes = [d.dim_value if d.HasField("dim_value") else None for d in dims]
            made.append(operand(declared.name, ELEMENT_TYPE, known, sizes=sizes))
        return made

    def _places(self, a: Tensor, b: Tensor) -> Sequence[z3.BoolRef]:
        """The cases: the part starts before A, in it, or so late that it reaches out of A."""
        start = start_of(self.limits, a.rank, b.rank)
        inside = is_inside(self.limits, a.rank, b.rank)
        return [start < 0, inside, z3.And(start >= 0, z3.Not(inside))]

    def _claims_of_lining_up(self, a: Tensor, b: Tensor) -> Sequence[Claim]:
        one, part = has_one_element(a.sizes, b.sizes), is_part(self.limits, a.sizes, b.sizes)
        lining = lines_up(self.limits, a.sizes, b.sizes)
        return (
            lambda _, run: z3.Implies(part, run.passes),
            lambda _, run: z3.Implies(one, run.passes),
            lambda _, run: z3.Implies(run.passes, lining),
            lambda _, run: z3.Implies(z3.Not(lining), told_first(run, self.rule)),
            lambda values, run: z3.Implies(run.passes, self._at_its_axes(a, b, values)),
        )

    def _passing(self, a: Tensor, b: Tensor) -> Claim:
        aligned = lined_up(self.limits, a.sizes, b.sizes)
        demanded = z3.And(
            lines_up(self.limits, a.sizes, b.sizes), broadcastable([a.sizes, aligned])
        )
        return lambda _, run: run.passes == demanded

    def _at_its_axes(self, a: Tensor, b: Tensor, values: Values) -> z3.BoolRef:
        """Whether B is as it was given, at its axes of A; of one element, any axes of size 1."""
        found = values[self.aligned]
        part = is_part(self.limits, a.sizes, b.sizes)
        all_ones = z3.And(
            term(found.rank) <= term(a.rank),
            found.sizes.for_all(lambda axis: found.sizes.at(axis) == 1),
        )
        in_place = same_sizes(found.sizes, lined_up(self.limits, a.sizes, b.sizes))
        unchanged = b.elements.for_all(lambda i: found.elements.at(i) == b.elements.at(i))
        return z3.And(z3.If(part, in_place, all_ones), unchanged)


def _gets_shape_of(tensor: Tensor, name: str) -> Claim:
    return lambda values, run: z3.Implies(run.passes, same_sizes(tensor.sizes, values[name].sizes))
