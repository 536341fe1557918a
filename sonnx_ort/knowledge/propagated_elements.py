"""Whether `onnx.shape_inference` may propagate the elements of a model's vectors.

It does so one by one, without a limit to their number: a chain of Concats doubles them. Of a Slice
it reads the lower half of each step only, so that 2^32 becomes 0.
"""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence

import onnx
import onnx.defs

from sonnx_ort.loading.traversal import all_graphs, all_nodes
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_PROPAGATING_FUNCTIONS = ("data_propagation_function", "function", "context_dependent_function")
"""Functions of an operator's schema by which inference propagates elements."""

_MANY = 1 << 22
"""Maximum number of vector elements to propagate; each takes 70 bytes."""

_LARGEST_STEP = (1 << 31) - 1
"""Largest step of a Slice that inference reads as it is."""

_STEPS = 4
"""The input of a Slice that holds its steps."""

_MOST_AXES = 64
"""Slices of more axes are not followed."""

_INTEGERS = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)


def propagation_is_bounded(
    inferred: onnx.ModelProto, shapes: Mapping[str, Sequence[tuple[int, ...]]]
) -> bool:
    """Whether inference can propagate elements in short time and little memory.

    Args:
        inferred: The model as inferred without elements.
        shapes: The known shapes of its values by name.
    """
    return _has_near_steps(inferred) and _propagated_elements(inferred, shapes) <= _MANY


def _propagated_elements(
    inferred: onnx.ModelProto, shapes: Mapping[str, Sequence[tuple[int, ...]]]
) -> int:
    """An upper bound of the number of vector elements that inference would propagate."""
    lengths = {
        name: sizes[0]
        for name, each in shapes.items()
        for sizes in each
        if len(sizes) == 1 and sizes[0] > 1
    }
    for graph in all_graphs(inferred):
        lengths.update((t.name, math.prod(t.dims)) for t in graph.initializer if len(t.dims) == 1)
    versions = {entry.domain: entry.version for entry in inferred.opset_import}
    propagated = 0
    for node in all_nodes(inferred):
        if node.domain != STANDARD_DOMAIN or not _propagates_elements(
            node.op_type, versions[STANDARD_DOMAIN]
        ):
            continue
        read = [lengths.get(name, 0) for name in node.input]
        propagated += sum(read)
        if propagated > _MANY:
            break
        # A vector of unknown length may be as long as what it is made of.
        made = sum(read) if node.op_type == "Concat" else max(read, default=0)
        for name in node.output:
            lengths.setdefault(name, made)
    return propagated


def _has_near_steps(proto: onnx.ModelProto) -> bool:
    """Whether each step of a Slice is unknown, or a constant that inference reads as it is."""
    steps = {
        node.input[_STEPS]
        for node in all_nodes(proto)
        if (node.domain, node.op_type) == (STANDARD_DOMAIN, "Slice") and len(node.input) > _STEPS
    }
    unknown = {value.name for graph in all_graphs(proto) for value in graph.input}
    constants = [(name, tensor) for name, tensor in _constants(proto) if name in steps]
    known = unknown | {name for name, _ in constants}
    return steps <= known | {""} and all(_is_near(tensor) for _, tensor in constants)


def _constants(proto: onnx.ModelProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    for graph in all_graphs(proto):
        yield from ((tensor.name, tensor) for tensor in graph.initializer)
        for node in graph.node:
            if (node.domain, node.op_type) == (STANDARD_DOMAIN, "Constant"):
                yield from (
                    (name, _as_tensor(given)) for given in node.attribute for name in node.output
                )


def _as_tensor(attribute: onnx.AttributeProto) -> onnx.TensorProto:
    if attribute.name in ("value_int", "value_ints"):
        steps = [attribute.i] if attribute.name == "value_int" else attribute.ints
        return onnx.helper.make_tensor("", onnx.TensorProto.INT64, [len(steps)], steps)
    return attribute.t


def _is_near(steps: onnx.TensorProto) -> bool:
    if steps.data_type not in _INTEGERS or math.prod(steps.dims) > _MOST_AXES:
        return False
    return all(0 < abs(int(s)) <= _LARGEST_STEP for s in onnx.numpy_helper.to_array(steps).flat)


@functools.cache
def _propagates_elements(name: str, version: int) -> bool:
    """Whether inference propagates the elements of a standard operator's inputs."""
    try:
        schema = onnx.defs.get_schema(name, version)
    except onnx.defs.SchemaError:
        return False
    return any(getattr(schema, f"has_{kind}") for kind in _PROPAGATING_FUNCTIONS)
