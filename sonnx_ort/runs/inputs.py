"""The inputs of a run: those that are given, and random ones of the declared types and shapes.

Sizes that a model leaves open are those of the given inputs, or what the user says. Others are
chosen: the first of a few for which the model runs, no value is empty and all windows fit. What is
drawn or chosen keeps a contract.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Option, Remedy
from sonnx_ort.facts.attributes import GRAPHS, plain_value
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.ort.feeds import GraphInput, as_tensors, graph_inputs, numpy_dtype, what_is_wrong
from sonnx_ort.ort.session_options import temporary_folder
from sonnx_ort.profile.contract import NO_CONTRACT, Contract, ValueContract
from sonnx_ort.profile.contract_rules import (
    ShapeDemand,
    contract_requirement,
    contract_rule,
    shape_demands,
)
from sonnx_ort.runs.input_shapes import UNSAID, Choice, InputShapes, Sizes, with_axes
from sonnx_ort.runs.isolated_run import Array, Failed, IsolatedRuns, profile_of
from sonnx_ort.runs.limits import Limits
from sonnx_ort.terms.numbers import finite_numbers

_KERNEL = "kernel_shape"
_SUFFIX = "_kernel_time"
"""What ONNX Runtime's profile appends to the name of a node."""


def count_defects(model: bytes, folder: Path | None, feeds: Mapping[str, Any]) -> int:
    """Run a model, and count what too small inputs cause: empty results, and misfitting windows.

    Of a window that is larger than its padded operand, ONNX Runtime pools an element all the same.

    The folder is that of external data; None if there is none.

    Raises:
        Exception: It does not run.
    """
    proto = onnx.load_from_string(model)
    windows = _name_windows(proto)
    with temporary_folder() as place:
        profile = profile_of(proto.SerializeToString(), folder, feeds, place)
        events = json.loads(profile.read_text(encoding="utf-8", errors="replace"))
    empty = sum(0 in shape for event in events for shape in _shapes(event, "output"))
    return empty + sum(_misfits(event, windows) for event in events)


def _name_windows(model: onnx.ModelProto) -> dict[str, Mapping[str, Any]]:
    """Give the nodes that have windows names of their own, and find their attributes."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, node in enumerate(all_nodes(model)):
        attributes = {
            each.name: plain_value(each, "replace")
            for each in node.attribute
            if each.type not in GRAPHS
        }
        # The kernels that check operands have their attributes as texts, and no windows.
        if isinstance(attributes.get(_KERNEL), list):
            node.name = f"window {number}"
            found[node.name] = attributes
    return found


def _misfits(event: Mapping[str, Any], windows: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an event is of a window that is larger than its padded operand."""
    attributes = windows.get(str(event.get("name", "")).removesuffix(_SUFFIX))
    shape = next(_shapes(event, "input"), None)
    if attributes is None or shape is None or attributes.get("auto_pad", "NOTSET") != "NOTSET":
        return False
    kernel: Sequence[int] = attributes[_KERNEL]
    steps = attributes.get("dilations", [1] * len(kernel))
    pads = attributes.get("pads", [0] * 2 * len(kernel))
    return any(
        size + before + after < (width - 1) * step + 1
        for size, before, after, width, step in zip(
            shape[2:], pads, pads[len(kernel) :], kernel, steps, strict=False
        )
    )


def _shapes(event: Mapping[str, Any], of: str) -> Iterator[list[int]]:
    """The shapes of the tensors that a node reads or gives, as ONNX Runtime's profile has them."""
    for tensor in event.get("args", {}).get(f"{of}_type_shape", []):
        yield from tensor.values()


_MOST_RUNS = 4
"""How many runs are compared by their defects: a model may have empty values in every run."""

_LARGEST = 9
"""Random integers have at most this absolute value, so that zeros and ones are likely."""

