"""The operators whose float results have intervals by verified rules.

Each rule is tested against the kernels of ONNX Runtime: `tests/soundness/test_interval_rules.py`.
"""

from collections.abc import Mapping, Sequence

from .catalog import rule_of
from .interval_functions import FUNCTIONS, IntervalRule
from .interval_layout import LAYOUT
from .interval_sums import SUMS
from .node import FLOATS, Node
from .sizes import Interval, require

INTERVAL_RULES: Mapping[str, IntervalRule] = {**FUNCTIONS, **LAYOUT, **SUMS}
"""The rules by standard operator."""

_OF_OPEN_SHAPE: Mapping[str, tuple[int, int]] = {"Compress": (9, 11)}
"""The verified versions of operators whose results have no known shape."""


def intervals_of(node: Node) -> Sequence[Interval | None]:
    """The intervals of a node's float results; None for one of which nothing is known.

    Raises:
        Rejected: Nothing is known of any.
    """
    require(node.op_type in INTERVAL_RULES, f"the interval of a {node.op_type} has no rule")
    if node.op_type in _OF_OPEN_SHAPE:
        first, last = _OF_OPEN_SHAPE[node.op_type]
        require(first <= node.version <= last, f"version {node.version} is not verified")
    else:
        rule_of(node)
    kinds = [node.result_type(place) for place in range(node.results)]
    require(any(kind in FLOATS for kind in kinds), "no result is a float")
    found = INTERVAL_RULES[node.op_type](node)
    return [
        each if kind in FLOATS and each is not None and each.whole.says_something else None
        for each, kind in zip(found, kinds, strict=False)
    ]
