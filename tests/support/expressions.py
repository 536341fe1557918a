"""What expressions of guards give, computed with numpy."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import AttributeProto, helper

from sonnx_ort.checker.facts import Tree

Array = np.ndarray

_BY_ELEMENTS: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "And": np.logical_and,
    "Equal": np.equal,
    "Gather": lambda sizes, places: np.take(sizes, places, axis=0),
    "Greater": np.greater,
    "IsNaN": np.isnan,
    "Less": np.less,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Pow": np.power,
    "Range": np.arange,
    "Reshape": lambda array, shape: np.reshape(array, tuple(shape)),
    "Shape": lambda array: np.array(array.shape, np.int64),
    "Sub": np.subtract,
    "Tile": lambda array, copies: np.tile(array, tuple(copies)),
    "Where": np.where,
}


def evaluated(tree: Tree, values: Mapping[str, Array]) -> Array:
    """What an expression gives.

    Args:
        tree: The expression.
        values: The values that it reads, by name.

    Raises:
        ValueError: ONNX Runtime would refuse the shapes.
        IndexError: It would refuse a place.
    """
    match tree:
        case ("value", name):
            return values[name]
        case ("constant", kind, dims, elements):
            return np.array(elements, kind).reshape(dims)
    operator, attributes, *inputs = tree
    operands = [evaluated(each, values) for each in inputs]
    said = {name: _value(value) for name, value in attributes}
    with np.errstate(all="ignore"):
        return np.asarray(_calculated(operator, operands, said))


def _calculated(operator: str, operands: list[Array], said: Mapping[str, Any]) -> Any:
    match operator:
        case "Cast":
            return operands[0].astype(helper.tensor_dtype_to_np_dtype(said["to"]))
        case "Concat":
            return np.concatenate(operands, said["axis"])
        case "ReduceMax" | "ReduceMin" | "ReduceSum":
            axes = operands[1] if len(operands) > 1 else said.get("axes")
            return _reduced(operator, operands[0], axes)
        case "Slice":
            first, last = operands[1:] or [np.array(said[n]) for n in ("starts", "ends")]
            return operands[0][int(first[0]) : int(last[0])]
        case _:
            return _BY_ELEMENTS[operator](*operands)


def _reduced(operator: str, array: Array, axes: Any) -> Array:
    over = None if axes is None else tuple(np.ravel(axes).tolist())
    if operator == "ReduceSum":
        return array.sum(over)
    limits = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
    if operator == "ReduceMax":
        return array.max(over, initial=-np.inf if array.dtype.kind == "f" else limits.min)
    return array.min(over, initial=np.inf if array.dtype.kind == "f" else limits.max)


def _value(value: Any) -> Any:
    return (
        helper.get_attribute_value(AttributeProto.FromString(value))
        if isinstance(value, bytes)
        else value
    )
