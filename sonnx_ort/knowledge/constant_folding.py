"""The elements of small integer tensors that follow from constants alone.

ONNX Runtime computes them before all runs, by the same kernels that are asked here, node by node. A
rule that is broken there breaks every run, and keeps a session from starting.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import onnxruntime

from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.knowledge.shapes.catalog import rule_for
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operand import Shape, has_known_sizes
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Subject

Array = npt.NDArray[Any]

_LARGE = 1 << 12
"""Tensors of more elements are not computed."""

_MANY = 256
"""Values that follow from more nodes are not computed."""

_FATAL = 4
_NEWEST_FORMAT = 10

_OPERATORS = frozenset(
    [
        *("Abs", "Add", "And", "Cast", "Concat", "ConstantOfShape", "Div", "Equal", "Expand"),
        *("Flatten", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual"),
        *("Max", "Min", "Mul", "Neg", "Not", "Or", "Range", "ReduceMax", "ReduceMin"),
        *("ReduceProd", "ReduceSum", "Reshape", "Shape", "Sign", "Size", "Slice", "Squeeze"),
        *("Sub", "Tile", "Transpose", "Unsqueeze", "Where", "Xor"),
    ]
)
"""The operators that are computed: of integers and booleans they give the same on every machine."""


class ComputedConstants:
    """Computes values when they are asked for, each once."""

    def __init__(self, version: int, shape: Callable[[ir.Value], Shape | None]) -> None:
        """Compute nothing yet.

        Args:
            version: The version of the standard operators that the model imports.
            shape: Gives the certain shape of a value.
        """
        self._version = version
        self._shape = shape
        self._known: dict[ir.Value, Array | None] = {}

    def elements(self, value: ir.Value) -> Array | None:
        """The elements of a value; None if they are not computed.

        Args:
            value: The value.
        """
        if value not in self._known:
            for needed in self._needed(value):
                if needed not in self._known:
                    self._known[needed] = self._computed(needed)
        return self._known.setdefault(value)

    def _needed(self, value: ir.Value) -> list[ir.Value]:
        """The values that one follows from, in order, itself last; none if there are too many."""
        ordered: list[ir.Value] = []
        seen = {value}
        entered = [(value, _read(value))]
        while entered:
            current, reads = entered[-1]
            following = next((read for read in reads if read not in seen), None)
            if following is None:
                ordered.append(current)
                entered.pop()
            elif len(seen) == _MANY:
                return []
            else:
                seen.add(following)
                entered.append((following, _read(following)))
        return ordered

    def _computed(self, value: ir.Value) -> Array | None:
        tensor = constant_tensor(value)
        if tensor is not None:
            exact = tensor.dtype.is_integer() or tensor.dtype == ir.DataType.BOOL
            return tensor.numpy() if exact and tensor.size <= _LARGE else None
        node = value.producer()
        shape = self._shape(value)
        if node is None or not has_known_sizes(shape) or not self._takes(node):
            return None
        sizes = [size for size in shape or () if isinstance(size, int)]
        operands = [self._known.get(read) for read in _read(value)]
        known = [operand for operand in operands if operand is not None]
        if math.prod(sizes) > _LARGE or len(known) < len(operands) or _breaks_a_rule(node, known):
            return None
        return _run(node, known, self._version)

    def _takes(self, node: ir.Node) -> bool:
        return (
            node.op_type in _OPERATORS
            and rule_for(node, self._version) is not None
            and len(node.outputs) == 1
            and None not in node.inputs
        )


def _read(value: ir.Value) -> Iterator[ir.Value]:
    node = value.producer()
    if node is not None:
        yield from (read for read in node.inputs if read is not None)


def _breaks_a_rule(node: ir.Node, operands: list[Array]) -> bool:
    """Whether a kernel may not be asked: it could end the process."""
    operator = OPERATORS.get(node.op_type)
    if operator is None or not operator.elementwise:
        return False
    names = operator.operand_names(len(operands))
    try:
        alike = np.broadcast_arrays(*operands)
    except ValueError:
        return True
    return any(
        rule.requirement.violation(rule.spoken_of(names, alike)) is not None
        for rule in operator.contracts[Edition.TYPED].get(Family.INTEGER, ())
        if rule.requirement.subject is Subject.ELEMENTS
    )


def _run(node: ir.Node, operands: list[Array], version: int) -> Array | None:
    """What ONNX Runtime's kernel gives; None if it refuses, or gives no integers or booleans."""
    inputs = [ir.val(None, ir.DataType.from_numpy(operand.dtype)) for operand in operands]
    alone = ir.node(node.op_type, inputs, node.attributes)
    graph = ir.Graph(inputs, alone.outputs, nodes=[alone], opset_imports={"": version})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    content = ir.to_proto(ir.Model(graph, ir_version=_NEWEST_FORMAT)).SerializeToString()
    feeds = {str(value.name): operand for value, operand in zip(inputs, operands, strict=True)}
    try:
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        (result,) = session.run(None, feeds)
    except Exception:  # noqa: BLE001 - whatever it refuses is not known
        return None
    return result if result.dtype.kind in "iub" else None
