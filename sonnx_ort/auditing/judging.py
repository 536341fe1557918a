"""Holds one node to what its operator means, on the values of a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from sonnx_ort.auditing.broken_rules import broken_rules
from sonnx_ort.auditing.verdicts import Element, NodeAudit, Sampling, Verdict
from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.oracle import COMPUTED, Enclosure, Result, Undefined, meaning
from sonnx_ort.oracle.elements import Operands
from sonnx_ort.oracle.enclosed import ENCLOSED, enclosed_meaning, type_of_results
from sonnx_ort.oracle.excerpts import Excerpt, WrongShapeError, excerpts
from sonnx_ort.oracle.node import Node
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN
from sonnx_ort.profile.options import Demands, Edition

_STANDARD_DOMAINS = (STANDARD_DOMAIN, "ai.onnx")
_CHECKED = "Checked"
"""What the names of kernels start with that check the operands of an operator and compute it."""

_WORK = 1 << 17
"""How many operands are read at most for the audit of a result of which samples are taken."""

_SHOWN = 6
"""How many operands of an element are shown."""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Audited:
    """A node with the values of a run.

    Attributes:
        node: The node.
        version: The version of the opset of its domain.
        operands: Its operands, None for those that are omitted or no tensors.
        results: Its results, None for those that the run has not.
        path: The nodes in whose bodies it is.
        apart: What computes the operands that the run has not, by their names. Their values were
            computed for the audit.
    """

    node: onnx.NodeProto
    version: int
    operands: Sequence[Array | None]
    results: Sequence[Array | None]
    path: tuple[str, ...] = ()
    apart: Mapping[str, "Audited"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name, or one derived from its output."""
        return self.node.name or f"(output {next(filter(None, self.node.output), '')})"

    @property
    def operator(self) -> str:
        """The operator, with its domain if that is not the default one."""
        node = self.node
        standard = node.domain in _STANDARD_DOMAINS
        return node.op_type if standard else f"{node.domain}::{node.op_type}"

    @property
    def meant(self) -> str:
        """The operator of ONNX that the node computes; empty for one that is of no standard."""
        node = self.node
        if node.domain in _STANDARD_DOMAINS:
            return node.op_type
        computes = node.domain == DOMAIN and node.op_type.startswith(_CHECKED)
        return node.op_type.removeprefix(_CHECKED) if computes else ""

    def not_known(self, reason: str) -> NodeAudit:
        """The audit of a node of which nothing is known."""
        size = sum(each.size for each in self.results if each is not None)
        return NodeAudit(
            self.name, self.operator, self.path, Verdict.NOT_KNOWN, size, reason=reason
        )


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """The attributes of a node by name, without graphs: tensors are arrays, texts are str.

    Those of a Split say how many outputs it has, as they have to since version 18.
    """
    outputs = {"num_outputs": len(node.output)} if node.op_type == "Split" else {}
    return outputs | {
        each.name: _read(helper.get_attribute_value(each))
        for each in node.attribute
        if each.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    }


