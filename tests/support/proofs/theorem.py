"""Proofs about a graph of guards, and what refutes them.

A proof is about operands of any rank, size and elements: the ranks and the numbers of elements are
terms, and the quantifiers over axes and elements are the solver's. What refutes a false claim is
looked for among small operands, of which everything is told.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import z3

from sonnx_ort.profile.element_type import ElementType, Family
from support.proofs.interpreter import Values, interpret
from support.proofs.powers import exactness_defined
from support.proofs.run import Run, constant_of
from support.proofs.tensors import Operand, Tensor, counted_alike
from support.proofs.terms import ToFloat, bits_of, nearest_float, sort_of

Array = npt.NDArray[Any]

Claim = Callable[[Values, Run], z3.BoolRef]
"""What is to be proved of the values and of a run."""

_SECONDS = 600


class NotProved(AssertionError):  # noqa: N818 - reads as what happened
    """A solver found no proof."""


@dataclass(frozen=True)
class Question:
    """A claim about a graph.

    Attributes:
        model: The model, as it was emitted or changed.
        operands: What it is given.
        guarded: The names of the nodes behind the guards.
        claim: What is said of it.
        given: What is known of the operands besides what is true of every tensor.
    """

    model: onnx.ModelProto
    operands: Sequence[Operand]
    guarded: frozenset[str]
    claim: Claim
    given: Sequence[z3.BoolRef] = ()

    def about(self, claim: Claim) -> "Question":
        """The same with another claim."""
        return replace(self, claim=claim)

    def terms(self, to_float: ToFloat) -> tuple[list[z3.BoolRef], list[z3.BoolRef], z3.BoolRef]:
        """What is assumed, what the interpretation requires, and what is claimed."""
        tensors = {operand.name: operand.tensor for operand in self.operands}
        values, run = interpret(self.model, tensors, leaving=self.guarded, to_float=to_float)
        # First, for the elements that it asks for may be defined by that.
        claimed = self.claim(values, run)
        facts = [fact for operand in self.operands for fact in operand.facts]
        assumed = [*facts, *self.given, *run.definitions, *counted_alike(list(tensors.values()))]
        return assumed, run.requirements, claimed


def prove(question: Question) -> None:
    """Prove a claim about operands of any size.

    Raises:
        NotProved: The solver could not, or found that it is not so.
    """
    order = OrderOfFloats(question.model)
    assumed, required, claimed = question.terms(order.to_float)
    broken = z3.Not(z3.And(*required, claimed))
    # To find a model of quantified formulas takes long; a proof needs instances alone.
    solver = _alone([*assumed, *order.facts(), broken], quantified_models=False)
    found = solver.check()
    if found != z3.unsat:
        raise NotProved(f"{found}: {solver.reason_unknown()}")


def refute(questions: Iterable[Question]) -> tuple[Question, dict[str, Array]]:
    """Find operands for which a claim is false.

    Args:
        questions: The claim about operands of known ranks, in the order in which they are tried.

    Returns:
        The question, and the operands.

    Raises:
        NotProved: The claim is true of all of them, or the solver could not tell.
    """
    for question in questions:
        assumed, required, claimed = question.terms(nearest_float)
        formulas = [*assumed, *required, z3.Not(claimed)]
        solver = _alone(map(exactness_defined, formulas))
        found = solver.check()
        if found == z3.unknown:
            raise NotProved(solver.reason_unknown())
        if found == z3.sat:
            model = solver.model().translate(z3.main_ctx())
            return question, {o.name: told(model, o.tensor) for o in question.operands}
    raise NotProved("nothing refutes the claim")


class OrderOfFloats:
    """Stands for the float nearest to an integer by a function of which only the order is known.

    That a float is beyond a constant says that the integer is; and the other way round on a side on
    which the next integer is a float. These are lemmas for each constant of the graph, which are
    proved of the rounding itself, for all integers.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        """Look for the constants that floats are compared to."""
        self._constants = list(_float_constants(model.graph))
        self._functions: dict[tuple[ElementType, ElementType], z3.FuncDeclRef] = {}

    def to_float(self, element: z3.BitVecRef, source: ElementType, to: ElementType) -> z3.FPRef:
        """What stands for the float."""
        function = self._functions.setdefault(
            (source, to),
            z3.Function(f"{to}.of.{source}", z3.BitVecSort(bits_of(source)), sort_of(to)),
        )
        return function(element)

    def facts(self) -> list[z3.BoolRef]:
        """What is true of the functions.

        Raises:
            NotProved: It is not true of rounding.
        """
        facts = []
        for (source, to), function in self._functions.items():
            number = z3.FreshConst(z3.BitVecSort(bits_of(source)), "number")
            for constant in self._constants:
                if constant.element_type != to or _value_of(constant).denominator > 1:
                    # Limits between integers are compared with powers alone.
                    continue
                prove_formula(_keeps_order(number, nearest_float(number, source, to), constant))
                fact = _keeps_order(number, function(number), constant)
                facts.append(z3.ForAll([number], fact, patterns=[function(number)]))
        return facts


