"""Has `onnx_ir` imported without sympy, which it needs for arithmetic on symbolic sizes.

That import takes longer than all others together, and nothing here computes with such sizes. Where
somebody does, sympy is imported then. Other imports of sympy are as always.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

LIBRARY = "onnx_ir"

DEFERRED = ("sympy", "onnx_ir._symbolic_shapes")
"""The modules; the second uses the first while it is imported."""


class _StandIn(ModuleType):
    """Stands for a module, which is imported at its first use."""

    def __getattr__(self, name: str) -> object:
        _remove(self)
        return getattr(importlib.import_module(self.__name__), name)


def _remove(module: ModuleType) -> None:
    """Forget a module, unless another one has taken its name."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]


class _Loader(SourceFileLoader):
    """Loads the library, which finds stand-ins meanwhile."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the library's code."""
        stand_ins = [_StandIn(name) for name in DEFERRED if name not in sys.modules]
        sys.modules.update((each.__name__, each) for each in stand_ins)
        try:
            super().exec_module(module)
        finally:
            for each in stand_ins:
                _remove(each)


class _Finder:
    """Finds the library as Python does, and no other module."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of the library; None for all others."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname == LIBRARY else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def defer_sympy() -> None:
    """Have sympy imported at its first use, and not together with the library."""
    sys.meta_path.insert(0, _Finder)
