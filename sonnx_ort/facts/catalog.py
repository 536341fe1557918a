"""The operators with verified rules; of the results of all others nothing is known.

First those whose results have the shape of an operand or the common shape of all operands. Each
rule is tested against the kernels of ONNX Runtime: `tests/soundness/test_shape_rules.py`, and those
that read numbers for all small ones: `tests/soundness/test_size_cubes.py`.
"""

import functools
from collections.abc import Container, Mapping

from .layout import LAYOUT
from .node import ANY, FLAG, Node, ShapeRule, Shapes
from .products import PRODUCTS
from .reductions import REDUCTIONS
from .schemas import operator_schema
from .shaping import SHAPING
from .sizes import Rejected, common_shape, require


def like_first(node: Node) -> Shapes:
    """The first result has the shape of the first operand."""
    return (node.shape(),)


def _dropped_out(node: Node) -> Shapes:
    """ONNX Runtime's optimizer replaces the result by a computed ratio."""
    others = filter(node.given, range(1, node.operands))
    require(all(map(node.is_free, others)), "its ratio is computed")
    return (node.shape(), node.shape())


def _common(node: Node) -> Shapes:
    return (common_shape(node.operand_shapes()),)


_LIKE_FIRST = {
    (1, 1): "Not",
    (1, 22): "Softplus Softsign",
    (6, 13): "Abs Ceil Exp Floor Log Neg Reciprocal Sigmoid Sqrt Tanh",
    (6, 14): "Relu",
    (7, 22): "Acos Asin Atan Cos Sin Tan",
    (9, 13): "Erf Sign",
    (9, 20): "IsNaN",
    (9, 22): "Acosh Asinh Atanh Cosh Sinh",
    (11, 22): "Round",
    (14, 22): "HardSwish",
    (18, 18): "BitwiseNot",
    (18, 22): "Mish",
}
"""Operators without attributes, by their verified versions."""

_BROADCASTING = {
    (7, 7): "And Or Xor",
    (7, 13): "Greater Less",
    (7, 14): "Add Div Mul Sub",
    (7, 15): "Pow",
    (7, 16): "PRelu",
    (7, 19): "Equal",
    (8, 13): "Max Mean Min Sum",
    (9, 16): "Where",
    (12, 16): "GreaterOrEqual LessOrEqual",
    (18, 18): "BitwiseAnd BitwiseOr BitwiseXor",
}
"""Operators that broadcast all operands and have no attributes.

ONNX Runtime broadcasts both operands of a PRelu, although its document says one.
"""

_ALPHA: Mapping[str, Container[object]] = {"alpha": ANY}
_AXIS: Mapping[str, Container[object]] = {"axis": ANY}
_SCALES: Mapping[str, Container[object]] = {
    "output_dtype": (0,),
    "precision": (0,),
    "axis": ANY,
    "block_size": (0,),
    "saturate": FLAG,
}

