"""Small faults in a graph of guards, such as a programmer makes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.elements import INT32, OnElements
from sonnx_ort.profile.requirements.exact_powers import ExactPower, exact_powers, is_wide
from sonnx_ort.profile.requirements.quotients import NONZERO, RepresentableQuotient
from sonnx_ort.profile.requirements.same_shape import SameShape
from sonnx_ort.profile.rule import Requirement
from sonnx_ort.terms.numbers import NumberSet
from support.proofs.guards import all_nodes
from support.proofs.nodes import Guarded


@dataclass(frozen=True)
class Mutation:
    """A fault.

    Attributes:
        what: What is wrong.
        value: The name of the value that is made wrongly, without its stem.
        change: Changes the node that makes it.
    """

    what: str
    value: str
    change: Callable[[onnx.NodeProto], None]

    def of(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """A copy of a model with the fault in it.

        Raises:
            LookupError: It has no such value.
        """
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        for node in all_nodes(changed.graph):
            if any(name.partition("_")[2] == self.value for name in node.output):
                self.change(node)
                return changed
        raise LookupError(self.value)

    def __str__(self) -> str:
        """Give what is wrong."""
        return self.what


def off_by(value: str, step: int) -> Mutation:
    """A number that is too large or too small; for floats a step is from one to the next."""

    def change(node: onnx.NodeProto) -> None:
        tensor = node.attribute[0].t
        array = np.atleast_1d(numpy_helper.to_array(tensor))
        integers = array
        if array.dtype.kind not in "iu":
            # The bits of floats of one sign are in the order of their magnitudes.
            integers = array.view(f"i{array.dtype.itemsize}")
        moved = (integers + np.array(step).astype(integers.dtype)).view(array.dtype)
        tensor.CopyFrom(numpy_helper.from_array(moved.reshape(tuple(tensor.dims)), tensor.name))

    return Mutation(f"{value} off by {step}", value, change)


def number(value: str, instead: Any) -> Mutation:
    """Another number."""

    def change(node: onnx.NodeProto) -> None:
        tensor = node.attribute[0].t
        array = numpy_helper.to_array(tensor).copy()
        array[...] = instead
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

    return Mutation(f"{value} is {instead}", value, change)


def operator(value: str, instead: str) -> Mutation:
    """Another operator."""

    def change(node: onnx.NodeProto) -> None:
        node.op_type = instead

    return Mutation(f"{instead} makes {value}", value, change)


def swapped(value: str) -> Mutation:
    """The last two inputs in the wrong order."""

    def change(node: onnx.NodeProto) -> None:
        node.input[-2], node.input[-1] = node.input[-1], node.input[-2]

    return Mutation(f"inputs of {value} swapped", value, change)


def left_out(value: str) -> Mutation:
    """A node that gives its first input as it is."""

    def change(node: onnx.NodeProto) -> None:
        node.op_type = "Identity"
        del node.input[1:]
        del node.attribute[:]

    return Mutation(f"{value} left out", value, change)


def without_allowzero(value: str) -> Mutation:
    """The attribute allowzero left out."""

    def change(node: onnx.NodeProto) -> None:
        (found,) = (each for each in node.attribute if each.name == "allowzero")
        node.attribute.remove(found)

    return Mutation(f"{value} without allowzero", value, change)


def reading(value: str, instead: str) -> Mutation:
    """Another first input."""

    def change(node: onnx.NodeProto) -> None:
        node.input[0] = instead

    return Mutation(f"{value} of {instead}", value, change)


_COMPARED = (ElementType.INT32, ElementType.INT64)


def faults_of_shapes(guarded: Guarded) -> Iterator[Mutation]:
    """Faults in the guard of the shapes of operands, if it has one."""
    if not any(isinstance(rule.requirement, SameShape) for rule in guarded.rules()):
        return
    yield number("code", 0)
    yield swapped("shape_or_code")
    if guarded.any_rank:
        yield left_out("shape_of_equal_rank")
    if len(guarded.single.names) > 2:
        yield operator("all_equal", "Or")


def faults_of_elements(guarded: Guarded) -> Iterator[Mutation]:
    """Faults in the guards of elements, if it has any."""
    kind = guarded.single.element_type
    requirements = [
        rule.requirement
        for rule in guarded.rules()
        if not isinstance(rule.requirement, RepresentableQuotient) or rule.requirement.reaches(kind)
    ]
    of_quotients = any(isinstance(each, RepresentableQuotient) for each in requirements)
    if of_quotients and kind.dtype.kind == "i":
        yield number("too_small", -2)
    # The limits of powers are the first ones.
    of_powers = any(isinstance(each, ExactPower) for each in requirements)
    for requirement in requirements:
        yield from _faults(requirement, kind, "limit_3" if of_powers else "limit")


def _faults(requirement: Requirement, kind: ElementType, limit: str) -> Iterator[Mutation]:
    signed = kind.dtype.kind == "i"
    match requirement:
        case OnElements():
            if isinstance(requirement.numbers, NumberSet):
                yield from _faults_of_elements(requirement.numbers, kind, limit)
        case RepresentableQuotient() if signed:
            yield off_by("smallest", 1)
            yield off_by("minus_one", 2)
            yield operator("overflows", "Or")
        case ExactPower():
            yield operator("is_exact", "Or")
            yield from _faults_of_powers(kind)


def _faults_of_powers(kind: ElementType) -> Iterator[Mutation]:
    if is_wide(kind.dtype):
        yield off_by("limit", -1)
        yield off_by("limit_2", 1)
        return
    # Between the right ones and these there is a power of 2.
    allowed = exact_powers(kind.dtype)
    yield number("limit", allowed.lower)
    yield number("limit_2", allowed.upper + 1.5)


def _faults_of_elements(numbers: NumberSet, kind: ElementType, limit: str) -> Iterator[Mutation]:
    if numbers == NONZERO and kind.family is Family.INTEGER:
        yield number("zero", 1) if kind in _COMPARED else number("false", True)
    elif numbers == INT32 and kind is ElementType.INT64:
        lower, upper = INT32.limits(kind.dtype)
        assert lower is not None
        assert upper is not None
        yield operator("some_beyond_5", "And")
        yield number("limit", lower - 1)
        yield number("limit_2", upper + 1)
    elif numbers not in {NONZERO, INT32}:
        yield from _faults_of_limits(numbers, kind, limit)


def _faults_of_limits(numbers: NumberSet, kind: ElementType, limit: str) -> Iterator[Mutation]:
    lower, upper = numbers.limits(kind.dtype)
    if lower is upper is None:
        return
    # Between two numbers of bfloat16 there are 65,535 floats, in which they are compared.
    step = 1 << 16 if kind is ElementType.BFLOAT16 else 1
    yield off_by(limit, step)
    yield off_by(limit, -step)
    if lower is not None and upper is not None:
        name, instead = ("is_outside", "And") if numbers.admits_nan else ("is_within", "Or")
        yield operator(name, instead)
