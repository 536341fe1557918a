"""Bounds of integers, from a graph's inputs and constants to all values.

Each entry is tried against the kernels of ONNX Runtime: `tests/soundness/test_bounds_rules.py`.

Sound by construction: an operator that is not listed says nothing but its type, and what could wrap
says nothing either.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.knowledge.bounds.operators import ARITHMETIC, COUNTS, ELEMENTS
from sonnx_ort.knowledge.bounds.rule import (
    BOOLEAN,
    BoundedInputs,
    BoundsRule,
    Unbounded,
    constant_bounds,
    limits_of,
)
from sonnx_ort.knowledge.shapes.catalog import rule_for
from sonnx_ort.loading.opset import operator_version
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.profile.operand import Bounds
from sonnx_ort.profile.operator import STANDARD_DOMAIN

BOUNDS_RULES: Mapping[str, BoundsRule] = {**ARITHMETIC, **COUNTS, **ELEMENTS}
"""The rules by the names of standard operators."""

_OF_OPEN_SHAPE: Mapping[str, tuple[int, int]] = {"Compress": (9, 11), "Unique": (11, 11)}
"""The versions that were verified of operators of which not even the rank is believed."""


def bounds_rule_for(node: ir.Node, version: int) -> BoundsRule | None:
    """The rule that was verified for a node; None if there is none.

    Args:
        node: The node.
        version: The version of the standard operators that the model imports.
    """
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
    """Find intervals for the integer values of a model.

    Args:
        model: A canonical model; not modified.
        element_type: Gives the ONNX name of a value's type where that follows from premises.

    Returns:
        An interval for each value of which more is known than its type says. Bools are integers
        here: their bytes are only known where an operator makes them 0 or 1.
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
            answers = _answers(rule, BoundedInputs(node, known, element_type))
            pairs = zip(node.outputs, answers, strict=False)
            known.update((o, b) for o, b in pairs if b and _says_more(b, element_type(o)))
    return known


def _answers(rule: BoundsRule, inputs: BoundedInputs) -> Sequence[Bounds | None]:
    """What a rule says of a node's outputs."""
    try:
        return rule(inputs)
    except Unbounded:
        return ()
    except Exception:
        # A node that is not well formed must not end the analysis.
        _logger.debug("the bounds of %s are unknown", inputs.node.op_type, exc_info=True)
        return ()


def _says_more(bounds: Bounds, element_type: str | None) -> bool:
    """Whether an interval is narrower than a type, so that no element of it wraps."""
    if element_type == "bool":
        return bounds.lower in BOOLEAN and bounds.upper in BOOLEAN
    try:
        limits = limits_of(element_type)
    except Unbounded:
        return False
    inside = limits.lower <= bounds.lower and bounds.upper <= limits.upper
    return inside and bounds != limits
