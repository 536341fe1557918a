"""Checks that ONNX Runtime's optimizer kept the guards of a model."""

import itertools
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from sonnx_ort.custom_ops.compiled.guards import GUARD
from sonnx_ort.custom_ops.failure_channel import GUARDING_OPERATORS, guarded_node
from sonnx_ort.loading.traversal import bodies_by_node, every_node, label_of, live_nodes
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.operator import COMPILED_DOMAIN, STANDARD_DOMAIN

VARYING = 1
"""The bit of a value that is not constant."""


_OF_SHAPES = frozenset({"Shape", "Size"})
"""Operators that read no element, so that ONNX Runtime may fold them."""

_OF_FIRST_OPERAND = frozenset({"CastLike"})
"""Operators that read the elements of their first operand only.

CastLike reads only the type of the second; ONNX Runtime replaces it by a Cast at every level.
"""


class Dependencies:
    """The nearest enforced nodes on whose results each value depends."""

    def __init__(self, model: ir.Model, bits: Mapping[ir.Node, int]) -> None:
        """Analyse a model.

        The nodes must be in topological order; `bits` has the bit of each enforced node.
        """
        self._bits = bits
        self._bodies = bodies_by_node(model.graph)
        self._of: dict[ir.Value, int] = dict.fromkeys(model.graph.inputs, VARYING)
        self._walk(model.graph)

    def __getitem__(self, value: ir.Value) -> int:
        """The bits of a value; none for a constant."""
        return self._of.get(value, 0)

    def _walk(self, graph: ir.Graph) -> None:
        """Note on which of the numbered nodes each value of a graph depends."""
        for node in graph:
            inputs = node.inputs[:1] if node.op_type in _OF_FIRST_OPERAND else node.inputs
            read = reduce(or_, (self[v] for v in inputs if v is not None), 0)
            for body in self._bodies.get(node, ()):
                for value in body.inputs:
                    self._of[value] = read | VARYING
                self._walk(body)
                read |= reduce(or_, (self[value] for value in body.outputs), 0)
            if node in self._bits:
                # What an enforced node reads counts for itself; those after it depend on it alone.
                read = self._bits[node] | (read & VARYING)
            elif node.op_type in _OF_SHAPES:
                read &= VARYING
            elif not node.inputs and node.op_type.startswith("Random"):
                read |= VARYING
            for value in node.outputs:
                self._of[value] = read


_RANDOM = frozenset(
    {
        *("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike"),
        *("RandomUniform", "RandomUniformLike"),
    }
)
_COMPARED_BYTES = 4096
"""Constants up to this size are compared by their elements."""


class ValueNumbering:
    """Gives the same number to values that are computed in the same way."""

    def __init__(self, model: ir.Model) -> None:
        """Number the values of a model in topological order."""
        self._fresh = itertools.count()
        self._numbers: dict[ir.Value | None, int] = {None: next(self._fresh)}
        self._known: dict[Hashable, int] = {}
        for node in every_node(model.graph):
            self._number_outputs(node)

    def __getitem__(self, value: ir.Value) -> int:
        """The number of a value."""
        if value not in self._numbers:
            constant = None if value.is_graph_input() else value.const_value
            self._numbers[value] = self._number(None if constant is None else _content(constant))
        return self._numbers[value]

    def _number_outputs(self, node: ir.Node) -> None:
        inputs = tuple(-1 if value is None else self[value] for value in node.inputs)
        attributes = _attributes(node.attributes.values())
        for index, output in enumerate(node.outputs):
            computation: Hashable = None
            if attributes is not None and node.op_type not in _RANDOM:
                computation = (node.op_identifier(), attributes, inputs, index)
            self._numbers[output] = self._number(computation)

    def _number(self, computation: Hashable) -> int:
        """The number of this computation; of None, which is like no other, a new one."""
        if computation is None:
            return next(self._fresh)
        if computation not in self._known:
            self._known[computation] = next(self._fresh)
        return self._known[computation]


