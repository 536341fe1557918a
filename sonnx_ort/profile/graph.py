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

from sonnx_ort.profile.common_rules import SPARSE, own
from sonnx_ort.profile.element_type import IEEE_TYPES, INTEGER_TYPES, TEXT, ElementType
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import WRITE_DOWN
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.elements import OnElements, on_elements
from sonnx_ort.profile.rule import (
    DecidedBeforeRuns,
    Illustration,
    Judgement,
    Rule,
    Subject,
    at_run_time,
)
from sonnx_ort.profile.source import Source, Words
from sonnx_ort.remedies import Advice
from sonnx_ort.terms.language import FINITE_NUMBERS
from sonnx_ort.terms.operand import Operand

GRAPH = "Graph"
"""The name by which a caller asks for these rules, beside the names of operators."""


@dataclass(frozen=True, slots=True)
class OfGraph(DecidedBeforeRuns):
    """A demand on the graph, which is decided by looking at all of it.

    Attributes:
        kept: Why a graph without a breach keeps the rule, as a clause.
    """

    kept: str
    example: Illustration

    subject: ClassVar = Subject.GRAPH

    def judge(self, operands: Sequence[Operand]) -> Judgement:
        """Undecided: operands do not decide it."""
        del operands
        return at_run_time("the graph decides it")


_RESTRICTIONS = "SONNX, general restrictions"
_REQUIREMENTS = "SONNX requirements, draft of the working group"
_GRAPH_TEXT = "SONNX graph, draft of the working group"
_TENSORS = "Definitions, Tensor nodes"


def _restriction(tag: str, remark: str = "") -> Source:
    return Source(_RESTRICTIONS, "General restrictions", tag, words=Words.OURS, remark=remark)


def _requirement(section: str, tag: str, remark: str) -> Source:
    return Source(
        _REQUIREMENTS, f"{section}{tag}, Description", tag, words=Words.OURS, remark=remark
    )


def _text(section: str, tag: str | None, remark: str) -> Source:
    return Source(_GRAPH_TEXT, section, tag, words=Words.OURS, remark=remark)


def _rule(name: str, code: int, sentence: str, source: Source, kept: str, *example: str) -> Rule:
    return Rule(name, code, sentence, source, OfGraph(kept, Illustration(*example)))


GR1 = Rule(
    "GR1",
    2,
    SPARSE,
    _restriction("GR1", "The typed document of Div says so of its operator, as RG1."),
    Dense(),
)

_WRITE_INFERRED = Advice("rewrite with ", WRITE_DOWN, ", which writes what can be inferred")

WRITE_DEFAULT = Advice(
    "write it into the model; rewrite with ", WRITE_DOWN, " does so if the schema has a default"
)
"""How an attribute gets into the file that a node leaves out."""

GR2 = _rule(
    "GR2",
    1301,
    "The type of every value stands in the file and is not left to inference.",
    _restriction("GR2", "REQ-GR-000 of the requirements says the same."),
    "the file gives the type of every value",
    "c = Div(a, b), with value_info c: float",
    "c = Div(a, b), without a declaration of c",
    _WRITE_INFERRED,
)

GR3 = _rule(
    "GR3",
    1302,
    "No value is converted to another type implicitly.",
    _restriction(
        "GR3",
        "An operator that takes operands of one type as well as of two, by its ONNX schema, "
        "converts where they are of two. Indices, sizes and axes are no such operands.",
    ),
    "no node takes operands of two types where it takes one",
    "Pow(x, y) with x and y of type float",
    "Pow(x, y) with x of type float and y of type int64",
    "convert one operand with an explicit Cast",
)

GR4 = _rule(
    "GR4",
    1303,
    "No attribute is left to its default value.",
    _restriction(
        "GR4",
        "REQ-OP-070 of the requirements says the same. An optional input counts as an attribute "
        "if ONNX gives it a default, since versions of an operator have moved attributes to "
        "inputs.",
    ),
    "every node has each attribute and input for which ONNX would assume a value",
    "Softmax(x, axis=-1)",
    "Softmax(x), for which ONNX assumes axis=-1",
    WRITE_DEFAULT,
)

