"""Small faults in a graph of guards, such as a programmer makes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from support.proofs.guards import all_nodes


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
