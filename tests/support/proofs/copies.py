"""The outputs of a Broadcast: what broadcasting makes of its operands, element by element."""

from collections.abc import Iterator, Sequence
from itertools import product

import onnx
import z3

from support.proofs.broadcasts import Broadcasting
from support.proofs.interpreter import Values
from support.proofs.meanings.expansion import expanded
from support.proofs.rules import common_size, longest
from support.proofs.run import Run
from support.proofs.tensors import (
    Operand,
    Tensor,
    Vector,
    for_all,
    operand,
    reduced,
    same_sizes,
)
from support.proofs.theorem import Claim, Question

_NO_NODE: frozenset[str] = frozenset()


def copied(model: onnx.ModelProto, form: Broadcasting) -> Question:
    """That outputs are the operands, expanded to their common shape.

    Args:
        model: What is emitted for the form, or that with a fault in it.
        form: A Broadcast.
    """
    return _question(model, [form.operand(declared, None) for declared in model.graph.input])


def copied_in_small(
    model: onnx.ModelProto, form: Broadcasting, most: int, ranks: int
) -> Iterator[Question]:
    """The same of operands whose sizes are told, so that the place of each element is.

    Args:
        model: What is emitted for the form, or that with a fault in it.
        form: A Broadcast of operands of unknown rank.
        most: The largest size.
        ranks: The largest rank.
    """
    shapes = [s for rank in range(ranks + 1) for s in product(range(most + 1), repeat=rank)]
    kinds = [form.operand(declared, 0).tensor.element_type for declared in model.graph.input]
    names = [declared.name for declared in model.graph.input]
    for chosen in product(shapes, repeat=len(names)):
        told = [
            operand(name, kind, len(shape), sizes=shape)
            for name, kind, shape in zip(names, kinds, chosen, strict=True)
        ]
        yield _question(model, told)


def _question(model: onnx.ModelProto, operands: Sequence[Operand]) -> Question:
    tensors = [each.tensor for each in operands]
    outputs = [output.name for output in model.graph.output]
    return Question(model, operands, _NO_NODE, _are_copies(tensors, outputs))


def _are_copies(tensors: Sequence[Tensor], outputs: Sequence[str]) -> Claim:
    shapes = [tensor.sizes for tensor in tensors]
    rank = longest([shape.length for shape in shapes])
    common = Vector(
        rank, lambda axis: common_size(shapes, reduced(rank - 1 - axis)), backwards=True
    )

    def claim(values: Values, run: Run) -> z3.BoolRef:
        pairs = zip(outputs, tensors, strict=True)
        copies = [_is_copy(values[name], expanded(run, tensor, common)) for name, tensor in pairs]
        return z3.Implies(run.passes, z3.And(copies))

    return claim


def _is_copy(one: Tensor, other: Tensor) -> z3.BoolRef:
    elements = for_all(one.elements.length, lambda i: one.elements.at(i) == other.elements.at(i))
    return z3.And(same_sizes(one.sizes, other.sizes), elements)
