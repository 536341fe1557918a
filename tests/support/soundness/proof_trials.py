"""Models with a contract and runs that keep it, and what is proved of their numbers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from sonnx_ort import Contract
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runs.reduce.shrinking import Feeds, Trial
from support.soundness.arrays import Array

_FINITE = "Graph.finite"
_LONGEST = 200
"""How many characters of the numbers of a constant are shown at most."""

_ELEMENTS = 8
"""How many elements of an input are shown at most."""


class UnusableDraftError(Exception):
    """A draft is no valid graph, so that there is no trial of its number."""


@dataclass(frozen=True)
class Way:
    """How a model is enforced and run.

    Attributes:
        backend: The backend.
        level: The level of optimization.
        own: Whether the session is ours, or a plain one on the rewritten model.
        threads: How many threads compute one operator.
    """

    backend: str = "native"
    level: str = "all"
    own: bool = True
    threads: int = 1

    def __str__(self) -> str:
        """Say it in words."""
        whose = "own session" if self.own else "plain session on the rewritten model"
        return f"{self.backend}, {whose}, level {self.level}, {self.threads} threads"


ALL_WAYS = tuple(
    Way(backend, level, own)
    for backend in ("native", "compiled", "python")
    for level in ("all", "extended", "basic")
    for own in (True, False)
)
"""Every way on one thread in which a model is optimized."""

SUSPECTED = (
    *(Way(backend, "all") for backend in ("native", "compiled", "python")),
    Way("native", "all", own=False),
)
"""Ways for a model that a plain session computes otherwise than it is proved."""


@dataclass(frozen=True)
class ProofTrial(Trial):
    """A model with a contract, runs that keep it, and the ways in which it is enforced.

    Attributes:
        operators: What is enforced.
        broadcast: Whether broadcasting is written out.
    """

    contract: Contract = NO_CONTRACT
    ways: tuple[Way, ...] = ALL_WAYS
    operators: str = "default,Graph.finite_values"
    broadcast: str = "reject"

    def __str__(self) -> str:
        """Give all that is needed to look at it again, but for long lists of numbers."""
        limits = "; ".join(
            f"{each.value} in {each.range}" + ("" if each.axis is None else f" on axis {each.axis}")
            for each in self.contract.values
        )
        feeds = "\n".join(map(shown, self.runs))
        ways = "; ".join(map(str, self.ways))
        text = onnx.printer.to_text(self.model)
        choices = f"operators {self.operators}, broadcast {self.broadcast}"
        return f"{abridged(text)}\ncontract: {limits}\n{choices}; {ways}\n{feeds}"

    @property
    def kept_contract(self) -> Contract:
        """The contract without entries of values that are no input."""
        inputs = {value.name for value in self.model.graph.input}
        kept = tuple(each for each in self.contract.values if each.value in inputs)
        return replace(self.contract, values=kept)


def abridged(text: str) -> str:
    """A text without the greatest part of long lists of numbers."""
    return re.sub(rf"{{[^{{}}\n]{{{_LONGEST},}}}}", lambda found: f"{found[0][:80]} ...}}", text)


@dataclass(frozen=True)
class Claims:
    """What is known of the values of a model in every run that keeps its contract."""

    intervals: Mapping[str, Interval]
    bounds: Mapping[str, Bounds]

    @classmethod
    def of(cls, trial: ProofTrial) -> "Claims":
        """What the analysis finds.

        Raises:
            SonnxError: The model is refused.
        """
        facts = Facts(load_canonical(trial.model).graph_model)
        return cls.under(facts, trial.kept_contract)

    @classmethod
    def under(cls, facts: Facts, contract: Contract) -> "Claims":
        """What the analysis finds under a contract."""
        numbers = facts.numbers_under(contract)
        return cls(*map(_by_name, map(numbers.established, ("interval", "bounds"))))

    def informative(self, name: str) -> bool:
        """Whether something is known of a value that a run could contradict."""
        interval = self.intervals.get(name)
        return (interval is not None and interval.whole.says_something) or name in self.bounds

    def misfit(self, name: str, output: object) -> str:
        """What of a value that was computed is not as it is known to be."""
        if not isinstance(output, np.ndarray) or output.size == 0:
            return ""
        if (interval := self.intervals.get(name)) is not None:
            return misfit(interval, output)
        if (bounds := self.bounds.get(name)) is not None and output.dtype.kind in "iu":
            lowest, highest = int(output.min()), int(output.max())
            if lowest < bounds.lower or highest > bounds.upper:
                return f"{lowest}..{highest} outside {bounds.lower}..{bounds.upper}"
        return ""


def _by_name(known: Mapping[ir.Value, Any]) -> dict[str, Any]:
    return {str(value.name): found for value, found in known.items()}


def misfit(interval: Interval, output: Array) -> str:
    """What of a tensor is outside of its interval."""
    numbers = output.astype(np.float64)
    whole = interval.whole
    limits = f"{whole.lower!r}..{whole.upper!r}"
    if np.isnan(numbers).any() and not interval.nan:
        return f"NaN outside {limits}"
    with np.errstate(invalid="ignore"):
        outside = (numbers < interval.lower) | (numbers > interval.upper)
    return f"{numbers[outside][:3].tolist()} outside {limits}" if outside.any() else ""


def computed(model: onnx.ModelProto) -> list[str]:
    """The values that a model computes."""
    return [name for node in model.graph.node for name in node.output if name]


ENDS = "may end the process"
"""The name of a node that ends the process for some operands, unless it is enforced."""


def without_end(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without a node that may end the process; its operand is an output instead."""
    nodes = model.graph.node
    ending = next((node for node in nodes if node.name == ENDS), None)
    if ending is None:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    kept = [node for node in nodes if node.name != ENDS]
    del copy.graph.node[:], copy.graph.output[:]
    copy.graph.node.extend(kept)
    copy.graph.output.add(name=ending.input[0])
    return onnx.shape_inference.infer_shapes(copy)


def shown(feeds: Feeds) -> str:
    """What a model is run with, as text, but for long lists of numbers."""
    return ", ".join(f"{n} = {a.dtype}{list(a.shape)} {_some_of(a)}" for n, a in feeds.items())


def _some_of(array: Array) -> str:
    elements = array.ravel()[:_ELEMENTS].tolist()
    return f"{elements}{' ...' if array.size > _ELEMENTS else ''}"
