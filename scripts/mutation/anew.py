"""A plugin of pytest with which a module is imported as a mutant of it.

The variable SONNX_ORT_MUTANT has the path of the module, the number of the condition and its value.
"""

import json
import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

from mutation.conditions import mutated
from mutation.process import limit_memory


def pytest_load_initial_conftests() -> None:
    """Have the module compiled as a mutant, before anything imports it."""
    limit_memory()
    path, number, value = json.loads(os.environ["SONNX_ORT_MUTANT"])
    original = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        if os.path.realpath(loader.path) != path:
            return original(loader, name)
        tree = mutated(Path(path).read_text("utf-8"), number, value=value)
        code: CodeType = compile(tree, path, "exec")
        return code

    patch = pytest.MonkeyPatch()
    patch.setattr(SourceFileLoader, "get_code", get_code)
