"""Inlines the model-local functions that contain an enforced operator.

ONNX Runtime names the nodes of a function after the function, so an error could not identify the
call that failed. In the graph, each copy of a node has the path of its calls.
"""

from collections.abc import Container, Iterable, Iterator
from itertools import chain

import onnx_ir as ir
from onnx_ir.passes import PassError
from onnx_ir.passes.common import InlinePass

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.opset import adopt_opset_imports, defined_differently
from sonnx_ort.loading.traversal import ValueNames, every_node
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.finite import FINITE_VALUES
from sonnx_ort.profile.graph import GRAPH

PATH = "path"
"""Key in a node's `meta` for the path of its calls, such as `outer/inner`."""

_CALL = "sonnx_ort.call."
_NAME = "sonnx_ort.name"


def inline_enforceable_functions(model: ir.Model, operators: Container[str]) -> None:
    """Inline, in place, every function that contains or calls one of the named operators.

    Every function, if the rules on graphs are among them; also if a Loop collects values, whose
    shapes ONNX Runtime knows through functions, except those that import other versions.

    Each inlined node gets the path of its calls in its name and its `meta`. Other functions are
    unchanged.

    Raises:
        InvalidModel: The functions are recursive, or import other versions of an operator than the
            model.
    """
    enforceable = _enforceable_functions(model, operators) | _known_through(model)
    if not enforceable:
        return
    for identifier in enforceable:
        adopt_opset_imports(model.functions[identifier], model)
        _add_identity_for_passed_inputs(model.functions[identifier])
    _record_calls(model, enforceable)
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
    model: ir.Model, operators: Container[str]
) -> set[ir.OperatorIdentifier]:
    """The identifiers of the functions that contain one of the operators or call one that does."""
    if GRAPH in operators or FINITE_VALUES in operators:
        return set(model.functions)
    calls = {
        identifier: {node.op_identifier() for node in every_node(function.graph)}
        for identifier, function in model.functions.items()
    }
    profiled = {(o.domain, o.name, "") for o in OPERATORS.values() if o.name in operators}
    reaching: set[ir.OperatorIdentifier] = set()
    while True:
        extended = {i for i, called in calls.items() if called & (profiled | reaching)}
        if extended == reaching:
            return reaching
        reaching = extended


def _known_through(model: ir.Model) -> set[ir.OperatorIdentifier]:
    """The functions through which shapes of what Loops collect may be known."""
    graphs = (model.graph, *(function.graph for function in model.functions.values()))
    if not any(_collects(node) for graph in graphs for node in every_node(graph)):
        return set()
    return {i for i, each in model.functions.items() if not defined_differently(each, model)}


def _collects(node: ir.Node) -> bool:
    """Whether a node is a Loop with scan outputs, behind those for its states."""
    return node.op_type == "Loop" and len(node.outputs) > max(len(node.inputs) - 2, 0)


def _add_identity_for_passed_inputs(function: ir.Function) -> None:
    """Insert an Identity for each input that is also an output, so that outputs have producers."""
    for index, output in enumerate(function.outputs):
        if output.producer() is None:
            identity = ir.node("Identity", [output])
            function.append(identity)
            function.outputs[index] = identity.outputs[0]


def _record_calls(model: ir.Model, enforceable: set[ir.OperatorIdentifier]) -> None:
    """Store the label of each call in the metadata, which inlined nodes inherit.

    The keys of outer calls sort before those of inner ones.
    """
    serial = 0
    for depth, body in _graphs_by_depth(model):
        for node in every_node(body):
            if body is not model.graph:
                node.metadata_props[_NAME] = node.name or ""
            if node.op_identifier() in enforceable:
                label = node.name or node.op_type
                node.metadata_props[f"{_CALL}{depth:06}.{serial:09}"] = label
                serial += 1


def _graphs_by_depth(model: ir.Model) -> Iterator[tuple[int, ir.Graph]]:
    """The main graph, then the functions, each deeper than all its callers."""
    depths: dict[ir.OperatorIdentifier, int] = {}

    def visit(body: ir.Graph, depth: int) -> None:
        for node in every_node(body):
            identifier = node.op_identifier()
            if identifier not in model.functions or depths.get(identifier, 0) >= depth:
                continue
            if depth > len(model.functions):
                raise InvalidModel(
                    f"the model-local function '{node.op_type}' calls itself, directly or through "
                    "other functions; ONNX allows no recursion"
                )
            depths[identifier] = depth
            visit(model.functions[identifier].graph, depth + 1)

    visit(model.graph, 1)
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
        subgraphs = [a.as_graph() for a in node.attributes.values() if _holds_graph(a)]
        values = chain(node.outputs, *(chain(g.inputs, g.initializers.values()) for g in subgraphs))
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


def _holds_graph(attribute: ir.Attr) -> bool:
    return attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref()
