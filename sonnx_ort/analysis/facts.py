"""What is known of each value of a graph, and where the knowledge comes from."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.bounds import integer_bounds
from sonnx_ort.analysis.inference import BELIEVED, infer
from sonnx_ort.analysis.premises import without_claims
from sonnx_ort.analysis.provenance import Provenance
from sonnx_ort.analysis.symbols import has_scalars, shared_symbols
from sonnx_ort.loading.value_names import defined_values
from sonnx_ort.profile.operand import Operand, Shape


class Facts:
    """Types, shapes and constants of a model's values that follow from its premises."""

    def __init__(self, model: ir.Model, inferred: Mapping[ir.Value, ir.Value]) -> None:
        """Take the outcome of inference.

        Args:
            model: The model.
            inferred: For each value of the model the value of the inferred copy.
        """
        self._inferred = inferred
        self._provenance = Provenance(model)
        # Many nodes depend on the same inputs.
        self._shared_symbols = functools.cache(shared_symbols)
        self._has_scalars = functools.cache(has_scalars)
        self._bounds = integer_bounds(model, self.element_type)

    def element_type(self, value: ir.Value) -> str | None:
        """The ONNX name of the element type: "float", "int32", "string"; None if unknown."""
        dtype = self._inferred[value].dtype if value in self._inferred else None
        return None if dtype is None else self.type_name(dtype)

    @staticmethod
    def type_name(dtype: ir.DataType) -> str:
        """The ONNX name of an element type.

        Args:
            dtype: The type as the graph library knows it.
        """
        return dtype.name.lower()

    def shape(self, value: ir.Value) -> Shape | None:
        """The shape, with symbols where sizes are open; None if the rank is unknown."""
        shape = self._inferred[value].shape if value in self._inferred else None
        if shape is None:
            return None
        return tuple(d if isinstance(d, int) else d.value for d in shape)

    def sparse(self, value: ir.Value) -> bool:
        """Whether the value is declared as a sparse tensor."""
        return isinstance(value.type, ir.SparseTensorType)

    def constant(self, value: ir.Value) -> npt.NDArray[Any] | None:
        """The elements, if they are the same in every run.

        An initializer that a graph input of the same name can override is no constant.
        """
        if value.is_graph_input():
            return None
        tensor = ir.convenience.get_const_tensor(value)
        # External data may be large, and is not at hand where the model came without a place.
        return None if tensor is None or isinstance(tensor, ir.ExternalTensor) else tensor.numpy()

    def origin(self, value: ir.Value) -> str:
        """Where the value comes from, in words: "input", "Conv 'c1'"."""
        producer = value.producer()
        if producer is not None:
            return f"{producer.op_type} '{producer.name}'" if producer.name else producer.op_type
        if "origin" in value.meta:
            return str(value.meta["origin"])
        return "initializer" if value.is_initializer() else "input"

    def operands(self, letters: Sequence[str], values: Sequence[ir.Value]) -> tuple[Operand, ...]:
        """Everything that a rule may know of the inputs of one node.

        Args:
            letters: The operands' letters in the operator's document.
            values: The values that the node reads there.
        """
        inputs = self._provenance.inputs_behind(values)
        shared, scalars = self._shared_symbols(inputs), self._has_scalars(inputs)
        return tuple(
            self._operand(letter, value, shared, scalar_inputs=scalars)
            for letter, value in zip(letters, values, strict=True)
        )

    def inputs_behind(self, values: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
        """The graph inputs that any of these values depends on.

        Args:
            values: Values of the model.
        """
        return self._provenance.inputs_behind(values)

    def rests_on_scalars(self, value: ir.Value) -> bool:
        """Whether a value depends on an input that is declared as a scalar.

        Args:
            value: A value of the model.
        """
        return self._has_scalars(self._provenance.inputs_behind([value]))

    def _operand(
        self, letter: str, value: ir.Value, shared: frozenset[str], *, scalar_inputs: bool
    ) -> Operand:
        element_type = self.element_type(value)
        integer = element_type is not None and "int" in element_type
        return Operand(
            letter=letter,
            value=value.name or "",
            origin=self.origin(value),
            element_type=element_type,
            shape=self.shape(value),
            sparse=self.sparse(value),
            constant=self.constant(value) if integer else None,
            bounds=self._bounds.get(value),
            shared_symbols=shared,
            scalar_inputs=scalar_inputs,
            foldable=not self.inputs_behind([value]),
            mistakable=self._mistakable(value),
        )

    def _mistakable(self, value: ir.Value) -> bool:
        """Whether plain inference, which ONNX Runtime goes by, knows what is not certain.

        What it knows of some sizes is harmless: only of a whole shape, or of a rank, ONNX Runtime
        makes a constant.
        """
        believed = self._inferred[value].meta.get(BELIEVED) if value in self._inferred else None
        if believed is None:
            return False
        certain = self.shape(value)
        return certain is None or (_all_known(believed) and not _all_known(certain))


def gather_facts(model: ir.Model) -> Facts:
    """Infer what is known of a model's values.

    Args:
        model: A canonical model; not modified.
    """
    inferred = infer(without_claims(model))
    originals, copies = _by_name(model.graph), _by_name(inferred.graph)
    pairs = {value: copies[name] for name, value in originals.items() if name in copies}
    pairs.update(zip(_within(model.graph), _within(inferred.graph), strict=True))
    return Facts(model, pairs)


def _by_name(graph: ir.Graph) -> dict[str | None, ir.Value]:
    """What the main graph is given; the copy has some initializers among its inputs."""
    return {value.name: value for value in chain(graph.inputs, graph.initializers.values())}


def _within(graph: ir.Graph) -> Iterator[ir.Value]:
    """What nodes and bodies define, in one order for the graph and its copy."""
    given = set(chain(graph.inputs, graph.initializers.values()))
    # An output that is left out has no name, and may be gone in the copy.
    return (value for value in defined_values(graph) if value not in given and value.name)


def _all_known(shape: Iterable[object]) -> bool:
    return all(isinstance(size, int) for size in shape)
