"""What versions of ONNX Runtime that the package supports do differently, and since which one."""

from typing import TypeVar

import onnxruntime as ort

from sonnx_ort.profile.catalog import RULES

Told = TypeVar("Told")

INSTALLED = tuple(map(int, ort.__version__.split(".")[:2]))
"""The installed version of ONNX Runtime, without its last number."""

CHANGED_IN = {
    "Pad fills all that it adds": (1, 24),
    "Pad refuses to reflect more than there is": (1, 24),
    "GatherND refuses an index into an empty axis": (1, 26),
    "ConvTranspose refuses to add more than a step": (1, 27),
    "ReverseSequence copies a sequence of no length": (1, 28),
    "ReduceProd of int64 is computed in double": (1, 27),
    "PRelu multiplies only what is below zero": (1, 27),
    "LayerNormalization of equal numbers is 0": (1, 27),
    "a Transpose and a MatMul of double stay apart": (1, 26),
    "Cos of double has a kernel": (1, 29),
    "a Transpose that changes nothing changes no Gemm": (1, 30),
    "int64 is compared rightly": (1, 32),
    "the smallest integer modulo -1 is 0": (1, 32),
    "Mod as C does computes int64 and uint64 exactly": (1, 32),
    "ArgMax of a vector takes NaN as that of a matrix does": (1, 32),
    "an axis that is counted from the end of an empty tensor is reduced": (1, 32),
    "MatMul broadcasts stacks where there is nothing to sum up": (1, 32),
    "Conv refuses a scalar": (1, 32),
    "BitShift has kernels for uint16": (1, 32),
    "kernels survive numbers at the ends of int32 and int64": (1, 32),
}
"""The first version of which each holds. Older ones are supported as well: rules have to guard
against what they do until none of them is."""


def changed(fact: str) -> bool:
    """Whether a fact of the table holds for the installed version."""
    return CHANGED_IN[fact] <= INSTALLED


def unneeded(backend: str) -> frozenset[str]:
    """The rules against kernels that a backend does not enforce with the installed version."""
    if backend != "python":
        return frozenset()
    return frozenset(rule.id for rule in RULES.values() if not rule.needed_with(ort.__version__))


def before_and_since(fact: str, before: Told, since: Told) -> Told:
    """What the installed version is to do.

    Args:
        fact: A fact of the table.
        before: What versions do for which it does not hold.
        since: What the others do.
    """
    return since if changed(fact) else before
