"""The opset versions that a model imports, and the functions that it brings along.

Inlines the model-local functions that contain an enforced operator. ONNX Runtime names the nodes of
a function after the function, so an error could not identify the call that failed. In the graph,
each copy of a node has the path of its calls.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.passes import PassError
from onnx_ir.passes.common import InlinePass

from sonnx_ort.errors import InvalidModel
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.loading.traversal import ValueNames, every_node, subgraphs_of
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.graph import FINITE_VALUES, GRAPH
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_DEFAULT_VERSION = 17
"""A version with all operators of guards that every supported ONNX Runtime supports."""


def differing_operators(nodes: Iterable[ir.Node], one: int, other: int) -> list[str]:
    """The sorted standard operators of these nodes that two opset versions define differently."""
    used = {node.op_type for node in nodes if node.domain == STANDARD_DOMAIN}
    return sorted(
        name for name in used if operator_version(name, one) != operator_version(name, other)
    )


def import_standard_operators(model: ir.Model) -> None:
    """Add the import of the standard operators, which enforcement uses, if a model lacks it.

    Then only its functions can use standard operators, and their version is imported.
    """
    theirs = (f.opset_imports.get(STANDARD_DOMAIN, 0) for f in model.functions.values())
    model.opset_imports.setdefault(STANDARD_DOMAIN, max(theirs, default=0) or _DEFAULT_VERSION)


def defined_differently(function: ir.Function, model: ir.Model) -> list[str]:
    """The operators of a function that the version that the model imports defines differently."""
    ours = model.opset_imports[STANDARD_DOMAIN]
    theirs = function.opset_imports.get(STANDARD_DOMAIN, ours)
    return differing_operators(every_node(function.graph), theirs, ours)


def adopt_opset_imports(function: ir.Function, model: ir.Model) -> None:
    """Set a function's imports to the model's versions if both mean the same for its nodes.

    Raises:
        InvalidModel: The versions define an operator of the function differently.
    """
    ours = model.opset_imports[STANDARD_DOMAIN]
    theirs = function.opset_imports.get(STANDARD_DOMAIN, ours)
    differing = defined_differently(function, model)
    if differing:
        raise InvalidModel(
            f"the model-local function '{function.name}' imports version {theirs} of the standard "
            f"operators, and the model version {ours}. They define {', '.join(differing)} "
            "differently; export both with one version"
        )
    function.opset_imports[STANDARD_DOMAIN] = ours


_ALIAS = "ai.onnx"


def resolve_default_domain(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Replace the alias "ai.onnx" of the default domain by "", in a copy if there is any.

    A version of a domain that is imported more than once, as by skl2onnx, is imported once.
    """
    aliases = any(owner.domain == _ALIAS for owner in _domain_owners(proto))
    if not aliases and not any(map(_repeated, _all_imports(proto))):
        return proto
    copy = deepcopy(proto)
    for entry in _domain_owners(copy):
        if entry.domain == _ALIAS:
            entry.domain = STANDARD_DOMAIN
    for imports in _all_imports(copy):
        for index in reversed(_repeated(imports)):
            del imports[index]
    return copy


def _all_imports(proto: onnx.ModelProto) -> list[Any]:
    return [proto.opset_import, *(function.opset_import for function in proto.functions)]


def _repeated(imports: Sequence[onnx.OperatorSetIdProto]) -> list[int]:
    """The places of imports that stand at an earlier place as well."""
    pairs = [(entry.domain, entry.version) for entry in imports]
    return [index for index, pair in enumerate(pairs) if pair in pairs[:index]]


def _domain_owners(
    proto: onnx.ModelProto,
) -> list[onnx.OperatorSetIdProto | onnx.FunctionProto | onnx.NodeProto]:
    imports = [entry for function in proto.functions for entry in function.opset_import]
    return [*proto.opset_import, *imports, *proto.functions, *all_nodes(proto)]


PATH = "path"
"""Key in a node's `meta` for the path of its calls, such as `outer/inner`."""

