"""The kinds of mutants: how a module notes what is reached, and how a mutant is put in."""

import builtins
import gc
import mmap
import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from mutation import conditions


class Kind(ABC):
    """Modules that note what is reached in them, and one mutant that may be in effect.

    What is reached has a number. Forks of the process note it too, and so do their forks.
    """

    def __init__(self, files: Sequence[str]) -> None:
        """Read the modules, before anything imports them.

        Args:
            files: Their paths.
        """
        self.sources = {file: Path(file).read_text("utf-8") for file in files}
        self._first: dict[str, int] = {}
        count = 0
        for file, source in self.sources.items():
            self._first[file] = count
            count += self._count(source)
        self._seen = mmap.mmap(-1, count + 1)
        self._loaded: set[str] = set()

    def instrument(self) -> None:
        """Have the modules compiled so that they note what is reached."""
        original = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
            path = os.path.realpath(loader.path)
            if path not in self.sources:
                return original(loader, name)
            self._loaded.add(path)
            return self._compiled(path)

        pytest.MonkeyPatch().setattr(SourceFileLoader, "get_code", get_code)

    def note(self, number: int) -> None:
        """Note that this was reached."""
        self._seen[number] = 1

    def reached(self) -> set[int]:
        """What was reached since it was forgotten."""
        return {number for number, seen in enumerate(self._seen[:]) if seen}

    def forget(self) -> None:
        """Forget what was reached."""
        self._seen[:] = bytes(len(self._seen))

    @abstractmethod
    def place(self, path: str, mutant: Any) -> int:
        """The number of what a mutant is in."""

    @abstractmethod
    def put_in(self, path: str, mutant: Any) -> bool:
        """Put a mutant in; give whether it has its effect in what was imported before."""

    @abstractmethod
    def _count(self, source: str) -> int:
        """How many numbers a module has."""

    @abstractmethod
    def _compiled(self, path: str) -> CodeType:
        """The code of a module."""


class OfConditions(Kind):
    """Mutants by their names: a condition has always the same value."""

    _forced: tuple[int, bool] | None = None

    def instrument(self) -> None:
        """As above; a module calls functions of both names."""
        setattr(builtins, conditions.CONDITION, self._condition)
        setattr(builtins, conditions.STOPS, self._stops)
        super().instrument()

    def place(self, path: str, mutant: Any) -> int:
        """The number of a condition."""
        return self._first[path] + self._named[path][mutant].number

    def put_in(self, path: str, mutant: Any) -> bool:
        """Have the condition this value from now on."""
        self._forced = self.place(path, mutant), self._named[path][mutant].value
        return True

    @cached_property
    def _named(self) -> dict[str, dict[str, conditions.Mutant]]:
        return {
            path: {mutant.name: mutant for mutant in conditions.mutants(source)}
            for path, source in self.sources.items()
        }

    def _count(self, source: str) -> int:
        return len(conditions.mutants(source)) // 2

    def _compiled(self, path: str) -> CodeType:
        tree = conditions.instrumented(self.sources[path], self._first[path])
        code: CodeType = compile(tree, path, "exec")
        return code

    def _condition(self, number: int, value: Any) -> Any:
        self.note(number)
        return self._forced[1] if self._forced and self._forced[0] == number else value

    def _stops(self, number: int, value: bool) -> bool:
        return self._forced == (number, value)


class OfFunctions(Kind):
    """Mutants by their numbers, as mutmut makes them: a function has other code."""

    _forced: tuple[str, int] | None = None

    def __init__(self, files: Sequence[str]) -> None:
        """As above."""
        # Imported late: the conditions need no mutmut.
        from mutation import functions  # noqa: PLC0415

        self._reading = functions
        super().__init__(files)

    def instrument(self) -> None:
        """As above; a function calls this first."""
        setattr(builtins, self._reading.REACHED, self.note)
        super().instrument()

    def place(self, path: str, mutant: Any) -> int:
        """The number of a function."""
        function: int = self._modules[path].mutant(mutant).function
        return self._first[path] + function

    def put_in(self, path: str, mutant: Any) -> bool:
        """Give the function its code, wherever it is; what is imported later has it, too."""
        self._forced = path, mutant
        if path not in self._loaded:
            return True
        made = self._modules[path].mutant(mutant)
        code = made.code(path)
        plain = compile(self.sources[path], path, "exec")
        functions = self._functions[path, made.starts]
        fits = all(len(each.__code__.co_freevars) == len(code.co_freevars) for each in functions)
        # What differs in the head of a function alone has its effect where that is defined.
        if not functions or not fits or code == self._reading.code_at(plain, made.starts):
            return False
        for function in functions:
            function.__code__ = code
        return True

    @cached_property
    def _modules(self) -> dict[str, Any]:
        return {path: self._reading.Functions(source) for path, source in self.sources.items()}

    @cached_property
    def _functions(self) -> dict[tuple[str, int], list[FunctionType]]:
        """All functions that there are, by their modules and first lines."""
        found = defaultdict[tuple[str, int], list[FunctionType]](list)
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename in self.sources:
                found[each.__code__.co_filename, each.__code__.co_firstlineno].append(each)
        return found

    def _count(self, source: str) -> int:
        return len(self._reading.Functions(source))

    def _compiled(self, path: str) -> CodeType:
        if self._forced and self._forced[0] == path:
            text: str = self._modules[path].mutant(self._forced[1]).text
            return compile(text, path, "exec")
        tree = self._modules[path].instrumented(self._first[path])
        code: CodeType = compile(tree, path, "exec")
        return code


KINDS: dict[str, type[Kind]] = {"conditions": OfConditions, "functions": OfFunctions}
"""The kinds by their names."""
