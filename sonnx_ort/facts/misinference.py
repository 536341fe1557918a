"""Which shapes ONNX Runtime may infer wrongly.

When a session starts, ONNX Runtime infers shapes, and computes a Shape of a value at once if it
knows all its sizes, or its rank. Its kernels contradict what it infers at some operators, such as a
PRelu that broadcasts both ways, a reduction of an empty tensor, and pools with `ceil_mode`. Our
rules leave such sizes open. A symbol first made by such an operator, or by one without a rule, is
doubtful. A value is doubtful if all its symbols are. What follows from a size that ONNX
Runtime does not know, it does not know either.
"""

import functools
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Protocol

import numpy.typing as npt

from .catalog import SHAPE_RULES, verified_rule
from .iterations import iteration_of
from .node import Node, Value
from .operators import ELEMENTWISE, REDUCTIONS, like_first
from .schemas import operator_schema
from .sizes import PartialSizes, Sizes

_logger = logging.getLogger("sonnx_ort")

_INFERRED_RIGHTLY = (ELEMENTWISE.keys() - {"Dropout"}) | {
    *("ConstantOfShape", "Flatten", "Gather", "GatherElements", "NonZero", "Pad", "Shape"),
    *("Size", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Unsqueeze"),
}
"""Operators of which kernels compute what is inferred, or more, of operands without doubt."""

_READING_ELEMENTS = REDUCTIONS.keys() | {
    *("Expand", "OneHot", "Reshape", "Resize", "STFT", "Slice", "Upsample")
}
"""Operators whose results have sizes by the elements of other operands than the first."""

_WITHOUT_OPERANDS = frozenset(
    ["Constant", "ConstantOfShape", "NonZero", "Range", "Reshape", "Shape", "Size"]
)
"""Operators of whose results something is inferred, even if nothing is of their operands."""

_CONTRADICTING = frozenset(["Loop", "PRelu", "Resize", "Scan", "Squeeze", "Upsample"])
"""Operators that have to be looked at, even if all sizes of their results are certain."""

_STEPS = 4
"""The input of a Slice that holds its steps."""

_SYMBOL = re.compile(r"\?\d+|[^\W\d]\w*\b(?!\()")
"""A name of an open size in the text of another: `?4` in `trunc(?4/2) + 1`."""


class Known(Protocol):
    """What is read of a model to find what may be inferred of it."""

    @property
    def versions(self) -> Mapping[str, int]:
        """The versions of the operators, by their domain."""

    def established(self, kind: str) -> Mapping[Value, Any]:
        """What is established of this kind, which grows."""

    def is_declared(self, value: Value) -> bool:
        """Whether the file says anything of the shape of a value."""

    def is_given(self, value: Value) -> bool:
        """Whether the elements of a value are given to a run."""

    def small_array(self, value: Value) -> npt.NDArray[Any] | None:
        """The elements of a small constant; None for another value."""


class Misinference:
    """What ONNX Runtime may infer wrongly; follows a graph together with the certain shapes.

    An example of each kind of doubt, for `float[2, m] m`, `float[2, 3] w`, `float[1, 3] one`,
    `float[n, 3] x` and `float[] r`:

        a = ReduceMax<axes = [-1]>(m)    an open size: [2, 1] is inferred, and kernels up to 1.31
                                         give [2, 0] if m is 0
        b = Det(w)                       a rank: one may be inferred, and no rule confirms it
        c = PRelu(one, x)                certain sizes: [1, 3] is inferred, and a run gives [n, 3]
        d = Shape(c)                     elements: they are computed from what is inferred of c
        e = Relu(r)                      no doubt: nothing is inferred of it

    Doubt spreads from c to `Neg(c)`, from b to `Relu(b)` and from d to `ConstantOfShape(d)`. It
    ends where a constant gives the sizes, as in `Reshape(b, [1, 1])`, and where one size is not
    inferred, as in `Neg` of the largest elements of x along -1: nothing is computed of a shape of
    which a size is open.
    """

    def __init__(self, known: Known) -> None:
        """Begin before the first node.

        Args:
            known: What is established of the values.
        """
        self._known = known
        self._shapes: Mapping[Value, Sizes] = known.established("shape")
        self._contents: Mapping[Value, PartialSizes] = known.established("elements")
        self._symbols: set[str] = set()  # doubtful open sizes
        self._ranks: set[Value] = set()  # values of a doubtful rank
        self._uninferred: set[Value] = set()  # values of which nothing is inferred
        self._mistaken: set[Value] = set()  # values of which other sizes may be inferred
        self._elements: set[Value] = set()  # values whose elements may follow from wrong shapes
        self._passed: dict[Value, Value | None] = {}  # what bodies get together with shapes
        self._states: set[Value] = set()  # those that may have another shape later

    def enter(self, node: Node) -> None:
        """Take in the bodies of a node, before any node is followed."""
        if node.op_type == "Loop":
            # ONNX Runtime gives a Loop's body no shapes of its states.
            return
        self._passed.update((value, None) for body in node.bodies for value in body.inputs)
        iteration = iteration_of(node) if node.bodies else None
        if iteration is not None:
            self._passed.update((state.taken, state.initial) for state in iteration.states)
            self._states.update(state.taken for state in iteration.states)
            self._passed.update((taken, scanned) for taken, scanned, _ in iteration.elements)

    def may_be_wrong(self, value: Value, certain: Sequence[object] | None) -> bool:
        """Whether ONNX Runtime may infer a rank or all sizes, and a run may give others.

        Single sizes are harmless: it computes nothing from them.

        Args:
            value: The value.
            certain: Its certain shape; None if the rank is unknown.
        """
        if self._is_mistaken(value):
            return True
        if value in self._uninferred:
            return False
        if certain is None:
            return value in self._ranks or self._is_passed_with_a_rank(value)
        opened = [str(size) for size in certain if not isinstance(size, int)]
        return bool(opened) and all(map(self._is_doubtful_size, opened))

    def _is_passed_with_a_rank(self, value: Value) -> bool:
        if value not in self._passed:
            return False
        given = self._passed[value]
        return given is None or given in self._shapes or self.may_be_wrong(given, None)

    def derive(self, node: Node, generated: Collection[str]) -> None:
        """Take up a node whose results have just got their certain shapes.

        Args:
            node: The node; its subgraphs have been followed.
            generated: The names of those open sizes of its results that no operand has.
        """
        try:
            self._note_doubts(node, generated)
        except Exception:
            # A malformed node must not stop the analysis.
            _logger.debug("the inferred shape of %s is unknown", node.op_type, exc_info=True)
            self._uninferred.difference_update(node.written)
            self._mistaken.update(node.written)

    def _note_doubts(self, node: Node, generated: Collection[str]) -> None:
        written = node.written
        unknown = [value for value in written if value not in self._shapes]
        if not (generated or unknown or self._has_doubts() or node.op_type in _CONTRADICTING):
            return
        self._ranks.difference_update(written)
        if node.op_type in ("Loop", "Scan"):
            self._derive_collected(node)
        self._uninferred.difference_update(written)
        if not self._is_inferred(node):
            self._uninferred.update(written)
        elif generated or unknown:
            wrong = frozenset(self._doubtful_sizes(node, frozenset(generated)))
            self._symbols.update(wrong)
            if self._has_doubtful_rank(node):
                self._ranks.update(unknown)
        read = [*node.read, *(value for body in node.bodies for value in body.outputs)]
        of_shape = node.op_type in ("Shape", "Size")
        if (of_shape and any(map(self._is_doubtful, read))) or not self._elements.isdisjoint(read):
            self._elements.update(written)
        spreads = bool(self._mistaken or self._states) and not of_shape
        if self._contradicts(node) or (spreads and any(map(self._is_mistaken, read))):
            self._mistaken.update(written)

    def _has_doubts(self) -> bool:
        return bool(self._symbols or self._ranks or self._mistaken or self._states)

    def _derive_collected(self, node: Node) -> None:
        """Doubt the shapes of what a Loop or Scan collects; nothing is inferred of a Loop's states.

        A Loop's first size is not inferred.
        """
        iteration = iteration_of(node)
        for output, value in () if iteration is None else iteration.collected:
            shape = self._shapes.get(value)
            if output in self._shapes and shape is not None:
                if all(self._may_be_inferred(size) for size in shape):
                    self._symbols.update(map(str, self._shapes[output]))
            elif shape is not None or self._known.is_declared(value) or value in self._ranks:
                self._ranks.add(output)

    def _is_inferred(self, node: Node) -> bool:
        """Whether anything is inferred of a node's results."""
        name = node.op_type
        if not _has_inference(node.domain, name, self._known.versions.get(node.domain, 0)):
            return False
        if name not in SHAPE_RULES or name in _WITHOUT_OPERANDS or verified_rule(node) is None:
            return True
        every = name in ("Concat", "MatMul") or (
            name in _INFERRED_RIGHTLY & ELEMENTWISE.keys()
            and ELEMENTWISE[name].shapes is not like_first
        )
        read = node.read
        if name == "STFT" and not all(map(self._may_be_inferred, self._shapes.get(read[0], ()))):
            return False
        return all(map(self._may_have_rank, read if every else read[:1]))

    def _may_have_rank(self, value: Value) -> bool:
        """Whether a rank may be inferred of a value."""
        if value in self._shapes:
            return value not in self._uninferred
        return self.may_be_wrong(value, None)

    def _has_doubtful_rank(self, node: Node) -> bool:
        """Whether a rank may be inferred of a result whose rank is unknown."""
        read = list(self._read(node))
        tainted = any(map(self._is_tainted, read))
        if node.op_type == "If":
            # A branch of which no shape is inferred leaves the result without one.
            return tainted and all(map(self._may_have_rank, read))
        if node.domain or verified_rule(node) is None or not read:
            return node.op_type != "Loop"
        if node.op_type in (*_INFERRED_RIGHTLY, "Range", "Reshape", "Slice"):
            # A rule may tell the first result only.
            return tainted or any(output in self._shapes for output in node.written)
        return tainted or (read[0] in self._shapes and not self._asks_a_run(node))

    def _doubtful_sizes(self, node: Node, generated: Collection[str]) -> Iterator[str]:
        """Those of the open sizes of a node's results that may be inferred."""
        name, read = node.op_type, list(self._read(node))
        operands = read if name == "Concat" else read[:1]
        if any(map(self._is_tainted, read)):
            aligned = name == "Expand" or name in ELEMENTWISE
            yield from self._doubtful_by_axes(node, generated) if aligned else generated
            return
        if name == "Range" and all(self._known.small_array(value) is not None for value in read):
            yield from generated
            return
        as_inferred = (
            name in (*_INFERRED_RIGHTLY, "Expand", "If", "Range")
            or (name == "Slice" and node.operands <= _STEPS)
            or (name == "Reshape" and not node.attribute("allowzero", 0))
        )
        if as_inferred or self._asks_a_run(node):
            return
        for output in node.written:
            result = self._shapes.get(output, ())
            shapes = [self._shapes.get(value, ()) for value in operands]
            of_same_rank = [shape for shape in shapes if len(shape) == len(result)]
            for position, size in enumerate(map(str, result)):
                sizes = [shape[position] for shape in of_same_rank] or shapes[0]
                inferred = name in REDUCTIONS or any(map(self._may_be_inferred, sizes))
                if size in generated and inferred:
                    yield size

    def _doubtful_by_axes(self, node: Node, generated: Collection[str]) -> Iterator[str]:
        """The doubtful sizes of a node that aligns its operands, from the sizes on each axis."""
        operands: list[PartialSizes | None] = [self._shapes.get(value) for value in node.read]
        if node.op_type == "Expand" and node.given(1):
            operands[1] = self._contents.get(node.operand(1))
        for size, *aligned in zip_longest(
            *(reversed(sizes or ()) for sizes in (self._shapes.get(node.result(0)), *operands)),
            fillvalue=1,
        ):
            unknown = None in operands or None in aligned
            doubtful = (not isinstance(s, int) and self._is_doubtful_size(str(s)) for s in aligned)
            if str(size) in generated and (unknown or any(doubtful)):
                yield str(size)

    def _read(self, node: Node) -> Iterator[Value]:
        """What the shapes of a node's results depend on."""
        yield from (value for body in node.bodies for value in body.outputs)
        yield from () if node.bodies else node.read

    def _is_tainted(self, value: Value) -> bool:
        """Whether something that may be inferred of a shape, or computed from it, may be wrong."""
        return value in self._elements or self._is_doubtful(value)

    def _is_doubtful(self, value: Value) -> bool:
        if value not in self._shapes:
            return self.may_be_wrong(value, None)
        sizes = (*self._shapes[value], *self._contents.get(value, ()))
        return self._is_mistaken(value) or any(
            self._is_doubtful_size(str(size)) for size in sizes if not isinstance(size, int)
        )

    def _is_mistaken(self, value: Value) -> bool:
        if value in self._mistaken:
            return True
        given = self._passed.get(value)
        if given is None:
            return False
        changes = value in self._states and self._shapes.get(value) != self._shapes.get(given)
        return changes or self._is_mistaken(given)

    def _may_be_inferred(self, size: object) -> bool:
        return isinstance(size, int) or self._is_doubtful_size(str(size))

    def _is_doubtful_size(self, size: str) -> bool:
        """Whether an open size follows from doubtful ones alone."""
        return bool(self._symbols) and self._symbols.issuperset(_SYMBOL.findall(size))

    def _asks_a_run(self, node: Node) -> bool:
        """Whether the sizes of a node's results follow from elements that a run is given."""
        others = map(node.operand, range(1, node.operands))
        given = (value is not None and self._known.is_given(value) for value in others)
        return node.op_type in _READING_ELEMENTS and any(given)

    def _contradicts(self, node: Node) -> bool:
        """Whether other sizes may be inferred of a node than its kernel computes."""
        match node.op_type:
            case "PRelu":
                # Inferred is the shape of the first operand.
                shapes = self._shapes.get(node.operand(0)), self._shapes.get(node.result(0))
                return not node.given(0) or shapes[0] != shapes[1]
            case "Squeeze":
                # Kernels take an empty list of axes for none.
                given, axes = node.attribute("axes"), node.operand(1)
                return (given is not None and not given) or self._shapes.get(axes) == (0,)
            case "Resize" | "Upsample":
                return self._rounds_up(node)
        return False

    def _rounds_up(self, node: Node) -> bool:
        """Whether a kernel, which computes in float32, gives another size than size times scale."""
        sizes, result = (self._shapes.get(v, ()) for v in (node.operand(0), node.result(0)))
        others = filter(None, map(node.operand, range(1, node.operands)))
        constants = (self._known.small_array(value) for value in others)
        scales: Sequence[Any] = next(
            (
                [*found]
                for found in constants
                if found is not None and found.dtype.kind == "f" and found.shape == (len(sizes),)
            ),
            (),
        )
        return any(
            isinstance(size, int)
            and isinstance(made, int)
            and int(Fraction(size) * Fraction(float(scale))) != made
            for size, scale, made in zip(sizes, scales, result, strict=False)
        )


@functools.cache
def _has_inference(domain: str, name: str, version: int) -> bool:
    """Whether shapes of an operator's results are inferred."""
    schema = operator_schema(name, version, domain)
    return schema is not None and any(getattr(schema, f"has_{kind}") for kind in _INFERRING)


_INFERRING = ("type_and_shape_inference_function", "function", "context_dependent_function")
"""What an operator's schema has for inference."""