def _read(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode(errors="replace")
        case list():
            return [_read(each) for each in value]
        case onnx.TensorProto():
            return numpy_helper.to_array(value)
    return value


Meaning = Callable[[Audited, Excerpt, Edition], Sequence[Result] | Undefined]
"""What the elements of an excerpt of a node are."""


def plain_meaning(
    audited: Audited, excerpt: Excerpt, edition: Edition
) -> Sequence[Result] | Undefined:
    """What the elements of an excerpt are, for the operands that it has."""
    asked = audited.meant, audited.version, excerpt.attributes, excerpt.operands
    return meaning_of(*asked, edition)


def judge(
    audited: Audited, demands: Demands, sampling: Sampling, meant_by: Meaning = plain_meaning
) -> NodeAudit:
    """Compare the results of a node with what its operator means, on the operands of the run.

    Args:
        audited: The node and its values.
        demands: The edition, and what becomes of broadcasting.
        sampling: Which elements are compared.
        meant_by: What says what the elements of an excerpt are.
    """
    operator, attributes = audited.meant, attributes_of(audited.node)
    if operator not in COMPUTED | ENCLOSED:
        return audited.not_known(f"there is no exact meaning of {audited.operator} here")
    if any(
        given and each is None
        for given, each in zip(audited.node.input, audited.operands, strict=True)
    ):
        return audited.not_known("the run has no value for an operand")
    node = Node(audited.version, attributes, tuple(audited.operands))
    # A kernel that checks operands gives a shape as well.
    results = audited.results[:1] if audited.node.domain == DOMAIN else audited.results
    broken = broken_rules(operator, audited.version, attributes, audited.operands, demands)
    tally = _Tally(audited)
    try:
        for excerpt in excerpts(operator, node, results, _chooser(audited, sampling)):
            meant = meant_by(audited, excerpt, demands.edition)
            if isinstance(meant, Undefined):
                tally.leave_undefined(excerpt, meant.reason)
            else:
                tally.add(excerpt, meant)
    except WrongShapeError as error:
        return tally.outside(str(error), broken)
    except (ValueError, ImportError) as error:
        return audited.not_known(_sentence(error))
    return tally.audit(broken)


def meaning_of(
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Operands,
    edition: Edition,
) -> Sequence[Result] | Undefined:
    """What a node means, by a document of SONNX or, without one, by that of ONNX.

    Raises:
        ValueError: Its meaning is not known.
    """
    if operator in COMPUTED:
        return meaning(operator, version, attributes, operands, edition)
    result_type = type_of_results(attributes, operands)
    return enclosed_meaning(operator, version, attributes, operands, result_type, edition=edition)


def _sentence(error: Exception) -> str:
    if isinstance(error, ImportError):
        return "its meaning needs python-flint; install sonnx_ort with the extra 'oracle'"
    return str(error)


def _chooser(audited: Audited, sampling: Sampling) -> Any:
    generator = np.random.default_rng([sampling.seed, crc32(audited.name.encode())])

    def choose(result: Array, reads: int) -> Indices:
        size = result.size
        if sampling.samples is None:
            return np.arange(size)
        count = max(1, min(sampling.samples, _WORK // max(reads, 1)))
        if size <= count:
            return np.arange(size)
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
        self._worst_is_outside = False
        self._outside = self._inexact = False
        self._reason = ""

    def leave_undefined(self, excerpt: Excerpt, reason: str) -> None:
        """Count the elements of an excerpt that has no meaning."""
        self._undefined += sum(each.size for each in excerpt.found if each is not None)
        self._reason = self._reason or reason

    def add(self, excerpt: Excerpt, meant: Sequence[Result]) -> None:
        """Compare the elements of an excerpt.

        Raises:
            WrongShapeError: They have another type or shape.
        """
        for position, (found, result) in enumerate(zip(excerpt.found, meant, strict=False)):
            if found is None:
                continue
            if (found.dtype, found.shape) != (result.nearest.dtype, result.nearest.shape):
                name = self._audited.node.output[position]
                raise WrongShapeError(
                    f"'{name}' is {found.dtype} {found.shape}, and should be "
                    f"{result.nearest.dtype} {result.nearest.shape}"
                )
            self._compare(excerpt, position, found, result)

    def _compare(self, excerpt: Excerpt, position: int, found: Array, result: Result) -> None:
        undefined = result.undefined
        exact = result.exact(found)
        outside = result.outside(found)
        self._count += found.size
        self._undefined += int(np.count_nonzero(undefined))
        self._bounds.setdefault(result.bound)
        self._reason = self._reason or result.reason
        inexact = ~(exact | undefined)
        if not inexact.any():
            return
        self._inexact = True
        self._outside = self._outside or bool(outside.any())
        if self._worst_is_outside and not outside.any():
            return
        candidates = np.flatnonzero(outside if outside.any() else inexact)
        units = np.ravel(result.units(found))[candidates].tolist()
        sizes = [float("inf") if each < 0 else each for each in units]
        at = int(np.argmax(sizes))
        if (
            self._worst is None
            or (outside.any() and not self._worst_is_outside)
            or sizes[at] > (float("inf") if self._worst.units is None else self._worst.units)
        ):
            place = int(candidates[at])
            self._worst = self._element(excerpt, position, place, result, units[at])
            self._worst_is_outside = bool(outside.any())

    def _element(
        self, excerpt: Excerpt, position: int, place: int, result: Result, units: int
    ) -> Element:
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
            None if units < 0 else units,
        )

    def outside(self, reason: str, broken: Any) -> NodeAudit:
        """The audit of a node whose result has a wrong type or shape."""
        audit = self.audit(broken)
        return NodeAudit(
            audit.node,
            audit.operator,
            audit.path,
            Verdict.OUTSIDE,
            audit.elements,
            audit.audited,
            reason=reason,
            broken=broken,
            apart=audit.apart,
        )

    def audit(self, broken: Any) -> NodeAudit:
        """The audit of the node."""
        audited = self._audited
        verdict = Verdict.EXACT
        if self._outside:
            verdict = Verdict.OUTSIDE
        elif self._undefined and self._undefined >= self._count:
            verdict = Verdict.NOT_KNOWN
        elif self._inexact:
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
            "; ".join(self._bounds),
            f"nothing is defined: {self._reason}" if self._undefined else "",
            broken,
            tuple(audited.apart),
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
    if dtype is not None and dtype.kind in "fV":
        return (
            str(element)
            if dtype.itemsize < 4
            else np.format_float_positional(element, trim="-")
            if 1e-4 <= abs(element) < 1e16
            else str(element)
        )
    return str(element)


def versions(model: onnx.ModelProto) -> Mapping[str, int]:
    """The versions of the opsets by which nodes are judged, by domain.

    A kernel that checks operands computes what the operator of ONNX does.
    """
    found = {entry.domain: entry.version for entry in model.opset_import}
    standard = found.get("", found.get("ai.onnx", 1))
    return {**found, **dict.fromkeys((*_STANDARD_DOMAINS, DOMAIN), standard)}
