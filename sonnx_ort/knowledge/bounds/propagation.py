"""Propagates bounds of integers from graph inputs and constants to all values.

Each rule is tested against the kernels of ONNX Runtime: `tests/soundness/test_bounds_rules.py`. The
result is sound: for operators without a rule, and where an element could wrap, only the type is
used.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.knowledge.bounds.operators import ARITHMETIC, COUNTS, ELEMENTS
from sonnx_ort.knowledge.bounds.rule import (
    BOOLEAN,
    BoundedInputs,
    BoundsRule,
    Unbounded,
    constant_bounds,
    limits_of,
)
from sonnx_ort.knowledge.graph_node import rule_for
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.profile.operand import Bounds
from sonnx_ort.profile.operator import STANDARD_DOMAIN

BOUNDS_RULES: Mapping[str, BoundsRule] = {**ARITHMETIC, **COUNTS, **ELEMENTS}
"""The rules by standard operator."""

_OF_OPEN_SHAPE: Mapping[str, tuple[int, int]] = {"Compress": (9, 11), "Unique": (11, 11)}
"""The verified versions of operators whose results have no certain rank."""


def bounds_rule_for(node: ir.Node, version: int) -> BoundsRule | None:
    """The verified rule for a node at this opset version; None if there is none."""
    rule = BOUNDS_RULES.get(node.op_type) if node.domain == STANDARD_DOMAIN else None
    if rule is None:
        return None
    if node.op_type in _OF_OPEN_SHAPE:
        first, last = _OF_OPEN_SHAPE[node.op_type]
        verified = first <= operator_version(node.op_type, version) <= last
    else:
        verified = rule_for(node, version) is not None
    return rule if verified else None


_logger = logging.getLogger("sonnx_ort")


def integer_bounds(
    model: ir.Model, element_type: Callable[[ir.Value], str | None]
) -> Mapping[ir.Value, Bounds]:
    """Compute intervals for the integer values of a canonical model.

    Only values with bounds narrower than their type have an interval. Bools are treated as
    integers, because their bytes are 0 or 1 only if an operator ensures it. `element_type` returns
    the ONNX name of a value's type if it is certain.
    """
    known: dict[ir.Value, Bounds] = {}
    nodes = list(every_node(model.graph))
    graphs = [model.graph, *(body for node in nodes for body in subgraphs_of(node))]
    constants = (value for graph in graphs for value in graph.initializers.values())
    for value in constants:
        found = constant_bounds(value)
        if found is not None:
            known[value] = found
    version = model.opset_imports[STANDARD_DOMAIN]
    for node in nodes:
        rule = bounds_rule_for(node, version)
        if rule is not None:
            answers = _apply(rule, BoundedInputs(node, known, element_type))
            pairs = zip(node.outputs, answers, strict=False)
            known.update((o, b) for o, b in pairs if b and _is_narrower(b, element_type(o)))
    return known


def _apply(rule: BoundsRule, inputs: BoundedInputs) -> Sequence[Bounds | None]:
    """Apply a rule to a node, and give an interval or None for each output."""
    try:
        return rule(inputs)
    except Unbounded:
        return ()
    except Exception:
        # A malformed node must not stop the analysis.
        _logger.debug("the bounds of %s are unknown", inputs.node.op_type, exc_info=True)
        return ()


def _is_narrower(bounds: Bounds, element_type: str | None) -> bool:
    """Whether an interval is narrower than a type, so that no element wraps."""
    if element_type == "bool":
        return bounds.lower in BOOLEAN and bounds.upper in BOOLEAN
    try:
        limits = limits_of(element_type)
    except Unbounded:
        return False
    inside = limits.lower <= bounds.lower and bounds.upper <= limits.upper
    return inside and bounds != limits
