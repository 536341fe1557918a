"""Whether an optimized graph forms only numbers of which the rules of intervals speak.

Where a proof rests on an interval, each node of the optimized graph has to be one of the enforced
model, or one that an optimizer makes which may act (`sonnx_ort.facts.optimizers`). Whatever else
an optimizer made is an error, also of one that this version does not know. `MADE` and `REMOVED` say
what those may change that may act.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import onnx_ir as ir
from onnx import defs

from sonnx_ort.facts.schemas import operator_schema
from sonnx_ort.loading.traversal import every_node, in_words
from sonnx_ort.profile.operator import STANDARD_DOMAIN

Name = tuple[str, str]
"""A domain and an operator."""

_MICROSOFT, _BLOCKS = "com.microsoft", "com.microsoft.nchwc"
_FUNCTIONS = frozenset({"Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"})

ANY = frozenset[str]()
"""A node may stand in the place of any operator."""

MADE: Mapping[Name, frozenset[str]] = MappingProxyType(
    {
        ("", "Cast"): ANY,
        ("", "Clip"): frozenset({"Relu"}),
        ("", "DequantizeLinear"): frozenset({"DequantizeLinear", "Transpose"}),
        ("", "Gather"): frozenset({"Concat", "Shape"}),
        ("", "Gemm"): frozenset({"Add", "Sum", "Transpose", "MatMul"}),
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
        **{
            (_BLOCKS, name): ANY
            for name in (
                *("AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "MaxPool"),
                *("ReorderInput", "ReorderOutput", "Upsample"),
            )
        },
    }
)
"""The nodes that optimizers which may act add to a graph, and in the place of which operators.

A node is in the place of another one if it computes the value of that name.
"""

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
    for node in every_node(enforced.graph):
        operators.add(_name(node))
        for output in node.outputs:
            computing[str(output.name)].add(_name(node))
    version = enforced.opset_imports.get(STANDARD_DOMAIN, 1)
    # ONNX Runtime computes an operator without a kernel by the nodes of its definition.
    defined = {name for name in operators if _is_defined(name, version)}
    return [
        text
        for node in every_node(optimized.graph)
        for text in _unknown(node, operators, computing, defined)
    ]


def _unknown(
    node: ir.Node, operators: set[Name], computing: dict[str, set[Name]], defined: set[Name]
) -> Iterator[str]:
    name = _name(node)
    for output in node.outputs:
        before = computing.get(str(output.name), set())
        if name in before or (before & defined and not name[0]):
            return
        replaced = {operator for _, operator in before}
        allowed = MADE.get(name)
        if before and replaced <= REMOVED:
            known = name in operators or allowed is not None or _in_definition(name, defined)
        elif before:
            known = allowed is not None and (not allowed or bool(replaced & allowed))
        else:
            known = name in operators or allowed is not None or _in_definition(name, defined)
        if not known:
            instead = f", which {' or '.join(sorted(replaced))} computed" if before else ""
            yield f"{in_words(node)} computes '{output.name}'{instead}"
            return


def _name(node: ir.Node) -> Name:
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type


def _is_defined(name: Name, version: int) -> bool:
    """Whether ONNX defines a standard operator by other ones."""
    domain, operator = name
    if domain or not defs.has(operator, domain):
        return False
    schema: Any = operator_schema(operator, version, domain)
    return bool(schema and (schema.has_function or schema.has_context_dependent_function))


def _in_definition(name: Name, defined: set[Name]) -> bool:
    """Whether a node may come from a definition: it is of a standard operator."""
    return bool(defined) and not name[0]
