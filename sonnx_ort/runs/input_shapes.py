"""The shapes of random inputs, up to sizes that are open."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np

from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.errors.remedies import Advice, Option
from sonnx_ort.facts.sizes import LARGEST, LARGEST_WRITTEN
from sonnx_ort.ort.feeds import GraphInput
from sonnx_ort.profile.contract import Contract, SizeContract
from sonnx_ort.terms.operand import format_shape

_FIRST_SIZE = 3
"""The size that is tried first, for all open ones."""

_FURTHER_SIZES = (32, 64, 224, 8, 16, 48, 128, 256, 320, 512, 640)
"""Sizes of images, sequences and signals that models are often made for, in the order of trials."""

_SIZES_OF_ALL = (1, 8, 16, 32)
"""Sizes that are tried for all open ones, where the first axis may have to be like the others."""

_LARGEST_INPUT = 1 << 22
"""How many elements an input has at most whose sizes are chosen."""

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


class InputShapes:
    """The shapes of random inputs, up to sizes that are open, and limits of these by name."""

    def __init__(
        self,
        declared: Sequence[GraphInput],
        given: Mapping[str, Any],
        made: Sequence[GraphInput],
        sizes: Sizes,
        limits: Mapping[str, SizeContract],
    ) -> None:
        self._made, self._sizes, self._limits = made, sizes, limits
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
                    Advice(
                        f"{option}: the model has no open size "
                        f"'{name}'{did_you_mean(name, known)}; {those}; ",
                        Option("input_shapes"),
                        " sets all of an input",
                    )
                )
            _require_size(size, option)

    def _bind(self, name: str, size: int, source: str) -> None:
        """Give a name its size; raises if another source gave it another one."""
        known, before = self._named.setdefault(name, (size, source))
        if known != size:
            raise SonnxError(f"{source}: '{name}' is {size} there, and {known} by {before}")

    def _bind_shape(self, each: GraphInput, shape: tuple[int, ...]) -> None:
        option = _shape_option(each.name, shape)
        if each.shape is None:
            return
        fits = len(shape) == len(each.shape) and all(
            not _is_fixed(declared) or declared == size
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
        """The shape of an input, with a choice of the open sizes.

        Raises:
            SonnxError: It has more elements than any rule speaks of.
        """
        if each.name in self._sizes.shapes:
            shape = tuple(self._sizes.shapes[each.name])
        else:
            sizes = self._partly(each)
            shape = tuple(choice[size] if isinstance(size, str) else size for size in sizes)
        if math.prod(shape) > LARGEST:
            raise SonnxError(
                Advice(
                    f"the input '{each.name}' would be of shape {format_shape(shape)}, which has "
                    f"more than {LARGEST:,} elements; give smaller ",
                    *(Option("sizes"), " or ", Option("input_shapes")),
                )
            )
        return shape

    def open(self) -> tuple[str, ...]:
        """The open sizes, by name or axis."""
        sizes = (size for each in self._made for size in self._partly(each))
        return tuple(dict.fromkeys(size for size in sizes if isinstance(size, str)))

    def _partly(self, each: GraphInput) -> Iterator[int | str]:
        """The known sizes of an input, and the names or axes of those that are open."""
        if each.name in self._sizes.shapes:
            return
        if each.shape is None or each.dtype is None:
            or_its_shape = (", or its shape with ", Option("input_shapes"))
            raise SonnxError(
                Advice(
                    f"the input '{each.name}' has no declared shape; give it with ",
                    Option("inputs"),
                    *(() if each.dtype is None else or_its_shape),
                )
            )
        for axis, size in enumerate(each.shape):
            if _is_name(size):
                known = self._named.get(str(size))
                yield str(size) if known is None else known[0]
            else:
                yield size if _is_fixed(size) else f"axis {axis} of '{each.name}'"

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
        for tried in (of_all[0], *of_others, *of_all[1:]):
            choice = {name: self._allowed(name, size) for name, size in tried.items()}
            if choice not in seen and (not seen or self._is_small(choice)):
                seen.append(choice)
                yield choice

    def _allowed(self, name: str, size: int) -> int:
        """The largest size up to this that a contract allows, or else the smallest, but 0."""
        entry = self._limits.get(name)
        if entry is None:
            return size
        allowed = entry.sizes
        place = max((size - allowed[0]) // entry.multiple_of, 0)
        return allowed[min(place, len(allowed) - 1)] or allowed[min(1, len(allowed) - 1)]

    def _leading(self) -> set[str]:
        """The open sizes of first axes, along which examples are often stacked."""
        partly = [[*self._partly(each)] for each in self._made]
        return {sizes[0] for sizes in partly if len(sizes) > 1 and isinstance(sizes[0], str)}

    def _is_small(self, choice: Choice) -> bool:
        shapes = (self.of(each, choice) for each in self._made)
        return all(int(np.prod(shape, dtype=object)) <= _LARGEST_INPUT for shape in shapes)


def with_axes(declared: GraphInput, contract: Contract) -> GraphInput:
    """An input whose axes are those of a contract, where the model leaves them open."""
    axes = contract.axes_of(declared.name, declared.shape)
    if axes is None:
        return declared
    own = declared.shape or (None,) * len(axes)
    names = (axis.name if isinstance(axis, SizeContract) else axis for axis in axes)
    pairs = zip(own, names, strict=True)
    shape = tuple(size if _is_fixed(size) or name is None else name for size, name in pairs)
    return replace(declared, shape=shape)


def _is_fixed(size: int | str | None) -> TypeGuard[int]:
    """Whether a declared size is one; a negative one means an unknown one."""
    return isinstance(size, int) and size >= 0


def _is_name(size: int | str | None) -> bool:
    """Whether an open size has a name; exporters write '?' and 'None' for any size."""
    return isinstance(size, str) and size != "None" and any(map(str.isalpha, size))


def _shape_option(name: str, shape: Sequence[int]) -> str:
    return f"shape {name}={','.join(map(str, shape))}"


def _require_size(size: object, option: str) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SonnxError(f"{option}: {size} is no size; give an integer that is not negative")
    if size > LARGEST_WRITTEN:
        raise SonnxError(f"{option}: {size} is no size; the largest is {LARGEST_WRITTEN}")
