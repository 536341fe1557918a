"""One node of the profile behind the guards that the native backend puts in front of it."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy.typing as npt
import onnx
import z3

import sonnx_ort
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule
from support.elementwise import Single
from support.graphs import declared, parse
from support.operator_cases import written
from support.proofs.guards import reaching
from support.proofs.interpreter import Values
from support.proofs.rules import kept
from support.proofs.run import Run
from support.proofs.tensors import Operand, Tensor, operand, same_sizes
from support.proofs.terms import alike, converted
from support.proofs.theorem import Claim, Question

Array = npt.NDArray[Any]

NAME = "the_node"

_SIZES_AT_MOST = 3


class Ranks(enum.StrEnum):
    """What a model says of the ranks of operands, whose sizes it leaves open."""

    ANY = "any ranks"
    EQUAL = "equal ranks"
    SCALARS = "scalars"
    """ONNX Runtime takes tensors of any rank for an input that is declared as a scalar."""


@dataclass(frozen=True)
class Guarded:
    """A node whose operands have unknown sizes.

    Attributes:
        single: The operator and the type.
        ranks: What the model says of their ranks.
        opset: The version of the standard operators.
        edition: The edition that is enforced.
        attributes: The node's attributes, as text; the operator's usual ones by default.
    """

    single: Single
    ranks: Ranks
    opset: int = 21
    edition: Edition = Edition.TYPED
    attributes: str | None = None

    def __str__(self) -> str:
        """Say which: `Div int8, any ranks`."""
        parts = [str(self.single), self.ranks]
        parts += [f"opset {self.opset}"] if self.opset != 21 else []
        parts += [self.edition] if self.edition is not Edition.TYPED else []
        parts += [self.attributes] if self.attributes else []
        return ", ".join(parts)

    def original(self, rank: int | None) -> onnx.ModelProto:
        """The model before it is rewritten.

        Args:
            rank: The rank of the operands; None where it is unknown.
        """
        operator, kind = self.single.operator, self.single.element_type
        own = operator.result_type
        result = "int32" if own == OF_THE_NODE else own or kind
        usual = written(self.single.attributes)
        attributes = usual if self.attributes is None else self.attributes
        if own == OF_THE_NODE:
            number = int(attributes.partition("=")[2].strip(" >"))
            result = onnx.TensorProto.DataType.Name(number).lower()
        shape = None if rank is None else [None] * rank
        inputs = ", ".join(
            f"{declared(each, shape)} {name}"
            for name, each in zip(self.single.names, self.single.types(), strict=True)
        )
        node = f"[{NAME}] y = {operator.name}{attributes}({', '.join(self.single.names)})"
        text = f"({inputs}) => ({declared(result, shape)} y) {{ {node} }}"
        return parse(text, opset=self.opset)

    def emitted_of_rank(self, rank: int | None) -> onnx.ModelProto:
        """What the native backend makes of the model.

        Args:
            rank: The rank of the operands; None where it is unknown.
        """
        return sonnx_ort.rewrite(
            self.original(rank), backend="native", operators="all,-Graph", edition=self.edition
        )

    @property
    def any_rank(self) -> bool:
        """Whether operands may have any ranks."""
        return self.ranks is not Ranks.EQUAL

    @property
    def declared_rank(self) -> int | None:
        """A rank that the model may tell of the operands; None where it tells none."""
        return {Ranks.ANY: None, Ranks.EQUAL: 1, Ranks.SCALARS: 0}[self.ranks]

    @cached_property
    def emitted(self) -> onnx.ModelProto:
        """What the native backend makes of the model; the same for every known rank but 0."""
        return self.emitted_of_rank(self.declared_rank)

    def rules(self) -> tuple[Rule, ...]:
        """The rules that a run decides, in the order of decision."""
        family = self.single.element_type.family
        (node,) = self.original(None).graph.node
        values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        rules = self.single.operator.rules(self.edition, family)
        return tuple(rule.of_node(values) for rule in rules if rule.in_run)

    def question(self) -> Question:
        """What is proved, of operands of any rank and size.

        The guards let pass exactly what keeps the rules, unchanged, and what breaks one is told by
        the code of the first that it breaks.
        """
        common = z3.Int("rank")
        operands = [
            operand(name, kind, z3.Int(f"{name}.rank") if self.any_rank else common)
            for name, kind in zip(self.single.names, self.single.types(), strict=True)
        ]
        known = [] if self.any_rank else [common >= 1]
        return self._question(self.emitted, operands, known, whole=True)

    def small_shapes(self, model: onnx.ModelProto) -> Iterator[Question]:
        """The same of small shapes, of a model in which something is wrong."""
        count = len(self.single.names)
        alike_ranks = ((rank,) * count for rank in range(1, 3))
        ranks = product(range(4), repeat=count) if self.any_rank else alike_ranks
        for chosen in ranks:
            operands = [
                operand(name, kind, rank)
                for name, kind, rank in zip(
                    self.single.names, self.single.types(), chosen, strict=True
                )
            ]
            small = [
                o.tensor.sizes.at(axis) <= _SIZES_AT_MOST
                for o, rank in zip(operands, chosen, strict=True)
                for axis in range(rank)
            ]
            yield self._question(model, operands, small)

    def few_elements(self, model: onnx.ModelProto) -> Iterator[Question]:
        """The same of one shape of few elements, of a model in which something is wrong."""
        shapes: Sequence[tuple[int, ...]] = ((1,), (2,), (0,))
        for shape in [(), *shapes] if self.any_rank else shapes:
            operands = [
                operand(name, kind, len(shape), sizes=shape)
                for name, kind in zip(self.single.names, self.single.types(), strict=True)
            ]
            yield self._question(model, operands, [])

    def keeps_rules(self, feeds: dict[str, Array]) -> bool:
        """Whether arrays keep the rules, by the profile's own decision."""
        names = self.single.names
        return are_kept(self.rules(), names, [feeds[name] for name in names])

    def _question(
        self,
        model: onnx.ModelProto,
        operands: Sequence[Operand],
        known: Sequence[z3.BoolRef],
        *,
        whole: bool = False,
    ) -> Question:
        tensors = [o.tensor for o in operands]
        claim = passing(self.rules(), self.single.names, tensors, model, whole=whole)
        return Question(model, operands, frozenset({NAME}), claim, known)


