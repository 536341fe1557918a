"""The metadata of an enforced model, and how to undo the enforcement.

Every node that a backend adds belongs to a group, and one node of the group records the original.
This is only a hint: `recognition` trusts it only if undoing the enforcement and applying it again
gives the same model.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import onnx
import onnx.serialization
import onnx_ir as ir

from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.nodes import StandardNodes, Uses
from sonnx_ort.errors import SonnxError
from sonnx_ort.facts.optimizers import MAY_ACT
from sonnx_ort.guards.guard import OLDEST_FORMAT
from sonnx_ort.loading.file_traversal import all_attributes
from sonnx_ort.loading.serialization import serialize_node
from sonnx_ort.loading.traversal import ValueNames, defined_values, every_node, subgraphs_of
from sonnx_ort.loading.written import carry
from sonnx_ort.options import Enforcement, choose_demands
from sonnx_ort.ort.disabled_optimizers import has_minus_zero, names_needed_off
from sonnx_ort.profile.contract import contract_document, contract_of
from sonnx_ort.profile.operator import COMPILED_DOMAIN, STANDARD_DOMAIN

ENFORCED = "sonnx_ort.enforced"
"""The key in a model's metadata for how the model was enforced."""

OPTIMIZERS = "sonnx_ort.optimizers"
"""The key in a model's metadata for which optimizers of ONNX Runtime must be off, and may act.

It is there if a plain session has to switch optimizers off by its own options: of every backend but
python, whose operators `register` adds, which also switches them off. And it is there where
something is proved by floats that a kernel computes; `may_act` is only then. It tells readers;
sessions read the tables of the installed version.
"""

GROUP = "sonnx_ort.group"
"""The key in a node's metadata for the number of its group."""

ORIGINAL = "sonnx_ort.original"
"""The key in a node's metadata for the original that its group replaced."""

DECLARED = "sonnx_ort.declared"
"""The key in a value's metadata for the shape that the original declares, and the model does not.

It is null if the original declares no shape, and `_UNTYPED` if it declares no type either.
"""

_UNTYPED = "no type"

_JSON = onnx.serialization.registry.get("json")


def write_enforcement(model: ir.Model, enforcement: Enforcement) -> None:
    """Write into a model's metadata how it is enforced, and have older runtimes refuse it."""
    model.ir_version = max(enforcement.ir_version, OLDEST_FORMAT)
    contract = enforcement.demands.contract
    model.metadata_props[ENFORCED] = json.dumps(
        {
            "backend": enforcement.backend.value,
            "edition": enforcement.demands.edition.value,
            "broadcast": enforcement.demands.broadcasting.value,
            "operators": sorted(enforcement.demands.operators),
            **({"contract": contract_document(contract)} if contract else {}),
            "opset": enforcement.opset,
            "ir_version": enforcement.ir_version,
            **({"certified": True} if enforcement.certified else {}),
            **({"runtime": enforcement.runtime} if enforcement.runtime else {}),
            **({"rests_on_numbers": True} if enforcement.rests_on_numbers else {}),
            **({"guards_by_kernel": True} if enforcement.guards_by_kernel else {}),
        }
    )
    numbers = enforcement.rests_on_numbers
    if numbers or enforcement.backend is not Backend.PYTHON:
        minus_zero = has_minus_zero(_numbers_of_attributes(model))
        off = names_needed_off(rests_on_numbers=numbers, has_minus_zero=minus_zero)
        may_act = [name for name in MAY_ACT if name not in off]
        entry = {"off": off, **({"may_act": may_act} if numbers else {})}
        model.metadata_props[OPTIMIZERS] = json.dumps(entry)


def _numbers_of_attributes(model: ir.Model) -> Iterator[onnx.AttributeProto]:
    """The attributes that are floats, as they are written; see `all_attributes`."""
    functions = model.functions.values()
    graphs: list[ir.Graph | ir.Function] = [model.graph, *functions]
    owners: list[ir.Function | ir.Node] = [*functions]
    owners += (node for graph in graphs for node in every_node(graph))
    for owner in owners:
        for attribute in owner.attributes.values():
            is_float = attribute.type in (ir.AttributeType.FLOAT, ir.AttributeType.FLOATS)
            # A parameter of a function has its value where the function is called, or its default.
            if is_float and not attribute.is_ref() and attribute.value is not None:
                yield ir.serde.serialize_attribute(attribute)


