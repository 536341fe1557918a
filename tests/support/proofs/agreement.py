"""Whether the interpreter and ONNX Runtime say the same of a model and what it is given."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import z3

from sonnx_ort.profile.element_type import ElementType
from support.proofs.guards import outcome
from support.proofs.interpreter import Values, interpret
from support.proofs.run import Run
from support.proofs.tensors import Operand, Tensor, constant, operand, pinned
from support.proofs.terms import NotInterpreted, alike, given, literal

Array = npt.NDArray[Any]


def of_told_operands(
    model: onnx.ModelProto, feeds: Mapping[str, Array], *, sizes: bool = False, told: bool = True
) -> bool:
    """Compare what follows for operands of which everything is told.

    Args:
        model: A model of one output.
        feeds: Its inputs.
        sizes: Whether integers of 64 bits are sizes.
        told: Whether the interpreter has to tell the result; else it may leave it open.

    Returns:
        Whether the interpreter says anything of them.
    """
    make = constant if sizes else pinned
    tensors = {name: make(array, type_of(array)) for name, array in feeds.items()}
    values, run = interpret(model, tensors)
    solver = z3.Solver()
    solver.add(*run.definitions)
    if _may_fail(solver, z3.And(run.requirements)):
        return False
    expected = outcome(model, feeds)
    seen = _seen(model, values, run, expected)
    assert _may_fail(solver, z3.Not(seen)), (feeds, expected)
    assert not (told and _may_fail(solver, seen)), (feeds, expected)
    return True


def of_any_operands(
    model: onnx.ModelProto, feeds: Mapping[str, Array], *, backwards: bool = False
) -> None:
    """Look whether what is said of operands of any rank admits what ONNX Runtime makes of these.

    Args:
        model: A model of one output.
        feeds: Its inputs.
        backwards: Whether axes are counted from the last one.
    """
    operands = [
        operand(name, type_of(array), z3.Int(f"{name}.rank"), backwards=backwards)
        for name, array in feeds.items()
    ]
    values, run = interpret(model, {o.name: o.tensor for o in operands})
    solver = z3.Solver()
    for each in operands:
        solver.add(*each.facts, *_is(each, feeds[each.name]))
    expected = outcome(model, feeds)
    seen = _seen(model, values, run, expected)
    solver.add(*run.definitions, *run.requirements, seen)
    assert solver.check() == z3.sat, (feeds, expected)


def type_of(array: Array) -> ElementType:
    """The element type of an array."""
    return next(kind for kind in ElementType if kind.dtype == array.dtype)


def _is(each: Operand, array: Array) -> list[z3.BoolRef]:
    tensor = each.tensor
    facts = [tensor.rank == array.ndim, tensor.elements.length == array.size]
    facts += [tensor.sizes.at(axis) == size for axis, size in enumerate(array.shape)]
    facts += [
        tensor.elements.at(index) == given(value, tensor.element_type)
        for index, value in enumerate(np.ravel(array))
    ]
    return facts


def _seen(model: onnx.ModelProto, values: Values, run: Run, expected: Any) -> z3.BoolRef:
    """That the run is as it was seen."""
    if expected is None:
        return z3.Not(run.passes)
    (output,) = model.graph.output
    (array,) = expected
    return z3.And(run.passes, _equals(values[output.name], array))


def _equals(tensor: Tensor, array: Array) -> z3.BoolRef:
    assert tensor.element_type == type_of(array)
    rank = tensor.rank
    if isinstance(rank, int) and rank != array.ndim:
        return z3.BoolVal(False)
    facts = [] if isinstance(rank, int) else [rank == array.ndim]
    facts += [tensor.sizes.at(axis) == size for axis, size in enumerate(array.shape)]
    for index, value in enumerate(np.ravel(array)):
        try:
            element = tensor.elements.at(index)
        except NotInterpreted:
            break
        facts.append(_is_value(element, value, tensor.element_type))
    return z3.And(facts)


def _is_value(element: z3.ExprRef, value: Any, kind: ElementType) -> z3.BoolRef:
    one, other = alike(element, literal(value, kind))
    return one == other


def _may_fail(solver: z3.Solver, claim: z3.BoolRef) -> bool:
    solver.push()
    solver.add(z3.Not(claim))
    found = solver.check()
    solver.pop()
    return found != z3.unsat
