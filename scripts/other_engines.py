"""OpenVINO and tract as engines of `sonnx-ort suite`, for scripts/engines_table.py.

They are no dependencies. In an environment that has the packages `openvino` and `tract`, from the
folder `scripts`:

    python engines_table.py other_engines:OpenVino other_engines:Tract

Both get the types and shapes of each run, without which they refuse many models.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class OpenVino:
    """OpenVINO on the CPU, which computes in float32 and is asked for accuracy."""

    def __init__(self) -> None:
        import openvino  # noqa: PLC0415 - no dependency

        self._openvino = openvino
        self._core = openvino.Core()

    def run(self, model: bytes, feeds: Mapping[str, Array]) -> Sequence[Array]:
        """Compute the outputs of a model, in their order.

        Raises:
            Exception: OpenVINO refuses the model or the run.
        """
        read = self._core.read_model(model)
        read.reshape({name: self._openvino.PartialShape(x.shape) for name, x in feeds.items()})
        settings = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}
        compiled = self._core.compile_model(read, "CPU", settings)
        results = compiled({name: self._tensor(x) for name, x in feeds.items()})
        return [self._array(output, results[output]) for output in compiled.outputs]

    def _tensor(self, x: Array) -> Any:
        if x.dtype != ml_dtypes.bfloat16:
            return self._openvino.Tensor(_whole(x))
        bits = _whole(x).view(np.uint16)
        return self._openvino.Tensor(bits, list(x.shape), self._openvino.Type.bf16)

    def _array(self, output: Any, result: Array) -> Array:
        """What OpenVINO gives; numpy has no type of its own for bfloat16."""
        if output.element_type != self._openvino.Type.bf16:
            return result
        return result.view(ml_dtypes.bfloat16)


class Tract:
    """tract, as its package for Python has it."""

    def __init__(self) -> None:
        import tract  # noqa: PLC0415 - no dependency

        self._onnx = tract.onnx()

    def run(self, model: bytes, feeds: Mapping[str, Array]) -> Sequence[Array]:
        """Compute the outputs of a model, in their order.

        Raises:
            Exception: tract refuses the model or the run.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.onnx")
            path.write_bytes(model)
            read = self._onnx.load(path)
        order = [read.input_name(index) for index in range(read.input_count())]
        for index, name in enumerate(order):
            sizes = [str(size) for size in feeds[name].shape]
            read.set_input_fact(index, ",".join([*sizes, _TRACT[feeds[name].dtype.name]]))
        runnable = read.into_model().into_runnable()
        results = runnable.run([_whole(feeds[name]) for name in order])
        return [result.to_numpy() for result in results]


def _whole(x: Array) -> Array:
    """The array without gaps; what numpy has for that makes a vector of a scalar."""
    return np.array(x, order="C")


_TRACT = {"bool": "bool"} | {
    f"{kind}{bits}": f"{kind[0]}{bits}"
    for kind, widths in {
        "float": (16, 32, 64),
        "int": (8, 16, 32, 64),
        "uint": (8, 16, 32, 64),
    }.items()
    for bits in widths
}
"""The name that tract has for a type of numpy; others are a refusal."""
