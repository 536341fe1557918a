"""Validates a model with the ONNX checker, and checks what the checker does not."""

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain
from math import isnan

import onnx

from sonnx_ort.errors import InvalidModel
from sonnx_ort.facts.attributes import GRAPHS, plain_value
from sonnx_ort.facts.iterations import COUNTERS
from sonnx_ort.loading.external_data import external_tensors
from sonnx_ort.loading.file_traversal import all_graphs, all_nodes, names_needed, nodes_within
from sonnx_ort.loading.names import require_readable_names
from sonnx_ort.loading.serialization import may_be_too_deep, too_deep
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_SHOWN = 5


def reason_for_disorder(proto: onnx.ModelProto) -> str:
    """Say why the nodes of a model are not sorted, and what to do; empty if that is not known."""
    for owner in (*all_graphs(proto), *proto.functions):
        nodes = list(owner.node)
        makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
        before = [{makers[n] for n in names_needed(node) if n in makers} for node in nodes]
        if cycle := _cycle(before):
            labels = [f"{nodes[at].op_type} '{nodes[at].name}'" for at in cycle]
            shown = " needs ".join((*labels[:_SHOWN], labels[0]))
            left = len(cycle) - _SHOWN
            through = f" (with {left} more nodes before the last)" if left > 0 else ""
            return (
                f"its nodes form a cycle: {shown}{through}; no node can need its own result, so "
                "export the model again"
            )
    return ""


def _cycle(before: Sequence[set[int]]) -> list[int]:
    """Positions of nodes of which each needs the next, and the last the first; empty if none.

    `before` has the positions of the nodes whose results each node needs.
    """
    waiting = {at: set(needed) for at, needed in enumerate(before)}
    users: dict[int, list[int]] = {}
    for at, needed in waiting.items():
        for each in needed:
            users.setdefault(each, []).append(at)
    ready = [at for at, needed in waiting.items() if not needed]
    while ready:
        done = ready.pop()
        del waiting[done]
        for user in users.get(done, ()):
            waiting[user].discard(done)
            if not waiting[user]:
                ready.append(user)
    if not waiting:
        return []
    path: dict[int, None] = {}
    at = min(waiting)
    while at not in path:
        path[at] = None
        at = min(waiting[at])
    met = list(path)
    return met[met.index(at) :]


def check_validity(proto: onnx.ModelProto) -> None:
    """Check that a model is valid ONNX of a supported version.

    External data is not read.

    Raises:
        InvalidModel: The model is not; the message contains the checker's error.
    """
    _check_default_opset(proto)
    _refuse_two_imports(proto)
    try:
        onnx.checker.check_model(checkable(proto))
    except onnx.checker.ValidationError as error:
        reason = reason_for_disorder(proto) if _UNSORTED in str(error) else ""
        reason = reason or " ".join(str(error).split())
        raise InvalidModel(f"the model is not valid ONNX: {reason}") from error
    except ValueError as error:
        if may_be_too_deep(proto):
            raise too_deep(proto) from error
        raise InvalidModel(
            f"the model is too large to be one message: {error}; store its tensors as external data"
        ) from error
    nodes = all_nodes(proto)
    require_readable_names(proto)
    _refuse_several_values(nodes)
    _refuse_fatal_attributes(nodes)
    _refuse_fatal_omissions(nodes)
    _refuse_unresolved_attributes(proto)


_UNSORTED = "must be topologically sorted"
"""What the checker says of nodes that are not sorted, of cycles, and of values without a maker."""


def _check_default_opset(proto: onnx.ModelProto) -> None:
    newest = onnx.defs.onnx_opset_version()
    for entry in proto.opset_import:
        if entry.domain == STANDARD_DOMAIN and not 1 <= entry.version <= newest:
            raise InvalidModel(
                f"the model imports version {entry.version} of the ONNX operators; this "
                f"installation knows 1 to {newest}: upgrade onnx, or export to one of these"
            )


