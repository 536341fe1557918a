"""A node with its values in a run, and what it means for them.

The run has no values between nodes that an optimizer joined. If the
operator admits exactly one value, that value is used. If it admits several, such as a sum in any
order, the node that reads it is compared with the results for all of them, enclosed by balls.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sonnx_ort.facts.attributes import GRAPHS, plain_value
from sonnx_ort.loading.traversal import label_of
from sonnx_ort.meaning import Enclosure, Result, Undefined
from sonnx_ort.meaning.balls import ball_type
from sonnx_ort.meaning.documented import meaning_of, moved_operands, moves
from sonnx_ort.meaning.excerpts import Choose, Excerpt, WrongShapeError, excerpts
from sonnx_ort.meaning.node import Node, are_balls, balls, is_float
from sonnx_ort.meaning.numbers import NO_ATTRIBUTES, Indices, tensor
from sonnx_ort.meaning.origins import PARTS, measured_parts
from sonnx_ort.meaning.results import Copies
from sonnx_ort.profile.operator import OWN_DOMAINS, STANDARD_DOMAIN
from sonnx_ort.profile.options import Edition
from sonnx_ort.runs.audit.verdicts import NodeAudit, Verdict
from sonnx_ort.runs.isolated_run import Array

STANDARD_DOMAINS = (STANDARD_DOMAIN, "ai.onnx")
"""The names of the domain of ONNX's operators."""

_CHECKED = "Checked"
"""What the names of kernels start with that check the operands of an operator and compute it."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A node with the values of a run.

    Attributes:
        version: The version of the opset of its domain.
        operands: Its operands, None for those that are omitted or no tensors.
        results: Its results, None for those that the run has not.
        path: The nodes in whose bodies it is.
        recomputed: What computes the operands that the run has not, by their names. Their values
            were computed for the audit.
    """

    node: onnx.NodeProto
    version: int
    operands: Sequence[Array | None]
    results: Sequence[Array | None]
    path: tuple[str, ...] = ()
    recomputed: Mapping[str, "Audited"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The node's name, or one derived from its output."""
        return label_of(self.node)

    @property
    def operator(self) -> str:
        """The operator, with its domain if that is not the default one."""
        node = self.node
        standard = node.domain in STANDARD_DOMAINS
        return node.op_type if standard else f"{node.domain}::{node.op_type}"

    @property
    def label(self) -> str:
        """The operator and the name."""
        return f"{self.operator} '{self.name}'"

    @property
    def computed_operator(self) -> str:
        """The operator of ONNX that the node computes; empty for one that is of no standard."""
        node = self.node
        if node.domain in STANDARD_DOMAINS:
            return node.op_type
        computes = node.domain in OWN_DOMAINS and node.op_type.startswith(_CHECKED)
        return node.op_type.removeprefix(_CHECKED) if computes else ""

    @property
    def applied(self) -> Node:
        """The node as the oracle sees it."""
        return Node(self.version, attributes_of(self.node), tuple(self.operands))

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
        each.name: _with_arrays(plain_value(each, errors="replace"))
        for each in node.attribute
        if each.type not in GRAPHS
    }


def _with_arrays(value: Any) -> Any:
    match value:
        case list():
            return [_with_arrays(each) for each in value]
        case onnx.TensorProto():
            return numpy_helper.to_array(value)
    return value


def versions(model: onnx.ModelProto) -> Mapping[str, int]:
    """The versions of the opsets by which nodes are judged, by domain.

    A kernel that checks operands computes what the operator of ONNX does.
    """
    found = {entry.domain: entry.version for entry in model.opset_import}
    standard = found.get("", found.get("ai.onnx", 1))
    return {**found, **dict.fromkeys((*STANDARD_DOMAINS, *OWN_DOMAINS), standard)}


_PER_ELEMENT = 16
"""How many products take as long as the exact meaning of one element."""

_MOST_READS = 200_000
"""How many elements of values that the run has not are computed at most for one node."""

_ANY_OF_THEM = "the document leaves open which elements it takes"

OF_SHAPES = frozenset({"Shape", "Size"})
"""The operators that read no elements."""

Meaning = Sequence[Result] | Undefined