def _attributes(attributes: Iterable[ir.Attr]) -> Hashable:
    """A comparable form of attributes; None if they contain something that is not compared."""
    contents: list[Hashable] = []
    for attribute in attributes:
        match attribute.type:
            case ir.AttributeType.TENSOR:
                # as_tensor would first inspect each method of the tensor.
                content = _content(attribute.value)
                if content is None:
                    return None
                contents.append((attribute.name, content))
            case ir.AttributeType.FLOAT | ir.AttributeType.FLOATS:
                # -0 equals 0, for ONNX Runtime as well, but the results differ.
                bits = np.array(attribute.value, np.float32).tobytes()
                contents.append((attribute.name, attribute.type, bits))
            case (
                ir.AttributeType.INT
                | ir.AttributeType.STRING
                | ir.AttributeType.INTS
                | ir.AttributeType.STRINGS
            ):
                value = attribute.value
                hashable = tuple(value) if isinstance(value, list | tuple) else value
                contents.append((attribute.name, attribute.type, hashable))
            case _:
                return None
    return frozenset(contents)


def _content(tensor: ir.TensorProtocol) -> Hashable:
    """The elements of a constant; None if it is large or external."""
    if isinstance(tensor, ir.ExternalTensor) or tensor.nbytes > _COMPARED_BYTES:
        return None
    if tensor.dtype == ir.DataType.STRING:
        return None
    return tensor.dtype, tuple(tensor.shape.numpy()), tensor.tobytes()


_KEPT_OPERATORS = frozenset(
    operator.name for operator in OPERATORS.values() if operator.irreplaceable
)
_BRANCH = re.compile(r"^(_if_(then|else)_branch_(token_\d+_)?)+")
_PREFIXES = re.compile(rf"^(InsertedPrecisionFreeCast_|{_BRANCH.pattern[1:]})+")
_SUFFIX = re.compile(r"(_token_\d+)+$")