def optimizers_to_switch_off(model: onnx.ModelProto, enforcement: Enforcement) -> tuple[str, ...]:
    """The optimizers that a plain session of an enforced model has to switch off.

    They are those that its metadata names, and all that this version knows: other versions named
    fewer, or none where nothing is proved of numbers.

    Args:
        model: A model that is as `rewrite` made it.
        enforcement: What its metadata says.

    Returns:
        Their names.
    """
    properties = {entry.key: entry.value for entry in model.metadata_props}
    named = json.loads(properties.get(OPTIMIZERS, "{}")).get("off", ())
    known = names_needed_off(
        rests_on_numbers=enforcement.rests_on_numbers,
        has_minus_zero=has_minus_zero(all_attributes(model)),
    )
    return tuple(dict.fromkeys((*known, *named)))


def read_enforcement(properties: Mapping[str, str]) -> Enforcement | None:
    """Read from a model's metadata how it is enforced; None if there is no valid entry."""
    try:
        entries = json.loads(properties[ENFORCED])
        demands = choose_demands(entries["edition"], entries["broadcast"], entries["operators"])
        contract = contract_of(entries.get("contract", []))
        return Enforcement(
            replace(demands, contract=contract),
            int(entries["opset"]),
            int(entries["ir_version"]),
            Backend(entries["backend"]),
            "certified" in entries,
            entries.get("runtime"),
            "rests_on_numbers" in entries,
            "guards_by_kernel" in entries,
        )
    except (KeyError, TypeError, ValueError, RecursionError, SonnxError):
        return None


