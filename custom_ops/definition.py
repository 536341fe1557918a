"""The types and outputs of kernels, as ONNX Runtime requires them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.defs

from sonnx_ort.profile.element_type import CARRIERS, NUMERIC_TYPES, ElementType
from sonnx_ort.profile.operator import Operator

KERNEL_TYPES: tuple[ElementType, ...] = tuple(t for t in NUMERIC_TYPES if t not in CARRIERS)
"""The numeric types that a Python kernel can take."""

_ONNX_DOMAINS = (
    onnx.defs.ONNX_DOMAIN,
    onnx.defs.ONNX_ML_DOMAIN,
    onnx.defs.AI_ONNX_PREVIEW_TRAINING_DOMAIN,
)


class KernelOutput(np.ndarray[Any, np.dtype[Any]]):
    """An array whose `flatten().tolist()` returns the array itself.

    onnxruntime-extensions calls `shape` and `flatten().tolist()` of a kernel's result. A Python
    list of all elements costs hundreds of times the operator itself. The C++ code also takes an
    array, and copies `itemsize * size` bytes from it, so the array must be C-contiguous and of
    exactly the declared dtype.
    """

    def flatten(self, order: Any = None) -> "KernelOutput":
        """The array itself."""
        del order
        return self

    def tolist(self) -> Any:
        """The plain array."""
        return self.view(np.ndarray)


def kernel_output(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> KernelOutput:
    """View an array as a kernel's output.

    Args:
        array: The result, of any shape.
        dtype: The dtype that the operator declares for this output.

    Returns:
        A view of the array, or of a contiguous copy in the declared dtype if it needs one.
    """
    return np.asarray(array, dtype=dtype, order="C").view(KernelOutput)


@functools.lru_cache(maxsize=1024)
def shape_output(shape: tuple[int, ...]) -> KernelOutput:
    """Convert a shape to a kernel's output, int64 for any rank.

    Returns:
        An array that many runs may share; ONNX Runtime copies it.
    """
    return np.array(shape, np.int64).view(KernelOutput)


Kernel = Callable[..., tuple[KernelOutput, KernelOutput]]
"""A function of arrays and attributes that never raises.

It returns the result and its shape; on a violation an empty result and the shape `[-ticket]`.
"""


@dataclass(frozen=True, slots=True)
class KernelDefinition:
    """A kernel for one combination of types.

    Attributes:
        name: The operator's name in the domain `sonnx`.
        operator: The operator of the profile whose rules it enforces; None if its attribute
            `operator` has the name.
        inputs: The ONNX names of the element types of its inputs.
        output: The ONNX name of the element type of its result; the second output is the shape.
        attributes: The names of its attributes, all of them strings.
        kernel: The kernel.
        remark: What its guard checks, if the rules do not say it.
    """

    name: str
    operator: Operator | None
    inputs: tuple[str, ...]
    output: str
    attributes: tuple[str, ...]
    kernel: Kernel
    remark: str = ""

    def __post_init__(self) -> None:
        """Reject the name of a standard operator.

        When ONNX Runtime propagates shapes, it looks only at the name, in any domain. It would take
        the result of the computation for the shape that is the second output.

        Raises:
            ValueError: ONNX has an operator of that name.
        """
        if _has_name_of_onnx(self.name):
            raise ValueError(
                f"the custom operator '{self.name}' has the name of an operator of ONNX, by which "
                "ONNX Runtime would guess what its kernel gives; choose another name"
            )


@functools.cache
def _has_name_of_onnx(name: str) -> bool:
    """Whether ONNX has an operator of a name; a kernel for each type asks for the same."""
    return any(onnx.defs.has(name, domain) for domain in _ONNX_DOMAINS)
