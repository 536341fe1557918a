"""Carries intervals of integers through a model.

Sound by construction: an operator that is not listed says nothing but its type, and what could wrap
says nothing either.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.bounds.catalog import bounds_rule_for
from sonnx_ort.analysis.bounds.rule import (
    BOOLEAN,
    BoundedInputs,
    BoundsRule,
    Unbounded,
    constant_bounds,
    limits_of,
)
from sonnx_ort.loading.traversal import every_node, subgraphs_of
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.operand import Bounds

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
