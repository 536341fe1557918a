"""Takes shapes out of a model that its file claims and that do not follow."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.facts import Facts
from sonnx_ort.analysis.premises import collected_by_loops
from sonnx_ort.loading.bodies import bodies_of
from sonnx_ort.loading.value_names import defined_values
from sonnx_ort.profile.catalog import STANDARD_OPERATORS
from sonnx_ort.profile.operand import Shape

_READING_OPERANDS = frozenset({"Cast", "Equal", "Expand", "Reshape", "Shape"})
"""The operators of nodes that replace others, and read what these read."""

_READING_THOSE = frozenset({"Greater", "ReduceMax", "ReduceMin", "Where"})
"""The operators of nodes of the native backend that read what such nodes give."""


def drop_unfounded_sizes(model: ir.Model, facts: Facts, *, native: bool) -> None:
    """Leave open every declared rank and size that does not follow from anything.

    ONNX Runtime computes the Shape of a value from its declaration, and the Shape of that from its
    rank, without looking at the value: a false one would reach the operators that check shapes.
    Types and symbols stay, and so does what is declared of an output that nothing in the graph
    reads and nothing else can be computed like: ONNX Runtime makes one value of two that are
    computed alike, and reads the declaration of one of them for both. What a Loop collects has the
    declared shape if there is no iteration, so that this declaration stays too; what ONNX Runtime
    concludes from it, `Inference` knows.

    Args:
        model: The model, before its nodes are replaced; changed in place.
        facts: What is known of its values.
        native: Whether the nodes that are enforced stay standard nodes.
    """
    given = chain(model.graph.inputs, model.graph.initializers.values())
    kept = set(chain(given, _counters(model.graph), collected_by_loops(model.graph)))
    unlike = _computed_like_no_other(model.graph, native=native)
    unread = {value for value in unlike if not value.uses()}
    checked = set(_checked_by_scan(model.graph))
    for value in defined_values(model.graph):
        if value in kept or value in unread or value.shape is None or value.is_initializer():
            continue
        # What follows from an input that is declared as a scalar is itself a claim.
        known = None if facts.rests_on_scalars(value) else facts.shape(value)
        if known is None:
            if value not in checked:
                value.shape = None
        elif len(known) != len(value.shape):
            value.shape = _sizes(known)
        else:
            _open_sizes(value, value.shape, known)


def _computed_like_no_other(graph: ir.Graph, *, native: bool) -> Iterator[ir.Value]:
    """The outputs of the graph whose operator occurs once, and those of replaced nodes."""
    added = _READING_OPERANDS | _READING_THOSE if native else _READING_OPERANDS
    # No two of the custom operators' nodes are alike.
    replaced = frozenset[str]() if native else STANDARD_OPERATORS
    occurrences = Counter(node.op_type for node in RecursiveGraphIterator(graph))
    for output in graph.outputs:
        producer = output.producer()
        if producer is None:
            continue
        alone = occurrences[producer.op_type] == 1 and producer.op_type not in added
        if alone or producer.op_type in replaced:
            yield output


def _counters(graph: ir.Graph) -> Iterator[ir.Value]:
    """What a Loop counts and asks: it gives both the rank that its body declares."""
    for node, body in _bodies(graph):
        if node.op_type == "Loop":
            yield from body.inputs[:2]


def _checked_by_scan(graph: ir.Graph) -> Iterator[ir.Value]:
    """What a Scan holds to its declaration, and does not run without."""
    for node, body in _bodies(graph):
        if node.op_type == "Scan":
            yield from (o for o in body.outputs if o.producer() is not None and not o.uses())


def _bodies(graph: ir.Graph) -> Iterator[tuple[ir.Node, ir.Graph]]:
    return ((node, body) for node in RecursiveGraphIterator(graph) for body in bodies_of(node))


def _open_sizes(value: ir.Value, claimed: ir.Shape, known: Shape) -> None:
    pairs = list(zip(claimed, known, strict=True))
    if any(isinstance(claim, int) and claim != size for claim, size in pairs):
        value.shape = ir.Shape(
            [None if isinstance(claim, int) and claim != size else claim for claim, size in pairs]
        )


def _sizes(known: Shape) -> ir.Shape:
    return ir.Shape([size if isinstance(size, int) else None for size in known])
