"""Options that help, as data: a name, a value and what that states of the use of a model.

A sentence that advises an option is an `Advice`: a text for readers of Python, which knows where
options stand in it, and so can name those of the command instead.
"""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

Value = bool | int | float | str | tuple[int, ...] | None
"""The value of an option: a tuple holds the sizes of a shape, True alone switches an option on, and
None is a value that a person has to choose."""

_CHOSEN, _CHOSEN_SHAPE = "VALUE", "SIZES"
"""What stands in the place of a value, or of a shape, that a person has to choose."""

_COMMAND_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "assume_shapes": "--assume-shape",
        "input_shapes": "--input-shape",
        "inputs": "--input",
        "sizes": "--size",
    }
)
"""The options of the command that are named otherwise than those of the functions."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option as such, for which a sentence names no value.

    Attributes:
        name: Its name as an argument of a function, such as "input_shapes".
        command: The command's option, if its name does not follow from that.
    """

    name: str
    command: str = ""

    @property
    def in_command(self) -> str:
        """Its name for the command."""
        return self.command or _COMMAND_NAMES.get(self.name) or f"--{self.name.replace('_', '-')}"

    @property
    def in_python(self) -> str:
        """Its name for a function."""
        return f"{self.name}="


@dataclass(frozen=True, slots=True)
class Remedy:
    """An option that helps.

    Attributes:
        option: Its name as an argument of a function, such as "assume_shapes".
        value: Its value.
        name: Of an option that is given for an input, the name of the input.
    """

    option: str
    value: Value = True
    name: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that give it to the command."""
        option = Option(self.option).in_command
        if self.value is True and not self.name:
            return (option,)
        return option, f"{self.name}={self._text}" if self.name else self._text

    @property
    def in_command(self) -> str:
        """How it is given to the command, in a shell."""
        return shlex.join(self.words)

    @property
    def in_python(self) -> str:
        """How it is given to a function."""
        match self.value:
            case None:
                value = self._placeholder
            case str(text):
                value = json.dumps(text, ensure_ascii=False)
            case float(number):
                value = short(number)
            case other:
                value = repr(other)
        if self.name:
            value = f"{{{self.name!r}: {value}}}"
        return f"{self.option}={value}"

    @property
    def _placeholder(self) -> str:
        return _CHOSEN_SHAPE if self.option == "assume_shapes" else _CHOSEN

    @property
    def _text(self) -> str:
        """The value as a command takes it; a placeholder if the user has to choose it."""
        match self.value:
            case bool():
                return str(self.value).lower()
            case None:
                return self._placeholder
            case tuple():
                return ",".join(map(str, self.value))
            case float(number):
                return short(number)
            case _:
                return str(self.value)


def arguments_of(remedies: Iterable[Remedy]) -> dict[str, Any]:
    """The arguments of a function that give all of these options."""
    found: dict[str, Any] = {}
    for each in remedies:
        if each.name:
            found.setdefault(each.option, {})[each.name] = each.value
        else:
            found[each.option] = each.value
    return found


def short(number: float) -> str:
    """A number as people write it, with all of its digits."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


Part = str | Option | Remedy
"""What a text is joined of: other texts and options."""


class Advice(str):
    """A text that may advise options; as a string it names those of the functions.

    Attributes:
        parts: The text between the options, and the options, in their order.
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> "Advice":
        """Join texts, other advice and options."""
        flat = tuple(_flat(parts))
        texts = (part if isinstance(part, str) else part.in_python for part in flat)
        made = super().__new__(cls, "".join(texts))
        made.parts = flat
        return made

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The options that it advises, each once."""
        return tuple(dict.fromkeys(part for part in self.parts if isinstance(part, Remedy)))

    @property
    def in_command(self) -> str:
        """The text with the options of the command."""
        return "".join(part if isinstance(part, str) else part.in_command for part in self.parts)

    def with_texts(self, changed: Callable[[str], str]) -> "Advice":
        """The same advice, with each text between the options changed."""
        return Advice(*(changed(part) if isinstance(part, str) else part for part in self.parts))


def in_command(text: str) -> str:
    """A text with the options of the command, if it is advice; any other text as it is."""
    return text.in_command if isinstance(text, Advice) else text


def listed(remedies: Iterable[Remedy]) -> Advice:
    """Options one after the other."""
    return joined(" ", remedies)


def joined(separator: str, parts: Iterable[Part]) -> Advice:
    """Texts and options with a separator in between."""
    between: list[Part] = []
    for each in parts:
        between += [separator, each] if between else [each]
    return Advice(*between)


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Advice):
            yield from part.parts
        else:
            yield part
