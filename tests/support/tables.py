"""Nodes with what keeps and what breaks the rules that a run decides."""

from dataclasses import dataclass, field

import numpy as np
import onnx

from support.graphs import parse

Array = np.ndarray
Feeds = dict[str, Array]


@dataclass(frozen=True)
class Table:
    """One node and what is fed to it.

    Attributes:
        text: The model.
        types: The types in which it is tried; the text has T in their place.
        kept: What keeps all rules.
        broken: The tag of the rule that each of others breaks.
        plain: Operands that keep their own type.
        opset: The version of the standard operators.
    """

    text: str
    types: tuple[str, ...]
    kept: list[Feeds]
    broken: list[tuple[str, Feeds]]
    plain: frozenset[str] = field(default=frozenset())
    opset: int = 18

    def model(self, kind: str) -> onnx.ModelProto:
        """The model in a type."""
        text = self.text.replace("T[", f"{kind}[").replace("T ", f"{kind} ")
        return parse(text, opset=self.opset)

    def feeds(self, feeds: Feeds, kind: str) -> Feeds:
        """What is fed, in a type."""
        dtype = {"float": np.float32, "double": np.float64}.get(kind, kind)
        return {n: a if n in self.plain else np.asarray(a, dtype) for n, a in feeds.items()}
