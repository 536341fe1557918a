"""A proposed contract, and the TOML file that says it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sonnx_ort.profile.contract import Contract, ShapeContract, SizeContract, ValueContract


@dataclass(frozen=True, slots=True)
class ProposedContract:
    """A contract, and what it is made of.

    Attributes:
        contract: The contract.
        samples: How many samples were run; 0 if none was given.
        checkpoints: The number of elements that a run checks at each value inside of the model.
        finite: How many float values are finite for every input within the contract.
        floats: How many float values the nodes of the graph compute.
        open: The values that are not, although all that their nodes read is finite.
        remarks: What samples have that an entry does not say, or not as usual, by the name of the
            input.
    """

    contract: Contract
    samples: int
    checkpoints: Mapping[str, int]
    finite: int
    floats: int
    open: tuple[str, ...]
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def toml(self) -> str:
        """The contract as a file."""
        return "\n".join(_lines(self))


def _lines(proposed: ProposedContract) -> Iterator[str]:
    yield "# What the values of the model may be. Judge each range before you use it."
    contract = proposed.contract
    sections: dict[str, list[str]] = {}
    for typed in contract.types:
        sections.setdefault(typed.input, []).append(f"dtype = {_quoted(typed.dtype)}")
    carried = {state.output for state in contract.states}
    for entry in (each for each in contract.values if each.value not in carried):
        sections.setdefault(entry.value, []).extend(_number_lines(entry))
    for shape in contract.shapes:
        sections.setdefault(shape.input, []).append(_shape_line(shape))
    for name, remark in proposed.remarks.items():
        if name in sections:
            sections[name].append(f"# {remark}")
        else:
            yield f"# {_quoted(name)}: {remark}"
    for name, lines in sections.items():
        section = "values" if name in proposed.checkpoints else "inputs"
        yield from ("", f"[{section}.{_quoted(name)}]", *lines)
    if contract.sizes:
        yield from ("", "[sizes]", *map(_size_line, contract.sizes))
    if contract.states:
        states = (f"{_quoted(each.input)} = {_quoted(each.output)}" for each in contract.states)
        yield from ("", "[states]", *states)
    yield ""


def _number_lines(entry: ValueContract) -> Iterator[str]:
    ranges = [f"[{_number(lower)}, {_number(upper)}]" for lower, upper in entry.ranges]
    if entry.axis is not None:
        yield from (f"axis = {entry.axis}", f"range = [{', '.join(ranges)}]")
    elif ranges:
        yield f"range = {ranges[0]}"
    if entry.whole:
        yield "whole = true"
    elif not ranges:
        yield "finite = true"
    if entry.message:
        yield f"message = {_quoted(entry.message)}"


def _shape_line(entry: ShapeContract) -> str:
    axes = (str(axis) if isinstance(axis, int) else _quoted(axis or "?") for axis in entry.axes)
    return f"shape = [{', '.join(axes)}]"


def _size_line(entry: SizeContract) -> str:
    parts = [f"range = [{entry.least}, {entry.most}]"]
    if entry.multiple_of > 1:
        parts.append(f"multiple_of = {entry.multiple_of}")
    if entry.message:
        parts.append(f"message = {_quoted(entry.message)}")
    if len(parts) > 1:
        return f"{_key(entry.name)} = {{ {', '.join(parts)} }}"
    sizes = str(entry.least) if entry.least == entry.most else parts[0].removeprefix("range = ")
    return f"{_key(entry.name)} = {sizes}"


def _key(name: str) -> str:
    """A key of TOML, in quotation marks if it has other letters than bare keys."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    plain = "".join(
        f"\\u{ord(letter):04x}" if ord(letter) < ord(" ") or letter in '"\\\x7f' else letter
        for letter in text
    )
    return f'"{plain}"'


def _number(end: float) -> str:
    return repr(end if isinstance(end, int) else float(end))
