"""The shapes that ONNX Runtime infers of a model in which Loops collect values.

If such a Loop makes no iteration, its results have the shapes that are inferred. They follow from
all that the file declares, also from what is wrong, so none of them is certain. They are derived
here by the rules of certain shapes: of an operator without a rule nothing is inferred.
"""

from collections.abc import Collection, Mapping, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import NOTHING_DECLARED, Declarations, declared_of
from sonnx_ort.analysis.values.derived import Derived
from sonnx_ort.analysis.values.graph_node import collected_by_loops, loops_in
from sonnx_ort.analysis.values.value_types import ValueTypes
from sonnx_ort.facts.deriving import all_derived
from sonnx_ort.facts.established import KINDS, NUMBERS
from sonnx_ort.facts.iterations import Changing
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Sizes, is_negative, kept_sizes
from sonnx_ort.loading.traversal import GraphIndex
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN


class Inference:
    """What ONNX Runtime infers of a model in which Loops collect values; nothing of others."""

    def __init__(self, model: ir.Model, types: ValueTypes, index: GraphIndex) -> None:
        """Infer the shapes of a canonical model, which is not modified."""
        self._inferred: _Inferred | None = None
        self._collected: Declarations = NOTHING_DECLARED
        collected = tuple(collected_by_loops(index.nodes))
        if collected:
            self._inferred = _inferred(model, types, NOTHING_DECLARED, index)
            self._collected = self._declared_for_loops(model, collected, types, index)
            self._inferred = _inferred(model, types, self._collected, index)

    @property
    def decides_results(self) -> bool:
        """Whether a Loop's result can depend on the shapes that are inferred."""
        return self._inferred is not None

    def shape(self, value: ir.Value) -> ir.Shape | None:
        """The inferred shape of a value, which may be wrong; None if the rank is unknown."""
        return (
            None
            if self._inferred is None
            else _shape(self._inferred.established("shape").get(value))
        )

    def collected(self) -> Declarations:
        """The scan outputs of Loop bodies of which ONNX Runtime knows a shape, with that shape.

        It gives the shape of the Loop's output if there is no iteration; open sizes are 0 then.
        """
        return self._collected

    def _declared_for_loops(
        self,
        model: ir.Model,
        collected: Collection[ir.Value],
        types: ValueTypes,
        index: GraphIndex,
    ) -> Declarations:
        """Declarations of Loops' scan outputs that let ONNX Runtime infer the same as before."""
        inferred = inferred_beside_declarations(model, collected, types, index)
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
    model: ir.Model, values: Collection[ir.Value], types: ValueTypes, index: GraphIndex
) -> Mapping[ir.Value, ir.Shape]:
    """The shapes of values as ONNX Runtime infers them, beside what the file declares of them.

    All other declarations count, as does what is declared of these values where others read them.
    """
    computed = _inferred(model, types, declared_of(index.values), index).computed
    return {v: shape for v in values if (shape := _shape(computed.get(v))) is not None}


def _shape(sizes: Sequence[Size | None] | None) -> ir.Shape | None:
    if sizes is None:
        return None
    return ir.Shape([size if isinstance(size, int | None) else str(size) for size in sizes])


class _Inferred(Derived):
    """Shapes as ONNX Runtime infers them from operators and declarations.

    Attributes:
        computed: The shapes of results, without what is declared of them.
    """

    def __init__(
        self,
        model: ir.Model,
        types: ValueTypes,
        declared: Declarations,
        index: GraphIndex,
        changing: Changing,
    ) -> None:
        super().__init__(model, types, changing=changing, index=index)
        self.computed: dict[ir.Value, Sizes] = {}
        self._declarations = declared
        self._kinds = frozenset(KINDS) - {*NUMBERS}
        loops = list(loops_in(index.nodes))
        self._of_loops = {state.taken for loop in loops for state in loop.states}
        self._last = {state.final for loop in loops for state in loop.states}
        self._lists = {output: own for loop in loops for output, own in loop.collected}

    def _partial_shape(self, value: ir.Value) -> PartialSizes | None:
        """The shape that is computed of a value, merged with what is declared of it."""
        if value in self._of_loops:
            # ONNX Runtime gives a Loop's body no shapes of its states.
            return self._with_declared(value, None)
        if value not in self._producers:
            return super()._partial_shape(value)
        try:
            found = self._shape_by_operator(value)
        except Rejected:
            found = None
        if found is not None and not is_negative(found):
            self.computed[value] = self._with_symbols(kept_sizes(found))
        return self._with_declared(value, self.computed.get(value))

    def _shape_by_operator(self, value: ir.Value) -> PartialSizes | None:
        node, _ = self._producers[value]
        if value in self._last or node.domain == DOMAIN:
            return None
        if value in self._lists:
            return (None, *self.known("shape", self._lists[value]))
        if (node.domain, node.op_type) in _PASSING:
            return node.known_shape(0)
        return super()._partial_shape(value)

    def _with_declared(self, value: ir.Value, computed: Sizes | None) -> PartialSizes | None:
        declared = self._declarations.get(value)
        if declared is None or declared.shape is None:
            return computed
        shape = merged(declared.shape, _shape(computed))
        sizes = () if shape is None else shape
        known = tuple(size if isinstance(size, int) else None for size in sizes)
        return None if shape is None else known


def _inferred(
    model: ir.Model, types: ValueTypes, declared: Declarations, index: GraphIndex
) -> _Inferred:
    return all_derived(lambda changing: _Inferred(model, types, declared, index, changing))


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
