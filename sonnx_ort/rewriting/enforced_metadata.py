"""What an enforced node says of itself: the rules that bind it, and those that are proved.

For people and their tools; nothing here relies on it.
"""

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.profile.judgement import Status

RULES = "sonnx_ort.rules"
"""The key in a node's metadata under which the ids of the rules stand that bind it."""

PROVED = "sonnx_ort.proved"
"""The key under which those of them stand that hold in every run."""


def record_rules(node: ir.Node, examined: ExaminedNode) -> None:
    """Write down which rules an enforced node keeps, and which need no check.

    Args:
        node: The node that takes the place of the examined one.
        examined: The examined one.
    """
    own = [o for o in examined.obligations if o.operator == examined.target.operator.name]
    proved = (o.rule.id for o in own if o.status is Status.PROVED)
    node.metadata_props[RULES] = " ".join(o.rule.id for o in own)
    node.metadata_props[PROVED] = " ".join(proved)