def _refuse_two_imports(proto: onnx.ModelProto) -> None:
    """Reject a domain that is imported twice, of which ONNX Runtime takes the last version."""
    for imports in (proto.opset_import, *(function.opset_import for function in proto.functions)):
        versions: dict[str, int] = {}
        for entry in imports:
            if entry.domain in versions:
                raise InvalidModel(
                    f"the domain '{entry.domain or 'ai.onnx'}' is imported twice, in the versions "
                    f"{versions[entry.domain]} and {entry.version}; keep one of them"
                )
            versions[entry.domain] = entry.version


def _refuse_several_values(nodes: Iterable[onnx.NodeProto]) -> None:
    """Reject a Constant of several values, of which ONNX Runtime takes the first."""
    for node in nodes:
        if (node.domain, node.op_type) == (STANDARD_DOMAIN, "Constant") and len(node.attribute) > 1:
            names = " and ".join(attribute.name for attribute in node.attribute)
            raise InvalidModel(f"Constant '{node.name}' has several values: {names}; keep one")


def refuse_repeated_names(proto: onnx.ModelProto) -> None:
    """Check that no two nodes of a graph have one name, with which no session starts.

    Raises:
        InvalidModel: Two have.
    """
    for graph in all_graphs(proto):
        operators: dict[str, str] = {}
        for node in graph.node:
            if node.name in operators:
                raise InvalidModel(
                    f"two nodes have the name '{node.name}', {operators[node.name]} and "
                    f"{node.op_type}, and ONNX Runtime starts no such model; give one another "
                    "name, or give the enforced model itself, not an optimized one"
                )
            if node.name:
                operators[node.name] = node.op_type


def _refuse_fatal_attributes(nodes: Iterable[onnx.NodeProto]) -> None:
    """Reject attributes that crash shape inference or the generation of random numbers."""
    for node in nodes:
        if node.domain != STANDARD_DOMAIN:
            continue
        given = {attribute.name: attribute for attribute in node.attribute}
        match node.op_type:
            case "GatherND" if (batch := given.get("batch_dims")) is not None:
                _require(node, batch, batch.i >= 0, "it must not be negative", _INFERENCE)
            case "Split" if (parts := given.get("num_outputs")) is not None:
                wanted = f"it must not be less than the number of outputs, {len(node.output)}"
                _require(node, parts, parts.i >= len(node.output), wanted, _INFERENCE)
            case "Einsum" if (equation := given.get("equation")) is not None:
                letters = _EQUATION.fullmatch(equation.s) is not None
                _require(node, equation, letters, _EQUATION_WANTED, _INFERENCE)
            case "RandomUniform" | "RandomUniformLike":
                low, high = given.get("low", _LOW), given.get("high", _HIGH)
                _require(node, low, not isnan(low.f), "it must be a number", _RUN)
                _require(node, high, high.f >= low.f, f"it must not be less than {low.f}", _RUN)
            case "RandomNormal" | "RandomNormalLike":
                scale = given.get("scale", _SCALE)
                _require(node, scale, scale.f > 0, "it must be greater than 0", _RUN)


def _refuse_fatal_omissions(nodes: Iterable[onnx.NodeProto]) -> None:
    """Reject results and operands without names that kernels look for, which ends a run."""
    for node in nodes:
        if node.domain != STANDARD_DOMAIN:
            continue
        if node.op_type in _WRITING_EACH:
            # What a Loop collects without a name is an error of the session.
            states = len(node.input) - COUNTERS if node.op_type == "Loop" else None
            if (place := _unnamed(node.output[:states])) is not None:
                raise InvalidModel(
                    f"{node.op_type} '{node.name}': its result {place} has no name; give it one, "
                    f"or {_RUN} ends the process"
                )
        first = _READING_EACH.get(node.op_type)
        if first is not None and (place := _unnamed(node.input[first:])) is not None:
            raise InvalidModel(
                f"{node.op_type} '{node.name}': its operand {first + place} has no name; leave it "
                f"out of the list, or {_RUN} ends the process"
            )