_CALL = "sonnx_ort.call."
_NAME = "sonnx_ort.name"

Calls = dict[ir.OperatorIdentifier, Sequence[ir.OperatorIdentifier]]
"""The operators of each function's nodes, each function after those that it calls."""

_MOST_COPIES = 1 << 12
"""Maximum number of inlined nodes or values of one name."""


def inline_enforceable_functions(model: ir.Model, operators: Container[str]) -> None:
    """Inline, in place, every function that contains or calls one of the named operators.

    Every function, if the rules on graphs are among them; also if a Loop collects values, whose
    shapes ONNX Runtime knows through functions, except those that import other versions.

    Each inlined node gets the path of its calls in its name and its `meta`. Other functions are
    unchanged.

    Raises:
        InvalidModel: The functions are recursive or called too often, or import other versions
            of an operator than the model.
    """
    calls = _calls(model)
    enforceable = _enforceable_functions(model, calls, operators) | _known_through(model)
    if not enforceable:
        return
    _require_few_copies(model, calls, enforceable)
    for identifier in enforceable:
        adopt_opset_imports(model.functions[identifier], model)
        _add_identity_for_passed_inputs(model.functions[identifier])
    _record_calls(model, calls, enforceable)
    try:
        InlinePass(lambda function: function.identifier() in enforceable)(model)
    except (ValueError, PassError, ir.passes.InvariantError) as error:
        raise InvalidModel(f"the model-local functions cannot be inlined: {error}") from error
    nodes = every_node(model.graph)
    inlined = [node for node in nodes if _restore_name(node)]
    names = ValueNames(model)
    _rename_repeated_values(inlined, names)
    _rename_repeated_nodes(nodes, names)


def _enforceable_functions(
    model: ir.Model, calls: Calls, operators: Container[str]
) -> set[ir.OperatorIdentifier]:
    """The identifiers of the functions that contain one of the operators or call one that does."""
    if GRAPH in operators or FINITE_VALUES in operators:
        return set(model.functions)
    profiled = {(o.domain, o.name, "") for o in OPERATORS.values() if o.name in operators}
    reaching: set[ir.OperatorIdentifier] = set()
    for identifier, nodes in calls.items():
        if any(node in profiled or node in reaching for node in nodes):
            reaching.add(identifier)
    return reaching


def _calls(model: ir.Model) -> Calls:
    """What each function calls; a function comes after those that it calls."""
    nodes = {i: _operators_in(function.graph) for i, function in model.functions.items()}
    ordered: dict[ir.OperatorIdentifier, Sequence[ir.OperatorIdentifier]] = {}
    begun: set[ir.OperatorIdentifier] = set()
    for first, operators in nodes.items():
        # Calls may be nested deeper than Python's recursion goes.
        stack = [] if first in begun else [(first, iter(operators))]
        begun.add(first)
        while stack:
            current, remaining = stack[-1]
            called = next((i for i in remaining if i in nodes and i not in ordered), None)
            if called is None:
                ordered[current] = nodes[current]
                stack.pop()
            elif called in begun:
                raise InvalidModel(
                    f"the model-local function '{called[1]}' calls itself, directly or through "
                    "other functions; ONNX allows no recursion"
                )
            else:
                begun.add(called)
                stack.append((called, iter(nodes[called])))
    return ordered


def _operators_in(graph: ir.Graph) -> list[ir.OperatorIdentifier]:
    return [node.op_identifier() for node in every_node(graph)]


def _require_few_copies(
    model: ir.Model, calls: Calls, enforceable: Container[ir.OperatorIdentifier]
) -> None:
    """Check that inlining gives few nodes; it takes a square of the names that are equal."""
    copies = Counter(_operators_in(model.graph))
    names: Counter[str] = Counter()
    for identifier in reversed(calls):
        number = copies[identifier]
        if not number or identifier not in enforceable:
            continue
        for node in every_node(model.functions[identifier].graph):
            copies[node.op_identifier()] += number
            results = (value.name or "" for value in node.outputs)
            names.update(dict.fromkeys((node.name or "", *results), number))
    most = max(names.values(), default=0)
    if most > _MOST_COPIES:
        raise InvalidModel(
            f"replacing each call by its model-local function gives {most:,} nodes or values of "
            f"one name, and at most {_MOST_COPIES:,} are examined; make fewer calls, or give them "
            "different names"
        )


