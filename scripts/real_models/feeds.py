"""Inputs for a model that is known by its declarations only.

General rules give every open axis a size and every input its elements; what one input cannot do
without stands in a table by its name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from real_models.trial import IMAGES, SEQUENCES, Data, Trial

Array = npt.NDArray[Any]
Feeds = dict[str, Array]
"""The inputs of a model by name."""

Dimension = onnx.TensorShapeProto.Dimension

_SEED = 20
_BYTE = 256

_IMAGE_RANK = 4


@dataclass(frozen=True, slots=True)
class KnownInput:
    """What an input cannot do without.

    Attributes:
        batch_axis: The axis that counts examples.
        elements: Gives its elements, from its shape and the trial.
    """

    batch_axis: int = 0
    elements: Callable[[tuple[int, ...], Trial], Array] | None = None


def _lengths(shape: tuple[int, ...], trial: Trial) -> Array:
    """The first example is as long as the axis, each further one half of that before it."""
    return np.array([trial.extents[0] >> index for index in range(shape[0])])


KNOWN_INPUTS: Mapping[str, KnownInput] = {
    "waveforms_lens": KnownInput(elements=_lengths),
    "sr": KnownInput(elements=lambda *_: np.array(16000)),  # the sampling rate, in hertz
    "state": KnownInput(batch_axis=1),  # of a recurrent layer, whose first axis counts layers
}
"""By the inputs' names. Any other input follows the general rules."""


class UnknownInput(Exception):  # noqa: N818 - reads as what happened
    """An input is of a kind that no rule makes elements for."""


def required_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that no initializer stands in for.

    Args:
        model: The model.
    """
    defaults = {tensor.name for tensor in model.graph.initializer}
    return [declared for declared in model.graph.input if declared.name not in defaults]


def trials_for(model: onnx.ModelProto) -> Sequence[Trial]:
    """Choose what to try a model with; for a model without open axes that is one of each data.

    Args:
        model: The model.
    """
    inputs = required_inputs(model)
    shapes = [_dimensions(declared) for declared in inputs]
    if not any(_is_open(dimension) for shape in shapes for dimension in shape):
        return [Trial(1, (), data) for data in Data]
    return IMAGES if any(len(shape) == _IMAGE_RANK for shape in shapes) else SEQUENCES


def make_feeds(model: onnx.ModelProto, trial: Trial) -> Feeds:
    """Make inputs for a model, the same ones for the same trial.

    Args:
        model: The model.
        trial: The sizes of its open axes, and what the inputs hold.

    Raises:
        UnknownInput: An input is no tensor of numbers or booleans.
    """
    inputs = required_inputs(model)
    sizes = _sizes(inputs, trial)
    random = np.random.default_rng(_SEED)
    feeds: Feeds = {}
    for declared in inputs:
        shape = tuple(
            sizes[symbol] if _is_open(dimension) else dimension.dim_value
            for symbol, dimension in _axes(declared)
        )
        feeds[declared.name] = _elements(declared, shape, trial, random)
    return feeds


def _sizes(inputs: Sequence[onnx.ValueInfoProto], trial: Trial) -> dict[str, int]:
    """The size of every open axis: one for each symbol, whichever inputs it stands in."""
    open_axes = [
        (symbol, axis == _known(declared).batch_axis)
        for declared in inputs
        for axis, (symbol, dimension) in enumerate(_axes(declared))
        if _is_open(dimension)
    ]
    sizes = {symbol: trial.batch for symbol, counts_examples in open_axes if counts_examples}
    extents = cycle(trial.extents)
    for symbol, _ in open_axes:
        if symbol not in sizes:
            sizes[symbol] = next(extents)
    return sizes


def _elements(
    declared: onnx.ValueInfoProto,
    shape: tuple[int, ...],
    trial: Trial,
    random: np.random.Generator,
) -> Array:
    dtype = helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
    known = _known(declared).elements
    if known is not None:
        return known(shape, trial).astype(dtype).reshape(shape)
    if trial.data is Data.ZEROS and dtype.kind in "biuf":
        return np.zeros(shape, dtype)
    match dtype.kind:
        case "f":
            return random.uniform(-1, 1, shape).astype(dtype)
        case "i" | "u":
            limit = min(_BYTE, int(np.iinfo(dtype).max))
            return random.integers(0, limit, shape).astype(dtype)
        case "b":
            return random.integers(0, 2, shape).astype(dtype)
        case _:
            raise UnknownInput(f"no rule makes elements of {dtype} for '{declared.name}'")


def _axes(declared: onnx.ValueInfoProto) -> Iterator[tuple[str, Dimension]]:
    """The dimensions with their symbols; where one is not named, no other axis has its symbol."""
    for axis, dimension in enumerate(_dimensions(declared)):
        name = str(dimension.dim_param)
        names_something = any(map(str.isalpha, name))  # "?" and "" do not
        yield name if names_something else f"{declared.name}, axis {axis}", dimension


def _dimensions(declared: onnx.ValueInfoProto) -> Sequence[Dimension]:
    if declared.type.WhichOneof("value") != "tensor_type":
        raise UnknownInput(f"the input '{declared.name}' is no tensor")
    dimensions: Sequence[Dimension] = declared.type.tensor_type.shape.dim
    return dimensions


def _is_open(dimension: Dimension) -> bool:
    # Some exporters write 0 or -1 for a size that is not known.
    return dimension.dim_value <= 0


def _known(declared: onnx.ValueInfoProto) -> KnownInput:
    return KNOWN_INPUTS.get(declared.name, KnownInput())
