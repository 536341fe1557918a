"""Arrays in the form in which onnxruntime-extensions takes them without a copy through lists."""

from typing import Any

import numpy as np
import numpy.typing as npt


class KernelOutput(np.ndarray[Any, np.dtype[Any]]):
    """An array that answers `flatten().tolist()` with itself.

    onnxruntime-extensions asks a kernel's result for `shape` and for `flatten().tolist()`: a
    Python list of all elements, which costs hundreds of times the operator itself. Its C++ side
    takes an array where it gets one and copies `itemsize * size` bytes from it, so the array must
    be C-contiguous and of exactly the declared dtype.
    """

    def flatten(self, order: Any = "C") -> "KernelOutput":
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
        A view of the array; of a contiguous copy in the declared dtype where it is not both.
    """
    return np.asarray(array, dtype=dtype, order="C").view(KernelOutput)
