"""The operating envelope of a model: what its inputs, and values inside of it, may be.

A contract is a demand of the model's user. It is enforced where a value enters or is computed, and
is a premise for all that follows.

    Contract((ValueContract("image", (0.0, 1.0)), ValueContract("features", finite=True)))
"""

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonnx_ort.terms.elements import NumberSet, finite_limits


@dataclass(frozen=True, slots=True)
class ValueContract:
    """What the elements of a value may be; NaN never.

    Attributes:
        value: The name of an input of the graph, or of a value that a node of the graph computes.
        range: The smallest and the largest number; None for all finite numbers.
        message: What to tell a person if it is broken; empty for nothing more.
    """

    value: str
    range: tuple[float, float] | None = None
    message: str = ""

    @property
    def numbers(self) -> NumberSet:
        """The numbers that are allowed, by type."""
        outside = "NaN or infinite"
        if self.range is not None:
            outside = f"outside of {self.range[0]:.9g} to {self.range[1]:.9g}"
        finding = f"{self.value} is {outside} ({self.message})" if self.message else ""
        return NumberSet(outside, self.limits, admits_nan=False, finding=finding)

    def limits(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The smallest and the largest number of a type that is allowed."""
        if self.range is None:
            return finite_limits(dtype)
        if dtype.kind in "biu":
            return math.ceil(self.range[0]), math.floor(self.range[1])
        with np.errstate(over="ignore"):
            lower, upper = (float(dtype.type(end)) for end in self.range)
        return lower, upper


@dataclass(frozen=True)
class Contract:
    """What the values of a model may be.

    Attributes:
        values: One entry for each value, in the order of the file.
    """

    values: tuple[ValueContract, ...] = ()

    def __bool__(self) -> bool:
        """Whether it demands anything."""
        return bool(self.values)

    def of(self, value: str) -> ValueContract | None:
        """The entry for a value; None if there is none."""
        return self._by_name.get(value)

    @functools.cached_property
    def _by_name(self) -> Mapping[str, ValueContract]:
        return {entry.value: entry for entry in self.values}


NO_CONTRACT = Contract()
"""The contract that demands nothing."""


def contract_to_json(contract: Contract) -> str:
    """Write a contract as one line of JSON."""
    return json.dumps(contract_document(contract), ensure_ascii=False)


def contract_document(contract: Contract) -> list[dict[str, object]]:
    """A contract as lists and dictionaries; infinities are text."""
    return [
        {
            "value": entry.value,
            **({} if entry.range is None else {"range": [_end(end) for end in entry.range]}),
            **({"message": entry.message} if entry.message else {}),
        }
        for entry in contract.values
    ]


def _end(end: float) -> float | str:
    return str(end) if math.isinf(end) else end


def text_of(entry: ValueContract | None) -> str:
    """Write one entry as JSON; an empty text for none."""
    return "" if entry is None else contract_to_json(Contract((entry,)))


def contract_from_json(text: str) -> Contract:
    """Parse the result of `contract_to_json`.

    Raises:
        Exception: It is none; the type depends on what is wrong with it.
    """
    return contract_of(json.loads(text))


def contract_of(document: Sequence[Mapping[str, Any]]) -> Contract:
    """Read the result of `contract_document`.

    Raises:
        Exception: It is none; the type depends on what is wrong with it.
    """
    return Contract(
        tuple(
            ValueContract(
                str(entry["value"]),
                _ends(entry["range"]) if "range" in entry else None,
                str(entry.get("message", "")),
            )
            for entry in document
        )
    )


def _ends(given: Sequence[float | str]) -> tuple[float, float]:
    lower, upper = (float(end) if isinstance(end, str) else end for end in given)
    if not lower <= upper:
        raise ValueError(f"{lower} to {upper} is no range")
    return lower, upper
