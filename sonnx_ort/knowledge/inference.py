"""The shapes that ONNX Runtime infers of a model in which Loops collect values.

If such a Loop makes no iteration, its results have the shapes that are inferred. They follow from
all that the file declares, also from what is wrong, so none of them is certain. They are derived
here by the rules of certain shapes: of an operator without a rule nothing is inferred.
"""

from collections.abc import Collection, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.kernel.sizes import PartialSizes, Size
from sonnx_ort.knowledge.certain_shapes import CertainShapes
from sonnx_ort.knowledge.declarations import (
    NOTHING_DECLARED,
    Declarations,
    Iteration,
    collected_by_loops,
    declared_of,
)
from sonnx_ort.knowledge.value_types import ValueTypes
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN


class Inference:
    """What ONNX Runtime infers of a model in which Loops collect values; nothing of others."""

    def __init__(self, model: ir.Model, types: ValueTypes) -> None:
        """Infer the shapes of a canonical model, which is not modified."""
        self._inferred: _Inferred | None = None
        self._collected: Declarations = NOTHING_DECLARED
        collected = tuple(collected_by_loops(model.graph))
        if collected:
            self._inferred = _Inferred(model, types, NOTHING_DECLARED)
            self._collected = self._declared_for_loops(model, collected, types)
            self._inferred = _Inferred(model, types, self._collected)

    @property
    def decides_results(self) -> bool:
        """Whether a Loop's result can depend on the shapes that are inferred."""
        return self._inferred is not None

    def shape(self, value: ir.Value) -> ir.Shape | None:
        """The inferred shape of a value, which may be wrong; None if the rank is unknown."""
        return None if self._inferred is None else _shape(self._inferred.shapes.get(value))

    def collected(self) -> Declarations:
        """The scan outputs of Loop bodies of which ONNX Runtime knows a shape, with that shape.

        It gives the shape of the Loop's output if there is no iteration; open sizes are 0 then.
        """
        return self._collected

    def _declared_for_loops(
        self, model: ir.Model, collected: Collection[ir.Value], types: ValueTypes
    ) -> Declarations:
        """Declarations of Loops' scan outputs that let ONNX Runtime infer the same as before."""
        inferred = inferred_beside_declarations(model, collected, types)
        declared: dict[ir.Value, ir.TypeAndShape] = {}
        for value in collected:
            kind, shape = types.type(value) or value.type, merged(value.shape, inferred.get(value))
            if says_more(value.shape, shape):
                # Declarations of other values are not written again; this has to follow without.
                shape = merged(value.shape, self.shape(value))
            if kind is not None and shape is not None:
                declared[value] = ir.TypeAndShape(kind, shape)
        return declared


def inferred_beside_declarations(
    model: ir.Model, values: Collection[ir.Value], types: ValueTypes
) -> Mapping[ir.Value, ir.Shape]:
    """The shapes of values as ONNX Runtime infers them, beside what the file declares of them.

    All other declarations count, as does what is declared of these values where others read them.
    """
    computed = _Inferred(model, types, declared_of(defined_values(model.graph))).computed
    return {v: shape for v in values if (shape := _shape(computed.get(v))) is not None}


def _shape(sizes: Sequence[Size | None] | None) -> ir.Shape | None:
    if sizes is None:
        return None
    return ir.Shape([size if isinstance(size, int | None) else str(size) for size in sizes])


class _Inferred(CertainShapes):
    """Shapes as ONNX Runtime infers them from operators and declarations.

    Attributes:
        computed: The shapes of results, without what is declared of them.
    """

    def __init__(self, model: ir.Model, types: ValueTypes, declared: Declarations) -> None:
        super().__init__(model, types)
        self.computed: dict[ir.Value, Sequence[Size | None]] = {}
        self._declared = declared
        self.derive(model.graph)

    def _take_results(self, node: ir.Node) -> None:
        super()._take_results(node)
        for value in node.outputs:
            self._take_declared(value)

    def _take_declared(self, value: ir.Value) -> None:
        """Merge what is computed of a value with what is declared of it."""
        declared = self._declared.get(value)
        if value in self.shapes:
            self.computed[value] = self.shapes[value]
        if declared is None or declared.shape is None:
            return
        shape = merged(declared.shape, _shape(self.shapes.pop(value, None)))
        if shape is not None:
            self._record(value, [size if isinstance(size, int) else None for size in shape])

    def _iterate(self, iteration: Iteration) -> None:
        """Follow a body once; ONNX Runtime gives a Loop's body no shapes of its states."""
        if iteration.elements or not iteration.counters:
            super()._iterate(iteration)
            return
        self._record_body_inputs(iteration)
        for state in iteration.states:
            self._take_declared(state.taken)
        self.derive(iteration.body)
        for output, value in iteration.collected:
            if value in self.shapes:
                self._record(output, [None, *self.shapes[value]])

    def _results(self, node: ir.Node) -> Sequence[PartialSizes | None]:
        if node.domain == DOMAIN:
            return ()
        if (node.domain, node.op_type) in _PASSING:
            value = node.inputs[0] if node.inputs else None
            return () if value is None else (self.shapes.get(value),)
        return super()._results(node)


_PASSING = frozenset((STANDARD_DOMAIN, name) for name in ("Optional", "OptionalGetElement"))
"""Operators by which the shape of a tensor passes."""


def merged(declared: ir.Shape | None, inferred: ir.Shape | None) -> ir.Shape | None:
    """What ONNX Runtime makes of both: where they contradict each other, it keeps what both say."""
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if len(declared) != len(inferred):
        return None
    pairs = [
        (own, size if isinstance(size, int) and size >= 0 else own)
        for own, size in zip(declared, inferred, strict=True)
    ]
    if any(isinstance(own, int) and own != size for own, size in pairs):
        return ir.Shape(
            [None if isinstance(own, int) and own != size else own for own, size in pairs]
        )
    return ir.Shape([size for _, size in pairs])


def says_more(one: ir.Shape | None, other: ir.Shape | None) -> bool:
    """Whether a shape has a rank, or sizes, that another one does not have."""
    if one is None:
        return False
    if other is None or len(one) != len(other):
        return True
    pairs = zip(one, other, strict=True)
    return any(isinstance(size, int) and size != known for size, known in pairs)
