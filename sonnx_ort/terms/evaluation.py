"""Whether a term holds of shapes, as far as they are known, and why, in words."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.terms.language import (
    All,
    Compare,
    Decided,
    Each,
    Either,
    HasAxis,
    IfGiven,
    IsMultiple,
    Number,
    OfShape,
    Rank,
    Size,
    SizesBehind,
    Tensor,
    Term,
    Times,
)
from sonnx_ort.terms.operand import Dimension, OpenSize, Shape, bounds_of_axis, format_shape


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a term holds, and why.

    Attributes:
        holds: Whether it does; None if that is decided in a run.
        words: What is so, or unknown, as a clause.
    """

    holds: bool | None
    words: str


class _NoNumberError(Exception):
    """A number is not known, or does not exist; the answer says it."""

    def __init__(self, holds: bool | None, words: str) -> None:
        super().__init__(words)
        self.answer = Answer(holds, words)


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of operands, as far as they are known.

    Attributes:
        shapes: Those of the operands that are not omitted, by name; None where a rank is unknown.
        certain: Whether an open size of an operand, given its name and the text of the size, is the
            same number wherever the text stands.
    """

    shapes: Mapping[str, Shape | None]
    certain: Callable[[str, Dimension], bool]

    def answer(self, term: Term) -> Answer:
        """Whether a term holds of them, and why."""
        found = self._answer(term)
        return Answer(found.holds, self._with_shapes_once(found.words))

    def _answer(self, term: Term) -> Answer:  # noqa: PLR0911 - a case for each constructor
        match term:
            case Decided(holds, words):
                return Answer(holds, words)
            case OfShape(terms, tensor, sizes):
                found = _all_hold([self._answer(each) for each in terms])
                return Answer(True, self._of_shape(tensor, sizes)) if found.holds else found
            case All(terms):
                return _all_hold([self._answer(each) for each in terms])
            case Either(terms):
                return _any_holds([self._answer(each) for each in terms])
            case Each() if not self.shapes:
                return Answer(True, "no such operand is given")
            case Each(of):
                return _all_hold([self._answer(of(Tensor(name))) for name in self.shapes])
            case IfGiven(tensor, inner) if tensor.name in self.shapes:
                return self._answer(inner)
            case IfGiven(tensor, _):
                return Answer(True, f"{tensor.name} is left out")
        try:
            return self._of_numbers(term)
        except _NoNumberError as error:
            return error.answer

    def _of_numbers(self, term: Compare | IsMultiple | HasAxis | SizesBehind) -> Answer:
        match term:
            case Compare():
                return self._compared(term)
            case IsMultiple(number, factor):
                return self._multiple(number, factor)
            case HasAxis(tensor, axis, or_end):
                rank = len(self._shape(tensor))
                holds = -rank <= axis < rank + or_end
                has = "has" if holds else "has no"
                return Answer(holds, f"{self._with_shape(tensor)} {has} axis {axis}")
            case SizesBehind(tensor, axis, longest):
                return self._none_longer_after(tensor, axis, longest)

    def _compared(self, term: Compare) -> Answer:
        left, right = self._value(term.left), self._value(term.right)
        one, other = self._phrase(term.left), self._phrase(term.right)
        claim = f"{one} {term.relation} {other}"
        if isinstance(left, int) and isinstance(right, int):
            if term.relation.holds(left, right):
                return Answer(True, claim)
            if isinstance(term.right, int):
                wanted = f"{term.relation} {right}".removeprefix("is ")
                return Answer(False, f"{one} is {left}, not {wanted}")
            return Answer(False, f"{one} is {left}, and {other} is {right}")
        same = left is not None and left == right
        if same and self._is_certain(term.left) and self._is_certain(term.right):
            return Answer(True, claim)
        holds = term.relation.decided(self._bounds(term.left), self._bounds(term.right))
        if holds is not None:
            known = (each for each in (term.left, term.right) if not isinstance(each, int))
            sizes = " and ".join(f"{self._phrase(each)} is {self._bounds(each)}" for each in known)
            return Answer(holds, sizes)
        return Answer(None, f"whether {claim} is unknown")

    def _multiple(self, number: Number, factor: int) -> Answer:
        value, claim = self._value(number), f"{self._phrase(number)} is a multiple of {factor}"
        if factor == 1:
            return Answer(True, claim)
        if isinstance(value, OpenSize) and value.size.is_multiple_of(factor):
            return Answer(True, claim)
        if not isinstance(value, int):
            return Answer(None, f"whether {claim} is unknown")
        if value % factor == 0:
            return Answer(True, claim)
        return Answer(False, f"{self._phrase(number)} is {value}, no multiple of {factor}")

    def _none_longer_after(self, tensor: Tensor, axis: int, longest: int) -> Answer:
        shape, named = self._shape(tensor), self._with_shape(tensor)
        if not -len(shape) <= axis < len(shape):
            return Answer(False, f"{named} has no axis {axis}")
        after = list(enumerate(shape))[axis % len(shape) + 1 :]
        for place, size in after:
            if bounds_of_axis(size).lower > longest:
                return Answer(False, f"axis {place} of {named} is longer than {longest}")
        for place, size in after:
            if bounds_of_axis(size).upper > longest:
                return Answer(
                    None, f"whether axis {place} of {named} is longer than {longest} is unknown"
                )
        return Answer(True, f"no axis of {named} after axis {axis} is longer than {longest}")

    def _shape(self, tensor: Tensor) -> Shape:
        if tensor.name not in self.shapes:
            raise _NoNumberError(None, f"{tensor.name} is left out")
        shape = self.shapes[tensor.name]
        if shape is None:
            raise _NoNumberError(None, f"the rank of {tensor.name} is unknown")
        return shape

    def _value(self, number: int | Number) -> Dimension:
        match number:
            case int():
                return number
            case Rank(tensor):
                return len(self._shape(tensor))
            case Size(tensor, axis):
                shape = self._shape(tensor)
                if not -len(shape) <= axis < len(shape):
                    raise _NoNumberError(False, f"{self._with_shape(tensor)} has no axis {axis}")
                return shape[axis]
            case Times(factor, inner):
                value = self._value(inner)
                return factor * value if isinstance(value, int) else None

    def _bounds(self, number: int | Number) -> Bounds:
        """What a number is within, which is in no run negative."""
        if isinstance(number, Times):
            inner = self._bounds(number.number)
            return Bounds(number.factor * inner.lower, number.factor * inner.upper)
        return bounds_of_axis(self._value(number))

    def _is_certain(self, number: int | Number) -> bool:
        match number:
            case Size(tensor, axis):
                return self.certain(tensor.name, self._shape(tensor)[axis])
        return True

    def _with_shape(self, tensor: Tensor) -> str:
        return f"{tensor.name} {format_shape(self._shape(tensor))}"

    def _phrase(self, number: int | Number) -> str:
        match number:
            case Rank(tensor):
                return f"the rank of {self._with_shape(tensor)}"
            case Size(tensor, axis):
                return f"axis {axis} of {self._with_shape(tensor)}"
            case Times(factor, inner):
                return f"{factor} times {self._phrase(inner)}"
        return str(number)

    def _of_shape(self, tensor: Tensor, sizes: Sequence[int | Number]) -> str:
        phrases = ", ".join(map(self._phrase, sizes))
        return f"the shape of {self._with_shape(tensor)} is ({phrases}{',' * (len(sizes) == 1)})"

    def _with_shapes_once(self, words: str) -> str:
        """The words with the shape of each operand only where it is named first."""
        lengths = sorted({len(name) for name in self.shapes}, reverse=True)
        named, parts, start = set[str](), list[str](), 0
        at = words.find(" (")
        while at >= 0:
            # A Concat may have thousands of operands, so names are looked up and not searched for.
            names = (words[at - length : at] for length in lengths if length <= at)
            name = next((each for each in names if self._is_shown(each, words, at + 1)), None)
            end = at + 1
            if name is not None:
                end += len(format_shape(self.shapes[name]))
                if name in named:
                    parts.append(words[start:at])
                    start = end
                named.add(name)
            at = words.find(" (", end)
        return "".join([*parts, words[start:]])

    def _is_shown(self, name: str, words: str, at: int) -> bool:
        """Whether a name is that of an operand, and its shape begins at a place of a text."""
        return name in self.shapes and words.startswith(format_shape(self.shapes[name]), at)


def _all_hold(answers: Sequence[Answer]) -> Answer:
    for worst in (False, None):
        for each in answers:
            if each.holds is worst:
                return each
    return Answer(True, " and ".join(each.words for each in answers) or "nothing is demanded")


def _any_holds(answers: Sequence[Answer]) -> Answer:
    for best in (True, None):
        for each in answers:
            if each.holds is best:
                return each
    return Answer(False, ", and ".join(each.words for each in answers))


@functools.lru_cache(maxsize=4096)
def answer_in_run(
    term: Term, names: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]
) -> Answer:
    """Whether a term holds of the shapes of a run, and why; most runs have the same shapes."""
    return Shapes(dict(zip(names, shapes, strict=True)), lambda _, __: True).answer(term)