@dataclass(frozen=True, slots=True, eq=False)
class KeptNode:
    """A guard, or a node that must be kept: a standard Div or Sub.

    Attributes:
        node: The node.
        guard: The original name of a guard; None for a Div or Sub.
    """

    node: ir.Node
    guard: str | None = None

    @property
    def label(self) -> str:
        """Its name in error messages."""
        if self.guard is not None:
            return f"the guard of {guarded_node(self.guard) or self.guard}"
        return f"{self.node.op_type} '{label_of(self.node)}'"

    @property
    def key(self) -> tuple[str, str]:
        """The operator and the name, without the suffix that ONNX Runtime appends.

        A node of an inlined branch counts as unnamed, because its name is lost.
        """
        name = (self.node.name if self.guard is None else self.guard) or ""
        return self.node.op_type, "" if _BRANCH.match(name) else _SUFFIX.sub("", name)

    @property
    def operands(self) -> tuple[ir.Value, ...]:
        """The inputs; none is optional."""
        return tuple(value for value in self.node.inputs if value is not None)

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of its operands in messages."""
        if self.guard is not None:
            return ("data", *("shape" for _ in self.operands[1:]))
        return OPERATORS[self.node.op_type].operand_names(len(self.node.inputs))

    @property
    def value_names(self) -> frozenset[str]:
        """The names of its inputs and outputs, which distinguish nodes with equal keys."""
        values = (*self.operands, self.node.outputs[0])
        return frozenset(filter(None, map(stem, values)))


def stem(value: ir.Value) -> str:
    """The name of a value, without what ONNX Runtime adds to it.

    It adds a prefix or suffix when it converts float16 or inlines a branch of an If.
    """
    return _SUFFIX.sub("", _PREFIXES.sub("", value.name or ""))


def guards_by_output(model: ir.Model) -> Mapping[str, str]:
    """The names of all guards in a rewritten model, by the names of their outputs."""
    nodes = every_node(model.graph)
    guards = {stem(n.outputs[0]): n.name for n in nodes if n.name and _is_guard(n)}
    return MappingProxyType(guards)


def enforced_nodes(model: ir.Model, guards: Mapping[str, str]) -> Iterator[KeptNode]:
    """The guards and other nodes to keep, including those in subgraphs.

    `guards` has names by outputs, because ONNX Runtime renames the nodes of an inlined branch.
    """
    for node in every_node(model.graph):
        if _is_compiled_guard(node):
            yield KeptNode(node, guards.get(stem(node.outputs[0]), node.name or ""))
        elif node.domain != STANDARD_DOMAIN:
            continue
        elif node.op_type in _KEPT_OPERATORS:
            yield KeptNode(node)
        elif _is_guard(node):
            yield KeptNode(node, node.name)
        elif node.op_type in GUARDING_OPERATORS and stem(node.outputs[0]) in guards:
            yield KeptNode(node, guards[stem(node.outputs[0])])


def matched(expected: list[KeptNode], present: list[KeptNode]) -> dict[KeptNode, KeptNode]:
    """Find each expected node among those that are present.

    Returns:
        The pairs. Nodes with equal keys are distinguished by the names of their values.
    """
    pairs: dict[KeptNode, KeptNode] = {}
    free = {(*node.key, stem(node.node.outputs[0])): node for node in present}
    for node in expected:
        now = free.pop((*node.key, stem(node.node.outputs[0])), None)
        if now is not None:
            pairs[node] = now
    _match_by_operands(expected, present, pairs)
    return pairs


def matched_by_sources(
    expected: ir.Model,
    optimized: ir.Model,
    present: list[KeptNode],
    classes: Mapping[KeptNode, int],
) -> dict[KeptNode, KeptNode]:
    """Find each enforced node of a model in its optimized form, where names say too little.

    ONNX Runtime makes one node of equal ones, and may give new names to all that a node without a
    name reads and gives. So nodes are first found by their names; another one is found among those
    that read results of the same enforced nodes. Of equal nodes, one is found before the others.

    Args:
        expected: The model.
        optimized: Its optimized form.
        present: The enforced nodes of the optimized form.
        classes: The bit of each enforced node of the model, which equal nodes share.
    """
    named = [node for node in present if node.key[1] or stem(node.node.outputs[0])]
    pairs = {
        node: now
        for node, now in matched(list(classes), named).items()
        if node.guard is not None or node.value_names & now.value_names
    }
    before = Dependencies(expected, {node.node: classes[node] for node in pairs})
    after = Dependencies(optimized, {now.node: classes[node] for node, now in pairs.items()})
    taken = set(pairs.values())
    free: dict[Hashable, list[KeptNode]] = defaultdict(list)
    for node in present:
        if node not in taken:
            free[node.key, tuple(map(after.__getitem__, node.operands))].append(node)
    found = {classes[node] for node in pairs}
    first, others = list[KeptNode](), list[KeptNode]()
    for node in classes:
        if node not in pairs:
            (others if classes[node] in found else first).append(node)
            found.add(classes[node])
    for node in (*first, *others):
        alike = free[node.key, tuple(map(before.__getitem__, node.operands))]
        if alike:
            pairs[node] = alike.pop(0)
    _match_by_operands(list(classes), present, pairs)
    return pairs


def _match_by_operands(
    expected: list[KeptNode], present: list[KeptNode], pairs: dict[KeptNode, KeptNode]
) -> None:
    """Match the other nodes: among equal keys, by the most names of values in common."""
    taken = set(pairs.values())
    free: dict[tuple[str, str], list[KeptNode]] = defaultdict(list)
    for node in present:
        if node not in taken:
            free[node.key].append(node)
    unmatched = [node for node in expected if node not in pairs and free[node.key]]
    for least in (2, 1, 0):
        for node in unmatched:
            candidates = free[node.key]
            if node in pairs or not candidates:
                continue
            common = [len(node.value_names & other.value_names) for other in candidates]
            if max(common) >= least:
                pairs[node] = candidates.pop(common.index(max(common)))


def _is_guard(node: ir.Node) -> bool:
    guards = node.op_type in GUARDING_OPERATORS or _is_compiled_guard(node)
    return guards and guarded_node(node.name or "") is not None


def _is_compiled_guard(node: ir.Node) -> bool:
    return (node.domain, node.op_type) == (COMPILED_DOMAIN, GUARD)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a model with its optimized form.

    Attributes:
        losses: What is wrong, as phrases such as "Div 'd' was removed".
        guards: The original names of renamed guards, by the new names.
    """

    losses: tuple[str, ...]
    guards: Mapping[str, str]


