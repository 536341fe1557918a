"""The node cases of the onnx package: one node with inputs and outputs, for most operators."""

import copy
import functools
import math
import pickle
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.terms.operand import Dimension, Shape
from support.soundness.arrays import Array
from support.soundness.leaves import count_of_places

_KEPT = Path(__file__).resolve().parents[3] / "build"
"""The folder, which git ignores, of what is computed once."""

_END_OF_ALL = (2**31 - 1, 2**63 - 1)
"""The ends that mean all of an axis."""

_OPEN = re.compile(r"\?\d+")
"""The name of a size that only a run tells."""


def _sliced(size: int, start: int, end: int, step: int) -> int:
    return count_of_places(size, start, size if end in _END_OF_ALL else end, step)


def _int32(size: int) -> int:
    return (size + (1 << 31)) % (1 << 32) - (1 << 31)


FUNCTIONS = {"trunc": math.trunc, "int32": _int32, "min": min, "sliced": _sliced}
"""The functions in the names of open sizes."""


@functools.cache
def node_cases() -> Sequence[Any]:
    """All cases that have a model and data, in the order of the package.

    To compute them takes seconds: they are kept for all processes, in a file for their versions.
    """
    kept = _KEPT / f"node_cases-{version('onnx')}-{version('numpy')}.pickle"
    if kept.is_file():
        return pickle.loads(kept.read_bytes())  # type: ignore[no-any-return]  # noqa: S301
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases  # noqa: PLC0415 - computes them

        cases = collect_testcases(None)
    found = [case for case in cases if case.model is not None and case.data_sets]
    _KEPT.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=_KEPT, delete=False) as file:
        pickle.dump(found, file)
    Path(file.name).replace(kept)
    return found


def tensors(values: Sequence[Any]) -> list[Array | None]:
    """The tensors among the inputs or outputs of a case; None for sequences and the like."""
    arrays = [numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in values]
    return [np.asarray(a) if isinstance(a, np.ndarray | np.generic) else None for a in arrays]


def with_symbols(case: Any) -> tuple[onnx.ModelProto, dict[str, int]]:
    """One symbol for each dimension of each input, and what they stand for in the case's data."""
    model = copy.deepcopy(case.model)
    sizes: dict[str, int] = {}
    inputs = tensors(case.data_sets[0][0])
    for number, (declared, array) in enumerate(zip(model.graph.input, inputs, strict=False)):
        if array is not None:
            names = symbols(number, array)
            sizes.update(zip(names, array.shape, strict=True))
            _set_shape(declared, names)
    return model, sizes


def with_constants(case: Any) -> tuple[onnx.ModelProto, dict[str, int]]:
    """Inputs of known sizes; all but the first are constants where they could be shapes or axes."""
    model = copy.deepcopy(case.model)
    inputs = tensors(case.data_sets[0][0])
    for number, (declared, array) in enumerate(zip(case.model.graph.input, inputs, strict=False)):
        if array is None:
            continue
        (own,) = [value for value in model.graph.input if value.name == declared.name]
        _set_shape(own, array.shape)
        if number and array.ndim <= 1 and array.dtype.kind in "iufb":
            tensor = numpy_helper.from_array(array, own.name)
            if tensor.data_type == own.type.tensor_type.elem_type:
                model.graph.initializer.append(tensor)
                model.graph.input.remove(own)
    return model, {}


def symbols(number: int, array: Array) -> list[str]:
    """The symbols of an input's dimensions."""
    return [f"s{number}_{axis}" for axis in range(array.ndim)]


def inferred_shapes(model: onnx.ModelProto) -> list[Shape | None]:
    """What `check` holds the shapes of a model's outputs for; nothing if it refuses the model.

    Args:
        model: The model; what it claims of its outputs' shapes is taken out.
    """
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    try:
        loaded = load(model).graph_model
    except InvalidModel:
        return []
    facts = Facts(loaded)
    return [facts.shape(output) for output in loaded.graph.outputs]


class ExactSize(int):
    """A size in expressions, in which it is divided exactly."""

    def __truediv__(self, other: int) -> "ExactSize":
        """Divide as kernels do."""
        return ExactSize(math.trunc(Fraction(int(self), other)))

    def __add__(self, other: int) -> "ExactSize":
        """Add, to be divided."""
        return ExactSize(int(self) + other)


def misfit(shapes: Sequence[Shape | None], outputs: Sequence[Any], sizes: Mapping[str, int]) -> str:
    """Say where tensors cannot have the shapes that are certain; empty if they all can.

    Args:
        shapes: One for each output.
        outputs: What came out; what is no tensor can have any shape.
        sizes: What the symbols of the inputs stand for.
    """
    names = dict(sizes)
    for shape, output in zip(shapes, outputs, strict=False):
        if shape is None or not isinstance(output, np.ndarray | np.generic):
            continue
        if len(shape) != output.ndim:
            return f"{output.shape} is not {shape}"
        for dimension, size in zip(shape, output.shape, strict=True):
            if not stands_for(dimension, size, names):
                return f"{output.shape} is not {shape} with {names}"
    return ""


def stands_for(dimension: Dimension, size: int, names: dict[str, int]) -> bool:
    """Whether a size can be that of a dimension; one that has no other name is taken down."""
    if not isinstance(dimension, str):
        return dimension is None or dimension == size
    if _OPEN.fullmatch(dimension):
        return names.setdefault(dimension, size) == size
    text = _OPEN.sub(lambda found: str(names.get(found[0], found[0])), dimension)
    if "?" in text:
        return True
    value: int = eval(text, {"__builtins__": {}}, FUNCTIONS | names)  # noqa: S307 - of sizes
    return value == size


def _set_shape(declared: onnx.ValueInfoProto, dimensions: Sequence[int | str]) -> None:
    shape = declared.type.tensor_type.shape
    shape.Clear()
    shape.SetInParent()
    for dimension in dimensions:
        if isinstance(dimension, str):
            shape.dim.add().dim_param = dimension
        else:
            shape.dim.add().dim_value = dimension
