"""Values of a run as text."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.comparing.inputs import Inputs
from sonnx_ort.printable import printable

_SHOWN = 8


def describe_value(name: str, value: object) -> Iterator[str]:
    """A tensor, a sequence, a map or an absent value: a line, and one for each member."""
    match value:
        case None:
            yield printable(f"{name}: absent")
        case dict():
            shown = ", ".join(f"{key!r}: {value[key]!r}" for key in list(value)[:_SHOWN])
            more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
            yield printable(f"{name}: map {{{shown}}}{more}")
        case list():
            yield printable(f"{name}: sequence of {len(value)}")
            for number, each in enumerate(value[:_SHOWN]):
                yield from (f"  {line}" for line in describe_value(f"{name}[{number}]", each))
            if len(value) > _SHOWN:
                yield f"  and {len(value) - _SHOWN} more"
        case _:
            yield describe_tensor(name, np.asarray(value))


def described_inputs(inputs: Inputs) -> Iterator[str]:
    """The inputs of a run, a line for each, with what was made up of them."""
    for name, value in inputs.arrays.items():
        origin = inputs.origin(name)
        yield from (f"input {line}{origin}" for line in describe_value(name, value))
    if inputs.note:
        yield printable(inputs.note)


def describe_tensor(name: str, tensor: npt.NDArray[Any]) -> str:
    """Name, dtype, shape and first elements of a tensor, on one line."""
    elements = np.array2string(
        tensor.reshape(-1)[:_SHOWN], separator=", ", max_line_width=10_000, threshold=_SHOWN
    )
    dtype = "string" if tensor.dtype.kind in "OU" else tensor.dtype
    more = f" and {tensor.size - _SHOWN} more" if tensor.size > _SHOWN else ""
    return printable(f"{name}: {dtype} {tuple(tensor.shape)} {elements}{more}")
