"""The types and shapes that a rewritten model declares: only what is proved."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.ruled_nodes import RuledNode
from sonnx_ort.analysis.values.graph_node import collected_by_loops, loops_in
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.enforcing.hidden.scan_outputs import scan_bodies
from sonnx_ort.enforcing.metadata import remember_declaration
from sonnx_ort.enforcing.nodes import DATA_TYPES, StandardNodes
from sonnx_ort.loading.traversal import GraphIndex
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.terms.operand import Shape, broadcast_shape


def converted_operands(
    nodes: StandardNodes, ruled: RuledNode, operands: Sequence[ir.Value], carrier: ElementType
) -> Sequence[ir.Value]:
    """Convert a node's operands to the type that it computes in, except those with a fixed type."""
    return [
        value
        if name in ruled.operator.operand_types
        else nodes.cast(value, carrier, f"{value.name}_as_{carrier}")
        for name, value in zip(ruled.operand_names, operands, strict=True)
    ]


def converted_back(nodes: StandardNodes, result: ir.Value, element_type: ElementType) -> ir.Value:
    """Convert a result to the type of the operands."""
    rounded = nodes.cast(result, element_type, f"as_{element_type}")
    if element_type is not ElementType.FLOAT16:
        return rounded
    # ONNX Runtime skips a Cast to float16 if it computes in float32 itself. With two more Casts it
    # skips only the last.
    wide = nodes.cast(rounded, ElementType.FLOAT, "rounded")
    return nodes.cast(wide, element_type, f"rounded_as_{element_type}")


def declare_output(examined: ExaminedNode, *, guarded: bool) -> None:
    """Declare the type and shape of a node's output if they are known and not declared.

    Shape inference stops at a custom operator, and a Scan does not run without its body's shapes.
    Only sizes are declared: a symbol would constrain other values too.

    Args:
        examined: The node.
        guarded: Whether guards of inputs are what sizes follow from. They are not declared then:
            ONNX Runtime could take a Shape from them, and omit the guards.
    """
    output, path = examined.ruled.output, examined.ruled.path
    data_type = _result_type(examined)
    if output.dtype is None and data_type is not None:
        output.type = ir.TensorType(data_type)
    # What is known of these decides results if there is no iteration.
    of_loop = output.is_graph_output() and bool(path) and path[-1].startswith("Loop '")
    in_scan = bool(path) and path[-1].startswith("Scan '")
    open_shape = output.shape is None and output.type is not None and not of_loop
    open_shape = open_shape and (in_scan or not guarded)
    if examined.ruled.operator.elementwise and open_shape:
        shape = _common_shape(examined)
        # A run may give an input declared as a scalar any rank.
        certain = not any(operand.scalar_inputs for operand in examined.operands)
        if shape or (shape is not None and certain):
            known = shape if certain and not guarded else (None,) * len(shape)
            output.shape = numbers_of(known)


def _result_type(examined: ExaminedNode) -> ir.DataType | None:
    own = examined.ruled.operator.result_type
    if own == OF_THE_NODE:
        return None
    if own is not None:
        return ir.DataType[own.upper()]
    element_type = examined.element_type
    return None if element_type is None else DATA_TYPES[element_type]


def _common_shape(examined: ExaminedNode) -> Shape | None:
    """The shape of a result, if all operands have a known one.

    Another operand may break the rule by its rank. ONNX Runtime would not start a session in which
    later nodes contradict the declaration, and a Scan's body would end the process.
    """
    plan = examined.broadcast
    operands = examined.operands if plan is None else plan.operands
    return broadcast_shape(*(operand.shape for operand in operands))


@contextmanager
def restorable_declarations(values: Iterable[ir.Value]) -> Iterator[None]:
    """Keep what the original declares of values, where the block changes it, for `restore`."""
    declared = {value: (value.type, value.shape) for value in values}
    yield
    for value, before in declared.items():
        if (value.type, value.shape) != before:
            remember_declaration(value, *before)


