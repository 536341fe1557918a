"""The operators whose float results have intervals by verified rules.

Each rule is tested against the kernels of ONNX Runtime: `tests/soundness/test_interval_rules.py`.
"""

from collections.abc import Mapping, Sequence

from .catalog import require_verified
from .interval_functions import FUNCTIONS, IntervalRule
from .interval_layers import LAYERS
from .interval_layout import LAYOUT
from .interval_sums import SUMS
from .node import FLOATS, Node
from .sizes import Interval, require

INTERVAL_RULES: Mapping[str, IntervalRule] = {**FUNCTIONS, **LAYERS, **LAYOUT, **SUMS}
"""The rules by standard operator."""


def intervals_of(node: Node) -> Sequence[Interval | None]:
    """The intervals of a node's float results; None for one of which nothing is known.

    Raises:
        Rejected: Nothing is known of any.
    """
    require(node.op_type in INTERVAL_RULES, f"the interval of a {node.op_type} has no rule")
    require_verified(node)
    kinds = [node.result_type(place) for place in range(node.results)]
    require(any(kind in FLOATS for kind in kinds), "no result is a float")
    found = INTERVAL_RULES[node.op_type](node)
    return [
        each if kind in FLOATS and each is not None and each.whole.says_something else None
        for each, kind in zip(found, kinds, strict=False)
    ]