def prove_formula(formula: z3.BoolRef) -> None:
    """Prove a formula for all values of its constants.

    Raises:
        NotProved: It is false of some, or the solver could not tell.
    """
    found = _alone([exactness_defined(z3.Not(formula))]).check()
    if found != z3.unsat:
        raise NotProved(f"{found}: {formula}")


def _alone(formulas: Iterable[z3.BoolRef], *, quantified_models: bool = True) -> z3.Solver:
    """A solver in a context of its own: what was asked before changes how long Z3 looks."""
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("smt.mbqi", quantified_models)
    solver.set("timeout", _SECONDS * 1000)
    solver.add(*(formula.translate(context) for formula in formulas))
    return solver


def _keeps_order(number: z3.BitVecRef, rounded: z3.FPRef, constant: Tensor) -> z3.BoolRef:
    limit = constant.elements.at(0)
    exact = int(_value_of(constant))
    integer = z3.BitVecVal(exact, number.size())
    facts = [
        z3.Not(z3.fpIsNaN(rounded)),
        z3.Implies(z3.fpGT(rounded, limit), number > integer),
        z3.Implies(z3.fpLT(rounded, limit), number < integer),
    ]
    kind = constant.element_type.dtype.type
    # What is below is not rounded up to the constant, and what is above not down to it.
    if int(float(kind(exact - 1))) == exact - 1:
        facts.append(z3.Implies(number < integer, z3.fpLT(rounded, limit)))
    if int(float(kind(exact + 1))) == exact + 1:
        facts.append(z3.Implies(number > integer, z3.fpGT(rounded, limit)))
    return z3.And(facts)


def _value_of(constant: Tensor) -> Fraction:
    return z3.simplify(z3.fpToReal(constant.elements.at(0))).as_fraction()


def _float_constants(graph: onnx.GraphProto) -> Iterable[Tensor]:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _float_constants(attribute.g)
        if node.op_type == "Constant":
            constant = constant_of(node.attribute[0].t)
            if constant.element_type.family is Family.FLOAT and constant.is_scalar:
                yield constant


def told(model: z3.ModelRef, tensor: Tensor) -> Array:
    """A tensor of a model of the solver."""
    shape = [_number(model, tensor.sizes.at(axis)) for axis in range(int(tensor.rank))]
    count = int(np.prod(shape, dtype=np.int64))
    kind = tensor.element_type
    values = [value_of(model, tensor.elements.at(index), kind) for index in range(count)]
    return np.array(values, kind.dtype).reshape(shape)


def value_of(model: z3.ModelRef, element: z3.ExprRef, kind: ElementType) -> Any:
    """An element of a model of the solver."""
    value = model.eval(element, model_completion=True)
    match kind.family:
        case Family.BOOLEAN:
            return z3.is_true(value)
        case Family.INTEGER if z3.is_int(value):
            return value.as_long()
        case Family.INTEGER:
            signed = kind.dtype.kind == "i"
            return value.as_signed_long() if signed else value.as_long()
    if z3.is_true(z3.simplify(z3.fpIsNaN(value))):
        return kind.dtype.type(np.nan)
    bits = z3.simplify(z3.fpToIEEEBV(value))
    raw = np.array(bits.as_long(), f"u{kind.dtype.itemsize}")
    return raw.view(kind.dtype)[()]


def _number(model: z3.ModelRef, term: z3.ArithRef) -> int:
    return int(model.eval(term, model_completion=True).as_long())
