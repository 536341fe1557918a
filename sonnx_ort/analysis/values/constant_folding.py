"""Constant folding of small integer tensors.

ONNX Runtime folds them when a session starts, with the same kernels that are used here node by
node. A rule violated there is violated in every run, and prevents a session from starting.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import onnxruntime

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.analysis.values.graph_node import rule_for
from sonnx_ort.facts.sizes import Sizes
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Subject, first_violation

Array = npt.NDArray[Any]

_MAX_ELEMENTS = 1 << 12
"""Tensors with more elements are not folded."""

_MAX_VALUES = 256
"""Values that depend on more values are not folded."""

_FATAL = 4
_NEWEST_FORMAT = 10

_OPERATORS = frozenset(
    [
        *("Abs", "Add", "And", "Cast", "Concat", "ConstantOfShape", "Div", "Equal", "Expand"),
        *("Flatten", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual"),
        *("Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Range", "ReduceMax", "ReduceMin"),
        *("ReduceProd", "ReduceSum", "Reshape", "Shape", "Sign", "Size", "Slice", "Squeeze"),
        *("Sub", "Tile", "Transpose", "Unsqueeze", "Where", "Xor"),
    ]
)
"""The supported operators, whose results on integers and bools are the same on every machine."""


class ComputedConstants:
    """Computes constants on demand, each once."""

    def __init__(self, version: int, shape: Callable[[ir.Value], Sizes | None]) -> None:
        """Compute nothing yet; `shape` gives the certain shape of a value."""
        self._version = version
        self._shape = shape
        self._known: dict[ir.Value, Array | None] = {}

    def elements(self, value: ir.Value) -> Array | None:
        """The elements of a value; None if they are not computed."""
        if value not in self._known:
            for needed in self._dependencies(value):
                if needed not in self._known:
                    self._known[needed] = self._computed(needed)
        return self._known.setdefault(value)

    def _dependencies(self, value: ir.Value) -> list[ir.Value]:
        """The values that one depends on, in order, itself last; empty if there are too many."""
        ordered: list[ir.Value] = []
        seen = {value}
        stack = [(value, _inputs_of(value))]
        while stack:
            current, reads = stack[-1]
            following = next((read for read in reads if read not in seen), None)
            if following is None:
                ordered.append(current)
                stack.pop()
            elif len(seen) == _MAX_VALUES:
                return []
            else:
                seen.add(following)
                stack.append((following, _inputs_of(following)))
        return ordered

    def _computed(self, value: ir.Value) -> Array | None:
        """The integers or booleans that are stored, or that a node makes of known ones."""
        tensor = constant_tensor(value)
        if tensor is not None:
            exact = tensor.dtype.is_integer() or tensor.dtype == ir.DataType.BOOL
            return tensor.numpy() if exact and tensor.size <= _MAX_ELEMENTS else None
        node = value.producer()
        shape = self._shape(value)
        if node is None or shape is None or not self.is_supported(node):
            return None
        sizes = [size for size in shape if isinstance(size, int)]
        operands = [self._known.get(read) for read in _inputs_of(value)]
        known = [operand for operand in operands if operand is not None]
        if (
            len(sizes) < len(shape)
            or math.prod(sizes) > _MAX_ELEMENTS
            or len(known) < len(operands)
            or _breaks_a_rule(node, known)
        ):
            return None
        return _run(node, known, self._version)

    def is_supported(self, node: ir.Node) -> bool:
        """Whether the result of a node is computed if its operands are known."""
        return node.op_type == "Constant" or (
            node.op_type in _OPERATORS
            and rule_for(node, self._version) is not None
            and len(node.outputs) == 1
            and None not in node.inputs
        )


def _inputs_of(value: ir.Value) -> Iterator[ir.Value]:
    node = value.producer()
    if node is not None:
        yield from (read for read in node.inputs if read is not None)


def _breaks_a_rule(node: ir.Node, operands: list[Array]) -> bool:
    """Whether the operands violate a rule, so that the kernel could crash the process."""
    operator = OPERATORS.get(node.op_type)
    if operator is None or not operator.elementwise:
        return False
    names = operator.operand_names(len(operands))
    try:
        broadcast = np.broadcast_arrays(*operands)
    except ValueError:
        return True
    own = operator.contracts[Edition.TYPED].get(Family.INTEGER, ())
    rules = (rule for rule in own if rule.requirement.subject is Subject.ELEMENTS)
    return first_violation(rules, names, broadcast) is not None


def _run(node: ir.Node, operands: list[Array], version: int) -> Array | None:
    """The result of ONNX Runtime's kernel; None if it fails or is neither integer nor bool."""
    inputs = [ir.val(None, ir.DataType.from_numpy(operand.dtype)) for operand in operands]
    alone = ir.node(node.op_type, inputs, node.attributes)
    graph = ir.Graph(inputs, alone.outputs, nodes=[alone], opset_imports={"": version})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    feeds = {str(value.name): operand for value, operand in zip(inputs, operands, strict=True)}
    try:
        content = ir.to_proto(ir.Model(graph, ir_version=_NEWEST_FORMAT)).SerializeToString()
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        (result,) = session.run(None, feeds)
    except Exception:  # noqa: BLE001 - the result is unknown if the kernel fails
        return None
    return result if result.dtype.kind in "iub" else None
