"""Compares one node with what its operator means, on the values of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np
from onnx import NodeProto

from sonnx_ort.custom_ops.kernel import separated
from sonnx_ort.meaning import Enclosure, Result, Undefined
from sonnx_ort.meaning.balls import WITHOUT_FLINT
from sonnx_ort.meaning.documented import FOLLOWED
from sonnx_ort.meaning.excerpts import Choose, Excerpt, WrongShapeError
from sonnx_ort.meaning.numbers import Indices
from sonnx_ort.meaning.origins import PARTS
from sonnx_ort.meaning.results import of_other_signs
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.operator import DOMAIN
from sonnx_ort.runs.audit.audited_node import Audited, attributes_of, meanings
from sonnx_ort.runs.audit.checking_kernels import judge_checking
from sonnx_ort.runs.audit.verdicts import (
    BrokenRule,
    Element,
    NodeAudit,
    Sampling,
    Verdict,
    broken_rules,
    share,
)
from sonnx_ort.runs.isolated_run import Array

_WORK = 1 << 17
"""How many operands are read at most for the audit of a result of which samples are taken."""

_SHOWN = 6
"""How many operands of an element are shown."""


def judge(audited: Audited, demands: Demands, sampling: Sampling) -> NodeAudit:
    """Compare the results of a node with what its operator means, on the operands of the run."""
    checking = judge_checking(audited)
    if checking is not None:
        return checking
    operator, attributes = audited.computed_operator, attributes_of(audited.node)
    if operator not in FOLLOWED:
        return audited.not_known(f"there is no exact meaning of {audited.operator} here")
    if any(
        given and each is None
        for given, each in zip(audited.node.input, audited.operands, strict=True)
    ):
        return audited.not_known("the run has no value for an operand")
    audited = _of_single_operands(audited, operator)
    # A kernel that checks operands gives a shape as well.
    results = audited.results[:1] if audited.node.domain == DOMAIN else audited.results
    given = audited.version, attributes, audited.operands, demands
    broken = tuple(broken_rules(operator, *given))
    tally = _Tally(audited)
    try:
        choose = _chooser(audited, sampling)
        for excerpt, meaning in meanings(audited, results, choose, demands.edition):
            if isinstance(meaning, Undefined):
                tally.leave_undefined(excerpt, meaning.reason)
            else:
                tally.add(excerpt, meaning)
    except WrongShapeError as error:
        return tally.outside(str(error), broken)
    except (ValueError, ImportError) as error:
        return audited.not_known(WITHOUT_FLINT if isinstance(error, ImportError) else str(error))
    return tally.audit(broken)


def _of_single_operands(audited: Audited, operator: str) -> Audited:
    """The node with each operand; a kernel that takes any number of them gets all in vectors."""
    profiled = OPERATORS.get(operator)
    if audited.node.domain != DOMAIN or profiled is None or profiled.repeated_operand is None:
        return audited
    operands = separated(*(each for each in audited.operands if each is not None))
    node = NodeProto()
    node.CopyFrom(audited.node)
    node.input[:] = profiled.operand_names(len(operands))
    return replace(audited, node=node, operands=operands)


def _chooser(audited: Audited, sampling: Sampling) -> Choose:
    """Chooses the elements that are judged: all, or special ones and random others."""
    generator = np.random.default_rng([sampling.seed, crc32(audited.name.encode())])

    def choose(result: Array, reads: int) -> Indices:
        size = result.size
        if sampling.samples is None:
            return np.arange(size)
        count = max(1, min(sampling.samples, _WORK // max(reads, 1)))
        if size <= count:
            return np.arange(size)
        # Special elements come first, so that random ones are cut off.
        chosen = [*_special(result), *generator.integers(0, size, count).tolist()]
        return np.array(list(dict.fromkeys(chosen))[:count], np.int64)

    return choose


def _special(result: Array) -> list[int]:
    """The first and the last element, the smallest and the largest, and one that is no number."""
    places = [0, result.size - 1]
    if result.dtype.kind in "iufV" or result.dtype.name == "bfloat16":
        flat = result.ravel()
        numbers = flat if flat.dtype.kind in "iu" else flat.astype(np.float64)
        strange = np.flatnonzero(~np.isfinite(numbers))[:1]
        places += [int(np.argmin(numbers)), int(np.argmax(numbers)), *map(int, strange)]
    return places


class _Tally:
    """Collects what the excerpts of a node say."""

    def __init__(self, audited: Audited) -> None:
        self._audited = audited
        self._count = self._undefined = 0
        self._bounds: dict[str, None] = {}
        self._worst: Element | None = None
        self._outside = False
        self._reason = ""

    def leave_undefined(self, excerpt: Excerpt, reason: str) -> None:
        """Count the elements of an excerpt that has no meaning."""
        size = sum(each.size for each in excerpt.found if each is not None)
        self._count += size
        self._undefined += size
        self._reason = self._reason or reason

    def add(self, excerpt: Excerpt, meaning: Sequence[Result]) -> None:
        """Compare the elements of an excerpt.

        Raises:
            WrongShapeError: They have another type or shape.
        """
        for position, (found, result) in enumerate(zip(excerpt.found, meaning, strict=False)):
            if found is None:
                continue
            if (found.dtype, found.shape) != (result.nearest.dtype, result.nearest.shape):
                raise WrongShapeError(self._wrong(position, found, result.nearest))
            self._compare(excerpt, position, found, result)

    def _wrong(self, position: int, found: Array, nearest: Array) -> str:
        """What is wrong with type or shape; an excerpt of a wrong type has a shape of its own."""
        whole = self._audited.results[position]
        shapes = found.shape, nearest.shape
        if found.shape == nearest.shape and whole is not None:
            shapes = whole.shape, whole.shape
        name = self._audited.node.output[position]
        return f"'{name}' is {found.dtype} {shapes[0]}, and should be {nearest.dtype} {shapes[1]}"

    def _compare(self, excerpt: Excerpt, position: int, found: Array, result: Result) -> None:
        """Count the elements of a result, and keep the worst of those that are not exact."""
        undefined = result.undefined
        exact = result.exact(found)
        outside = result.outside(found)
        self._count += found.size
        self._undefined += int(np.count_nonzero(undefined))
        self._bounds.setdefault(result.bound)
        if of_other_signs(found, result.nearest).any():
            self._bounds.setdefault(f"signs of zeros are {result.zeros}")
        self._reason = self._reason or result.reason
        wrong = outside if outside.any() else ~(exact | undefined)
        # What is outside is worse than anything that is only inexact.
        if not wrong.any() or (self._outside and not outside.any()):
            return
        candidates = np.flatnonzero(wrong)
        sizes = [
            [None if each < 0 else int(each) for each in np.ravel(of(found))[candidates].tolist()]
            for of in (result.units, result.admitted_units)
        ]
        errors = [*zip(*sizes, strict=True)]
        at = max(
            range(len(errors)), key=lambda place: (share(*errors[place]), errors[place][0] or 0)
        )
        if outside.any() and not self._outside:
            self._outside, self._worst = True, None
        found_there = self._element(excerpt, position, int(candidates[at]), result, *errors[at])
        if self._worst is None or found_there.size > self._worst.size:
            self._worst = found_there

    def _element(  # noqa: PLR0913, PLR0917 - what an element has
        self,
        excerpt: Excerpt,
        position: int,
        place: int,
        result: Result,
        units: int | None,
        admitted_units: int | None,
    ) -> Element:
        """An element with its operands, as reports show it."""
        audited, found = self._audited, excerpt.found[position]
        places, whole = excerpt.places[position], audited.results[position]
        if found is None or places is None or whole is None:
            raise ValueError("there are no elements to show")
        index = np.unravel_index(int(places[place]), whole.shape)
        admitted = ""
        if isinstance(result.admitted, Enclosure):
            ends = (result.admitted.lowest, result.admitted.highest)
            low, high = (shown(each.ravel()[place]) for each in ends)
            admitted = "any" if result.admitted.anything.ravel()[place] else f"{low} to {high}"
        exact = shown(result.nearest.ravel()[place])
        return Element(
            audited.node.output[position],
            tuple(map(int, index)),
            tuple(_operands_at(excerpt, audited, place, found.size)),
            exact,
            "" if admitted == f"{exact} to {exact}" else admitted,
            shown(found.ravel()[place]),
            units,
            admitted_units,
        )

    def outside(self, reason: str, broken: tuple[BrokenRule, ...]) -> NodeAudit:
        """The audit of a node whose result has a wrong type or shape."""
        made = self.audit(broken)
        return replace(made, verdict=Verdict.OUTSIDE, worst=None, bound="", reason=reason)

    def audit(self, broken: tuple[BrokenRule, ...]) -> NodeAudit:
        """The audit of the node."""
        audited = self._audited
        verdict = Verdict.EXACT
        if self._outside:
            verdict = Verdict.OUTSIDE
        elif self._undefined and self._undefined == self._count:
            verdict = Verdict.NOT_KNOWN
        elif self._worst is not None:
            verdict = Verdict.ADMITTED
        return NodeAudit(
            audited.name,
            audited.operator,
            audited.path,
            verdict,
            sum(each.size for each in audited.results if each is not None),
            self._count,
            self._undefined,
            self._worst,
            PARTS.join(dict.fromkeys(PARTS.join(self._bounds).split(PARTS))),
            f"nothing is defined: {self._reason}" if self._undefined else "",
            broken,
            tuple(audited.recomputed),
        )


def _operands_at(excerpt: Excerpt, audited: Audited, place: int, size: int) -> Iterator[str]:
    """The operands of an element as text: its own elements, or the shapes of those it reads."""
    names = audited.node.input
    for position, operand in enumerate(excerpt.operands[:_SHOWN]):
        if operand is None:
            continue
        name = names[position] if position < len(names) else str(position)
        if operand.size == size:
            yield f"{name} = {shown(operand.ravel()[place])}"
        elif operand.size == 1:
            yield f"{name} = {shown(operand.ravel()[0])}"
        else:
            yield f"{name}: {operand.size} elements"


def shown(element: Any) -> str:
    """An element as text with as many digits as its type has."""
    dtype = getattr(element, "dtype", None)
    wide = dtype is not None and dtype.kind == "f" and dtype.itemsize >= 4
    if wide and 1e-4 <= abs(element) < 1e16:
        return np.format_float_positional(element, trim="-")
    return str(element)