def drop_unproved_sizes(
    index: GraphIndex, facts: Facts, replaced: Container[str], added: Container[str]
) -> None:
    """Remove every declared rank and size that is not proved, in place.

    ONNX Runtime computes the Shape of a value from its declaration, so a false one would reach the
    operators that check shapes. It also merges nodes that compute the same, and uses either
    declaration. Types and symbols are kept. The declaration of an output is kept if nothing in the
    graph reads it and no other node computes the same. The declaration of an output
    that a Loop collects is kept too (`loop_outputs`).

    `replaced` has the operators that custom operators replace, `added` those of added nodes that
    may compute the same as nodes of the model.
    """
    nodes, (main, *_) = index.nodes, index.graphs
    kept = {*main.inputs, *_counters(nodes), *collected_by_loops(nodes)}
    not_mergeable = _not_mergeable(index, replaced, added)
    unread = {value for value in not_mergeable if not value.uses()}
    checked = set(_checked_by_scan(nodes))
    for value in index.values:
        if value in kept or value in unread or value.shape is None or value.is_initializer():
            continue
        # What follows from an input declared as a scalar is not certain.
        known = None if facts.depends_on_scalar_inputs(value) else facts.unguarded_shape(value)
        if known is None:
            if value not in checked:
                value.shape = None
        elif len(known) != len(value.shape):
            value.shape = numbers_of(known)
        else:
            _open_sizes(value, value.shape, known)


def declare_only(
    index: GraphIndex, shape_named: Callable[[str], Sequence[int | None] | None]
) -> None:
    """Declare no other sizes than those that are known, in place.

    Inputs keep their declarations, because ONNX Runtime holds them; so do results of a Scan's body,
    because it does not run without, and those of a Loop's, which decide results. A Loop does not
    run without the shapes of its counters.

    Args:
        index: What the model has.
        shape_named: Gives the known shape of the value of a name; None if it is not known.
    """
    nodes, (main, *_) = index.nodes, index.graphs
    of_loops = chain(_counters(nodes), collected_by_loops(nodes))
    kept = {*main.inputs, *_checked_by_scan(nodes), *of_loops}
    for value in index.values:
        if value in kept or value.shape is None or value.is_initializer():
            continue
        known = shape_named(str(value.name))
        if known is None or len(known) != len(value.shape):
            value.shape = None
        else:
            _open_sizes(value, value.shape, tuple(known))


def _not_mergeable(
    index: GraphIndex, replaced: Container[str], added: Container[str]
) -> Iterator[ir.Value]:
    """The graph outputs whose operator occurs once, and those of replaced nodes."""
    occurrences = Counter(node.op_type for node in index.nodes)
    for output in index.graphs[0].outputs:
        producer = output.producer()
        # A Broadcast becomes standard nodes, which may compute the same.
        if producer is None or producer.op_type == BROADCAST.name:
            continue
        single = occurrences[producer.op_type] == 1 and producer.op_type not in added
        # No two nodes of custom operators are equal.
        if single or producer.op_type in replaced:
            yield output


def _counters(nodes: Iterable[ir.Node]) -> Iterator[ir.Value]:
    """The iteration number and condition of Loops, which always have the declared rank."""
    for loop in loops_in(nodes):
        yield from loop.counters


def _checked_by_scan(nodes: Iterable[ir.Node]) -> Iterator[ir.Value]:
    """The outputs of Scan bodies, which Scan requires to have a declared shape."""
    for _, body in scan_bodies(nodes):
        yield from (o for o in body.outputs if o.producer() is not None and not o.uses())


def _open_sizes(value: ir.Value, declared: ir.Shape, known: Shape) -> None:
    pairs = list(zip(declared, known, strict=True))
    if any(isinstance(own_size, int) and own_size != size for own_size, size in pairs):
        value.shape = ir.Shape(
            [
                None if isinstance(own_size, int) and own_size != size else own_size
                for own_size, size in pairs
            ]
        )


def numbers_of(known: Shape) -> ir.Shape:
    """The sizes of a shape that are numbers; others are open."""
    return ir.Shape([size if isinstance(size, int) else None for size in known])
