"""Tensors, values and differences, as text."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.errors import printable
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.facts.decimals import at_most
from sonnx_ort.reporting.terminal import fitted, in_columns
from sonnx_ort.runs.diff.against_plain import AgainstPlain, Cause, Repeated
from sonnx_ort.runs.diff.difference import Comparison, Measure, Mismatch, Survey
from sonnx_ort.runs.inputs import Inputs
from sonnx_ort.runs.isolated_run import CPU, Level, Settings

_SHOWN = 8


def describe_value(name: str, value: object) -> Iterator[str]:
    """A tensor, a sequence, a map or an absent value: a line, and one for each member."""
    match value:
        case None:
            yield printable(f"{name}: absent")
        case dict():
            shown = ", ".join(f"{key!r}: {value[key]!r}" for key in list(value)[:_SHOWN])
            more = f" and {len(value) - _SHOWN} more" if len(value) > _SHOWN else ""
            yield printable(f"{name}: map {{{shown}}}{more}")
        case list():
            yield printable(f"{name}: sequence of {len(value)}")
            for number, each in enumerate(value[:_SHOWN]):
                yield from (f"  {line}" for line in describe_value(f"{name}[{number}]", each))
            if len(value) > _SHOWN:
                yield f"  and {len(value) - _SHOWN} more"
        case _:
            yield describe_tensor(name, np.asarray(value))


def described_inputs(inputs: Inputs) -> Iterator[str]:
    """The inputs of a run, a line for each, with what was made up of them."""
    for name, value in inputs.arrays.items():
        origin = inputs.origin(name)
        yield from (f"input {line}{origin}" for line in describe_value(name, value))
    if inputs.note:
        yield printable(f"open sizes: {in_command(inputs.note)}")


def describe_tensor(name: str, tensor: npt.NDArray[Any]) -> str:
    """Name, dtype, shape and first elements of a tensor, on one line."""
    elements = np.array2string(
        tensor.reshape(-1)[:_SHOWN], separator=", ", max_line_width=10_000, threshold=_SHOWN
    )
    dtype = "string" if tensor.dtype.kind in "OU" else tensor.dtype
    more = f" and {tensor.size - _SHOWN} more" if tensor.size > _SHOWN else ""
    return printable(f"{name}: {dtype} {tuple(tensor.shape)} {elements}{more}")


_LETTERS = ("A", "B")


def difference_report(found: Survey, names: tuple[str, str], *, every: bool = False) -> str:
    """The text of a comparison: its inputs, the first difference, and where a run ended early.

    Of many samples there is a table of the values that differ in one of them, and the text of the
    first of these. With `every`, each value of the first model is listed.
    """
    sample, comparison = found.shown
    lines = [f"{letter}: {name}" for letter, name in zip(_LETTERS, names, strict=True)]
    if len(found.samples) > 1:
        lines += [f"samples: {len(found.samples)}, of which {len(found.unequal)} differ", ""]
        lines += [*_table(found, comparison, every=every), f"sample {sample}:"]
    lines += described_inputs(comparison.inputs)
    lines += ["", *_verdict(comparison), ""]
    if every:
        lines += [*_values(comparison), ""]
    lines += _compared(comparison)
    return fitted("\n".join(map(printable, lines)))


def cause_report(cause: Cause, runs: AgainstPlain, model: str, *, every: bool = False) -> str:
    """The text of what makes two runs of a model differ, and of the nodes that it changes."""
    plain, other = cause.settings
    lines = [f"A: {model}, {_run(plain)}", f"B: {model}, {_run(other)}"]
    lines += [*described_inputs(runs.inputs), "", *_verdict(cause.comparison)]
    if cause.optimizers:
        them = "it" if len(cause.optimizers) == 1 else "them"
        lines += ["", f"made by {', '.join(cause.optimizers)}: without {them}, B is as A"]
        for head, nodes in (("nodes gone", cause.gone), ("nodes new", cause.new)):
            shown = nodes if every else nodes[:_SHOWN]
            lines += [f"{head}:", *(f"    {node}" for node in shown)] if nodes else []
            if more := len(nodes) - len(shown):
                lines.append(f"    and {more} more; --all shows them")
    elif not cause.comparison.equal:
        lines += ["", "not made by optimizers: it is there without them too"]
    lines += _seeded(runs.seeded)
    return fitted("\n".join(map(printable, lines)))


def repeat_report(found: Sequence[Repeated], runs: AgainstPlain, model: str) -> str:
    """The text of runs in several ways: how many differ from a plain one, and in which values."""
    lines = [f"model: {model}", *described_inputs(runs.inputs)]
    lines += [f"plain run: {_run(runs.plain)}", "", *in_columns([*_way_rows(found)])]
    places = dict.fromkeys(start for each in found for start in each.starts)
    if places:
        rows = [(p, ", ".join(each.way for each in found if p in each.starts)) for p in places]
        lines += ["", *in_columns([("value", "differs with"), *rows])]
    lines += _seeded(runs.seeded)
    return fitted("\n".join(map(printable, lines)))


def _seeded(operators: Sequence[str]) -> Iterator[str]:
    if operators:
        yield f"random operators without a seed drew as with one: {', '.join(operators)}"


def _way_rows(found: Sequence[Repeated]) -> Iterator[tuple[str, ...]]:
    yield f"{'runs':>6}", "differ", "setting"
    for each in found:
        by = f" by {', '.join(each.optimizers)}" if each.optimizers else ""
        more = f", and {each.following} values that follow" if each.following else ""
        stopped = f": {'; '.join(each.stops)}" if each.stops else ""
        yield f"{each.runs:6}", f"{each.unequal:6}", f"{each.way}{by}{more}{stopped}"


def _run(settings: Settings) -> str:
    """How ONNX Runtime runs a model, as a phrase."""
    optimized = settings.level is not Level.NONE
    parts = [f"level {settings.level}" if optimized else "without optimizations"]
    if settings.threads:
        parts.append(f"{settings.threads} thread{'s' if settings.threads > 1 else ''}")
    if settings.providers != CPU:
        parts.append(", ".join(settings.providers))
    return ", ".join(parts)


def _table(found: Survey, comparison: Comparison, *, every: bool) -> Iterator[str]:
    """The least, the median and the largest difference of values, in the order of the first model.

    With `every`, those are listed too that never differ.
    """
    heads = (f"{head:>9}" for head in ("least", "median", "largest"))
    rows = [(*heads, "in sample", f"value ({comparison.measure})")]
    for name, differences in found.differences.items():
        numbers = sorted(differences.values())
        if every or numbers[-1]:
            middle = numbers[(len(numbers) - 1) // 2]
            shown = (f"{number:9.4g}" for number in (numbers[0], middle, numbers[-1]))
            sample = max(differences, key=lambda each: differences[each])
            rows.append((*shown, sample, f"'{name}' of {comparison.nodes[name]}"))
    if len(rows) > 1:
        yield from (*in_columns(rows), "")


def _verdict(comparison: Comparison) -> Iterator[str]:
    """The first difference, and why a run stops if it does."""
    if comparison.equal:
        yield "no difference"
        return
    if comparison.mismatches:
        first = comparison.mismatches[0]
        most = comparison.differences.get(first.name, 0)
        exact = comparison.measure is Measure.BITS
        yield from _mismatch(first, "" if exact else f", by {at_most(most, 4)} at most")
        if more := len(comparison.mismatches) - 1:
            others = ", ".join(f"'{m.name}'" for m in comparison.mismatches[1:6])
            yield f"    and {more} more: {others}{', ...' if more > 5 else ''}"
    if comparison.pair.unshared_outputs:
        yield f"outputs of one model only: {', '.join(comparison.pair.unshared_outputs)}"
    one, other = comparison.stops
    if one is not None and one == other:
        if not (comparison.mismatches or comparison.pair.unshared_outputs):
            yield "no difference before both runs end"
        yield "both break a rule:" if one.violated else f"both end at {one.node}:"
        yield from _indented(one.reason)
        return
    for letter, stop in zip(_LETTERS, comparison.stops, strict=True):
        if stop is not None:
            # A violation names the original node; the failing node is its guard.
            yield f"{letter} breaks a rule:" if stop.violated else f"{letter} ends at {stop.node}:"
            yield from _indented(stop.reason)


def _values(comparison: Comparison) -> Iterator[str]:
    """Every value of the first model, in its order, with the result of the comparison."""
    found = (
        dict.fromkeys(comparison.same, "same")
        | {mismatch.name: "different" for mismatch in comparison.mismatches}
        | dict.fromkeys(comparison.incomparable, "no tensor")
    )
    for name, node in comparison.nodes.items():
        yield f"{found.get(name, 'not in both'):11}  '{name}' of {node}"


def _mismatch(mismatch: Mismatch, by: str) -> Iterator[str]:
    yield f"first difference: value '{mismatch.name}' of {mismatch.node}"
    if mismatch.index is None:
        for letter, array in zip(_LETTERS, (mismatch.first, mismatch.second), strict=True):
            kind = "no tensor" if array is None else f"{array.dtype} {tuple(array.shape)}"
            yield f"    {letter}: {kind}"
        return
    for letter, element in zip(_LETTERS, mismatch.elements, strict=True):
        yield f"    {letter}{list(mismatch.index)} = {_element(element)}"
    size = 0 if mismatch.first is None else mismatch.first.size
    yield f"    {mismatch.count} of {size} elements differ{by}"


def _element(element: Any) -> str:
    """A number, with its bits if they show more."""
    number = np.asarray(element)
    if number.dtype.kind in "biuO":
        return f"{element}"
    bits = number[np.newaxis].view(f"u{number.dtype.itemsize}")[0]
    return f"{element} (0x{int(bits):0{2 * number.dtype.itemsize}x})"


def _indented(text: str) -> Iterator[str]:
    yield from (f"    {line}" for line in text.splitlines())


def _compared(comparison: Comparison) -> Iterator[str]:
    """How many values are compared, and which are not."""
    differing = len(comparison.mismatches)
    yield (
        f"values with the same name in both: {len(comparison.same)} equal, {differing} different; "
        f"{comparison.only_first} only in A, {comparison.only_second} only in B"
    )
    found = comparison.pair.positions.items()
    if pairs := [f"'{a}' with '{b}'" for a, b in found if a in comparison.differences]:
        more = f" and {len(pairs) - _SHOWN} more" if len(pairs) > _SHOWN else ""
        yield f"of these, computed alike with another name in B: {', '.join(pairs[:_SHOWN])}{more}"
    yield from _seeded(comparison.pair.seeded)
    if comparison.incomparable:
        yield f"not compared, because they are not tensors: {', '.join(comparison.incomparable)}"
    if any(comparison.pair.inner_nodes):
        inner = " and ".join(
            f"{count} in {letter}"
            for letter, count in zip(_LETTERS, comparison.pair.inner_nodes, strict=True)
        )
        yield f"not compared: values in subgraphs and functions (nodes: {inner})"