@dataclass(frozen=True, slots=True)
class Original:
    """What a group of nodes replaced.

    Attributes:
        node: The node; None if the group stands after a value, or expands operands of several
            nodes.
        undeclared: The outputs of the node, or values that were renamed, that had no type.
        unshaped: The outputs that had no shape, or lost it by the enforcement.
        inputs: If there is no node: the name of each original value, and that of its replacement.
        renamed: Whether the replacement has taken the name of the original value.
        broadcast: The Broadcast in front of the node that the group replaced too.
    """

    node: onnx.NodeProto | None
    undeclared: tuple[str, ...] = ()
    unshaped: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    renamed: bool = False
    broadcast: onnx.NodeProto | None = None

    @classmethod
    def of(cls, node: ir.Node, broadcast: ir.Node | None = None) -> "Original":
        """Record a node, which has no subgraphs, and a Broadcast, before they are replaced."""
        return cls(
            serialize_node(node),
            tuple(output.name for output in node.outputs if output.name and output.type is None),
            tuple(_without_shape(node)),
            broadcast=None if broadcast is None else serialize_node(broadcast),
        )

    def without_shapes_of(self, node: ir.Node) -> "Original":
        """Record also which outputs of the node have no shape now."""
        return replace(self, unshaped=tuple(dict.fromkeys((*self.unshaped, *_without_shape(node)))))

    def text(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(
            {
                "node": _json_of_node(self.node),
                "undeclared": self.undeclared,
                "unshaped": self.unshaped,
                "inputs": self.inputs,
                **({"renamed": True} if self.renamed else {}),
                **({"broadcast": _json_of_node(self.broadcast)} if self.broadcast else {}),
            }
        )

    @classmethod
    def parse(cls, text: str) -> "Original":
        """Read a record that `text` wrote.

        Raises:
            Exception: The text is not such a record; the type depends on what is wrong with it.
        """
        entries = json.loads(text)
        return cls(
            _node_of_json(entries["node"]),
            tuple(entries["undeclared"]),
            tuple(entries["unshaped"]),
            tuple((name, guarded) for name, guarded in entries["inputs"]),
            "renamed" in entries,
            _node_of_json(entries.get("broadcast")),
        )


def _json_of_node(node: onnx.NodeProto | None) -> object:
    return None if node is None else json.loads(_JSON.serialize_proto(node))


def _node_of_json(entries: object) -> onnx.NodeProto | None:
    if entries is None:
        return None
    node = onnx.NodeProto()
    _JSON.deserialize_proto(json.dumps(entries).encode(), node)
    return node


class Groups:
    """Starts new nodes of a model, and records each group of them, so that it can be undone."""

    def __init__(self, model: ir.Model) -> None:
        """Start with the first group, in the opset that the model has now."""
        self._names = ValueNames(model)
        self._opset = model.opset_imports[STANDARD_DOMAIN]
        self._next = 0

    def nodes(self, stem: str) -> StandardNodes:
        """Start new nodes; the names of their values begin with the stem."""
        return StandardNodes(self._names, stem, self._opset)

    def record(self, nodes: Sequence[ir.Node], original: Original) -> None:
        """Mark nodes, without those of their subgraphs, as a group, and record the original."""
        replaced = original.node.metadata_props if original.node is not None else ()
        properties = {entry.key: entry.value for entry in replaced}
        for node in nodes:
            carry(properties, node)
            node.metadata_props[GROUP] = str(self._next)
        nodes[-1].metadata_props[ORIGINAL] = original.text()
        self._next += 1

    def replace(
        self,
        original: Original,
        node: ir.Node,
        nodes: Sequence[ir.Node],
        values: Mapping[ir.Value, ir.Value],
    ) -> None:
        """Replace a node by new nodes, and each of its used outputs by a new value.

        Args:
            original: The node as it was before anything of it was changed.
            node: The node.
            nodes: The new nodes, in order.
            values: The new value for each output.
        """
        self.record(nodes, original)
        for old, new in values.items():
            new.metadata_props.update(old.metadata_props)
            new.doc_string = old.doc_string
            new.meta.update(old.meta)
        ir.convenience.replace_nodes_and_values(
            cast(ir.Graph, node.graph), node, [node], nodes, list(values), list(values.values())
        )

    def record_after(
        self,
        nodes: StandardNodes,
        after: Mapping[ir.Value, ir.Value],
        *,
        renamed: bool = False,
    ) -> None:
        """Record nodes that stand after values.

        Args:
            nodes: The nodes.
            after: For each value the one that is read instead.
            renamed: Whether that one has taken its name.
        """
        names = tuple((str(value.name), str(given.name)) for value, given in after.items())
        undeclared = tuple(str(v.name) for v in after if renamed and v.type is None)
        self.record(nodes.nodes, Original(None, undeclared, inputs=names, renamed=renamed))

    def read_after_inputs(
        self, graph: ir.Graph, nodes: StandardNodes, after: Mapping[ir.Value, ir.Value], uses: Uses
    ) -> None:
        """Insert nodes at the start of a graph, whose results are read in place of inputs.

        The uses are those from before the nodes were made.
        """
        self.record_after(nodes, after)
        for value, made in after.items():
            made.type = made.type or value.type
            for node, index in uses[value]:
                node.replace_input_with(index, made)
        if len(graph):
            graph.insert_before(graph[0], nodes.nodes)
        else:
            graph.extend(nodes.nodes)


def forget(model: ir.Model) -> None:
    """Remove all entries about enforcement from a model's metadata."""
    del model.metadata_props[ENFORCED]
    model.metadata_props.pop(OPTIMIZERS, None)
    for node in every_node(model.graph):
        node.metadata_props.pop(GROUP, None)
        node.metadata_props.pop(ORIGINAL, None)


def remember_declaration(
    value: ir.Value, kind: ir.TypeProtocol | None, shape: ir.Shape | None
) -> None:
    """Write what the original declares of a value into its metadata, unless that was done before.

    Args:
        value: The value.
        kind: Its declared type.
        shape: Its declared shape.
    """
    sizes = [size if isinstance(size, int) else size.value for size in shape or ()]
    declared = _UNTYPED if kind is None else None if shape is None else sizes
    value.metadata_props.setdefault(DECLARED, json.dumps(declared))


def forget_declarations(values: Iterable[ir.Value]) -> None:
    """Remove what the metadata of values says of another original, as after a tool changed it."""
    for value in values:
        value.metadata_props.pop(DECLARED, None)


def _restore_declaration(value: ir.Value) -> None:
    declared = json.loads(value.metadata_props.pop(DECLARED))
    if declared == _UNTYPED:
        value.type = value.shape = None
    else:
        value.shape = None if declared is None else ir.Shape(declared)


def groups(model: ir.Model) -> Iterator[tuple[ir.Node, ...]]:
    """The groups of a model, each in the order of the graph."""
    found: dict[tuple[ir.Graph | ir.Function | None, str], list[ir.Node]] = {}
    for node in every_node(model.graph):
        if GROUP in node.metadata_props:
            found.setdefault((node.graph, node.metadata_props[GROUP]), []).append(node)
    yield from map(tuple, found.values())


def _without_shape(node: ir.Node) -> Iterator[str]:
    """The outputs without a shape; an omitted output has no name."""
    return (output.name for output in node.outputs if output.name and output.shape is None)


def restore(model: ir.Model, enforcement: Enforcement) -> None:
    """Replace each group of nodes by its original, in place.

    Raises:
        Exception: The metadata is invalid; the type depends on what is wrong with it.
    """
    found = [(nodes, Original.parse(nodes[-1].metadata_props[ORIGINAL])) for nodes in groups(model)]
    # A group may read what earlier groups made, so the last one is restored first.
    found.sort(key=lambda group: int(group[0][0].metadata_props[GROUP]), reverse=True)
    for nodes, original in found:
        each = (value for n in nodes for value in (*n.inputs, *n.outputs) if value is not None)
        values = {str(value.name): value for value in each}
        if original.node is None:
            _restore_guarded(nodes, original, values)
        else:
            _restore_node(nodes, original.node, original, values)
    for value in defined_values(model.graph):
        if DECLARED in value.metadata_props:
            _restore_declaration(value)
    model.ir_version = enforcement.ir_version
    model.opset_imports[STANDARD_DOMAIN] = enforcement.opset
    model.opset_imports.pop(COMPILED_DOMAIN, None)
    forget(model)
    if enforcement.backend is Backend.PYTHON:
        # onnx_ir names no node as one that was removed.
        model.graph = model.graph.clone()


def _restore_guarded(
    nodes: Sequence[ir.Node], original: Original, values: Mapping[str, ir.Value]
) -> None:
    for name, guarded in original.inputs:
        value, given = values[name], values[guarded]
        if original.renamed:
            value.name, given.name = given.name, value.name
            value.type = None if name in original.undeclared else given.type
            value.doc_string = given.doc_string
            value.metadata_props.update(given.metadata_props)
        if original.renamed or given.is_graph_output():
            value.shape = given.shape
        ir.convenience.replace_all_uses_with(given, value, replace_graph_outputs=True)
    _graph_of(nodes).remove(nodes, safe=True)


def _restore_node(
    nodes: Sequence[ir.Node],
    proto: onnx.NodeProto,
    original: Original,
    values: Mapping[str, ir.Value],
) -> None:
    old = [values[name] for name in proto.output if name]
    new = {name: ir.Value() for name in proto.output if name}
    restored = []
    if original.broadcast is not None:
        results = {name: ir.Value(name=name) for name in original.broadcast.output}
        restored.append(_restored_node(original.broadcast, values, results))
        values = {**values, **results}
    restored.append(_restored_node(proto, values, new))
    _detach_bodies(nodes)
    ir.convenience.replace_nodes_and_values(
        _graph_of(nodes), nodes[-1], nodes, restored, old, list(new.values())
    )
    for before, after in zip(old, new.values(), strict=True):
        after.metadata_props.update(before.metadata_props)
        after.doc_string = before.doc_string
    for name in original.undeclared:
        new[name].type = None
    for name in original.unshaped:
        new[name].shape = None


def _restored_node(
    proto: onnx.NodeProto, values: Mapping[str, ir.Value], outputs: Mapping[str, ir.Value]
) -> ir.Node:
    return ir.Node(
        proto.domain,
        proto.op_type,
        [values[name] if name else None for name in proto.input],
        [ir.from_proto(attribute) for attribute in proto.attribute],
        outputs=[outputs.get(name) or ir.Value(name="") for name in proto.output],
        name=proto.name,
        doc_string=proto.doc_string or None,
        metadata_props={entry.key: entry.value for entry in proto.metadata_props},
    )


def _detach_bodies(nodes: Sequence[ir.Node]) -> None:
    """Disconnect the subgraphs of removed nodes from all values."""
    for body in (body for node in nodes for body in subgraphs_of(node)):
        for node in every_node(body):
            for index in range(len(node.inputs)):
                node.replace_input_with(index, None)


def _graph_of(nodes: Sequence[ir.Node]) -> ir.Graph:
    return cast(ir.Graph, nodes[0].graph)
