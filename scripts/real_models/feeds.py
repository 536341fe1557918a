"""What a model is tried with: inputs for a model that is known by its declarations only.

General rules give every open axis a size and every input its elements; what one input cannot do
without stands in a table by its name.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

Array = npt.NDArray[Any]
Feeds = dict[str, Array]
"""The inputs of a model by name."""

_SEED = 20
_BYTE = 256
_IMAGE_RANK = 4


class Data(enum.StrEnum):
    """What the inputs hold."""

    RANDOM = "random"
    """Floats between -1 and 1, integers that fit into a byte."""

    ZEROS = "zeros"
    """Silence, or a black image: quotients of zeros come up."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """One run: the size of the axes that count examples, and what the inputs hold.

    `extents` are the sizes of the other open axes, in the order in which they are declared.
    """

    batch: int
    extents: tuple[int, ...]
    data: Data = Data.RANDOM

    def __str__(self) -> str:
        """Name it for people."""
        return f"batch of {self.batch}, {' x '.join(map(str, self.extents))}, {self.data}"


_ZEROS = Data.ZEROS

# Of speech, a second and a frame of a voice detector with its context come first.
SEQUENCES: Sequence[DryRun] = (
    *(DryRun(1, (16000,)), DryRun(2, (24000,)), DryRun(2, (8000,), _ZEROS), DryRun(1, (576,))),
    *(DryRun(2, (512,)), DryRun(2, (576,), _ZEROS), DryRun(3, (64,))),
)
"""For sound, text and everything else with axes in a row; realistic sizes come first."""

TEXTS: Sequence[DryRun] = (
    *(DryRun(1, (100,)), DryRun(2, (24,)), DryRun(3, (64,)), DryRun(2, (500,))),
    *(DryRun(1, (100,), _ZEROS), DryRun(2, (24,), _ZEROS)),  # zero is in every vocabulary
)
"""For inputs of integers alone; what looks at all pairs of places cannot take much longer ones."""

IMAGES: Sequence[DryRun] = (
    # A line of text and a page; much larger ones need more memory than a small machine has.
    *(DryRun(1, (48, 320)), DryRun(1, (320, 480)), DryRun(2, (48, 192)), DryRun(2, (64, 96))),
    *(DryRun(1, (32, 64), _ZEROS), DryRun(1, (48, 192), _ZEROS)),
)
"""For inputs of four axes; realistic sizes come first."""


def _lengths(shape: tuple[int, ...], trial: DryRun) -> Array:
    """The first example is as long as the axis, each further one half of that before it."""
    return np.array([trial.extents[0] >> index for index in range(shape[0])])


KNOWN_ELEMENTS: Mapping[str, Callable[[tuple[int, ...], DryRun], Array]] = {
    "waveforms_lens": _lengths,
    "sr": lambda *_: np.array(16000),  # the sampling rate, in hertz
}
"""Inputs whose elements follow no general rule, by name."""

BATCH_AXES: Mapping[str, int] = {"state": 1}
"""The axis that counts examples where that is not the first: one of a recurrent layer, say."""


class UnknownInput(Exception):  # noqa: N818 - reads as what happened
    """An input is of a kind that no rule makes elements for."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of an input; where no symbol names its size, no other axis has its symbol."""

    symbol: str
    size: int
    counts_examples: bool

    @property
    def is_open(self) -> bool:
        return self.size <= 0  # some exporters write 0 or -1 for a size that is not known


def _required_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that no initializer stands in for."""
    defaults = {tensor.name for tensor in model.graph.initializer}
    return [declared for declared in model.graph.input if declared.name not in defaults]


def trials_for(model: onnx.ModelProto) -> Sequence[DryRun]:
    """Choose what to try a model with; for a model without open axes that is one of each data."""
    shapes = [list(_axes(declared)) for declared in _required_inputs(model)]
    if not any(axis.is_open for shape in shapes for axis in shape):
        return [DryRun(1, (), data) for data in Data]
    if all(_element_dtype(declared).kind in "iu" for declared in _required_inputs(model)):
        return TEXTS
    return IMAGES if any(len(shape) == _IMAGE_RANK for shape in shapes) else SEQUENCES


def make_feeds(model: onnx.ModelProto, trial: DryRun) -> Feeds:
    """Make inputs for a model, the same ones for the same trial.

    Raises:
        UnknownInput: An input is no tensor of numbers or booleans.
    """
    shapes = {declared.name: list(_axes(declared)) for declared in _required_inputs(model)}
    # One size for each symbol, whichever inputs it stands in.
    open_axes = [axis for shape in shapes.values() for axis in shape if axis.is_open]
    sizes = {axis.symbol: trial.batch for axis in open_axes if axis.counts_examples}
    others = dict.fromkeys(axis.symbol for axis in open_axes if axis.symbol not in sizes)
    sizes |= dict(zip(others, cycle(trial.extents), strict=False))
    random = np.random.default_rng(_SEED)
    return {
        declared.name: _elements(
            declared,
            tuple(sizes[a.symbol] if a.is_open else a.size for a in shapes[declared.name]),
            trial,
            random,
        )
        for declared in _required_inputs(model)
    }


def _axes(declared: onnx.ValueInfoProto) -> Iterator[_Axis]:
    if declared.type.WhichOneof("value") != "tensor_type":
        raise UnknownInput(f"the input '{declared.name}' is no tensor")
    for place, dimension in enumerate(declared.type.tensor_type.shape.dim):
        name = str(dimension.dim_param)
        names_something = any(map(str.isalpha, name))  # "?" and "" do not
        symbol = name if names_something else f"{declared.name}, axis {place}"
        yield _Axis(symbol, dimension.dim_value, place == BATCH_AXES.get(declared.name, 0))


def _element_dtype(declared: onnx.ValueInfoProto) -> np.dtype[Any]:
    dtype: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(declared.type.tensor_type.elem_type)
    return dtype


def _elements(
    declared: onnx.ValueInfoProto,
    shape: tuple[int, ...],
    trial: DryRun,
    random: np.random.Generator,
) -> Array:
    dtype = _element_dtype(declared)
    if declared.name in KNOWN_ELEMENTS:
        return KNOWN_ELEMENTS[declared.name](shape, trial).astype(dtype).reshape(shape)
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