IMPLICIT_SHAPE = _rule(
    "Graph.implicit_shape",
    1304,
    "The shape of every tensor stands in the file and is not left to inference.",
    _requirement("", "REQ-GR-000", "It forbids shape inference; a size may be given by a symbol."),
    "the file gives the shape of every tensor",
    "c = Div(a, b), with value_info c: float (2, 3)",
    "c = Div(a, b), with value_info c: float",
    _WRITE_INFERRED,
)

DEAD_NODE = _rule(
    "Graph.dead_node",
    1305,
    "Every node contributes to an output.",
    _text(
        "Restrictions",
        "R2",
        "It says so again of a path from an input to an output. A node that reads nothing, such "
        "as a Constant, has none from an input, and is not meant.",
    ),
    "every node contributes to an output of the graph",
    "every output of a node is read, or is an output of the graph",
    "no output of a node is read",
    "remove the node",
)

UNUSED_INPUT = _rule(
    "Graph.unused_input",
    1306,
    "Every input is read.",
    _text(_TENSORS, "RX", "It says of every tensor that it is read, or is an output of the graph."),
    "every input is read",
    "each input is read by a node",
    "no node reads an input",
    "remove the input",
)

FALSE_CLAIM = _rule(
    "Graph.false_claim",
    1307,
    "What the file says of its values, and of what enforces it, is so.",
    own(
        "graph",
        "REQ-GR-000 wants types and shapes in the file, and takes them for true. The metadata of a "
        "rewritten model says that it is enforced. If another tool has changed the model since, "
        "`check` reports that as violated, whatever operators are looked at.",
    ),
    "no declaration contradicts what is known of its value",
    "value_info c: float (2, 3) for c = Div(a, b) with a and b of shape (2, 3)",
    "value_info c: float (3, 2) for the same c",
    "correct the declaration, or remove it",
)

OPERATORS_OF_THE_SET = _rule(
    "Graph.operator_set",
    1308,
    "Every node is of an operator that the profile has.",
    _requirement(
        "Operator set, ",
        "REQ OP 000",
        "The profile has the operators that the requirement lists, and those for which a document "
        "or a draft exists. The requirement says 'at least'; what else there is, no text says. "
        "R3 of the text on graphs wants such nodes alone, and that text no control flow operator.",
    ),
    "every node is of an operator of the profile",
    "y = Sigmoid(x)",
    "y = HardSigmoid(x), which the operator set does not list",
    "express it by operators of the profile, which `sonnx-ort explain OPERATOR` names, or "
    "waive the rule for these nodes",
)

TYPES = _rule(
    "Graph.types",
    1321,
    "Every tensor is of a type that SONNX allows.",
    Source(
        "SONNX, guidelines on informal specifications",
        "General guidelines, Types",
        None,
        words=Words.OURS,
        remark="It binds operators that have no draft, or whose draft lists no types. Others "
        "have rules of their own, except Constant, whose draft lists floats and integers. "
        "sonnx_ort adds bfloat16, which the guidelines do not list, except for Constant.",
    ),
    "operators without types of their own read and give types that SONNX allows, or bfloat16, "
    "which sonnx_ort adds",
    "y = Transpose(x) with x of type float",
    "y = Transpose(x) with x of type complex64",
    "compute in float16, float, double, an integer type, bool or string; store what a Constant "
    "gives as an initializer",
)

SONNX_TYPES = (*ElementType, TEXT)
"""The types of tensors that SONNX allows, and bfloat16."""

CONSTANT_TYPES = (*IEEE_TYPES, *INTEGER_TYPES)
"""The types of a Constant, by its draft."""

DETERMINISTIC = _rule(
    "Graph.deterministic",
    1309,
    "Every operator is deterministic.",
    _requirement(
        "Operator set, ",
        "REQ-OP-010",
        "It allows an operator with a fixed seed as a function. ONNX does not say which numbers "
        "belong to a seed.",
    ),
    "no node is of an operator that draws random numbers",
    "noise as an input of the graph",
    "noise = RandomNormal<shape = [2]>()",
    "make the random numbers an input of the graph",
)

