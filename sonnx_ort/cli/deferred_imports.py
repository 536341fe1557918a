"""Modules that a command imports when it first uses them, which most commands never do.

`onnx_ir` imports sympy for arithmetic on symbolic sizes. That takes longer than all else that a
command imports, and nothing here computes with such sizes.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

DEFERRED = frozenset({"sympy", "onnx_ir._symbolic_shapes"})
"""The modules; the second uses the first while it is imported."""


class _Deferring(MetaPathFinder):
    """Finds the deferred modules as Python does, and has them loaded at their first use."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a deferred module; None for all others."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in DEFERRED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def defer_imports() -> None:
    """Have the deferred modules loaded at their first use, in the whole process."""
    sys.meta_path.insert(0, _Deferring())