def meanings(
    audited: Audited, results: Sequence[Array | None], choose: Choose, edition: Edition
) -> Iterator[tuple[Excerpt, Meaning]]:
    """Excerpts of a node, and what their elements are for all admitted values of its operands.

    Raises:
        ValueError: The elements that it reads are not known, or are too many.
    """
    admitted = _Admitted(edition)
    cost = max(map(_cost, audited.recomputed.values()), default=1)

    def fewer(result: Array, reads: int) -> Indices:
        return choose(result, reads * cost)

    if audited.recomputed and _moves_floats(audited):
        yield from admitted.moved(audited, results, fewer)
        return
    for excerpt in excerpts(audited.computed_operator, audited.applied, results, fewer):
        yield excerpt, admitted.meaning(audited, excerpt)


def _cost(audited: Audited) -> int:
    """How many operands an element of a value that the run has not takes, as `choose` counts."""
    cost = max(map(_cost, audited.recomputed.values()), default=_PER_ELEMENT)
    if _moves_floats(audited):
        return cost
    asked: list[int] = []

    def one(result: Array, reads: int) -> Indices:
        asked.append(reads)
        return np.zeros(min(result.size, 1), np.int64)

    try:
        next(excerpts(audited.computed_operator, audited.applied, audited.results, one), None)
    except (ValueError, WrongShapeError):
        return cost
    whole = sum(each.size for each in audited.operands if each is not None)
    return cost * max(1, *asked, 0 if asked else whole)


def _moves_floats(audited: Audited) -> bool:
    operator = audited.computed_operator
    if not moves(operator, attributes_of(audited.node)):
        return False
    made_floats = any(x is not None and is_float(x) for x in audited.results[:1])
    return made_floats and bool(moved_operands(operator, audited.operands))


