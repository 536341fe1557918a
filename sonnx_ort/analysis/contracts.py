"""Holds contracts against models: whether a model has the values, and each can be checked.

What cannot be enforced by any backend, such as a range of a sequence, is refused here, before
anything is proved from it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.contract_files import ContractSource, read_contract, require_form
from sonnx_ort.analysis.premises import premises_of
from sonnx_ort.analysis.values.declarations import declared_axes, declared_type
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.serialization import holds_another_type
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.profile.contract import Contract, SizeContract, StateContract, ValueContract
from sonnx_ort.profile.element_type import CARRIERS, NUMERIC_TYPES, ElementType
from sonnx_ort.terms.operand import Shape, contradict, format_shape

__all__ = [
    "ContractSource",
    "contract_for",
    "has_checked_sizes",
    "is_tensor",
    "read_contract",
    "require_inputs",
    "require_values",
]


def contract_for(model: ReadModel, source: ContractSource) -> Contract:
    """Read a contract for a model, which also demands what the model was conformed for.

    Raises:
        InvalidModel: The model is not valid ONNX, or what it was conformed for cannot be read.
        SonnxError: The contract cannot be read, or does not fit the model.
    """
    contract = premises_of(model.proto).with_contract(read_contract(source))
    if contract:
        graph_model = load_canonical(model, frozenset()).graph_model
        require_inputs(graph_model.graph, contract)
        facts = Facts(graph_model, replace(contract, values=()))
        require_values(graph_model, contract, facts)
    return contract


def require_values(model: ir.Model, contract: Contract, facts: Facts) -> None:
    """Reject a contract for values that the graph does not have, or whose type has no numbers.

    Args:
        model: A canonical model.
        contract: The contract.
        facts: What is known of the values.

    Raises:
        SonnxError: There is such a value.
    """
    if not contract:
        return
    values = _values_by_name(model.graph)
    for entry in contract.values:
        name = entry.value
        value = _the_only(name, values, _those(model.graph.inputs))
        _require_tensor(value, facts.type(value), "range")
        kind = facts.element_type(value) or declared_type(value)
        found = ElementType.named(kind)
        if kind is None:
            raise SonnxError(f"contract: the type of '{name}' is not known; declare it")
        if found not in NUMERIC_TYPES:
            raise SonnxError(f"contract: '{name}' is of type {kind}, which has no range")
        if (entry.range is None or entry.whole) and found.dtype.kind in "iu":
            remedy = "remove 'whole'" if entry.whole else "write a range"
            always = "whole" if entry.whole else "finite"
            raise SonnxError(
                f"contract: '{name}' is of type {kind}, whose numbers are all {always}; {remedy}"
            )
        if entry.whole and found in CARRIERS and value.producer() is not None:
            raise SonnxError(
                f"contract: '{name}' is a {kind} that a node computes, which ONNX Runtime may "
                "leave unrounded; of this type only inputs can be said to be whole"
            )
        _require_ranges(entry, kind, found.dtype)
        if entry.axis is not None:
            _require_axis(entry, entry.axis, facts.shape(value))
    for state in contract.states:
        _require_state(model.graph, contract, state, facts)


_NO_TENSORS: Mapping[type, str] = {
    ir.SequenceType: "sequence",
    ir.OptionalType: "optional",
    ir.SparseTensorType: "sparse tensor",
}


def _kind(declared: ir.TypeProtocol | None) -> str:
    """What a value is that is no tensor; empty for a tensor, and if nothing is known."""
    if isinstance(declared, ir.OptionalType) and holds_another_type(declared):
        return "map"
    return "" if declared is None else _NO_TENSORS.get(type(declared), "")


def is_tensor(value: ir.Value) -> bool:
    """Whether a value is declared as a tensor, or not at all."""
    return not _kind(value.type)


def has_checked_sizes(value: ir.Value) -> bool:
    """Whether every backend can look at the shape of an input."""
    return not _unsized(value)


def _unsized(value: ir.Value) -> str:
    """What an input is whose shape no guard can read; empty for others.

    ONNX Runtime has kernels of Shape and Reshape for tensors of the types of the profile and of
    strings, and for others in some versions.
    """
    declared = declared_type(value)
    if is_tensor(value) and declared not in {None, "string", *ElementType}:
        return f"tensor of {declared}"
    return _kind(value.type)


def _require_tensor(value: ir.Value, known: ir.TypeProtocol | None, what: str) -> None:
    """Reject a demand on what has no elements to look at."""
    kind = _unsized(value) if what == "shape" else _kind(known or value.type)
    if kind:
        article = "an" if kind == "optional" else "a"
        raise SonnxError(
            f"contract: '{value.name}' is {article} {kind}, which has no {what} that can be "
            "checked; remove its entry"
        )


def _values_by_name(graph: ir.Graph) -> Mapping[str, Sequence[ir.Value]]:
    """The inputs of a graph, and what nodes compute, in subgraphs too: several may have a name."""
    found: dict[str, list[ir.Value]] = {}
    computed = (value for node in every_node(graph) for value in node.outputs)
    for value in filter(lambda each: each.name, (*graph.inputs, *computed)):
        found.setdefault(str(value.name), []).append(value)
    return found


def _the_only(name: str, values: Mapping[str, Sequence[ir.Value]], inputs: str) -> ir.Value:
    if name not in values:
        raise SonnxError(
            f"contract: the graph has no input or value '{name}'{did_you_mean(name, values)}; "
            f"{inputs}; inputs of subgraphs and values of functions cannot have a contract"
        )
    if len(values[name]) > 1:
        raise SonnxError(f"contract: several subgraphs have a value '{name}'; rename one of them")
    return values[name][0]


def _require_state(graph: ir.Graph, contract: Contract, state: StateContract, facts: Facts) -> None:
    """Reject a state that one call does not give to the next, or of which nothing is demanded."""
    inputs = {str(value.name): value for value in graph.inputs}
    outputs = {str(value.name): value for value in graph.outputs}
    for name, known, what in ((state.input, inputs, "input"), (state.output, outputs, "output")):
        if name not in known:
            raise SonnxError(
                f"contract: there is no {what} '{name}' of a state{did_you_mean(name, known)}; "
                f"{_those(known.values(), what)}"
            )
    given, result = inputs[state.input], outputs[state.output]
    if not contract.keeps(state):
        own = contract.of(state.input) is not None
        raise SonnxError(
            f"contract: the state '{state.input}' "
            + (
                f"has one entry, and its output '{state.output}' another; remove that"
                if own
                else f"has no entry; write [inputs.{state.input}] range = [-1, 1]"
            )
        )
    kinds = [facts.element_type(value) or declared_type(value) for value in (given, result)]
    shapes = [facts.shape(value) for value in (given, result)]
    if kinds[0] != kinds[1] or contradict(*shapes):
        raise SonnxError(
            f"contract: the output '{state.output}' cannot be the state '{state.input}' of the "
            f"next call: it is {_typed(kinds[1], shapes[1])}, and not {_typed(kinds[0], shapes[0])}"
        )


def _typed(kind: str | None, shape: Shape | None) -> str:
    """A type with its shape, as messages name it."""
    return f"{kind} {format_shape(shape)}"


def _require_ranges(entry: ValueContract, kind: str, dtype: np.dtype[Any]) -> None:
    """Reject ranges that have no number of the type of the value."""
    for ends, (lower, upper) in zip(entry.ranges, entry.limits(dtype), strict=False):
        if entry.whole and not all(map(math.isfinite, ends)):
            raise SonnxError(
                f"contract: '{entry.value}' is of whole numbers, and its range reaches infinity; "
                "write the largest number"
            )
        if not lower <= upper or (entry.whole and math.floor(upper) < lower):
            which = f"the range {[*ends]}" if entry.axis is not None else "the range"
            what = "whole number" if entry.whole else "number"
            raise SonnxError(f"contract: {which} of '{entry.value}' has no {what} of type {kind}")


def _require_axis(entry: ValueContract, axis: int, shape: Shape | None) -> None:
    """Reject ranges for another number of indices than the axis is known to have."""
    rank = 0 if shape is None else len(shape)
    if shape is None or not -rank <= axis < rank or shape[axis] != len(entry.ranges):
        known = "its rank is not known" if shape is None else f"it is {format_shape(shape)}"
        raise SonnxError(
            f"contract: '{entry.value}' has {len(entry.ranges)} ranges on axis {axis}, and {known};"
            ' its size has to be known: [inputs.NAME] shape = ["batch", 3] says that of an input'
        )


def _require_types(inputs: Mapping[str, ir.Value], contract: Contract) -> None:
    declared = {name: declared_type(value) for name, value in inputs.items()}
    for entry in contract.types:
        name = entry.input
        if name not in declared:
            raise _no_input(name, inputs)
        _require_tensor(inputs[name], None, "dtype")
        if declared[name] != entry.dtype:
            raise SonnxError(
                f"contract: the type of '{name}' is declared as {declared[name]}, and the contract "
                f"says {entry.dtype}; correct the contract, or convert the input in the model"
            )


def _no_input(name: str, inputs: Mapping[str, ir.Value]) -> SonnxError:
    near = did_you_mean(name, inputs)
    return SonnxError(f"contract: there is no input '{name}'{near}; {_those(inputs.values())}")


_MOST_NAMES = 10
"""How many inputs or outputs are named in a message."""


def _those(values: Iterable[ir.Value], what: str = "input") -> str:
    """The names that an entry of a contract can have, as a clause."""
    names = [str(value.name) for value in values]
    shown = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return f"the model's {what}s are {shown or 'none'}{more}"


def require_inputs(graph: ir.Graph, contract: Contract) -> None:
    """Reject a contract that says other types or axes of inputs than the graph declares.

    Raises:
        SonnxError: It does, or there is no such input, axis or size.
    """
    require_form(contract)
    inputs = {str(value.name): value for value in graph.inputs}
    _require_types(inputs, contract)
    declared = dict(declared_axes(graph))
    for entry in contract.shapes:
        name, axes = entry.input, entry.axes
        if name not in declared:
            raise _no_input(name, inputs)
        _require_tensor(inputs[name], None, "shape")
        stated = declared[name]
        if stated is None:
            continue
        if len(stated) != len(axes) or contradict(stated, axes):
            raise SonnxError(
                f"contract: the shape of '{name}' is declared as {format_shape(stated)}, and the "
                f"contract says {format_shape(axes)}"
            )
    _require_sizes(inputs, declared, contract)


def _require_sizes(
    inputs: Mapping[str, ir.Value],
    declared: Mapping[str, Sequence[int | str | None] | None],
    contract: Contract,
) -> None:
    """Reject sizes of names that no axis has, or an axis that no backend looks at."""
    used, others = set[str](), set[str]()
    for name, axes in declared.items():
        demanded = contract.axes_of(name, axes) or ()
        sized = [axis.name for axis in demanded if isinstance(axis, SizeContract)]
        kind = _unsized(inputs[name]) if sized else ""
        if kind:
            raise SonnxError(
                f"contract: '{sized[0]}' is also an axis of '{name}', a {kind}, whose sizes cannot "
                "be checked; give the axes of the other inputs another name: [inputs.NAME] "
                'shape = ["batch", 3]'
            )
        used.update(sized)
        others.update(axis for axis in axes or () if isinstance(axis, str))
    for size in contract.sizes:
        if size.name not in used:
            raise SonnxError(
                f"contract: no axis of an input is named '{size.name}'"
                f"{did_you_mean(size.name, used | others)}; name the axes of an input: "
                '[inputs.NAME] shape = ["batch", 3]'
            )
