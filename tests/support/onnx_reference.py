"""What a case of the onnx package has to give where it is enforced: the bits of ONNX Runtime."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import onnx

from support.broken_rules import Breach, breaches_of, unbroken
from support.onnx_cases import Suite, Trial, optimized, plain
from support.onnx_record import NODE_BY_NODE, OPTIMIZED, REFUSED, SAME, UNOPTIMIZED
from support.single_nodes import run_node_by_node


class Reference:
    """A case in ONNX Runtime, without this project.

    Attributes:
        name: The case.
        model: Its model.
        unoptimized: What came of it at ORT_DISABLE_ALL.
    """

    def __init__(self, suite: Suite, name: str) -> None:
        """Run a case.

        Args:
            suite: The cases.
            name: The case.
        """
        self._suite, self.name = suite, name
        self._refusals: dict[tuple[Breach, ...], str] = {}
        self.unoptimized = suite.try_case(name, plain)
        assert self.unoptimized.trace.model is not None, self.unoptimized.error
        self.model = self.unoptimized.trace.model

    def compared(self, trial: Trial, backend: str, level: str) -> str:
        """Say in a word what enforcement made of the case, and behind it what is to be known.

        Args:
            trial: What came of the enforced model.
            backend: What enforces it.
            level: The level of optimization.
        """
        breaches = tuple(breaches_of(trial.error))
        if breaches:
            return self._refused(breaches)
        if self.unoptimized.verdict == "fails":
            # What ONNX Runtime has no kernel of may have one when it is enforced.
            known = {"passes": "passes", "fails": "fails"}
            return known.get(trial.verdict, f"other: {trial.error}")
        if trial.verdict == "fails":
            return f"other: fails: {trial.error}"
        return self._compared_bits(_bits(trial.trace.outputs), backend, level)

    def _compared_bits(self, found: object, backend: str, level: str) -> str:
        """Find out whose bits they are.

        An optimizer may give other bits, and does so of the original model too. Each result in
        float16 is rounded where it is enforced, which ONNX Runtime does at the end of a chain of
        nodes only: then it has to have the bits that ONNX Runtime gives node by node.
        """
        if found == _bits(self.unoptimized.trace.outputs):
            return SAME
        if level != UNOPTIMIZED and found == self._optimized(backend):
            return OPTIMIZED
        if self._has_float16() and found == self._node_by_node:
            return NODE_BY_NODE
        units = _units_apart(found, _bits(self.unoptimized.trace.outputs))
        return f"other: {units} units of float16 apart" if units else "other: the bits differ"

    def _optimized(self, backend: str) -> object:
        return _bits(self._suite.try_case(self.name, optimized(backend)).trace.outputs)

    @cached_property
    def _node_by_node(self) -> object:
        feeds = self.unoptimized.trace.feeds
        return _bits([run_node_by_node(self.model, each) for each in feeds])

    def _has_float16(self) -> bool:
        tensors = (value.type.tensor_type for value in self.model.graph.input)
        return any(tensor.elem_type == onnx.TensorProto.FLOAT16 for tensor in tensors)

    def _refused(self, breaches: tuple[Breach, ...]) -> str:
        """Say for which rules it is refused; both backends are, most often for the same."""
        if breaches not in self._refusals:
            self._refusals[breaches] = self._judged(breaches)
        return self._refusals[breaches]

    def _judged(self, breaches: Sequence[Breach]) -> str:
        rules = ", ".join(sorted({breach.rule for breach in breaches}))
        if self.unoptimized.verdict != "fails":
            for feeds in self.unoptimized.trace.feeds:
                kept = unbroken(self.model, feeds, breaches)
                if kept:
                    return f"other: refused for {rules}, but {'; '.join(kept)}"
        return f"{REFUSED}{rules}"


def _units_apart(one: object, other: object) -> int | None:
    """By how many units in the last place results differ; None if others than float16 do."""
    match one, other:
        case [list(), list()]:
            pairs = [_units_apart(*pair) for pair in zip(one, other, strict=True)]
            return None if None in pairs else max(filter(None, pairs), default=0)
        case [("float16", shape, bytes() as bits), ("float16", wanted, bytes() as expected)]:
            apart = _ordered(bits) - _ordered(expected)
            return int(abs(apart).max(initial=0)) if shape == wanted else None
    return 0 if one == other else None


def _ordered(bits: bytes) -> np.ndarray[Any, Any]:
    """Numbers in float16 by their order; neighbours are one apart."""
    numbers = np.frombuffer(bits, np.int16).astype(np.int64)
    return np.where(numbers < 0, -(numbers & 0x7FFF), numbers)


def _bits(value: Any) -> object:
    """Types, shapes and bits of what a model gave."""
    match value:
        case None:
            return None
        case list() | tuple():
            return [_bits(element) for element in value]
        case dict():
            return sorted((repr(key), _bits(element)) for key, element in value.items())
    array = np.asarray(value)
    if array.dtype == object:
        return array.shape, repr(array.tolist())
    return str(array.dtype), array.shape, array.tobytes()