def are_kept(rules: Sequence[Rule], names: Sequence[str], arrays: Sequence[Array]) -> bool:
    """Whether arrays keep rules, by the profile's own decision."""
    selected = ((rule, rule.select_operands(names, arrays)) for rule in rules)
    return all(rule.requirement.violation(operands) is None for rule, operands in selected)


def passing(
    rules: Sequence[Rule],
    names: Sequence[str],
    tensors: Sequence[Tensor],
    model: onnx.ModelProto,
    *,
    whole: bool,
    there: z3.BoolRef | None = None,
) -> Claim:
    """That exactly what keeps the rules passes.

    `whole` says that it passes unchanged, too, and that the first broken rule is told, where all is
    there that ONNX Runtime itself asks for.
    """

    def claim(values: Values, run: Run) -> z3.BoolRef:
        keeping = [kept(rule, names, tensors) for rule in rules]
        right = run.passes == z3.And(keeping)
        if not whole:
            return right
        read = [values[name] for name in reaching(model, {NAME}) if name]
        unchanged = [as_given(one, other) for one, other in zip(tensors, read, strict=True)]
        told = told_in_order(rules, keeping, run)
        told = told if there is None else z3.Implies(there, told)
        return z3.And(right, z3.Implies(run.passes, z3.And(unchanged)), told)

    return claim


def as_given(given: Tensor, read: Tensor) -> z3.BoolRef:
    """Whether a node reads a tensor as it was given, converted to the type that it reads."""

    def same(index: Any) -> z3.BoolRef:
        element = given.elements.at(index)
        if given.element_type != read.element_type:
            element = converted(element, given.element_type, read.element_type)
        one, other = alike(element, read.elements.at(index))
        return one == other

    return z3.And(same_sizes(given.sizes, read.sizes), given.elements.for_all(same))


def told_in_order(rules: Sequence[Rule], keeping: Sequence[z3.BoolRef], run: Run) -> z3.BoolRef:
    """Whether a guard is asked for the code of the first rule that is broken."""
    told = []
    before: list[z3.BoolRef] = []
    for rule, holds in zip(rules, keeping, strict=True):
        said = f" -{rule.code} {rule.id}"
        asked = [run.asks_for(name, rule.code) for name in run.asked if said in name]
        told.append(z3.Implies(z3.And(*before, z3.Not(holds)), z3.Or(asked)))
        before.append(holds)
    return z3.And(told)
