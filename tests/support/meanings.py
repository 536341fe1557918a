"""Nodes with operands, what the oracle says of them, and what computes them."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sonnx_ort.oracle import Result, Undefined, meaning
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
