"""What each rule demands of a node, by the operators' documents.

A rule that is not in the tables cannot be concluded. Those that `HELD` names, ONNX Runtime holds:
it refuses the model, or fails in the run.
"""

from collections.abc import Mapping

from ..node import FLOATS, INTEGERS
from ..sizes import require
from .computed import COMPUTED
from .node import Node
from .stated import STATED, Demand

_FAMILIES = {"float": FLOATS, "int": INTEGERS, "bool": frozenset({"bool"})}

RULES: Mapping[str, Demand] = {**STATED, **COMPUTED}
"""What each rule demands of a node."""

HELD = frozenset(
    {
        *("Concat.C3", "Concat.axis.C1", "Flatten.axis.C1", "Range.D.C1"),
        *("Reshape.S.rank", "Reshape.S.C1", "Reshape.S.C3", "Reshape.allowzero.C2"),
        *("Reshape.X.C1", "Squeeze.A.rank", "Squeeze.A.C1", "Squeeze.size"),
        *("Unsqueeze.A.C1", "Unsqueeze.A.C2", "MaxPool.padding", "Gemm.shapes", "LSTM.shapes"),
        *("Conv.kernel_shape", "Conv.outputs", "Conv.fits"),
        *("ConvInteger.kernel_shape", "ConvInteger.outputs", "ConvInteger.fits"),
    }
)
"""The rules that ONNX Runtime holds."""


NOT_CONCLUDED = frozenset({"Pow.int.C2", "Softmax.float.C6"})
"""The rules that are concluded of no node: powers and whole lines are computed in a run."""

_PRELIMINARY = ("Div.R1", "Div.R2", "Div.R3", "Div.R4", "Div.R5", "Sub.R1", "Sub.R2", "Sub.R3")
"""The rules of the preliminary edition, which has Div.int.C2 as well.

Those of all other operators are the same in both editions.
"""

_SINCE = {
    "ArgMax.select_last_index.C1": range(12, 99), "Softmax.C4": range(13),
    **dict.fromkeys(("Clip.min.C2", "Clip.max.C2"), range(11)),
    **dict.fromkeys(("Clip.float.min.C2", "Clip.float.max.C2"), range(11, 99)),
    **dict.fromkeys(("Squeeze.axes", "Squeeze.axes.names"), range(13)),
    **dict.fromkeys(
        ("Squeeze.A", "Squeeze.A.rank", "Squeeze.A.names"), range(13, 99)
    ),
    **dict.fromkeys(("MaxPool.R4", "MaxPool.R2.dilations", "MaxPool.dilations"), range(10, 99)),
    **dict.fromkeys(("MaxPool.R5", "MaxPool.R2.storage_order"), range(8, 99)),
    **dict.fromkeys(("LSTM.layout", "Reshape.allowzero.C1"), range(14, 99)),
}  # fmt: skip
"""The versions of the opset in which a rule applies; in all, if it is left out."""


def rules_of(node: Node, edition: str) -> set[str]:
    """The rules that bind a node: those of its operator, for the type of its operands.

    Args:
        node: The node. The type of an operand is known, if the rules differ by it.
        edition: "typed" or "preliminary".

    Raises:
        Rejected: The type is not known.
    """
    operator = node.proto.op_type
    own = {r for r in (*RULES, *HELD, *NOT_CONCLUDED) if r.partition(".")[0] == operator}
    own = {rule for rule in own if node.model.version in _SINCE.get(rule, range(99))}
    preliminary = own.intersection(_PRELIMINARY)
    if preliminary:
        kept = preliminary | {"Div.int.C2"}
        own = own & kept if edition == "preliminary" else own - preliminary
    families = {rule: rule.split(".")[1] for rule in own if rule.split(".")[1] in _FAMILIES}
    if families:
        element_type = node.type(1 if operator == "Where" else 0)
        own -= {rule for rule, family in families.items() if element_type not in _FAMILIES[family]}
    return own


def conclude(node: Node, rule: str) -> None:
    """Conclude an obligation of a node.

    Args:
        node: The node.
        rule: The id of the rule.

    Raises:
        Rejected: It does not follow.
    """
    operator = rule.partition(".")[0]
    require(operator == node.proto.op_type, f"the node is a {node.proto.op_type}")
    if rule not in HELD:
        require(rule in RULES, "the rule is not known")
        RULES[rule](node)