class _Admitted:
    """The admitted values of a node and of those that it is joined with."""

    def __init__(self, edition: Edition) -> None:
        self._edition = edition
        self._reads = 0
        self._measured: dict[str, None] = {}

    def meaning(self, audited: Audited, excerpt: Excerpt) -> Meaning:
        """What the elements of an excerpt are."""
        operands = list(excerpt.operands)
        for position, name in enumerate(audited.node.input):
            operand = operands[position] if position < len(operands) else None
            if (
                name not in audited.recomputed
                or operand is None
                or audited.computed_operator in OF_SHAPES
            ):
                continue
            reads = excerpt.reads[position] if position < len(excerpt.reads) else None
            if reads is None:
                raise ValueError(f"the run has no value '{name}', and several are admitted")
            operands[position] = self._operand(audited, position, reads)
        node = Node(audited.version, excerpt.attributes, tuple(operands), self._edition)
        return self._naming_measured_bounds(
            meaning_of(audited.computed_operator, node, excerpt.operands)
        )

    def _naming_measured_bounds(self, meaning: Meaning) -> Meaning:
        """A meaning that says which bounds of nodes before this one were measured."""
        if isinstance(meaning, Undefined) or not self._measured:
            return meaning
        return tuple(
            replace(
                each, bound=PARTS.join(dict.fromkeys((*each.bound.split(PARTS), *self._measured)))
            )
            for each in meaning
        )

    def moved(
        self, audited: Audited, results: Sequence[Array | None], choose: Choose
    ) -> Iterator[tuple[Excerpt, Meaning]]:
        """Elements of an operator that moves floats, each as the one that it is moved from."""
        for position, result in enumerate(results):
            if result is None:
                continue
            chosen = choose(result, 1)
            others = (None,) * position
            found = result.ravel()[chosen]
            excerpt = Excerpt({}, [], (*others, found), (*others, chosen))
            elements = self._sources(audited, position, chosen)
            node = Node(audited.version, NO_ATTRIBUTES, (elements,), self._edition)
            identical = _require_defined(
                self._naming_measured_bounds(meaning_of("Identity", node, [found]))
            )
            yield excerpt, [*identical] * (position + 1)

    def _operand(self, audited: Audited, position: int, places: Indices) -> Array:
        """Elements of an operand at flat indices, in their shape; 0 for padding."""
        name, operand = audited.node.input[position], audited.operands[position]
        if operand is None:
            raise ValueError(f"the run has no value '{name}'")
        wanted = places.ravel()
        inside = np.flatnonzero(wanted >= 0)
        if name in audited.recomputed:
            found = self._admitted(audited.recomputed[name], name, wanted[inside])
        else:
            found = operand.ravel()[wanted[inside]]
        zeros = np.zeros(places.shape, np.float64 if are_balls(found) else found.dtype)
        made: Array = balls(zeros) if are_balls(found) else zeros
        made.reshape(-1)[inside] = found
        return made

    def _sources(self, audited: Audited, position: int, places: Indices) -> Array:
        """Elements of a result of an operator that moves floats, taken from its operands."""
        numbers = list(audited.operands)
        # Padding that is no operand has the number 0.
        attributes = {**attributes_of(audited.node), "value": 0}
        moved = moved_operands(audited.computed_operator, numbers)
        for k, (name, x) in enumerate(zip(audited.node.input, numbers, strict=False)):
            if k not in moved and x is not None and is_float(x) and name in audited.recomputed:
                raise ValueError(
                    f"the run has no value '{name}', which decides where elements move"
                )
        floats = {k: x for k in moved if (x := numbers[k]) is not None}
        starts, size = {}, 1
        for k, operand in floats.items():
            starts[k] = size
            numbers[k] = np.arange(size, size + operand.size).reshape(operand.shape)
            size += operand.size
        node = Node(audited.version, attributes, tuple(numbers), self._edition)
        result = _require_defined(meaning_of(audited.computed_operator, node))[position]
        if not result.is_single:
            raise ValueError(_ANY_OF_THEM)
        origins = result.nearest.ravel()[places]
        padding = attributes_of(audited.node).get("value", 0)
        found: dict[int, Any] = {0: next(iter(floats.values())).dtype.type(padding)}
        wanted = np.unique(origins)
        for k, start in starts.items():
            own = wanted[(wanted >= start) & (wanted < start + floats[k].size)]
            if own.size:
                found.update(zip(own.tolist(), self._operand(audited, k, own - start), strict=True))
        return _array([found[origin] for origin in origins.tolist()])

    def _admitted(self, producer: Audited, name: str, indices: Indices) -> Array:
        """The elements of a value, or balls with all that are admitted."""
        position = list(producer.node.output).index(name)
        wanted = np.unique(indices)
        self._reads += wanted.size
        if self._reads > _MOST_READS:
            raise ValueError(
                f"it is joined with nodes of which more than {_MOST_READS:,} elements are needed"
            )
        if _moves_floats(producer):
            return self._sources(producer, position, indices)
        found: dict[int, Any] = {}
        node = producer.computed_operator, producer.applied, producer.results
        for excerpt in excerpts(*node, lambda *_: wanted):
            result = _require_defined(self.meaning(producer, excerpt))[position]
            self._measured |= dict.fromkeys(measured_parts(result.bound))
            places = excerpt.places[position]
            if places is None or result.undefined.any():
                raise ValueError(f"the value '{name}' is not known")
            elements = _elements_or_balls(result)
            found.update(zip(places.tolist(), elements.ravel(), strict=True))
        return _array([found[index] for index in indices.tolist()])


def _require_defined(meaning: Meaning) -> Sequence[Result]:
    if isinstance(meaning, Undefined):
        raise ValueError(meaning.reason)  # noqa: TRY004 - nothing is known
    return meaning


def _array(elements: Sequence[Any]) -> Array:
    """Elements of an element type, or balls if one of them is a ball."""
    if all(isinstance(each, np.generic) for each in elements):
        return np.array(elements, elements[0].dtype if elements else np.float32)
    ball = ball_type()
    made = (ball(float(e)) if isinstance(e, np.generic) else e for e in elements)
    return tensor(made, [len(elements)])


def _elements_or_balls(result: Result) -> Array:
    """The elements of a result, or a ball around all that are admitted for each."""
    admitted = result.admitted
    if isinstance(admitted, Enclosure) and admitted.anything.any():
        raise ValueError("every value is admitted")
    if isinstance(admitted, Copies) and not result.is_single:
        raise ValueError(_ANY_OF_THEM)
    if not isinstance(admitted, Enclosure) or (result.is_single and not result.has_either_zero):
        return result.nearest
    ball = ball_type()
    ends = zip(admitted.lowest.ravel(), admitted.highest.ravel(), strict=True)
    made = (ball(float(low)).union(ball(float(high))) for low, high in ends)
    return tensor(made, admitted.lowest.shape)
