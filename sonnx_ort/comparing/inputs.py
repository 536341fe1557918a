"""The inputs of a run: those that are given, and random ones of the declared types and shapes.

Sizes that a model leaves open are those of the given inputs, or what the user says. Others are
chosen: the first of a few for which the model runs, no value is empty and all windows fit.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper

from sonnx_ort.comparing.isolated_run import Array, Failed, IsolatedRuns, profile_of
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.pipeline import require_serializable
from sonnx_ort.runtime.feeds import GraphInput, graph_inputs, numpy_dtype, what_is_wrong
from sonnx_ort.runtime.session_options import temporary_folder
from sonnx_ort.terms.operand import format_shape

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
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        if _KERNEL in attributes:
            node.name = f"window {number}"
            found[node.name] = attributes
    return found


def _misfits(event: Mapping[str, Any], windows: Mapping[str, Mapping[str, Any]]) -> bool:
    attributes = windows.get(str(event.get("name", "")).removesuffix(_SUFFIX))
    shape = next(_shapes(event, "input"), None)
    if attributes is None or shape is None or attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
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


_FIRST_SIZE = 3
"""The size that is tried first, for all open ones."""

_FURTHER_SIZES = (32, 64, 224, 8, 16, 48, 128, 256, 320, 512, 640)
"""Sizes of images, sequences and signals that models are often made for, in the order of trials."""

_SIZES_OF_ALL = (1, 8, 16, 32)
"""Sizes that are tried for all open ones, where the first axis may have to be like the others."""

_LARGEST_INPUT = 1 << 22
"""How many elements an input has at most whose sizes are chosen."""

_MOST_RUNS = 4
"""How many runs are compared by their defects: a model may have empty values in every run."""

_LARGEST = 9
"""Random integers have at most this absolute value, so that zeros and ones are likely."""

Choice = Mapping[str, int]
"""Sizes by the names of dimensions, or by axes such as `axis 1 of 'x'` without a name."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a user says of the shapes of random inputs.

    Attributes:
        named: The sizes of open dimensions, by their names in the model.
        shapes: The shapes of inputs, by the names of the inputs.
    """

    named: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)


UNSAID = Sizes()


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
        """A sentence on the sizes that were chosen; empty if none was."""
        if not self.chosen:
            return ""
        sizes = ", ".join(f"{name} = {size}" for name, size in self.chosen.items())
        why = "the model runs with these; sizes= and input_shapes= set others"
        if not self.able:
            why = (
                "the model does not run with these, nor with others that were tried; set them with "
                "sizes= or input_shapes="
            )
        return f"open sizes: {sizes} ({why})"


def complete(
    model: ReadModel,
    given: Mapping[str, Any],
    runs: IsolatedRuns,
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
) -> Inputs:
    """Find a value for each input of a model: random ones for those that are not given.

    Raises:
        SonnxError: A given input does not fit the model, none can be generated for an input, or
            sizes contradict the model.
    """
    declared = graph_inputs(model.proto)
    made = [
        each
        for each in declared
        if each.name not in given and (each.required or each.name in sizes.shapes)
    ]
    shapes = _Shapes(declared, given, made, sizes)

    def with_sizes(choice: Choice) -> dict[str, Any]:
        generator = np.random.default_rng(seed)
        random = {each.name: _random(each, shapes.of(each, choice), generator) for each in made}
        # In the order of the model.
        merged = {**given, **random}
        known = [each.name for each in declared if each.name in merged]
        return {name: merged[name] for name in (*known, *merged)}

    first: Choice = dict.fromkeys(shapes.open(), _FIRST_SIZE)
    arrays = with_sizes(first)
    if wrong := what_is_wrong(declared, arrays):
        raise SonnxError(*wrong.splitlines())
    suitable = _chosen(model, shapes, with_sizes, runs) if first else first
    chosen = first if suitable is None else suitable
    arrays = with_sizes(chosen)
    present = {name: value for name, value in arrays.items() if value is not None}
    return Inputs(present, seed, tuple(each.name for each in made), chosen, suitable is not None)


def _chosen(
    model: ReadModel, shapes: "_Shapes", with_sizes: Any, runs: IsolatedRuns
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


class _Shapes:
    """The shapes of random inputs, up to sizes that are open."""

    def __init__(
        self,
        declared: Sequence[GraphInput],
        given: Mapping[str, Any],
        made: Sequence[GraphInput],
        sizes: Sizes,
    ) -> None:
        self._made, self._sizes = made, sizes
        self._named: dict[str, tuple[int, str]] = {}
        """Sizes by name, each with who says it."""
        self._require_inputs(declared, given)
        self._require_names(declared)
        for name, size in sizes.named.items():
            self._bind(name, size, f"size {name}={size}")
        for each in made:
            if each.name in sizes.shapes:
                self._bind_shape(each, tuple(sizes.shapes[each.name]))
        stated = frozenset(self._named)
        for each in declared:
            if each.name in given:
                self._bind_given(each, given[each.name], stated)

    def _require_inputs(self, declared: Sequence[GraphInput], given: Mapping[str, Any]) -> None:
        names = [each.name for each in declared]
        for name, shape in self._sizes.shapes.items():
            option = _shape_option(name, shape)
            if name not in names:
                raise SonnxError(
                    f"{option}: there is no input '{name}'{did_you_mean(name, names)}; the model's "
                    f"inputs are {', '.join(names) or 'none'}"
                )
            if name in given:
                raise SonnxError(f"{option}: '{name}' is given, and has a shape; leave one out")
            for size in shape:
                _require_size(size, option)

    def _require_names(self, declared: Sequence[GraphInput]) -> None:
        names = {name: None for each in declared for name in each.shape or () if _is_name(name)}
        known = [*map(str, names)]
        for name, size in self._sizes.named.items():
            option = f"size {name}={size}"
            if name not in known:
                those = f"those that it names are {', '.join(known)}" if known else "it names none"
                raise SonnxError(
                    f"{option}: the model has no open size '{name}'{did_you_mean(name, known)}; "
                    f"{those}; input_shapes= sets all of an input"
                )
            _require_size(size, option)

    def _bind(self, name: str, size: int, source: str) -> None:
        known, before = self._named.setdefault(name, (size, source))
        if known != size:
            raise SonnxError(f"{source}: '{name}' is {size} there, and {known} by {before}")

    def _bind_shape(self, each: GraphInput, shape: tuple[int, ...]) -> None:
        option = _shape_option(each.name, shape)
        if each.shape is None:
            return
        fits = len(shape) == len(each.shape) and all(
            not (isinstance(declared, int) and declared >= 0) or declared == size
            for declared, size in zip(each.shape, shape, strict=True)
        )
        if not fits:
            raise SonnxError(
                f"{option}: the model declares {format_shape(each.shape)} for '{each.name}'"
            )
        for declared, size in zip(each.shape, shape, strict=True):
            if _is_name(declared):
                self._bind(str(declared), size, option)

    def _bind_given(self, each: GraphInput, value: Any, stated: frozenset[str]) -> None:
        shape = getattr(value, "shape", None)
        if not isinstance(shape, tuple) or each.shape is None or len(shape) != len(each.shape):
            return
        for declared, size in zip(each.shape, shape, strict=True):
            # A run takes given inputs that do not agree on a name; only what is said must.
            if _is_name(declared) and (declared in stated or declared not in self._named):
                self._bind(str(declared), size, f"the given input '{each.name}'")

    def of(self, each: GraphInput, choice: Choice) -> tuple[int, ...]:
        """The shape of an input, with a choice of the open sizes."""
        if each.name in self._sizes.shapes:
            return tuple(self._sizes.shapes[each.name])
        return tuple(choice[size] if isinstance(size, str) else size for size in self._partly(each))

    def open(self) -> tuple[str, ...]:
        """The open sizes, by name or axis."""
        sizes = (size for each in self._made for size in self._partly(each))
        return tuple(dict.fromkeys(size for size in sizes if isinstance(size, str)))

    def _partly(self, each: GraphInput) -> Iterator[int | str]:
        """The known sizes of an input, and the names or axes of those that are open."""
        if each.name in self._sizes.shapes:
            return
        if each.shape is None or each.dtype is None:
            raise SonnxError(
                f"the input '{each.name}' has no declared shape; give it with inputs="
                + ("" if each.dtype is None else ", or its shape with input_shapes=")
            )
        for axis, size in enumerate(each.shape):
            if _is_name(size):
                known = self._named.get(str(size))
                yield str(size) if known is None else known[0]
            else:
                # A negative size means an unknown one.
                fixed = isinstance(size, int) and size >= 0
                yield int(size) if fixed else f"axis {axis} of '{each.name}'"  # type: ignore[arg-type]

    def choices(self) -> Iterator[Choice]:
        """Choices of the open sizes that are worth a try, each once."""
        names = self.open()
        alone = self._leading()
        of_all = [dict.fromkeys(names, size) for size in (_FIRST_SIZE, *_SIZES_OF_ALL)]
        of_others = [
            {name: 1 if name in alone else size for name in names}
            for size in _FURTHER_SIZES
            if set(names) - alone
        ]
        seen: list[Choice] = []
        for choice in (of_all[0], *of_others, *of_all[1:]):
            if choice not in seen and (not seen or self._is_small(choice)):
                seen.append(choice)
                yield choice

    def _leading(self) -> set[str]:
        """The open sizes of first axes, along which examples are often stacked."""
        partly = [[*self._partly(each)] for each in self._made]
        return {sizes[0] for sizes in partly if len(sizes) > 1 and isinstance(sizes[0], str)}

    def _is_small(self, choice: Choice) -> bool:
        shapes = (self.of(each, choice) for each in self._made)
        return all(int(np.prod(shape, dtype=object)) <= _LARGEST_INPUT for shape in shapes)


def _is_name(size: int | str | None) -> bool:
    """Whether an open size has a name; exporters write '?' and 'None' for any size."""
    return isinstance(size, str) and size != "None" and any(map(str.isalpha, size))


def _shape_option(name: str, shape: Sequence[int]) -> str:
    return f"shape {name}={','.join(map(str, shape))}"


def _require_size(size: object, option: str) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SonnxError(f"{option}: {size} is no size; give an integer that is not negative")


def _random(declared: GraphInput, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    dtype = numpy_dtype(declared)
    if dtype.kind == "f" or dtype == ml_dtypes.bfloat16:
        return np.asarray(generator.uniform(-1, 1, shape)).astype(dtype)
    match dtype.kind:
        case "b":
            return np.asarray(generator.integers(0, 1, shape, endpoint=True)).astype(dtype)
        case "i" | "u":
            least = 0 if dtype.kind == "u" else -_LARGEST
            return np.asarray(generator.integers(least, _LARGEST, shape, endpoint=True)).astype(
                dtype
            )
        case _:
            raise SonnxError(
                f"no random tensor can be made for the input '{declared.name}'; give it with "
                "inputs="
            )