_FAR = 10**6
"""Random numbers of a wide range are at most this far from 0, or from the end that is next to 0."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a run.

    Attributes:
        arrays: All of them, by name.
        random: The names of the random ones.
        chosen: The sizes that neither the model nor the user says.
        able: Whether the model runs with the chosen sizes.
    """

    arrays: Mapping[str, Any]
    seed: int = 0
    random: tuple[str, ...] = ()
    chosen: Choice = field(default_factory=dict)
    able: bool = True

    def origin(self, name: str) -> str:
        """A remark on where an input comes from; empty if it was given."""
        return f" (random, seed {self.seed})" if name in self.random else ""

    @property
    def note(self) -> str:
        """The open sizes that were chosen, and how others are; empty if none was."""
        if not self.chosen:
            return ""
        sizes = ", ".join(f"{name} = {size}" for name, size in self.chosen.items())
        named, whole = Option("sizes"), Option("input_shapes")
        why = Advice("the model runs with these; ", named, " and ", whole, " set others")
        if not self.able:
            why = Advice(
                "the model does not run with these, nor with others that were tried; set them "
                "with ",
                *(named, " or ", whole),
            )
        return Advice(f"{sizes} (", why, ")")


def require_seed(seed: int) -> None:
    """Refuse a seed that no generator of random numbers takes.

    Raises:
        SonnxError: It is negative.
    """
    if seed < 0:
        raise SonnxError(Advice(Remedy("seed", seed), " is negative; give a number of 0 or more"))


def complete(  # noqa: PLR0913 - a model, and each thing that is said of its inputs
    model: ReadModel,
    given: Mapping[str, Any],
    runs: IsolatedRuns,
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    contract: Contract = NO_CONTRACT,
) -> Inputs:
    """Find a value for each input of a model: random ones for those that are not given.

    Random inputs keep a contract for the model, up to the sizes that the user says.

    Raises:
        SonnxError: A given input does not fit the model, none can be generated for an input, the
            seed is negative, or sizes contradict the model.
    """
    require_seed(seed)
    stated = graph_inputs(model.proto)
    declared = [with_axes(each, contract) for each in stated]
    made = [
        each
        for each in declared
        if each.name not in given and (each.required or each.name in sizes.shapes)
    ]
    shapes = InputShapes(
        declared, given, made, sizes, {entry.name: entry for entry in contract.sizes}
    )

    def with_sizes(choice: Choice) -> dict[str, Any]:
        generator = np.random.default_rng(seed)
        for each in made:
            _require_room(each.name, shapes.of(each, choice), runs.limits)
        random = {
            each.name: _random(each, shapes.of(each, choice), generator, contract.of(each.name))
            for each in made
        }
        # In the order of the model.
        merged = {**given, **random}
        known = [each.name for each in declared if each.name in merged]
        return {name: merged[name] for name in (*known, *merged)}

    first = next(shapes.choices())
    arrays = with_sizes(first)
    if wrong := what_is_wrong(stated, arrays):
        raise SonnxError(*wrong.splitlines())
    suitable = _chosen(model, shapes, with_sizes, runs) if first else first
    chosen = first if suitable is None else suitable
    arrays = with_sizes(chosen)
    present = {name: value for name, value in arrays.items() if value is not None}
    return Inputs(present, seed, tuple(each.name for each in made), chosen, suitable is not None)


_BYTES_OF_ELEMENT = 8
"""Numbers are drawn in types of 64 bits."""


def _require_room(name: str, shape: Sequence[int], limits: Limits) -> None:
    """Refuse a random input that has no room in memory, before it is made.

    Raises:
        SonnxError: It has none.
    """
    needed = math.prod(shape) * _BYTES_OF_ELEMENT
    if needed > limits.bytes:
        raise SonnxError(
            Advice(
                f"a random input '{name}' of shape {tuple(shape)} takes more than "
                f"{limits.bytes / 1e6:.0f} MB of memory; choose smaller sizes with ",
                *(Option("sizes"), " or ", Option("input_shapes")),
            )
        )


def complete_within(
    model: ReadModel,
    given: Mapping[str, Any],
    runs: IsolatedRuns,
    *,
    contract: Contract,
    **how: Any,
) -> Inputs:
    """What `complete` finds with arrays of any kind, none of which breaks the contract.

    Raises:
        SonnxError: As of `complete`, or an input breaks the contract.
    """
    declared = graph_inputs(model.proto)
    made = complete(model, as_tensors(declared, given), runs, contract=contract, **how)
    require_within(contract, declared, made.arrays)
    return made


