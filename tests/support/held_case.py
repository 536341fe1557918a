"""A model that breaks a rule that ONNX Runtime holds itself."""

from collections.abc import Mapping
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
