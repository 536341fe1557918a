"""Enforcement by the Python-defined operators of the domain `sonnx`.

They check at run time what is proved as well: they are the reference, and the check is nearly free
there.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.obligations import ExaminedNode
from sonnx_ort.custom_ops.native_types import CARRIERS
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.domain import DOMAIN, DOMAIN_VERSION
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operand import Operand
from sonnx_ort.rewriting.failure_channel import guard_name, make_guard

RULES = "sonnx_ort.rules"
"""The key in a node's metadata under which the ids of the rules stand that it enforces."""

_DATA_TYPES: dict[ElementType, ir.DataType] = {
    element_type: ir.DataType.from_numpy(element_type.dtype) for element_type in ElementType
}


class PythonBackend:
    """Puts custom operators and their guards in the place of nodes."""

    def __init__(self, model: ir.Model, edition: Edition) -> None:
        """Prepare a model.

        Args:
            model: The model whose nodes are to be enforced; its opset imports are changed.
            edition: The edition to enforce.
        """
        self._edition = edition
        self._names = ValueNames(model)
        model.opset_imports[DOMAIN] = DOMAIN_VERSION

    def casts(self, nodes: Sequence[ExaminedNode]) -> bool:
        """Whether a node's type can only reach its kernel by conversion.

        Args:
            nodes: The nodes to enforce.
        """
        return any(_element_type(examined) in CARRIERS for examined in nodes)

    def enforce(self, examined: ExaminedNode) -> None:
        """Replace a node, in place; its output keeps its name, type and shape.

        Args:
            examined: The node, with its obligations.
        """
        target = examined.target
        element_type = _element_type(examined)
        carrier = None if element_type is None else CARRIERS.get(element_type)
        if element_type is None or carrier is None:
            nodes = self._enforced(examined, target.inputs)
        else:
            widened = [self._cast(value, carrier) for value in target.inputs]
            enforced = self._enforced(examined, tuple(cast.outputs[0] for cast in widened))
            nodes = [*widened, *enforced, self._cast(enforced[-1].outputs[0], element_type)]
        _know(target.output, element_type, examined.operands)
        _replace(target.node, nodes)

    def _enforced(self, examined: ExaminedNode, operands: tuple[ir.Value, ...]) -> list[ir.Node]:
        """The custom operator and its guard."""
        target = examined.target
        rules = [obligation.rule for obligation in examined.obligations]
        name = target.output.name
        kernel = ir.node(
            target.operator.name,
            operands,
            {"node": target.label, "edition": self._edition.value},
            domain=DOMAIN,
            outputs=[self._value(f"{name}_result"), self._value(f"{name}_shape")],
            name=target.node.name,
            doc_string=target.node.doc_string,
            metadata_props={
                **target.node.metadata_props,
                RULES: " ".join(rule.id for rule in rules),
            },
        )
        guard = make_guard(
            kernel.outputs[0],
            kernel.outputs[1],
            self._value(f"{name}_guarded"),
            name=guard_name(target.operator.name, target.label, rules),
        )
        return [kernel, guard]

    def _cast(self, value: ir.Value, to: ElementType) -> ir.Node:
        output = self._value(f"{value.name}_as_{to}")
        return ir.node("Cast", [value], {"to": _DATA_TYPES[to]}, outputs=[output])

    def _value(self, name: str) -> ir.Value:
        return ir.val(self._names.fresh(name))


def _element_type(examined: ExaminedNode) -> ElementType | None:
    """The type by the facts; failing them, by what the file claims.

    A wrong claim here changes no result: a session whose types do not fit does not start.
    """
    for operand in examined.operands:
        if operand.element_type is not None:
            return ElementType.named(operand.element_type)
    target = examined.target
    for value in (*target.inputs, target.output):
        for element_type, data_type in _DATA_TYPES.items():
            if value.dtype == data_type:
                return element_type
    return None


def _know(output: ir.Value, element_type: ElementType | None, operands: Sequence[Operand]) -> None:
    """Declare what follows for an output and the file leaves to inference.

    Inference ends at the custom operator, and a Scan does not run without its body's shapes. A
    size is declared where an operand has it: with the rules kept, all have the same.
    """
    if output.dtype is None and element_type is not None:
        output.type = ir.TensorType(_DATA_TYPES[element_type])
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    if output.shape is None and shapes:
        sizes = zip(*shapes, strict=True) if len({len(s) for s in shapes}) == 1 else []
        output.shape = ir.Shape(
            [next((d for d in dimensions if isinstance(d, int)), None) for dimensions in sizes]
        )


def _replace(node: ir.Node, replacement: list[ir.Node]) -> None:
    """Put nodes in the place of one; the last of them defines its output from now on."""
    old, new = node.outputs[0], replacement[-1].outputs[0]
    new.metadata_props.update(old.metadata_props)
    new.doc_string = old.doc_string
    new.meta.update(old.meta)
    graph = node.graph
    if graph is None:
        raise ValueError(f"node '{node.name}' belongs to no graph")
    ir.convenience.replace_nodes_and_values(graph, node, [node], replacement, [old], [new])
