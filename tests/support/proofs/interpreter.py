"""What a graph of guards does, node by node, as terms.

It knows the operators of `meanings`, and refuses every other one. What it says of them is tried
against ONNX Runtime.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import onnx
import z3

from support.proofs.meanings.elementwise import ELEMENTWISE
from support.proofs.meanings.expansion import EXPANSION
from support.proofs.meanings.reductions import LINES, REDUCTIONS
from support.proofs.meanings.shapes import SHAPES, VECTORS
from support.proofs.run import Call, Meaning, Run, constant_of
from support.proofs.tensors import Index, Tensor, Vector, length_of, line
from support.proofs.terms import NotInterpreted, ToFloat, alike, nearest_float

MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {**ELEMENTWISE, **EXPANSION, **LINES, **REDUCTIONS, **SHAPES, **VECTORS}
)
"""By operator what it gives."""


_STANDARD = ("", "ai.onnx")


Values = dict[str, Tensor]


def interpret(
    model: onnx.ModelProto,
    operands: Mapping[str, Tensor],
    *,
    leaving: Collection[str] = (),
    to_float: ToFloat = nearest_float,
) -> tuple[Values, Run]:
    """Give every value of a graph as terms.

    Args:
        model: The model.
        operands: What its inputs are.
        leaving: The names of nodes that are not looked at: the guarded ones, and what reads them.
        to_float: What stands for the floats of integers.

    Returns:
        The values by name, and what is known of the run.

    Raises:
        NotInterpreted: It has something in it of which nobody said what it means.
    """
    (opset,) = (o.version for o in model.opset_import if o.domain in _STANDARD)
    run = Run(to_float=to_float, operands=tuple(operands.values()))
    values = dict(operands)
    for initializer in model.graph.initializer:
        values[initializer.name] = constant_of(initializer)
    _run_nodes(model.graph.node, values, run, opset, leaving)
    return values, run


def _run_nodes(
    nodes: Sequence[onnx.NodeProto], values: Values, run: Run, opset: int, leaving: Collection[str]
) -> None:
    left: set[str] = set()
    for node in nodes:
        if node.name in leaving or left.intersection(node.input):
            left.update(node.output)
            continue
        if node.domain not in _STANDARD:
            raise NotInterpreted(f"{node.domain}::{node.op_type}")
        call = Call(node, [values[name] if name else None for name in node.input], run, opset)
        if node.op_type == "If":
            results: Sequence[Tensor] = [_either_branch(call, values)]
        elif node.op_type == "Loop":
            results = _not_iterated(call)
        elif node.op_type in MEANINGS:
            results = [MEANINGS[node.op_type](call)]
        else:
            raise NotInterpreted(node.op_type)
        values.update(zip(node.output, results, strict=True))


def _either_branch(call: Call, outer: Values) -> Tensor:
    """If: both branches are looked at, and what fails in one counts where that one is taken."""
    call.only("then_branch", "else_branch")
    condition = call.tensor(0).elements.at(0)
    before = call.run.passes
    results = []
    for name, taken in (("then_branch", condition), ("else_branch", z3.Not(condition))):
        body, own = (
            call.attribute(name),
            Run(to_float=call.run.to_float, operands=call.run.operands),
        )
        values = dict(outer)
        _run_nodes(body.node, values, own, call.opset, ())
        reached = z3.And(before, taken)
        call.run.requirements += [z3.Implies(reached, needed) for needed in own.requirements]
        call.run.refusals += [(label, z3.And(taken, failing)) for label, failing in own.refusals]
        call.run.definitions.extend(own.definitions)
        for label, (inside, shape) in own.asked.items():
            call.run.asked[label] = (z3.And(taken, inside), shape)
        (output,) = body.output
        results.append(values[output.name])
    return chosen(condition, *results)


def chosen(condition: z3.BoolRef, one: Tensor, other: Tensor) -> Tensor:
    """One of two vectors."""
    if one is other:
        return one
    if not (one.is_vector and other.is_vector and one.element_type == other.element_type):
        raise NotInterpreted("an If whose branches give tensors of different forms")

    def at(index: Index) -> z3.ExprRef:
        return z3.If(condition, *alike(one.elements.any_at(index), other.elements.any_at(index)))

    lengths = [
        z3.IntVal(n) if isinstance(n, int) else n
        for n in (one.elements.length, other.elements.length)
    ]
    backwards = one.elements.backwards or other.elements.backwards
    return line(one.element_type, Vector(length_of(z3.If(condition, *lengths)), at, backwards))


def _not_iterated(call: Call) -> Sequence[Tensor]:
    """A Loop without iterations: it gives its states as they are."""
    call.only("body")
    trips = call.tensor(0).elements.at(0)
    if not z3.is_int_value(trips) or trips.as_long() != 0:
        raise NotInterpreted("a Loop with iterations")
    if len(call.node.output) != len(call.inputs) - 2:
        raise NotInterpreted("a Loop that collects")
    return [call.tensor(position) for position in range(2, len(call.inputs))]
