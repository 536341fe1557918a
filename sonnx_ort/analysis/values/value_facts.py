"""All facts about each value of a graph, and where they come from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import (
    Declarations,
    constant_tensor,
    is_sparse,
    type_name,
)
from sonnx_ort.analysis.values.derived import Derived, derived
from sonnx_ort.analysis.values.minus_zeros import NegativeZeros
from sonnx_ort.analysis.values.provenance import Provenance, scalars_in, shared_symbols
from sonnx_ort.analysis.values.value_types import ValueTypes
from sonnx_ort.facts.bounds import hull
from sonnx_ort.facts.established import KINDS, NUMBERS
from sonnx_ort.facts.sizes import Bounds, PartialSizes
from sonnx_ort.facts.types import of_tensor
from sonnx_ort.loading.traversal import GraphIndex, index_of
from sonnx_ort.ort.inference import Inference
from sonnx_ort.profile.contract import NO_CONTRACT, Contract
from sonnx_ort.terms.operand import (
    Operand,
    Shape,
    bounds_of_element,
    dimensions,
    has_known_sizes,
    symbols_in,
)

_MAX_FLOATS = 1 << 16
"""Larger float tensors are not read, because they are weights."""


class Facts:
    """Certain types, shapes and constants of a model's values.

    They follow from graph inputs, constants and verified operators.

    Attributes:
        provenance: The inputs that values depend on.
    """

    def __init__(
        self,
        model: ir.Model,
        contract: Contract = NO_CONTRACT,
        *,
        index: GraphIndex | None = None,
        reads_weights: bool = False,
    ) -> None:
        """Analyze a canonical model, which is not modified.

        Args:
            model: The model.
            contract: What its user says that values may be.
            index: That of the model, if it is there already.
            reads_weights: Whether constants of any size are read, for the numbers of values.
        """
        index = index or index_of(model.graph)
        self._types = ValueTypes(model)
        certain = derived(model, self._types, contract, index=index, reads_weights=reads_weights)
        self._shapes = _dimensions(certain.established("shape"))
        self._sizes = _dimensions(certain.established("elements"))
        self._unguarded_shapes = self._shapes
        if contract.limits_sizes:
            without = derived(model, self._types, index=index, constants=certain.constants)
            self._unguarded_shapes = _dimensions(without.established("shape"))
        self._derived = certain
        self._of_tensors = certain.established("type")
        self._bounds = certain.established("bounds")
        self._inference = Inference(model, self._types, index)
        self._of_open_sizes = shared_symbols(model.graph.inputs) - contract.size_names
        self.provenance = Provenance(model, self._of_open_sizes)
        self._gaps = NegativeZeros(
            certain.version, self.element_type, certain.established("shape"), certain.shared
        )

    def type(self, value: ir.Value) -> ir.TypeProtocol | None:
        """The type of a value, without its shape: a tensor, a sequence; None if unknown."""
        return self._types.type(value)

    def element_type(self, value: ir.Value) -> str | None:
        """The ONNX name of the element type: "float", "int32", "string"; None if unknown."""
        found = self._of_tensors.get(value) or of_tensor(self._types.of(value))
        if found is not None:
            return str(found)
        # A sequence has the type of its elements.
        dtype = self._types.element_type(value)
        return None if dtype is None else type_name(dtype)

    def may_be_tensor(self, value: ir.Value) -> bool:
        """Whether the value is not known to be a sequence or an optional."""
        return self._types.may_be_tensor(value)

    def shape(self, value: ir.Value) -> Shape | None:
        """The certain shape, with symbols for open sizes; None if the rank is unknown."""
        return self._shapes.get(value)

    def unguarded_shape(self, value: ir.Value) -> Shape | None:
        """The certain shape without the guards of a contract."""
        return self._unguarded_shapes.get(value)

    def shape_to_declare(self, value: ir.Value) -> Shape | None:
        """The certain shape; no more than ONNX Runtime infers if it decides results of Loops."""
        shape, inference = self.shape(value), self._inference
        if shape is None or not inference.decides_results:
            return shape
        inferred = inference.shape(value)
        if inferred is None or len(inferred) != len(shape):
            return None
        pairs = zip(shape, inferred, strict=True)
        return tuple(own if isinstance(size, int) or own == size else None for own, size in pairs)

    def constant(self, value: ir.Value) -> npt.NDArray[Any] | None:
        """The elements of a constant; large ones only from initializers."""
        tensor = constant_tensor(value)
        if tensor is not None:
            return tensor.numpy()
        return self._derived.constants.elements(value) if self.foldable(value) else None

    def known_elements(self, value: ir.Value) -> npt.NDArray[Any] | None:
        """The elements that a value has in every run: a constant, or sizes that are certain.

        Of sizes that depend on an input of a declared scalar nothing is certain: ONNX Runtime takes
        any shape there.
        """
        constant = self.constant(value)
        if constant is not None:
            return constant
        (operand,) = self.operands(("sizes",), (value,))
        sizes, shape = operand.sizes, operand.shape
        if sizes is None or not has_known_sizes(sizes) or not has_known_sizes(shape):
            return None
        if operand.scalar_inputs:
            return None
        dtype = ir.DataType[str(operand.element_type).upper()].numpy()
        return np.array(sizes, dtype).reshape(
            [each for each in shape or () if isinstance(each, int)]
        )

    def is_folded(self, value: ir.Value) -> bool:
        """Whether sizes that a value holds are known by folding constants, and not by rules."""
        return value in self._derived.folded

    def numbers_under(self, contract: Contract, *, reads_weights: bool = True) -> Derived:
        """The numbers that values can be under a contract."""
        return self._derived.under(contract, reads_weights=reads_weights)

    def known_by_kernels(self, *, numbers: bool) -> frozenset[ir.Value]:
        """The values of which something is known by floats that a kernel computes.

        Args:
            numbers: Whether the numbers of their elements are asked for, or all but these.
        """
        kinds = [kind for kind in KINDS if (kind in NUMBERS) == numbers]
        return frozenset[ir.Value](self._derived.of_numbers(kinds))

    def unguarded(self, operand: Operand, value: ir.Value) -> Operand:
        """What is known of a value without the guards of a contract."""
        bounds, interval = (self._derived.before_guard(kind, value) for kind in NUMBERS)
        return replace(
            operand,
            shape=self.unguarded_shape(value),
            bounds=bounds,
            range=None if interval is None else interval.whole,
        )

    def holds_no_minus_zero(self, value: ir.Value) -> bool:
        """Whether no element of a float tensor is -0 in any run."""
        return self._gaps.of(value) > 0

    def origin(self, value: ir.Value) -> str:
        """The origin of the value in words: "input", "Conv 'c1'"."""
        producer = value.producer()
        if producer is not None:
            return f"{producer.op_type} '{producer.name}'" if producer.name else producer.op_type
        if "origin" in value.meta:
            return str(value.meta["origin"])
        return "initializer" if value.is_initializer() else "input"

    def operands(self, names: Sequence[str], values: Sequence[ir.Value]) -> tuple[Operand, ...]:
        """All facts about the inputs of a node, with their names in the operator's document."""
        shared = self.provenance.shared_symbols(values)
        scalars = self.provenance.depends_on_scalars(values)
        found = tuple(
            self._operand(name, value, shared, scalar_inputs=scalars)
            for name, value in zip(names, values, strict=True)
        )
        if len(found) < 2 or any(each.shape is not None for each in found):
            return found
        return self._compared(found, values)

    def _compared(
        self, operands: Sequence[Operand], values: Sequence[ir.Value]
    ) -> tuple[Operand, ...]:
        """Operands of unknown rank, of which it is told which have one shape in every run."""
        if any(map(self.may_be_misinferred, values)):
            return tuple(operands)
        shaped = [self._derived.shaped_like(value) for value in values]
        first = (operands[shaped.index(each)].name for each in shaped)
        return tuple(replace(o, alike=name) for o, name in zip(operands, first, strict=True))

    def inputs_affecting(self, values: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
        """The graph inputs that any of these values depends on."""
        return self.provenance.inputs_affecting(values)

    def shares_sizes(self, value: ir.Value) -> bool:
        """Whether a size may have the name of another axis of inputs, and no contract holds it."""
        if not self._of_open_sizes:
            return False
        shape = self.shape(value)
        if shape is None:
            return self.provenance.depends_on_symbols([value])
        return not self._of_open_sizes.isdisjoint(symbols_in(shape))

    def foldable(self, value: ir.Value) -> bool:
        """Whether a value depends on no input, so that ONNX Runtime may fold it as a constant."""
        return not self.provenance.depends_on_inputs([value])

    def may_be_misinferred(self, value: ir.Value) -> bool:
        """Whether ONNX Runtime may infer a rank or sizes that are not certain."""
        return self._derived.misinference.may_be_wrong(value, self.shape(value))

    def collected(self) -> Declarations:
        """What ONNX Runtime knows of the scan outputs of Loop bodies; see `Inference.collected`."""
        return self._inference.collected()

    def scalars_affecting(self, value: ir.Value) -> tuple[ir.Value, ...]:
        """The inputs that are declared as scalars, and that a value depends on."""
        return scalars_in(self.provenance.inputs_affecting([value]))

    def scalars_affecting_any(self, groups: Iterable[Iterable[ir.Value]]) -> list[ir.Value]:
        """The inputs declared as scalars on which values depend, those of the first group first."""
        return self.provenance.scalars_affecting_any(groups)

    def depends_on_scalar_inputs(self, value: ir.Value) -> bool:
        """Whether a value depends on an input that is declared as a scalar."""
        return self.provenance.depends_on_scalars([value])

    def _operand(
        self, name: str, value: ir.Value, shared: frozenset[str], *, scalar_inputs: bool
    ) -> Operand:
        element_type = self.element_type(value)
        integer = element_type is not None and "int" in element_type
        sizes = self._sizes.get(value) if integer else None
        return Operand(
            name=name,
            value=str(value.name),
            origin=self.origin(value),
            element_type=element_type,
            shape=self.shape(value),
            sparse=is_sparse(value),
            constant=self.constant(value) if integer else _few_elements(value),
            sizes=sizes,
            bounds=self._bounds.get(value) or _bounds_of(sizes),
            range=self._derived.range(value),
            shared_symbols=shared,
            scalar_inputs=scalar_inputs,
        )


def _dimensions(known: Mapping[ir.Value, PartialSizes]) -> Mapping[ir.Value, Shape]:
    return {value: dimensions(sizes) for value, sizes in known.items()}


def _bounds_of(elements: Shape | None) -> Bounds | None:
    """The numbers that the elements of a vector of sizes can be."""
    if not elements:
        return None
    known = [bounds_of_element(each) for each in elements]
    ends = [each for each in known if each is not None]
    return hull(ends) if len(ends) == len(known) else None


def _few_elements(value: ir.Value) -> npt.NDArray[Any] | None:
    tensor = constant_tensor(value)
    if tensor is None or tensor.size > _MAX_FLOATS or tensor.dtype == ir.DataType.STRING:
        return None
    return tensor.numpy()
