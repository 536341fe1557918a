"""Faults in changes, which the trials of single nodes have to find."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import onnx_ir as ir

from sonnx_ort.conforming import decomposing
from sonnx_ort.conforming.change import NodeEdit
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified import ANY
from sonnx_ort.conforming.verified_operators import VERIFIED
from support.soundness import changed_nodes


def keeps_dimensions(number: int) -> Mapping[str, int]:
    """Reductions take any flag and any attribute as they come."""
    declared = {
        name: replace(each, attributes=dict.fromkeys(each.attributes, ANY))
        for name, each in VERIFIED.items()
    }
    decomposing.VERIFIED = declared  # type: ignore[assignment]
    return _of("Reduce", number)


def takes_any_index(number: int) -> Mapping[str, int]:
    """No index is held to what the kernel admits."""
    Operators.unless = lambda _, wrong, numbers: numbers  # type: ignore[method-assign] # noqa: ARG005
    return _of("ReverseSequence", number)


def renames(number: int) -> Mapping[str, int]:
    """An operator gives what it reads, and the output takes the place of the input."""

    def replace_by(edit: NodeEdit, *values: ir.Value | None) -> None:
        edit.replacements = values

    _plant("Sign", lambda _, x: x)
    NodeEdit.replace_by = replace_by  # type: ignore[method-assign]
    changed_nodes.sonnx_ort.conform = _without_worsening()  # type: ignore[misc]
    return _of("Sign", number)


def adds_one(number: int) -> Mapping[str, int]:
    """A safe change adds one."""
    _plant("Sign", lambda op, x: op.Add(x, op.number(1)))
    return _of("Sign", number)


def _plant(operator: str, make: Callable[..., Any]) -> None:
    planted = replace(decomposing.TEMPLATES[operator], make=make)
    decomposing.TEMPLATES = {**decomposing.TEMPLATES, operator: planted}  # type: ignore[misc]


def _without_worsening() -> Callable[..., Any]:
    from sonnx_ort.conforming import worsening  # noqa: PLC0415 - planted where it is asked for

    conform = changed_nodes.sonnx_ort.conform
    worsening.interface_of = lambda _: ((), ())
    return conform


def _of(operators: str, number: int) -> Mapping[str, int]:
    """Try a node of some operators in place of that of a number."""
    chosen = [name for name in changed_nodes.bases() if name.startswith(operators)]
    places = list(changed_nodes.bases())
    wanted = places.index(chosen[number % len(chosen)])
    return changed_nodes.attempt(number * len(places) + wanted)