def require_within(
    contract: Contract, declared: Sequence[GraphInput], arrays: Mapping[str, Any]
) -> None:
    """Refuse the inputs of a run of a model that break a contract.

    Raises:
        SonnxError: One breaks it.
    """
    axes = [(each.name, each.shape) for each in declared if each.name in arrays]
    demands = shape_demands(contract, axes) if contract.limits_sizes else {}
    limited = (each for e in contract.values if e.value in arrays for each in e.demands)
    entries: list[ShapeDemand | ValueContract] = [*demands.values(), *limited]
    for entry in entries:
        names = (entry.value,) if isinstance(entry, ValueContract) else entry.operands
        requirement = contract_requirement(entry)
        violation = requirement.violation_of(names, [arrays[each] for each in names])
        if violation is not None:
            rule = contract_rule(entry)
            raise SonnxError(
                f"the input '{names[0]}' breaks {rule.id}: {violation.reason}",
                f"the rule: {rule.sentence}",
                Advice("to fix it: ", rule.example.remedy),
            )


def _chosen(
    model: ReadModel, shapes: InputShapes, with_sizes: Any, runs: IsolatedRuns
) -> Choice | None:
    """The sizes with the fewest defects of the first that let the model run; None if none do."""
    content = require_serializable(model.proto)
    able: list[tuple[int, Choice]] = []
    for choice in shapes.choices():
        defects = runs.call(count_defects, content, model.folder, with_sizes(choice))
        if isinstance(defects, Failed):
            continue
        able.append((defects, choice))
        if defects == 0 or len(able) == _MOST_RUNS:
            break
    return min(able, key=lambda each: each[0])[1] if able else None


def _random(
    declared: GraphInput,
    shape: tuple[int, ...],
    generator: np.random.Generator,
    entry: ValueContract | None,
) -> Array:
    dtype = numpy_dtype(declared)
    if entry is not None and entry.axis is not None:
        place = entry.axis % len(shape)
        others = (*shape[:place], *shape[place + 1 :])
        alone = (replace(entry, range=ends, axis=None) for ends in entry.ranges)
        return np.stack([_random(declared, others, generator, e) for e in alone], axis=place)
    if dtype.kind == "f" or dtype == ml_dtypes.bfloat16:
        lower, upper = _ends(entry, 1, finite_numbers(dtype))
        drawn = np.asarray(generator.uniform(lower, upper, shape))
        if entry is not None and entry.whole:
            drawn = np.rint(drawn).clip(math.ceil(lower), math.floor(upper))
        return drawn.astype(dtype)
    match dtype.kind:
        case "b":
            return np.asarray(generator.integers(0, 1, shape, endpoint=True)).astype(dtype)
        case "i" | "u":
            limits = np.iinfo(dtype)
            lower, upper = _ends(entry, _LARGEST, (limits.min, limits.max))
            whole = math.ceil(lower), math.floor(upper)
            wide: Any = np.uint64 if dtype.kind == "u" else np.int64
            drawn = generator.integers(*whole, shape, dtype=wide, endpoint=True)
            return np.asarray(drawn).astype(dtype)
        case _:
            raise SonnxError(
                Advice(
                    f"no random tensor can be made for the input '{declared.name}'; give it with ",
                    Option("inputs"),
                )
            )


def _ends(
    entry: ValueContract | None, largest: int, limits: tuple[float, float]
) -> tuple[float, float]:
    """The smallest and the largest random number, within the limits of its type.

    `largest` is the largest magnitude if no contract has a range.
    """
    (lower, upper), *_ = (entry.ranges if entry else ()) or ((-largest, largest),)
    near = max(lower, min(-_FAR, upper - _FAR)), min(upper, max(_FAR, lower + _FAR))
    lower, upper = (min(max(end, limits[0]), limits[1]) for end in near)
    return lower, upper