def compare(expected: ir.Model, optimized: ir.Model, guards: Mapping[str, str]) -> Comparison:
    """Find the enforced nodes of a model again in its optimized form.

    Each must be there, unless no output needs it, an equal node is kept, or a guard's result is
    constant. An operand after a guard must still be after it, a constant must still be one, and
    the outputs must depend on the same nodes as before.

    `guards` has the names of the guards by their outputs.
    """
    to_keep = [node for node in enforced_nodes(expected, guards) if not _always_passes(node)]
    present = list(enforced_nodes(optimized, guards))
    pairs = matched(to_keep, present)
    losses: list[str] = []
    complete = len(pairs) == len(to_keep)
    if complete:
        bits = {node: VARYING << (place + 1) for place, node in enumerate(to_keep)}
        losses = _losses(expected, optimized, pairs, bits)
    if losses or not complete:
        # An equal node may have replaced it.
        classes = _classes(expected, to_keep)
        pairs = matched_by_sources(expected, optimized, present, classes)
        losses = _losses(expected, optimized, pairs, classes)
    renamed = {
        now.node.name: now.guard
        for now in pairs.values()
        if now.guard is not None and now.node.name and now.node.name != now.guard
    }
    return Comparison(tuple(losses), renamed)


def _losses(
    expected: ir.Model,
    optimized: ir.Model,
    pairs: Mapping[KeptNode, KeptNode],
    classes: Mapping[KeptNode, int],
) -> list[str]:
    """What is wrong, if nodes with the same bit can replace each other."""
    live = live_nodes(expected.graph)
    kept = {classes[node] for node in pairs}
    before = Dependencies(expected, {node.node: bit for node, bit in classes.items()})
    after = Dependencies(optimized, {now.node: classes[node] for node, now in pairs.items()})
    # Of several equal nodes, ONNX Runtime may keep one that no output needs.
    gone = (n for n in classes if n.node in live and classes[n] not in kept)
    losses = [f"{node.label} was removed" for node in gone]
    judge = _Judge(before, after, {bit: node for node, bit in classes.items() if node in pairs})
    for node, now in pairs.items():
        losses.extend(judge.operands(node, now))
    losses.extend(judge.outputs(expected.graph, optimized.graph))
    return losses


class _Judge:
    """Finds the dependencies that a value has lost."""

    def __init__(
        self, before: Dependencies, after: Dependencies, kept: Mapping[int, KeptNode]
    ) -> None:
        self._before = before
        self._after = after
        self._kept = kept
        self._kept_bits = reduce(or_, kept, 0)

    def operands(self, node: KeptNode, now: KeptNode) -> Iterator[str]:
        for name, old, new in zip(node.operand_names, node.operands, now.operands, strict=True):
            subject = f"{node.label}: its operand {name}" if node.guard is None else node.label
            yield from self._bypassed(subject, old, new)
            if self._after[new] & VARYING and not self._before[old] & VARYING:
                yield f"{subject} is no longer the constant '{old.name}'"

    def outputs(self, before: ir.Graph, after: ir.Graph) -> Iterator[str]:
        for old, new in zip(before.outputs, after.outputs, strict=True):
            yield from self._bypassed(f"output '{old.name}'", old, new)

    def _bypassed(self, subject: str, old: ir.Value, new: ir.Value) -> Iterator[str]:
        """The kept nodes on which a value depended, and no longer does."""
        missing = self._before[old] & self._kept_bits & ~self._after[new]
        if not missing:
            return
        for bit, node in self._kept.items():
            if bit & missing:
                yield f"{subject} no longer depends on {node.label}"


def _always_passes(node: KeptNode) -> bool:
    """Whether a guard always passes: its shape is constant and not a code."""
    if node.guard is None or _is_compiled_guard(node.node):
        return False
    shape = node.operands[1]
    constant = None if shape.is_graph_input() else shape.const_value
    return constant is not None and bool((constant.numpy() >= -1).all())


def _classes(model: ir.Model, nodes: list[KeptNode]) -> dict[KeptNode, int]:
    """The bit of each node; equal nodes of one graph share it."""
    numbers = ValueNumbering(model)
    bits: dict[tuple[object, int], int] = {}
    classes: dict[KeptNode, int] = {}
    for node in nodes:
        key = (node.node.graph, numbers[node.node.outputs[0]])
        classes[node] = bits.setdefault(key, VARYING << (len(bits) + 1))
    return classes