def _unnamed(names: Sequence[str]) -> int | None:
    """The place of the first empty name, counted from 1."""
    return next((place for place, name in enumerate(names, start=1) if not name), None)


_WRITING_EACH = frozenset(["BatchNormalization", "Loop", "Split"])
"""The operators whose kernels look for the memory of each result that stands in the file."""

_READING_EACH = {
    **dict.fromkeys(("Einsum", "Max", "Mean", "Min", "Sum"), 0),
    **dict.fromkeys(("DFT", "LayerNormalization"), 2),
}
"""The operators whose kernels look for each operand that stands in the file, from this one on."""

_TERM = rb"[A-Za-z ]*(?:\.\.\.[A-Za-z ]*)?"
_EQUATION = re.compile(rb"%b(?:,%b)*(?:->%b)?" % (_TERM, _TERM, _TERM))
"""Any other character of an Einsum's equation is read again and again."""

_EQUATION_WANTED = "it must have terms of letters and at most one '...' each, as in 'ij,jk->ik'"

_INFERENCE = "shape inference"
_RUN = "a run"
_LOW = onnx.helper.make_attribute("low", 0.0)
_HIGH = onnx.helper.make_attribute("high", 1.0)
_SCALE = onnx.helper.make_attribute("scale", 1.0)
"""Defaults of the attributes that control random numbers."""


def _require(
    node: onnx.NodeProto, attribute: onnx.AttributeProto, fits: bool, wanted: str, fatal: str
) -> None:
    """Require an attribute with which ONNX Runtime does not end the process."""
    if attribute.ref_attr_name:
        raise InvalidModel(
            f"{node.op_type} '{node.name}': its {attribute.name} depends on the call of the "
            "function, and with some values ONNX Runtime ends the process; inline the function"
        )
    if not fits:
        value = plain_value(attribute, errors="replace")
        shown = repr(value) if isinstance(value, str) else value
        raise InvalidModel(
            f"{node.op_type} '{node.name}': its {attribute.name} is {shown}; {wanted}, or {fatal} "
            "ends the process"
        )


def _refuse_unresolved_attributes(proto: onnx.ModelProto) -> None:
    """Reject attribute references outside of functions, and references to graphs inside of them.

    For the former ONNX Runtime would use the default.
    """
    for node, attribute in _references(proto.graph.node):
        raise InvalidModel(
            f"{node.op_type} '{node.name}': its {attribute.name} refers to a parameter "
            f"{attribute.ref_attr_name!r} of a function, but the node is in no function; write the "
            "value"
        )
    for function in proto.functions:
        for node, attribute in _references(function.node):
            if attribute.type in GRAPHS:
                raise InvalidModel(
                    f"{node.op_type} '{node.name}' in the model-local function '{function.name}': "
                    f"its {attribute.name} is a graph that each call passes; inline the function"
                )


def _references(
    nodes: Sequence[onnx.NodeProto],
) -> Iterator[tuple[onnx.NodeProto, onnx.AttributeProto]]:
    for node in nodes_within(nodes):
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                yield node, attribute


def checkable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model in a form that the checker accepts.

    The checker would look for external data in the working directory. It also requires shapes of
    inputs and outputs, which ONNX Runtime and exporters treat as optional.
    """
    if not (any(external_tensors(proto)) or any(_shapeless(proto))):
        return proto
    copy = deepcopy(proto)
    for tensor in list(external_tensors(copy)):
        tensor.data_location = onnx.TensorProto.DEFAULT
        del tensor.external_data[:]
        tensor.dims[:] = [0]
    for declared in list(_shapeless(copy)):
        declared.type.tensor_type.shape.SetInParent()
    return copy


def _shapeless(proto: onnx.ModelProto) -> Iterator[onnx.ValueInfoProto]:
    for graph in all_graphs(proto):
        for declared in chain(graph.input, graph.output):
            kind = declared.type
            if kind.HasField("tensor_type") and not kind.tensor_type.HasField("shape"):
                yield declared
