"""Takes sizes out of a model that its file claims and that do not follow."""

from itertools import chain

import onnx_ir as ir

from sonnx_ort.analysis.facts import Facts
from sonnx_ort.loading.value_names import defined_values


def drop_unfounded_sizes(model: ir.Model, facts: Facts) -> None:
    """Leave open every declared size that does not follow from anything.

    ONNX Runtime computes the Shape of a value from its declaration, without looking at the value:
    a false one would reach the operators that check shapes. Types, ranks and symbols stay, and
    so does what is declared of an output that nothing in the graph reads.

    Args:
        model: The model, before its nodes are replaced; changed in place.
        facts: What is known of its values.
    """
    given = set(chain(model.graph.inputs, model.graph.initializers.values()))
    for value in defined_values(model.graph):
        if value in given or value.shape is None or value.is_initializer():
            continue
        if value.is_graph_output() and not value.uses():
            continue
        known = facts.shape(value)
        if known is None and (len(value.shape) > 0 or value.producer() is None):
            known = (None,) * len(value.shape)
        # A scalar has no size to leave open: its rank says all. A Loop needs those of its inputs.
        if known is None or len(known) != len(value.shape):
            value.shape = None
            continue
        pairs = list(zip(value.shape, known, strict=True))
        if any(isinstance(claimed, int) and claimed != size for claimed, size in pairs):
            value.shape = ir.Shape(
                [
                    None if isinstance(claimed, int) and claimed != size else claimed
                    for claimed, size in pairs
                ]
            )
