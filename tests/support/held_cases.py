"""What breaks the rules that ONNX Runtime holds itself.

Each rule of `HeldByRuntime` has cases here. The sizes in a case are open before a run, so that
ONNX Runtime decides in the run, or they are known to it, so that it refuses the model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HeldCase:
    """A model that breaks a rule, and what it is fed with.

    Attributes:
        graph: The graph in ONNX's textual syntax, such as `(float[n] x) => (float[m] y) {...}`.
        feeds: The inputs by name; nested lists, which take the types that the graph declares.
        opset: The version of the standard operators.
    """

    graph: str
    feeds: Mapping[str, Any]
    opset: int = 21


HELD_CASES: Mapping[str, Sequence[HeldCase]] = {}
"""The cases by the rules' ids."""
