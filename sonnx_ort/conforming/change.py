"""One change: what it fixes, whether it is safe, and the edits that it makes at a node.

A change is a function of a `NodeEdit`, which is a node of a graph that may be edited. It either
edits the node and gives True, or has nothing to do there and gives False, or raises `NoChangeError`
with the reason why it cannot fix what is violated. It makes no edit before it is sure.
"""

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.dead_nodes import detach
from sonnx_ort.conforming.stated import Stated
from sonnx_ort.conforming.verified import NEWEST, Verified, schema_of
from sonnx_ort.errors.remedies import Advice, Remedy, listed
from sonnx_ort.facts.attributes import plain_value
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.external_data import MOST_AXES_OF_ARRAYS
from sonnx_ort.loading.traversal import ValueNames
from sonnx_ort.loading.written import carry
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand, Shape, has_known_sizes

Attribute = int | float | str | Sequence[int] | Sequence[float] | Sequence[str] | ir.TensorProtocol

_OLDEST_IR_WITH_INITIALIZERS = 4
"""Before it, every initializer is an input of the graph as well."""


AXES_AS_INPUT = 13
"""The first version in which the axes of Squeeze and Unsqueeze are an input."""

SLICED_BY_INPUTS = 10
"""The first version of Slice whose starts and ends are inputs; Where is older."""

WITH_EXPAND = 8
"""The first version that has Expand."""


MOST_ELEMENTS = 1 << 24
"""No tensor of more elements is made."""

MOST_STEPS = 16
"""How many steps a Loop or Scan may have by default that is written as all its steps."""