INFERENCE = _rule(
    "Graph.inference",
    1310,
    "Every operator is one of inference, and the model has no training information.",
    _requirement(
        "Operator set, ",
        "REQ-OP-020",
        "A Dropout in the mode of inference gives back its operand. It serves the training of a "
        "model, and is no operator of inference either.",
    ),
    "no node trains, and the file has no training information",
    "BatchNormalization<training_mode = 0>(x, scale, bias, mean, variance)",
    "Dropout(x, ratio, training_mode), or training_info in the file",
    "export the model for inference",
)

VERSIONS = _rule(
    "Graph.versions",
    1311,
    "The model says which version of each operator it uses.",
    _requirement(
        "Formal specification, ",
        "REQ-FO-020",
        "A domain that is imported in two versions leaves it open; such a model cannot be loaded.",
    ),
    "each domain is imported in one version, which was checked when the model was loaded",
    "opset_import: [17]",
    "opset_import: [17, 18], both of the standard operators",
    "import one version of each domain",
)

SINGLE_ASSIGNMENT = _rule(
    "Graph.single_assignment",
    1312,
    "Every tensor is computed by one node.",
    _text(
        "Execution Semantics",
        "T06e",
        "ONNX demands it as well; a model that breaks it cannot be loaded.",
    ),
    "each name is defined once, which was checked when the model was loaded",
    "y = Add(a, b); z = Sub(a, b)",
    "y = Add(a, b); y = Sub(a, b)",
    "rename one",
)

OUTPUTS = _rule(
    "Graph.outputs",
    1313,
    "Every output of the graph gets a value.",
    _text(
        "Execution Semantics",
        None,
        "A model with an output that no node computes cannot be loaded.",
    ),
    "each output is computed, which was checked when the model was loaded",
    "y = Relu(x), with the output y",
    "y = Relu(x), with the outputs y and z",
    "remove the output, or compute it",
)

EDGES = _rule(
    "Graph.edges",
    1315,
    "Every node has all inputs and outputs of its operator, and no others.",
    _text(
        "Definitions, Edges",
        "Rx",
        "R1 wants it too. Optional inputs and outputs of ONNX must be there, too. The outputs "
        "are those of the signature in the operator's draft: of an LSTM and a "
        "BatchNormalization, Y alone. Without a draft, they are those of ONNX.",
    ),
    "each node has the inputs and outputs of its operator",
    "y = Conv(x, w, b)",
    "y = Conv(x, w)",
    "give the input, such as a bias of zeros. Name the output, and make it an output of the "
    "graph if no node reads it. Remove an output that the draft does not define, and compute it "
    "from the others",
)

UNREAD = _rule(
    "Graph.unread",
    1316,
    "Every initializer, and every output of a node that contributes, is read or an output.",
    _text(
        _TENSORS,
        "RX",
        "Graph.unused_input has the same for inputs of the graph, and Graph.dead_node for nodes "
        "that contribute to none of its outputs.",
    ),
    "every initializer, and every output of a node that contributes, is read or an output",
    "y, i = MaxPool(x), with the outputs y and i",
    "y, i = MaxPool(x), with the output y",
    "remove the initializer, or make the tensor an output of the graph",
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
    return on_elements(
        value,
        FINITE_NUMBERS,
        "y [1.0, -2.5]",
        "y [1.0, inf]",
        "keep the operands in the domain and range of the node, for example with Clip",
    )


FINITE = Rule(
    "Graph.finite",
    1314,
    "Every element of the value is a finite number: neither NaN nor an infinity.",
    own(
        "graph",
        "No document demands it, and it is off by default. Among the operators, the name "
        f"`{FINITE_OUTPUTS}` selects it for the float outputs of the graph. `{FINITE_VALUES}` "
        "selects it for every float that a node computes, in subgraphs too. The error then names "
        "the node of the first one in the run. Neither name is part of `profile`. It covers "
        "float16, float, double and bfloat16 tensors; a value that nothing reads is not checked.",
    ),
    finite_elements("output"),
    survived=True,
    unenforced="ONNX Runtime 1.32.0 silently continues to compute with NaN and infinities.",
)


def computing_operator(name: str) -> Operator:
    """The operator of a node that computes a value, as a name in messages; without rules."""
    return Operator(name=name, operands=("output",), versions=(), contracts={})
