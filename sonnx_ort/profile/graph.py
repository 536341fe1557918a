"""Rules on graphs, and on the values of a graph: that they are finite.

The rules on whole graphs and their declarations, and the general restrictions. Sources: the working
group's requirements (`reqs.md`) and its text on graphs (`graph.md`), and the general restrictions
of the operators' documents (GR1 to GR4).

`Graph.finite`: no NaN and no infinity in a float value. A rule of our own. It is off unless it is
asked for by one of two names beside those of operators. ONNX Runtime has such a check in special
builds only.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sonnx_ort.profile.element_type import IEEE_TYPES, INTEGER_TYPES, TEXT, ElementType
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.elements import OnElements, on_elements
from sonnx_ort.profile.rule import (
    DecidedBeforeRuns,
    Judgement,
    Rule,
    Subject,
    at_run_time,
)
from sonnx_ort.terms.numbers import FINITE_NUMBERS
from sonnx_ort.terms.operand import Operand

GRAPH = "Graph"
"""The name by which a caller asks for these rules, beside the names of operators."""

CONTRACT = "Contract"
"""What the ids of rules of contracts begin with, in place of an operator."""


def is_of_contract(rule: str) -> bool:
    """Whether the rule of an id is one of contracts."""
    return rule.startswith(f"{CONTRACT}.")


@dataclass(frozen=True, slots=True)
class OfGraph(DecidedBeforeRuns):
    """A demand on the graph, which is decided by looking at all of it.

    Attributes:
        kept: Why a graph without a breach keeps the rule, as a clause.
    """

    kept: str

    subject: ClassVar = Subject.GRAPH

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided: operands do not decide it."""
        del operands
        return at_run_time("the graph decides it")


def _rule(name: str, code: int, kept: str) -> Rule:
    return Rule(name, code, OfGraph(kept))


GR1 = Rule("GR1", 2, Dense())

GR2 = _rule("GR2", 1301, "the file gives the type of every value")

GR3 = _rule("GR3", 1302, "no node takes operands of two types where it takes one")

GR4 = _rule(
    "GR4", 1303, "every node has each attribute and input for which ONNX would assume a value"
)

IMPLICIT_SHAPE = _rule("Graph.implicit_shape", 1304, "the file gives the shape of every tensor")

DEAD_NODE = _rule("Graph.dead_node", 1305, "every node contributes to an output of the graph")

UNUSED_INPUT = _rule("Graph.unused_input", 1306, "every input is read")

FALSE_CLAIM = _rule(
    "Graph.false_claim", 1307, "each declared shape is certain, and no declared type is another one"
)

OPERATORS_OF_THE_SET = _rule(
    "Graph.operator_set", 1308, "every node is of an operator of the profile"
)

TYPES = _rule(
    "Graph.types",
    1321,
    "operators without types of their own read and give types that SONNX allows, or bfloat16, "
    "which sonnx_ort adds",
)

SONNX_TYPES = (*ElementType, TEXT)
"""The types of tensors that SONNX allows, and bfloat16."""

CONSTANT_TYPES = (*IEEE_TYPES, *INTEGER_TYPES)
"""The types of a Constant, by its draft."""

DETERMINISTIC = _rule(
    "Graph.deterministic", 1309, "no node is of an operator that draws random numbers"
)

INFERENCE = _rule(
    "Graph.inference", 1310, "no node trains, and the file has no training information"
)

VERSIONS = _rule(
    "Graph.versions",
    1311,
    "each domain is imported in one version, which was checked when the model was loaded",
)

SINGLE_ASSIGNMENT = _rule(
    "Graph.single_assignment",
    1312,
    "each name is defined once, which was checked when the model was loaded",
)

OUTPUTS = _rule(
    "Graph.outputs", 1313, "each output is computed, which was checked when the model was loaded"
)

EDGES = _rule("Graph.edges", 1315, "each node has the inputs and outputs of its operator")

UNREAD = _rule(
    "Graph.unread",
    1316,
    "every initializer, and every output of a node that contributes, is read or an output",
)

DECLARATION_RULES = (
    *(GR2, GR3, GR4, IMPLICIT_SHAPE, DEAD_NODE, UNUSED_INPUT, EDGES, UNREAD, FALSE_CLAIM),
)
"""The rules whose breaches are reported as findings if the rules on graphs are not asked for."""

GRAPH_RULES = (
    OPERATORS_OF_THE_SET,
    TYPES,
    DETERMINISTIC,
    INFERENCE,
    VERSIONS,
    *DECLARATION_RULES,
    SINGLE_ASSIGNMENT,
    OUTPUTS,
)
"""The rules that bind a graph if they are asked for."""

GENERAL_RULES = (GR1, *GRAPH_RULES)
"""The rules that no operator has."""


FINITE_OUTPUTS = "Graph.finite"
"""The name by which a caller asks for it at the float outputs of the main graph."""

FINITE_VALUES = "Graph.finite_values"
"""The name by which a caller asks for it at every float that a node computes, outputs included."""


@functools.cache
def finite_elements(value: str) -> OnElements:
    """The requirement on a value of this name: that all elements are finite numbers."""
    return on_elements(value, FINITE_NUMBERS)


FINITE = Rule("Graph.finite", 1314, finite_elements("output"), survived=True)


def computing_operator(name: str) -> Operator:
    """The operator of a node that computes a value, as a name in messages; without rules."""
    return Operator(name=name, operands=("output",), versions=(), contracts={})