def _known_through(model: ir.Model) -> set[ir.OperatorIdentifier]:
    """The functions through which shapes of what Loops collect may be known."""
    graphs = (model.graph, *(function.graph for function in model.functions.values()))
    if not any(_collects(node) for graph in graphs for node in every_node(graph)):
        return set()
    return {i for i, each in model.functions.items() if not defined_differently(each, model)}


def _collects(node: ir.Node) -> bool:
    """Whether a node is a Loop with scan outputs, after those for its states."""
    return node.op_type == "Loop" and len(node.outputs) > max(len(node.inputs) - 2, 0)


def _add_identity_for_passed_inputs(function: ir.Function) -> None:
    """Insert an Identity for each input that is also an output, so that outputs have producers."""
    for index, output in enumerate(function.outputs):
        if output.producer() is None:
            identity = ir.node("Identity", [output])
            function.append(identity)
            function.outputs[index] = identity.outputs[0]


def _record_calls(
    model: ir.Model, calls: Calls, enforceable: Container[ir.OperatorIdentifier]
) -> None:
    """Store the label of each call in the metadata, which inlined nodes inherit.

    The keys of outer calls sort before those of inner ones.
    """
    serial = 0
    for depth, body in _graphs_by_depth(model, calls):
        for node in every_node(body):
            if body is not model.graph:
                node.metadata_props[_NAME] = node.name or ""
            if node.op_identifier() in enforceable:
                label = node.name or node.op_type
                node.metadata_props[f"{_CALL}{depth:06}.{serial:09}"] = label
                serial += 1


def _graphs_by_depth(model: ir.Model, calls: Calls) -> Iterator[tuple[int, ir.Graph]]:
    """The main graph, then the functions that it calls, each deeper than all its callers."""
    depths = {node: 1 for node in _operators_in(model.graph) if node in calls}
    for identifier in reversed(calls):
        if identifier in depths:
            below = depths[identifier] + 1
            called = (node for node in calls[identifier] if node in calls)
            depths.update((node, max(below, depths.get(node, 0))) for node in called)
    yield 0, model.graph
    for identifier, depth in sorted(depths.items(), key=lambda item: item[1]):
        yield depth, model.functions[identifier].graph


def _restore_name(node: ir.Node) -> bool:
    """Add the path of calls to a node's name; return whether the node was inlined."""
    calls = sorted(key for key in node.metadata_props if key.startswith(_CALL))
    path = "/".join(node.metadata_props.pop(key) for key in calls)
    name = node.metadata_props.pop(_NAME, None)
    if path:
        node.meta[PATH] = path
        node.name = f"{path}/{name or node.op_type}"
    return bool(path)


def _rename_repeated_values(inlined: Iterable[ir.Node], names: ValueNames) -> None:
    """Rename inlined values whose names also occur elsewhere, for example in a later subgraph."""
    for node in inlined:
        bodies = (chain(g.inputs, g.initializers.values()) for g in subgraphs_of(node))
        values = chain(node.outputs, *bodies)
        repeated = [v for v in values if names.repeated(v.name) and not v.is_graph_output()]
        fresh = [names.fresh(str(value.name)) for value in repeated]
        ir.convenience.rename_values(repeated, fresh)


def _rename_repeated_nodes(nodes: Iterable[ir.Node], names: ValueNames) -> None:
    """Number inlined nodes of one name in one graph: they, or their calls, had no names."""
    taken = {(node.graph, node.name) for node in nodes if PATH not in node.meta}
    for node in nodes:
        if PATH in node.meta and (node.graph, node.name) in taken:
            node.name = names.fresh_for_node(str(node.name))
        taken.add((node.graph, node.name))
