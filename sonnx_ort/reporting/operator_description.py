"""What the file of an operator in `profile/` says of it."""

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache

from sonnx_ort import profile
from sonnx_ort.profile.catalog import OPERATORS

_RESULTS = "Results"
"""Begins the paragraph on what an operator computes."""

_UNENFORCED = "ONNX Runtime"
"""Occurs in the paragraphs on what happens without enforcement, and in no other one but results."""


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """The paragraphs of an operator's file.

    Attributes:
        summary: What the operator is.
        paragraphs: The other ones, each on one line: first what it computes.
    """

    summary: str
    paragraphs: tuple[str, ...]

    @property
    def unenforced(self) -> str:
        """What ONNX Runtime does where nothing enforces the rules; empty if nothing is told."""
        told = (p for p in self.paragraphs if _UNENFORCED in p and not p.startswith(_RESULTS))
        return " ".join(told)


@cache
def describe_operator(name: str) -> OperatorDescription:
    """Read what the file of an operator says.

    Args:
        name: The operator's name.

    Raises:
        LookupError: No file of the profile defines it.
    """
    for module in pkgutil.iter_modules(profile.__path__):
        file = importlib.import_module(f"{profile.__name__}.{module.name}")
        if OPERATORS[name] in vars(file).values() and module.name != "catalog":
            # A Python that leaves docstrings out knows the rules, but not what is told of them.
            paragraphs = (inspect.getdoc(file) or "").split("\n\n")
            summary, *rest = (" ".join(paragraph.split()) for paragraph in paragraphs)
            return OperatorDescription(summary, tuple(rest))
    raise LookupError(f"no file in profile/ defines {name}")
