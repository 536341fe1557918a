"""Lowers a Broadcast to a check of the shapes and standard operators.

    Shape(X0), Shape(X1), ... -> sonnx::BroadcastShape -> shape, its shape -> Reshape -> common
    X0, common -> Expand -> Z0

The custom operator sees shapes only, and fails through the same channel as any other.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.broadcast_plan import BroadcastPlan
from sonnx_ort.custom_ops.broadcast import BROADCAST_SHAPE
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.broadcast import BROADCAST, E1
from sonnx_ort.profile.domain import DOMAIN
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Operand, Shape
from sonnx_ort.profile.requirements.broadcastable import aligned_axes
from sonnx_ort.rewriting.failure_channel import make_guard

OLDEST_OPSET = 8
"""The first version of the standard operators that has Expand."""

_CONSTANT_OF_ANY_TYPE = 9
"""The first version of the standard operators in which Constant can be an integer."""


class BroadcastLowering:
    """Makes the nodes that broadcast the operands of one node."""

    def __init__(self, names: ValueNames, label: str, stem: str, opset: int) -> None:
        """Start with no nodes.

        Args:
            names: Gives names to new values.
            opset: The version of the standard operators.
            label: The name of the node, by which errors speak of it.
            stem: What the names of new values start with.
        """
        self.nodes: list[ir.Node] = []
        self._names = names
        self._label = label
        self._stem = stem
        self._opset = opset

    def line_up(self, value: ir.Value, rank: int, trailing: int) -> ir.Value:
        """Put axes of size 1 behind a value's own.

        Args:
            value: The value.
            rank: Its rank.
            trailing: How many axes.
        """
        # A 0 stands for the value's own size.
        shape = self.constant([0] * rank + [1] * trailing, "aligned_shape")
        return self.add("Reshape", [value, shape], "aligned")

    def expand(self, values: Sequence[ir.Value], plan: BroadcastPlan) -> list[ir.Value]:
        """Bring values to their common shape, behind a check that there is one.

        Args:
            values: The values, lined up at their last axes.
            plan: What is known of them, and which of them have to be expanded.

        Returns:
            The values of the common shape, in their order; those that need no expansion are
            themselves.
        """
        common = self.common_shape(values, plan.operands)
        return [
            self.add("Expand", [value, common], "expanded") if expanded else value
            for value, expanded in zip(values, plan.expanded, strict=True)
        ]

    def common_shape(self, values: Sequence[ir.Value], operands: Sequence[Operand]) -> ir.Value:
        """Give the common shape of values; reading it fails where there is none.

        Args:
            values: The values, lined up at their last axes.
            operands: What is known of them.
        """
        known = _known_common_shape(operands)
        if known is not None:
            return self.constant(known, "common_shape")
        shapes = [self.add("Shape", [value], "operand_shape") for value in values]
        sizes = self.add("Concat", shapes, "operand_shapes", {"axis": 0})
        kernel = ir.node(
            BROADCAST_SHAPE.name,
            [sizes, self._ranks(shapes, operands)],
            {
                "node": self._label,
                "operands": json.dumps([operand.value for operand in operands]),
            },
            domain=DOMAIN,
            outputs=[self._value("common"), self._value("common_rank")],
        )
        guard = make_guard(
            kernel.outputs[0],
            kernel.outputs[1],
            self._value("common_shape"),
            name=guard_name(BROADCAST.name, self._label, [E1]),
        )
        self.nodes.extend((kernel, guard))
        return guard.outputs[0]

    def _ranks(self, shapes: Sequence[ir.Value], operands: Sequence[Operand]) -> ir.Value:
        ranks = [len(operand.shape) for operand in operands if operand.shape is not None]
        if len(ranks) == len(operands):
            return self.constant(ranks, "ranks")
        each = [self.add("Shape", [shape], "rank") for shape in shapes]
        return self.add("Concat", each, "ranks", {"axis": 0})

    def constant(self, numbers: Sequence[int] | int, purpose: str) -> ir.Value:
        """Add a constant of int64.

        Args:
            numbers: Its elements, or the one element of a scalar.
            purpose: What the value's name says of it.
        """
        if self._opset >= _CONSTANT_OF_ANY_TYPE:
            tensor = ir.tensor(np.array(numbers, np.int64))
            return self.add("Constant", [], purpose, {"value": tensor})
        # Sizes are exact in double; the older Constant has no integers.
        floats = self.add("Constant", [], purpose, {"value": ir.tensor(np.array(numbers, float))})
        return self.add("Cast", [floats], purpose, {"to": ir.DataType.INT64})

    def add(
        self,
        operator: str,
        inputs: Sequence[ir.Value],
        purpose: str,
        attributes: Mapping[str, ir.TensorProtocol | int] | None = None,
    ) -> ir.Value:
        """Add a node of a standard operator with one output.

        Args:
            operator: The operator.
            inputs: Its inputs.
            purpose: What the output's name says of it.
            attributes: Its attributes.

        Returns:
            Its output.
        """
        output = self._value(purpose)
        self.nodes.append(ir.node(operator, inputs, attributes, outputs=[output]))
        return output

    def _value(self, purpose: str) -> ir.Value:
        return ir.val(self._names.fresh(f"{self._stem}_{purpose}"))


def _known_common_shape(operands: Sequence[Operand]) -> list[int] | None:
    """The common shape, if every size is known and the shapes fit."""
    shapes: list[Shape] = [operand.shape for operand in operands if operand.shape is not None]
    if len(shapes) < len(operands) or E1.requirement.judge(operands).status is not Status.PROVED:
        return None
    sizes = [[size for size in axis if isinstance(size, int)] for _, axis in aligned_axes(shapes)]
    if any(len(axis) < len(shapes) for axis in sizes):
        return None
    return [max(axis) for axis in sizes]
