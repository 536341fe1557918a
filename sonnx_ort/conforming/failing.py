"""Which nodes may end a run: ONNX Runtime also runs those that nothing reads.

Such a node is removed only if it ends no run, for the run would end no more without it. What is not
known here may end one.
"""

from collections.abc import Collection

import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.facts.node import IEEE_FLOATS
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.terms.operand import has_known_sizes

MAY_END = Advice(
    "ONNX Runtime runs it although nothing reads it, and it may end a run; remove it from the "
    "file, or accept it with ",
    Remedy("ignore", "Graph.dead_node"),
)
"""Why a dead node stays, as a clause."""

_OF_EVERY_OPERAND = frozenset(
    [
        *("Abs", "Acos", "Asin", "Atan", "Cast", "Ceil", "Celu", "Constant", "Cos", "Cosh", "Elu"),
        *("Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN"),
        *("LeakyRelu", "Log", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shape"),
        *("Sigmoid", "Sign", "Sin", "Sinh", "Size", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh"),
        "Transpose",
    ]
)
"""The operators that compute a result of every operand that the schema admits."""

_OF_FITTING_SHAPES = frozenset(
    [
        *("Add", "And", "Concat", "Conv", "Equal", "Flatten", "Gemm", "Greater", "GreaterOrEqual"),
        *("Less", "LessOrEqual", "MatMul", "Max", "Mean", "Min", "Mul", "Or", "Softmax", "Squeeze"),
        *("Sub", "Sum", "Unsqueeze", "Where", "Xor"),
    ]
)
"""The operators that compute a result if the shapes of their operands fit."""


def may_end_a_run(node: ir.Node, facts: Facts, proved: Collection[ir.Node]) -> bool:
    """Whether a node may end a run, as far as is known; a Loop or a Scan does.

    Args:
        node: The node.
        facts: What is certain of the values of its graph.
        proved: The nodes whose rules are all proved.
    """
    if node.domain:
        return True
    if node.op_type == "If":
        inner = (each for body in subgraphs_of(node) for each in every_node(body))
        return not _is_one(node, facts) or any(may_end_a_run(n, facts, proved) for n in inner)
    kinds = [facts.element_type(value) for value in node.inputs if value is not None]
    if None in kinds or "string" in kinds:
        return True
    if node in proved or node.op_type in _OF_EVERY_OPERAND:
        return False
    return not _is_known_to_fit(node, facts)


def _is_known_to_fit(node: ir.Node, facts: Facts) -> bool:
    """Whether sizes are known of all that a node reads and gives, and nothing else matters."""
    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    if not all(has_known_sizes(facts.shape(value)) for value in values):
        return False
    match node.op_type:
        case "Gather":
            return _are_indices(node, facts)
        case "Div":
            return facts.element_type(values[0]) in IEEE_FLOATS
        case operator:
            return operator in _OF_FITTING_SHAPES


def _is_one(node: ir.Node, facts: Facts) -> bool:
    """Whether the condition of an If has one element."""
    condition = node.inputs[0]
    shape = None if condition is None else facts.shape(condition)
    return shape is not None and all(size == 1 for size in shape)


def _are_indices(node: ir.Node, facts: Facts) -> bool:
    """Whether what a Gather reads is constant, and within the axis."""
    data, indices = node.inputs
    shape = () if data is None else facts.shape(data) or ()
    found = None if indices is None else facts.constant(indices)
    axis = node.attributes.get_int("axis", 0)
    if found is None or not -len(shape) <= axis < len(shape):
        return False
    size = shape[axis]
    return isinstance(size, int) and bool(((found >= -size) & (found < size)).all())
