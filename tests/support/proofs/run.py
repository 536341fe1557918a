"""One run of a graph, and one node of it, as an interpretation sees them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import z3
from onnx import helper, numpy_helper

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.rule import Rule
from support.proofs.tensors import Tensor, Vector, constant
from support.proofs.terms import NotInterpreted, ToFloat, nearest_float


@dataclass(frozen=True, eq=False)
class Expansion:
    """How a shape is expanded.

    Attributes:
        sizes: The shape.
        wanted: The one that it is expanded to.
        place: Gives for a place in the result that of the element that comes there.
    """

    sizes: Vector
    wanted: Vector
    place: z3.FuncDeclRef


@dataclass
class Run:
    """Everything that is known of one run.

    Attributes:
        refusals: The conditions under which a node fails, with the names of nodes.
        definitions: What is true of terms that stand for results.
        requirements: What has to be true for the interpretation to be what ONNX Runtime does.
        asked: The shapes that named nodes are asked for, each with whether its branch is taken.
        to_float: What stands for the floats of integers.
        operands: What the model is given.
        expansions: The expansions whose elements were asked for.
    """

    refusals: list[tuple[str, z3.BoolRef]] = field(default_factory=list)
    definitions: list[z3.BoolRef] = field(default_factory=list)
    requirements: list[z3.BoolRef] = field(default_factory=list)
    asked: dict[str, tuple[z3.BoolRef, Tensor]] = field(default_factory=dict)
    to_float: ToFloat = nearest_float
    operands: Sequence[Tensor] = ()
    expansions: list[Expansion] = field(default_factory=list)

    def asks_for(self, name: str, code: int) -> z3.BoolRef:
        """Whether a named node is reached and asked for the code of a rule."""
        taken, shape = self.asked[name]
        numbers = shape.elements
        return z3.And(taken, numbers.exists(lambda axis: numbers.at(axis) == -code))

    @property
    def passes(self) -> z3.BoolRef:
        """Whether no node fails."""
        return z3.Not(z3.Or([condition for _, condition in self.refusals]))


def told_first(run: Run, rule: Rule) -> z3.BoolRef:
    """Whether the first node that refuses is a guard of a rule, and tells its code.

    An Expand that is a guard tells it by its name alone.
    """
    told, before = [], []
    for name, refuses in run.refusals:
        if _speaks_of(name, rule):
            told.append(z3.And(refuses, z3.Not(z3.Or(before)), _asks_for(run, name, rule)))
        before.append(refuses)
    return z3.Or(told)


def _speaks_of(name: str, rule: Rule) -> bool:
    return f" -{rule.code} {rule.id}" in name


def _asks_for(run: Run, name: str, rule: Rule) -> z3.BoolRef:
    return run.asks_for(name, rule.code) if name in run.asked else z3.BoolVal(True)


@dataclass(frozen=True)
class Call:
    """One node, with what it reads.

    Attributes:
        node: The node.
        inputs: Its inputs; None for one that is left out.
        run: Takes what the node demands.
        opset: The version of the standard operators.
    """

    node: onnx.NodeProto
    inputs: Sequence[Tensor | None]
    run: Run
    opset: int

    def tensor(self, position: int) -> Tensor:
        """An input that is there."""
        found = self.inputs[position] if position < len(self.inputs) else None
        if found is None:
            raise NotInterpreted(f"{self.node.op_type} without its input {position}")
        return found

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        """The value of an attribute."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return helper.get_attribute_value(attribute)
        return otherwise

    def only(self, *names: str) -> None:
        """Refuse attributes besides these."""
        others = {attribute.name for attribute in self.node.attribute} - set(names)
        if others:
            raise NotInterpreted(f"{self.node.op_type} with {', '.join(sorted(others))}")

    def fails_if(self, condition: z3.BoolRef) -> None:
        """Say when the node fails."""
        self.run.refusals.append((self.node.name, condition))

    def requires(self, condition: z3.BoolRef) -> None:
        """Say what has to be true for the interpretation to hold, in runs that come so far."""
        self.run.requirements.append(z3.Implies(self.run.passes, condition))


Meaning = Callable[[Call], Tensor]
"""What an operator gives."""


def constant_of(tensor: onnx.TensorProto) -> Tensor:
    """A constant of a file."""
    name = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
    element_type = ElementType.named(name)
    if element_type is None:
        raise NotInterpreted(f"a constant of {name}")
    return constant(numpy_helper.to_array(tensor), element_type)
