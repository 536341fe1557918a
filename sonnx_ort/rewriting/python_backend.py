"""Enforcement by the Python-defined operators of the domain `sonnx`.

They check at run time what is proved as well: they are the reference, and the check is nearly free
there.
"""

from collections.abc import Sequence

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.obligations import Examination
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.custom_ops.native_types import CARRIERS
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN, DOMAIN_VERSION, STANDARD_DOMAIN
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.rewriting.broadcast_kernel import BY_KERNELS
from sonnx_ort.rewriting.broadcast_lowering import OLDEST_OPSET as OLDEST_WITH_EXPAND
from sonnx_ort.rewriting.broadcast_lowering import expand_operands
from sonnx_ort.rewriting.broadcast_nodes import lower_broadcast, oldest_opset_of_broadcast
from sonnx_ort.rewriting.enforced_metadata import record_rules
from sonnx_ort.rewriting.enforcement import Enforcement
from sonnx_ort.rewriting.failure_channel import make_guard
from sonnx_ort.rewriting.known_output import DATA_TYPES, declare_output, element_type_of
from sonnx_ort.rewriting.replacement import put_behind_inputs, replace_node
from sonnx_ort.rewriting.scalar_inputs import (
    hide_declarations,
    oldest_opset_of_scalars,
    readers_of,
    scalars_behind,
)
from sonnx_ort.rewriting.standard_nodes import StandardNodes

_RESHAPE_BY_INPUT = 5
"""From here on `Reshape` takes its shape as an input."""

_CAST_BY_NUMBER = 6
"""From here on `Cast` takes its type as a number."""


class PythonBackend:
    """Puts custom operators and their guards in the place of nodes."""

    def __init__(self, model: ir.Model, enforcement: Enforcement) -> None:
        """Prepare a model.

        Args:
            model: The model whose nodes are to be enforced; its opset imports are changed.
            enforcement: How they are to be enforced.
        """
        self._edition = enforcement.edition
        self._model = model
        self._names = ValueNames(model)
        self._opset = model.opset_imports.get(STANDARD_DOMAIN, 1)
        model.opset_imports[DOMAIN] = DOMAIN_VERSION

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest version of the standard operators in which a node can be enforced.

        Args:
            examined: The node.
        """
        if examined.target.operator is BROADCAST:
            return max(oldest_opset_of_broadcast(examined), oldest_opset_of_scalars(examined))
        if examined.broadcast is not None:
            return max(OLDEST_WITH_EXPAND, oldest_opset_of_scalars(examined))
        return _CAST_BY_NUMBER if element_type_of(examined) in CARRIERS else _RESHAPE_BY_INPUT

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Give all nodes as they are: what is proved is checked in the run as well.

        Args:
            examination: All that the profile demands of the model.
        """
        # A kernel sees the tensors themselves; only a Broadcast asks ONNX Runtime for shapes.
        broadcasts = [node for node in examination.nodes if node.broadcast is not None]
        scalars = scalars_behind(broadcasts, examination.facts)
        if scalars:
            uses = readers_of(scalars)
            nodes = StandardNodes(self._names, "inputs", self._opset)
            behind = hide_declarations(nodes, scalars)
            put_behind_inputs(self._model.graph, uses, nodes.nodes, behind)
        return examination.nodes

    def enforce(self, examined: ExaminedNode) -> None:
        """Replace a node, in place; its outputs keep their names, types and shapes.

        Args:
            examined: The node, with its obligations.
        """
        node = examined.target.node
        if examined.target.operator is BROADCAST:
            lowered = lower_broadcast(examined, self._names, self._opset, BY_KERNELS)
            replace_node(node, *lowered)
            return
        nodes = self._elementwise(examined)
        declare_output(examined)
        replace_node(node, nodes, {examined.target.output: nodes[-1].outputs[0]})

    def _elementwise(self, examined: ExaminedNode) -> list[ir.Node]:
        """Conversion, Broadcast, the custom operator and its guard, and conversion back."""
        element_type = element_type_of(examined)
        carrier = None if element_type is None else CARRIERS.get(element_type)
        if element_type is None or carrier is None:
            return self._broadcast_and_enforced(examined, examined.target.inputs)
        widened = [self._cast(value, carrier) for value in examined.target.inputs]
        operands = tuple(cast.outputs[0] for cast in widened)
        enforced = self._broadcast_and_enforced(examined, operands)
        return [*widened, *enforced, self._cast(enforced[-1].outputs[0], element_type)]

    def _broadcast_and_enforced(
        self, examined: ExaminedNode, values: tuple[ir.Value, ...]
    ) -> list[ir.Node]:
        plan = examined.broadcast
        if plan is None:
            return self._enforced(examined, values)
        target = examined.target
        nodes = StandardNodes(self._names, str(target.output.name), self._opset)
        operands = expand_operands(nodes, target.label, values, plan, BY_KERNELS)
        return [*nodes.nodes, *self._enforced(examined, operands)]

    def _enforced(self, examined: ExaminedNode, operands: tuple[ir.Value, ...]) -> list[ir.Node]:
        """The custom operator and its guard."""
        target = examined.target
        rules = [o.rule for o in examined.obligations if o.operator == target.operator.name]
        name = target.output.name
        kernel = ir.node(
            target.operator.name,
            operands,
            {"node": target.label, "edition": self._edition.value},
            domain=DOMAIN,
            outputs=[self._value(f"{name}_result"), self._value(f"{name}_shape")],
            name=target.node.name,
            doc_string=target.node.doc_string,
            metadata_props=target.node.metadata_props,
        )
        record_rules(kernel, examined)
        shape = kernel.outputs[1]
        between = []
        if _computes_sizes(examined):
            # ONNX Runtime takes an operator called Div or Sub, of whatever domain, for its own: it
            # would hold the difference of two sizes for the kernel's every output, and so for C's
            # shape. It looks through no Concat of that.
            copy = self._value(f"{name}_shape_copy")
            between = [ir.node("Concat", [shape], {"axis": 0}, outputs=[copy])]
            shape = between[0].outputs[0]
        guard = make_guard(
            kernel.outputs[0],
            shape,
            self._value(f"{name}_guarded"),
            name=guard_name(target.operator.name, target.label, rules),
        )
        return [kernel, *between, guard]

    def _cast(self, value: ir.Value, to: ElementType) -> ir.Node:
        output = self._value(f"{value.name}_as_{to}")
        return ir.node("Cast", [value], {"to": DATA_TYPES[to]}, outputs=[output])

    def _value(self, name: str) -> ir.Value:
        return ir.val(self._names.fresh(name))


def _computes_sizes(examined: ExaminedNode) -> bool:
    """Whether operands may be single sizes, such as a Gather of a Shape gives."""
    return all(
        operand.element_type in ("int64", None) and not operand.shape
        for operand in examined.operands
    )