def filled(sizes: Sequence[int], number: float, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array of one number.

    Raises:
        NoChangeError: It would have too many elements or axes.
    """
    if len(sizes) > MOST_AXES_OF_ARRAYS:
        raise NoChangeError(f"the tensor to give would have {len(sizes)} axes")
    count = math.prod(sizes)
    if count > MOST_ELEMENTS:
        raise NoChangeError(f"the tensor to give would have {count:,} elements")
    return np.full(sizes, number, dtype)


def set_input(node: ir.Node, position: int, value: ir.Value | None) -> None:
    """Let a node read another value, also after its last input."""
    if position >= len(node.inputs):
        node.resize_inputs(position + 1)
    node.replace_input_with(position, value)


def stored_constant(
    graph: ir.Graph, name: str, elements: npt.NDArray[Any], ir_version: int
) -> tuple[ir.Value, ir.Node | None]:
    """Store an array in a graph: as an initializer, or in old formats by a node to be inserted."""
    tensor = ir.Tensor(elements, name=name)
    kind, shape = ir.TensorType(tensor.dtype), ir.Shape(elements.shape)
    if ir_version < _OLDEST_IR_WITH_INITIALIZERS:
        value = ir.Value(name=name, type=kind, shape=shape)
        return value, ir.node("Constant", [], {"value": tensor}, outputs=[value], name=name)
    value = ir.Value(name=name, type=kind, shape=shape, const_value=tensor)
    graph.register_initializer(value)
    return value, None


class NoChangeError(Exception):
    """A change cannot fix what is violated at a node; the message says why, as a clause.

    Attributes:
        reason: The message, with the options that would let it.
    """

    def __init__(self, *parts: str | Remedy) -> None:
        self.reason = Advice(*parts)
        super().__init__(self.reason)


class TooEarlyError(NoChangeError):
    """The model's version of the standard operators lacks what the change needs."""

    def __init__(self, lack: str) -> None:
        super().__init__(
            f"{lack}; convert the model to a later version with onnx.version_converter"
        )


def named(domain: str, operator: str) -> str:
    """The name of an operator, with its domain if that is not the standard one."""
    return f"{domain}::{operator}" if domain else operator


def operator_of(node: ir.Node) -> str:
    """The name of a node's operator, with its domain if that is not the standard one."""
    return named(node.domain, node.op_type)


class Safety(enum.StrEnum):
    """What a change does to the results of a model."""

    SAFE = "safe"
    """Every result has the same bits in every run."""

    ROUNDING = "rounding"
    """Results may be rounded otherwise, within a bound."""

    INTERFACE = "interface"
    """Every result has the same bits, and the model has more outputs."""

    @property
    def label(self) -> str:
        """What a list of changes says of it after its title; empty of one that is safe."""
        return _LABELS[self]


_LABELS = {
    Safety.SAFE: "",
    Safety.ROUNDING: " (rounds)",
    Safety.INTERFACE: " (adds outputs)",
}


def safety_of(bound: Bound | None) -> Safety:
    """What a change of a bound does to results."""
    return Safety.SAFE if bound is None else Safety.ROUNDING


@dataclass(frozen=True, slots=True)
class Change:
    """A way to fix a node.

    Attributes:
        title: What it does, as an order: "count the axis from the front".
        rules: The ids of the rules that it fixes.
        make: Makes it at a node of one of the operators of these rules. See the module.
        verified: What it was verified for, by operator; every other node stays as it is.
        bound: How far results may be from the original ones; None if they keep their bits.
        undecided: Whether it also fixes what only a run decides; else only what is violated.
    """

    title: str
    rules: frozenset[str]
    make: Callable[["NodeEdit"], bool]
    verified: Mapping[str, Verified]
    bound: Bound | None = None
    undecided: bool = False

    @property
    def safety(self) -> Safety:
        """What it does to results."""
        return safety_of(self.bound)

    def concerned(self, examined: ExaminedNode, chosen: frozenset[str]) -> list[Obligation]:
        """The obligations of a node that the change is to fix, of the chosen rules."""
        return [
            o
            for o in examined.obligations
            if o.rule.id in self.rules & chosen
            if o.status is Status.VIOLATED or (self.undecided and o.left_to_the_run)
        ]

    def require_verified(self, edit: "NodeEdit") -> None:
        """Refuse a node for which the change was not verified.

        Raises:
            NoChangeError: It was not.
        """
        verified = self.verified.get(operator_of(edit.node))
        if verified is None:
            raise NoChangeError(f"no change of {edit.node.op_type} was verified")
        if (doubt := verified.doubt(edit.node, edit.version, edit.facts)) is not None:
            raise NoChangeError(doubt)


def converted(elements: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Numbers in another type.

    Raises:
        NoChangeError: They are infinite, or too large for its integers.
    """
    try:
        with np.errstate(invalid="raise", over="ignore", under="ignore"):
            return elements.astype(dtype)
    except FloatingPointError:
        raise NoChangeError(f"{dtype} has no such numbers") from None


_MOST_NODES = 10_000
"""The most nodes in place of one; an operator with a hundred axes would take more."""


def _fixing(shapes: Sequence[Remedy]) -> Advice:
    """Options that fix shapes, as the end of a sentence; empty for none."""
    if not shapes:
        return Advice()
    return Advice("; fix ", "it" if len(shapes) == 1 else "them", ": ", listed(shapes))


def _declared(inputs: Iterable[ir.Value]) -> Iterator[tuple[str, Sequence[object] | None]]:
    """The names of inputs, with the sizes that the model declares."""
    for each in inputs:
        yield str(each.name), None if each.shape is None else list(each.shape)


@dataclass
class NodeEdit:
    """A node that may be edited.

    Attributes:
        opset: The version of the standard operators.
        facts: What is certain of the values of the graph before the edit.
        names: The names of the graph, for new nodes and values.
        ir_version: The version of the file's format.
        imports: The versions of the operators of each domain.
        operands: What is known of the operands that are given; none of an operator without rules.
        declared_results: The results as the file declares them; none of an operator without rules.
        added: The nodes to insert in front of the node, in their order.
        moved: How many of these come from the subgraphs of the node, and cannot be put back.
        replacements: What takes the place of the node's outputs; None for one that is omitted.
        stored: The initializers that were added to the graph.
        before: The inputs and attributes that the node had; None as long as it has them.
        not_fixed: The ids of the rules that the change does not fix here, unlike elsewhere.
        tried: Whether a change is only tried: then the node and its graph stay as they are.
        read: What the added nodes read while a change is tried, with the operators of these.
        given: The positions of the inputs that a change gives while it is tried.
        most_steps: How many steps a Loop or Scan may have that is unrolled.
        both_branches: Whether both branches of an If may be computed.
        proved: The nodes whose rules are all proved, if both branches may be computed.
        stated: What is known of inputs, which reasons propose to fix.
    """

    node: ir.Node
    opset: int
    facts: Facts
    names: ValueNames
    ir_version: int
    imports: Mapping[str, int]
    operands: tuple[Operand, ...] = ()
    declared_results: tuple[Operand, ...] = ()
    added: list[ir.Node] = field(default_factory=list)
    moved: int = 0
    replacements: tuple[ir.Value | None, ...] = ()
    stored: list[ir.Value] = field(default_factory=list)
    before: tuple[tuple[ir.Value | None, ...], Mapping[str, ir.Attr]] | None = None
    not_fixed: set[str] = field(default_factory=set)
    tried: bool = False
    read: list[tuple[str, ir.Value]] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    most_steps: int = MOST_STEPS
    both_branches: bool = False
    proved: frozenset[ir.Node] = frozenset()
    stated: Stated = field(default_factory=Stated)

    @property
    def version(self) -> int:
        """The version of the operators of the node's domain."""
        return self.imports.get(self.node.domain, 1)

    @property
    def inputs(self) -> tuple[ir.Value, ...]:
        """The inputs as they are now, without those that are omitted."""
        return tuple(value for value in self.node.inputs if value is not None)

    def input(self, position: int) -> ir.Value | None:
        """An input; None if it is omitted."""
        return self.node.inputs[position] if position < len(self.node.inputs) else None

    def operand(self, position: int) -> ir.Value:
        """An input.

        Raises:
            NoChangeError: It is omitted.
        """
        value = self.input(position)
        if value is None:
            raise NoChangeError(f"its input {position} is left out")
        return value

    def shape(self, value: ir.Value) -> Shape:
        """The certain shape of a value, with symbols for open sizes.

        Raises:
            NoChangeError: The rank is not known, or a run may give an array of another one.
        """
        shape = self.facts.shape(value)
        if shape is None or self.facts.depends_on_scalar_inputs(value):
            raise NoChangeError(
                f"the rank of '{value.name}' is not known", self._fixing_scalars(value)
            )
        return shape

    def _fixing_scalars(self, value: ir.Value) -> Advice:
        """The options that hold inputs to what they are declared as, scalars; empty for none."""
        scalars = self.facts.scalars_affecting(value)
        return _fixing([Remedy("assume_shapes", (), str(each.name)) for each in scalars])

    def sizes(self, value: ir.Value) -> tuple[int, ...]:
        """The certain sizes of a value.

        Raises:
            NoChangeError: They depend on the input.
        """
        shape = self.shape(value)
        if not has_known_sizes(shape):
            raise NoChangeError(
                f"the sizes of '{value.name}' depend on the input", self.fixing_sizes(value)
            )
        return cast(tuple[int, ...], shape)

    def fixing_sizes(self, *values: ir.Value) -> Advice:
        """The options that fix the sizes of values, as the end of a sentence; empty for none."""
        return _fixing(self.stated.fixing_shapes(_declared(self.facts.inputs_affecting(values))))

    def fixing_elements(self, *values: ir.Value) -> Advice:
        """The options that fix the elements of values, as the end of a sentence; empty for none.

        An element may follow from the sizes of an input, or from its elements.
        """
        inputs = self.facts.inputs_affecting(values)
        shapes = self.stated.fixing_shapes(_declared(inputs))
        fixing = (*self.stated.fixing_values(inputs), *shapes)
        return Advice("; to fix it: ", listed(fixing)) if fixing else Advice()

    def dtype(self, value: ir.Value) -> ir.DataType:
        """The type of the elements of a value.

        Raises:
            NoChangeError: It is not known.
        """
        name = self.facts.element_type(value)
        if name is None:
            raise NoChangeError(f"the type of '{value.name}' is not known")
        return ir.DataType[name.upper()]

    def elements(self, position: int) -> npt.NDArray[Any]:
        """The elements of an input.

        Raises:
            NoChangeError: It is omitted, or depends on the input.
        """
        return self.elements_of(self.operand(position))

    def elements_of(self, value: ir.Value) -> npt.NDArray[Any]:
        """The elements of a value.

        Raises:
            NoChangeError: They depend on the input.
        """
        found = self.facts.known_elements(value)
        if found is None and self.facts.foldable(value):
            raise NoChangeError(f"the elements of '{value.name}' are constant, but not computed")
        if found is None:
            raise NoChangeError(
                f"the elements of '{value.name}' depend on the input", self.fixing_elements(value)
            )
        return found

    def integer_of(self, value: ir.Value) -> int:
        """The only integer that a value holds.

        Raises:
            NoChangeError: It holds another number of them, or they depend on the input.
        """
        found = self.elements_of(value)
        if found.size != 1:
            raise NoChangeError(f"'{value.name}' has {found.size} elements, not one")
        return int(found.item())

    def attribute(self, name: str) -> Any:
        """An attribute, or the default that ONNX defines; None if there is neither."""
        if (own := self.node.attributes.get(name)) is not None:
            return own.value
        schema = schema_of(self.node, self.version)
        if schema is None or name not in schema.attributes:
            return None
        default = schema.attributes[name].default_value
        return plain_value(default) if default.type else None

    def integer(self, name: str) -> int:
        """An attribute that is one number; 0 if it is omitted."""
        return self.node.attributes.get_int(name, 0)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of numbers; None if it is omitted."""
        found = self.node.attributes.get_ints(name)
        return None if found is None else tuple(found)

    def set_attribute(self, name: str, value: Attribute) -> None:
        """Write an attribute of the node."""
        if not self.tried:
            self._remember()
            self.node.attributes[name] = ir.convenience.convert_attribute(name, value)

    def remove_attribute(self, name: str) -> None:
        """Remove an attribute of the node."""
        if not self.tried:
            self._remember()
            del self.node.attributes[name]

    def set_input(self, position: int, value: ir.Value | None) -> None:
        """Let the node read another value, also after its last input."""
        if not self.tried:
            self._remember()
            set_input(self.node, position, value)
            return
        self.given.append(position)
        if value is not None:
            self.read.append((self.node.op_type, value))

    def constant(self, array: npt.NDArray[Any] | Sequence[int], purpose: str) -> ir.Value:
        """Store an array, by default of int64, in the graph."""
        if self.tried:
            return ir.Value(name=purpose)
        elements = np.asarray(array, None if isinstance(array, np.ndarray) else np.int64)
        graph = cast(ir.Graph, self.node.graph)
        value, made = stored_constant(graph, self._new_name(purpose), elements, self.ir_version)
        if made is None:
            self.stored.append(value)
        else:
            self.added.append(made)
        return value

    def add(
        self,
        operator: str,
        inputs: Sequence[ir.Value | None],
        attributes: Mapping[str, Attribute],
        name: str | None = None,
    ) -> ir.Value:
        """Add a standard operator in front of the node; give its only output.

        The name of the new node is that of its output by default; one that takes the place of the
        node takes its name.

        Raises:
            NoChangeError: The change takes too many nodes.
        """
        if len(self.added) - self.moved >= _MOST_NODES:
            raise NoChangeError(f"it takes more than {_MOST_NODES:,} nodes")
        if (version := operator_version(operator, self.opset)) > NEWEST[""]:
            raise NoChangeError(f"no change was verified with version {version} of {operator}")
        output = ir.Value(name=self._new_name(operator.lower()))
        if self.tried:
            # What is only tried reads nothing, and nothing reads it.
            self.read += ((operator, value) for value in inputs if value is not None)
            self.added.append(ir.node(operator, (), attributes, outputs=[output], name=name))
            return output
        own = self.names.fresh_for_node(str(output.name)) if name is None else name
        self.added.append(ir.node(operator, inputs, attributes, outputs=[output], name=own))
        return output

    def replace_by(self, *values: ir.Value | None) -> None:
        """Let all that reads the node's outputs read values of the added nodes instead.

        The node is removed. An output without a value must be omitted. A value that no added node
        computes is passed on by an Identity: an input of the graph keeps its name, and two outputs
        have two values.
        """
        own = {output for node in self.added for output in node.outputs}
        passed: list[ir.Value | None] = []
        for value in values:
            fresh = value is None or (value in own and value not in passed)
            passed.append(value if fresh else self.add("Identity", [value], {}))
        self.replacements = tuple(passed)

    def does_not_fix(self, rule: str) -> None:
        """Say that the change does not fix a rule here."""
        self.not_fixed.add(rule)

    def dry_run(self) -> "NodeEdit":
        """The same node, at which a change is tried, and which stays as it is."""
        return replace(
            self,
            tried=True,
            added=[],
            moved=0,
            stored=[],
            before=None,
            not_fixed=set(),
            read=[],
            given=[],
            replacements=(),
        )

    def finish(self) -> None:
        """Put the added nodes into the graph, and remove the node if it was replaced."""
        if self.tried:
            return
        graph = cast(ir.Graph, self.node.graph)
        for node in self.added:
            carry(self.node.metadata_props, node)
        graph.insert_before(self.node, self.added)
        pairs = zip(self.node.outputs, self.replacements, strict=False)
        new = {old: value for old, value in pairs if value is not None}
        if new:
            ir.convenience.replace_nodes_and_values(
                graph, self.node, [self.node], [], [*new], [*new.values()]
            )

    def _remember(self) -> None:
        """Keep what the node is before its first edit."""
        if self.before is None:
            self.before = tuple(self.node.inputs), dict(self.node.attributes)

    def discard(self) -> None:
        """Leave the graph as it was: the node too, of which a part may be edited.

        Nodes that were not put into the graph read none of its values any more.

        Raises:
            RuntimeError: Nodes were moved, so that the graph is not as it was.
        """
        if self.moved:
            raise RuntimeError(f"a change at '{self.node.name}' moved nodes, and was not made")
        if self.before is not None:
            inputs, attributes = self.before
            self.node.resize_inputs(len(inputs))
            for position, value in enumerate(inputs):
                self.node.replace_input_with(position, value)
            self.node.attributes.clear()
            self.node.attributes.update(attributes)
        graph = cast(ir.Graph, self.node.graph)
        for value in self.stored:
            del graph.initializers[str(value.name)]
        for node in self.added:
            detach(node)

    def _new_name(self, purpose: str) -> str:
        # A name that only a trial gives is not taken.
        if self.tried:
            return purpose
        return self.names.fresh(f"{self.node.outputs[0].name}_{purpose}")
