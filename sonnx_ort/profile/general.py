"""The general restrictions, which apply to a whole graph instead of an operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.rule import Illustration, Rule, Source, Standing, Words

_DOCUMENT = "SONNX, general restrictions"

GR1 = Rule(
    "GR1",
    2,
    "Sparse tensors are not supported.",
    Source(
        _DOCUMENT,
        "whole graph",
        "GR1",
        words=Words.OURS,
        remark="The typed document of Div says so of its operator, as RG1.",
        later_tag="GR1",
    ),
    Dense(),
)

GENERAL_RULES = (GR1,)


@dataclass(frozen=True, slots=True)
class Restriction:
    """A requirement on how a graph is declared; it does not affect results."""

    id: str
    sentence: str
    source: Source
    example: Illustration


GR2 = Restriction(
    "GR2",
    "The type of every value stands in the file and is not left to inference.",
    Source(_DOCUMENT, "whole graph", "GR2", words=Words.OURS, later_tag="GR2"),
    Illustration(
        "c = Div(a, b), with value_info c: float",
        "c = Div(a, b), with nothing said of c",
        "rewrite with make_explicit=True, which writes down what follows",
    ),
)
IMPLICIT_SHAPE = Restriction(
    "graph.implicit_shape",
    "The shape of every tensor stands in the file and is not left to inference.",
    Source(_DOCUMENT, "graph", None, Standing.OWN, Words.OURS),
    Illustration(
        "c = Div(a, b), with value_info c: float (2, 3)",
        "c = Div(a, b), with value_info c: float",
        "rewrite with make_explicit=True, which writes down what follows",
    ),
)
GR3 = Restriction(
    "GR3",
    "No value is converted to another type implicitly.",
    Source(
        _DOCUMENT,
        "whole graph",
        "GR3",
        words=Words.OURS,
        remark="An operator that takes operands of one type as well as of two, by its ONNX schema, "
        "converts where they are of two. Indices, sizes and axes are no such operands.",
        later_tag="GR3",
    ),
    Illustration(
        "Pow(x, y) with x and y of type float",
        "Pow(x, y) with x of type float and y of type int64",
        "convert one operand with Cast, explicitly",
    ),
)
GR4 = Restriction(
    "GR4",
    "No attribute is left to its default value.",
    Source(
        _DOCUMENT,
        "whole graph",
        "GR4",
        words=Words.OURS,
        remark="An optional input that is left out is taken for one where ONNX says what is "
        "assumed then; versions of an operator have moved attributes to inputs.",
        later_tag="GR4",
    ),
    Illustration(
        "Softmax(x, axis=-1)",
        "Softmax(x), for which ONNX assumes axis=-1",
        "write it down; rewrite with make_explicit=True does, where the schema has a default",
    ),
)
DEAD_NODE = Restriction(
    "graph.dead_node",
    "Every node contributes to an output.",
    Source(_DOCUMENT, "graph", None, Standing.OWN, Words.OURS),
    Illustration(
        "every output of a node is read, or is an output of the graph",
        "no output of a node is read",
        "remove the node",
    ),
)
UNUSED_INPUT = Restriction(
    "graph.unused_input",
    "Every input is read.",
    Source(_DOCUMENT, "graph", None, Standing.OWN, Words.OURS),
    Illustration("each input is read by a node", "an input is read by none", "remove the input"),
)
FALSE_CLAIM = Restriction(
    "graph.false_claim",
    "What the file says of its values is so.",
    Source(_DOCUMENT, "graph", None, Standing.OWN, Words.OURS),
    Illustration(
        "value_info c: float (2, 3) for c = Div(a, b) with a and b of shape (2, 3)",
        "value_info c: float (3, 2) for the same c",
        "correct the declaration, or remove it",
    ),
)

RESTRICTIONS: Mapping[str, Restriction] = MappingProxyType(
    {r.id: r for r in (GR2, GR3, GR4, IMPLICIT_SHAPE, DEAD_NODE, UNUSED_INPUT, FALSE_CLAIM)}
)
"""The restrictions by id."""
