"""What a notebook shows of a result.

A room that makes results does not import the one that shows them, which lies above. It asks here:

    Report._repr_html_ -> shown_as(HTML, report) -> HTML["Report"](report) of reporting.notebook

`sonnx_ort` names that module, so that it is imported where something is shown for the first time.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

HTML, TEXT = "HTML", "TEXT"
"""The forms, by the names of the tables in the module that shows results."""

_MODULES: list[str] = []
"""The module that shows results, by its name."""


def show_by(module: str) -> None:
    """Name the module that shows results.

    It has a table for each form, of functions by the names of the classes that they show: by names,
    so that nobody waits for the import of a class of which there is no object.
    """
    _MODULES[:] = [module]


def shown_as(form: str, result: object) -> str:
    """A result in HTML, or as text, as the module that shows results has it for the class."""
    (module,) = map(importlib.import_module, _MODULES)
    table: Mapping[str, Callable[[Any], str]] = getattr(module, form)
    name = next(each.__name__ for each in type(result).__mro__ if each.__name__ in table)
    return table[name](result)