ELEMENTWISE = {
    **{n: ShapeRule(since, like_first) for since, ns in _LIKE_FIRST.items() for n in ns.split()},
    **{n: ShapeRule(since, _common) for since, ns in _BROADCASTING.items() for n in ns.split()},
    "BatchNormalization": ShapeRule(
        (7, 15),
        like_first,
        {"epsilon": ANY, "momentum": ANY, "spatial": (1,), "training_mode": (0,)},
    ),
    "BitShift": ShapeRule((11, 28), _common, {"direction": ("LEFT", "RIGHT")}),
    "Cast": ShapeRule((6, 28), like_first, {"to": ANY, "saturate": FLAG, "round_mode": ("up",)}),
    "Celu": ShapeRule((12, 12), like_first, _ALPHA),
    "Clip": ShapeRule((6, 13), like_first, {"min": ANY, "max": ANY}),
    "CumSum": ShapeRule((11, 14), like_first, {"exclusive": FLAG, "reverse": FLAG}),
    "DequantizeLinear": ShapeRule((10, 25), like_first, _SCALES),
    "Dropout": ShapeRule((7, 22), _dropped_out, {"ratio": ANY, "seed": ANY}),
    "DynamicQuantizeLinear": ShapeRule((11, 11), lambda node: (node.shape(), (), ())),
    "Elu": ShapeRule((6, 22), like_first, _ALPHA),
    "Gelu": ShapeRule((20, 20), like_first, {"approximate": ("none", "tanh")}),
    "HardSigmoid": ShapeRule((6, 22), like_first, {"alpha": ANY, "beta": ANY}),
    "Hardmax": ShapeRule((1, 13), like_first, _AXIS),
    "Identity": ShapeRule((1, 25), like_first, moves=True),
    "InstanceNormalization": ShapeRule((6, 22), like_first, {"epsilon": ANY}),
    "IsInf": ShapeRule((10, 20), like_first, {"detect_negative": FLAG, "detect_positive": FLAG}),
    "LRN": ShapeRule((1, 13), like_first, {"alpha": ANY, "beta": ANY, "bias": ANY, "size": ANY}),
    "LayerNormalization": ShapeRule(
        (17, 17), like_first, {"axis": ANY, "epsilon": ANY, "stash_type": ANY}
    ),
    "LeakyRelu": ShapeRule((6, 16), like_first, _ALPHA),
    "LogSoftmax": ShapeRule((1, 13), like_first, _AXIS),
    "LpNormalization": ShapeRule((1, 22), like_first, {"axis": ANY, "p": (1, 2)}),
    "MeanVarianceNormalization": ShapeRule((9, 13), like_first, {"axes": ANY}),
    "Mod": ShapeRule((10, 28), _common, {"fmod": FLAG}),
    "QuantizeLinear": ShapeRule((10, 25), like_first, _SCALES),
    # It does not move: kernels up to 1.27 set no element of a sequence of length 0.
    "ReverseSequence": ShapeRule((10, 10), like_first, {"batch_axis": ANY, "time_axis": ANY}),
    "RMSNormalization": ShapeRule(
        (23, 23), like_first, {"axis": ANY, "epsilon": ANY, "stash_type": ANY}
    ),
    "ScatterElements": ShapeRule(
        (11, 18), like_first, {"axis": ANY, "reduction": ("none", "add", "mul", "min", "max")}
    ),
    "ScatterND": ShapeRule(
        (11, 18), like_first, {"reduction": ("none", "add", "mul", "min", "max")}
    ),
    "Selu": ShapeRule((6, 22), like_first, {"alpha": ANY, "gamma": ANY}),
    "Shrink": ShapeRule((9, 9), like_first, {"bias": ANY, "lambd": ANY}),
    "Softmax": ShapeRule((1, 13), like_first, _AXIS),
    "ThresholdedRelu": ShapeRule((10, 22), like_first, _ALPHA),
    "Trilu": ShapeRule((14, 14), like_first, {"upper": FLAG}),
}
"""The element-wise operators by name."""


SHAPE_RULES: Mapping[str, ShapeRule] = {
    **ELEMENTWISE,
    **LAYOUT,
    **PRODUCTS,
    **REDUCTIONS,
    **SHAPING,
}
"""The rules by standard operator."""

MOVING = tuple(name for name, rule in SHAPE_RULES.items() if rule.moves)
"""The operators whose results have elements of their first operand alone.

`tests/soundness/test_moved_elements.py` tries each of them.
"""


@functools.cache
def operator_version(name: str, version: int) -> int:
    """The version of a standard operator in a version of the opset; 0 if it does not exist."""
    schema = operator_schema(name, version)
    return 0 if schema is None else int(schema.since_version)


_OF_OPEN_RANK: Mapping[str, tuple[int, int]] = {"Compress": (9, 11), "Unique": (11, 11)}
"""The verified versions of operators whose results have no known rank, and so no rule of shapes."""


def require_verified(node: Node) -> None:
    """Reject a node whose version or attributes are not among the verified ones.

    Raises:
        Rejected: They are not, or nothing is known of the operator.
    """
    if node.op_type not in _OF_OPEN_RANK:
        rule_of(node)
        return
    first, last = _OF_OPEN_RANK[node.op_type]
    require(first <= node.version <= last, f"version {node.version} is not verified")


def verified_rule(node: Node) -> ShapeRule | None:
    """The same as `rule_of`; None if there is no such rule."""
    try:
        return rule_of(node)
    except Rejected:
        return None


def rule_of(node: Node) -> ShapeRule:
    """The verified rule for a node of a standard operator.

    Raises:
        Rejected: There is none, or not for its version or attributes.
    """
    rule = SHAPE_RULES.get(node.op_type)
    if rule is None:
        raise Rejected(f"a {node.op_type} has no rule")
    rule.require_verified(node)
    return rule
