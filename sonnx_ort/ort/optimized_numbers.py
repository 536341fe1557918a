"""Whether an optimized graph forms only numbers of which the rules of intervals speak.

Where a proof rests on an interval, each node of the optimized graph has to be one of the enforced
model, or one that an optimizer makes which may act (`sonnx_ort.facts.optimizers`). Whatever else
an optimizer made is an error, also of one that this version does not know. `MADE` and `REMOVED` say
what those may change that may act.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import onnx_ir as ir
from onnx import defs

from sonnx_ort.facts.schemas import operator_schema
from sonnx_ort.loading.traversal import every_node, in_words, producers, subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

Name = tuple[str, str]
"""A domain and an operator."""

_MICROSOFT, _BLOCKS = "com.microsoft", "com.microsoft.nchwc"
_FUNCTIONS = frozenset({"Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"})

ANY = frozenset[str]()
"""A node moves or converts what the node before it computes, and may stand where that one may."""

MADE: Mapping[Name, frozenset[str]] = MappingProxyType(
    {
        ("", "Cast"): ANY,
        ("", "Clip"): frozenset({"Relu"}),
        ("", "DequantizeLinear"): frozenset({"DequantizeLinear", "Transpose"}),
        ("", "Gather"): frozenset({"Concat", "Shape"}),
        ("", "Gemm"): frozenset({"Add", "Sum", "MatMul"}),
        ("", "Identity"): ANY,
        ("", "QuantizeLinear"): frozenset({"Transpose"}),
        ("", "Reshape"): frozenset({"Add", "MatMul", "Gemm", "Squeeze", "Unsqueeze", "Flatten"}),
        ("", "Slice"): frozenset({"Gather"}),
        ("", "SpaceToDepth"): frozenset({"Concat"}),
        ("", "Split"): frozenset({"Gather", "Slice", "Squeeze"}),
        ("", "Squeeze"): ANY,
        ("", "Transpose"): ANY,
        ("", "Unsqueeze"): ANY,
        (_MICROSOFT, "FusedConv"): _FUNCTIONS | {"Add"},
        (_MICROSOFT, "FusedGemm"): _FUNCTIONS,
        (_MICROSOFT, "FusedMatMul"): frozenset({"MatMul", "Transpose"}),
        (_BLOCKS, "Conv"): _FUNCTIONS | {"Add", "Conv", "Sum"},
        (_BLOCKS, "ReorderInput"): ANY,
        (_BLOCKS, "ReorderOutput"): ANY,
        (_BLOCKS, "Upsample"): frozenset({"Resize", "Upsample"}),
        **{
            (_BLOCKS, name): frozenset({name})
            for name in ("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool")
        },
    }
)
"""The nodes that optimizers which may act add to a graph, and in the place of which operators.

A node is in the place of another one if it computes the value of that name.
"""

_SCALED = frozenset({"BatchNormalization", "Mul"})
"""The operators of which a convolution in blocks is made that has one factor for each channel."""

REMOVED = frozenset(
    {
        *("Cast", "Dropout", "Expand", "Identity", "Relu", "Reshape", "Slice", "Squeeze"),
        *("Transpose", "Unsqueeze"),
    }
)
"""Operators that optimizers which may act remove: the node before has the value then."""


def unknown_nodes(enforced: ir.Model, optimized: ir.Model) -> list[str]:
    """What an optimizer made that no rule knows, as phrases such as "Conv 'c' computes 'y', ...".

    Args:
        enforced: The model, without calls of model-local functions.
        optimized: What ONNX Runtime's optimizers made of it.
    """
    operators, computing = set[Name](), defaultdict[str, set[Name]](set)
    nodes = every_node(enforced.graph)
    for node in nodes:
        operators.add(_operator_of(node))
        for output in node.outputs:
            computing[str(output.name)].add(_operator_of(node))
    version = enforced.opset_imports.get(STANDARD_DOMAIN, 1)
    known = _Known(
        operators,
        computing,
        _in_branches(nodes, computing),
        # ONNX Runtime computes an operator without a kernel by the nodes of its definition.
        {name for name in operators if _is_defined(name, version)},
    )
    return [text for node in every_node(optimized.graph) for text in known.unknown(node)]


def _in_branches(
    nodes: Sequence[ir.Node], computing: Mapping[str, set[Name]]
) -> Mapping[str, list[set[Name]]]:
    """What computes the results of Ifs in each branch, of which one may take the place of its If.

    Args:
        nodes: The nodes, each before those inside it.
        computing: What computes each value.
    """
    found = defaultdict[str, list[set[Name]]](list)
    for node in reversed(nodes):
        for branch in subgraphs_of(node) if _operator_of(node) == ("", "If") else ():
            for output, value in zip(node.outputs, branch.outputs, strict=True):
                ways = computing.get(str(value.name)), *found.get(str(value.name), ())
                found[str(output.name)] += filter(None, ways)
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of the nodes of an enforced model.

    Attributes:
        operators: Their operators.
        computing: The operators that compute each value, by name.
        in_branches: What computes the result of an If in its branches, by the name of the result.
        defined: The operators that ONNX defines by others.
    """

    operators: set[Name]
    computing: Mapping[str, set[Name]]
    in_branches: Mapping[str, list[set[Name]]]
    defined: set[Name]

    def unknown(self, node: ir.Node) -> Iterator[str]:
        """What is not known of a node of the optimized graph; nothing if it may be there."""
        name = _operator_of(node)
        for output in node.outputs:
            before = self.computing.get(str(output.name), set())
            if name in before:
                return
            ways = before, *self.in_branches.get(str(output.name), ())
            if not any(self._may_stand_for(node, each) for each in ways):
                replaced = " or ".join(sorted(operator for _, operator in before))
                instead = f", which {replaced} computed" if before else ""
                yield f"{in_words(node)} computes '{output.name}'{instead}"
                return

    def _may_stand_for(self, node: ir.Node, before: set[Name]) -> bool:
        """Whether a node may compute what others computed, or a new value if none did."""
        name = _operator_of(node)
        if name in before or (before & self.defined and not name[0]):
            return True
        replaced = {operator for _, operator in before}
        allowed = MADE.get(name)
        if replaced <= REMOVED:
            in_definition = bool(self.defined) and not name[0]
            return name in self.operators or allowed is not None or in_definition
        if allowed is None:
            return False
        source = None if allowed else next(producers(node.inputs[:1]), None)
        if source is not None:
            return self._may_stand_for(source, before)
        # A convolution with an activation computes what that operator did.
        activation = node.attributes.get_string("activation", "")
        further = {activation} | (_SCALED if _scales(node) else ANY)
        return not allowed or bool(replaced & (allowed | further))


def _operator_of(node: ir.Node) -> Name:
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type


def _scales(node: ir.Node) -> bool:
    """Whether a convolution in blocks multiplies each channel by a factor and does no more."""
    weights = node.inputs[1].const_value if len(node.inputs) > 1 and node.inputs[1] else None
    if _operator_of(node) != (_BLOCKS, "Conv") or weights is None:
        return False
    channels = node.attributes.get_int("group", 1)
    return tuple(weights.shape.numpy()) == (channels, 1, 1, 1)


def _is_defined(name: Name, version: int) -> bool:
    """Whether ONNX defines a standard operator by other ones."""
    domain, operator = name
    if domain or not defs.has(operator, domain):
        return False
    schema: Any = operator_schema(operator, version, domain)
    return bool(schema and (schema.has_function or schema.has_context_dependent_function))
