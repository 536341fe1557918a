"""Nodes with operands, what the oracle says of them, and what computes them."""

import enum
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx_ort.oracle import Result, Undefined, meaning
from sonnx_ort.oracle.balls import precisely
from sonnx_ort.oracle.meaning import OPERATIONS
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.results import Elements, NotDefinedError, tensor
from support import ort_values
from support.sessions import on_one_thread

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Applied:
    """An operator applied to operands.

    Attributes:
        operator: The operator.
        operands: Its operands, None for those that are left out.
        attributes: The attributes of the node.
        results: How many of its results the node has.
        opset: The opset of the model.
    """

    operator: str
    operands: Sequence[Array | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    results: int = 1
    opset: int = 21

    @cached_property
    def meaning(self) -> tuple[Result, ...] | Undefined:
        """What the oracle says."""
        return meaning(self.operator, self.opset, self.attributes, self.operands)

    @property
    def feeds(self) -> dict[str, Array]:
        """The operands that are given, by name."""
        return {f"x{i}": o for i, o in enumerate(self.operands) if o is not None}

    def model(self) -> onnx.ModelProto:
        """A model of the node alone, whose operands have open sizes."""
        names = [f"x{i}" if o is not None else "" for i, o in enumerate(self.operands)]
        said = {
            name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
            for name, value in self.attributes.items()
        }
        outputs = [f"y{i}" for i in range(self.results)]
        kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in self.feeds.items()}
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, outputs, "the_node", **said)],
            "alone",
            [
                helper.make_tensor_value_info(name, kinds[name], [None] * array.ndim)
                for name, array in self.feeds.items()
            ],
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(d), None)
                for n, d in zip(outputs, self._dtypes(), strict=False)
            ],
        )
        opset = helper.make_opsetid("", self.opset)
        return helper.make_model(graph, opset_imports=[opset], ir_version=10)

    def _dtypes(self) -> Iterator[np.dtype[Any]]:
        """The dtypes of the results; that of the first operand if none is defined."""
        if isinstance(self.meaning, Undefined):
            yield next(iter(self.feeds.values())).dtype
        else:
            yield from (result.nearest.dtype for result in self.meaning)


Run = Callable[[Applied], list[Array]]


def by_onnxruntime(applied: Applied) -> list[Array]:
    """What ONNX Runtime gives, without optimization."""
    options = on_one_thread("none")
    session = ort.InferenceSession(applied.model().SerializeToString(), options)
    return [np.asarray(found) for found in ort_values.run(session, applied.feeds)]


def by_reference(applied: Applied) -> list[Array]:
    """What the reference evaluator of ONNX gives; it warns of overflows and the like."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(r) for r in ReferenceEvaluator(applied.model()).run(None, applied.feeds)]


def outside(applied: Applied, found: Sequence[Array]) -> str:
    """The first result that is not admitted, told; empty if all are."""
    assert isinstance(applied.meaning, tuple), applied.meaning
    for result, array in zip(applied.meaning, found, strict=False):
        try:
            wrong = np.argwhere(np.atleast_1d(result.outside(array)))
        except ValueError as error:
            return str(error)
        if len(wrong):
            got, nearest = (np.atleast_1d(a)[tuple(wrong[0])] for a in (array, result.nearest))
            place = wrong[0].tolist()
            return f"{len(wrong)} of {array.size}: at {place} {got} for {nearest}, {result.bound}"
    return ""


class Verdict(enum.StrEnum):
    """What a computed element is."""

    EXACT = "exact"
    ADMITTED = "admitted"
    OUTSIDE = "outside"
    UNDEFINED = "undefined"


def verdicts(result: Result, found: npt.NDArray[Any]) -> npt.NDArray[np.object_]:
    """The verdict on each computed element.

    Raises:
        ValueError: The results have another type or shape.
    """
    made = np.full(found.shape, Verdict.ADMITTED, object)
    made[result.outside(found)] = Verdict.OUTSIDE
    made[result.exact(found)] = Verdict.EXACT
    made[result.undefined] = Verdict.UNDEFINED
    return made


_REAL = frozenset(
    {"Conv", "Exp", "Gemm", "LSTM", "LeakyRelu", "MatMul", "MaxPool", "Range", "Relu"}
    | {"Sigmoid", "Sin", "Softmax", "Tanh"}
)
"""The operators whose documents have a section on reals."""

_NEWEST = 1 << 10


def meaning_over_the_reals(
    operator: str, attributes: Mapping[str, Any], operands: list[Array | None]
) -> tuple[Array, ...] | Undefined:
    """What a document says of the results of a node over the reals, in the newest version.

    Args:
        operator: Its name.
        attributes: The attributes that the node has; those of real type may be `Fraction`.
        operands: All operands, arrays of `Fraction`, None for omitted ones.

    Returns:
        A tensor for each result with two rationals for each element that enclose it; both are the
        same if it is known to be rational. None for an element that is not defined, or too large.
        Integers, as in the second result of MaxPool, are integers. Or why there is none at all.

    Raises:
        ValueError: The operator has no meaning over the reals here.
    """
    if operator not in _REAL:
        raise ValueError(f"{operator} has no meaning over the reals here")
    try:
        with precisely():
            made = OPERATIONS[operator].compute(Node(_NEWEST, attributes, tuple(operands)))
            return tuple(map(_over_the_reals, made))
    except NotDefinedError as error:
        return Undefined(str(error))


def _over_the_reals(made: Elements | Result) -> Array:
    if isinstance(made, Result):
        return made.nearest.astype(object)
    return tensor(map(_ends, made.elements.ravel()), made.elements.shape)


def _ends(element: Any) -> Any:
    lower, upper = element.numbers
    return (lower.value, upper.value) if element.defined and lower.is_finite else None
