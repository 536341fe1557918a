"""Enforcement by the Python-defined operators of the domain `sonnx`.

They check at run time what is proved as well: they are the reference, and the check is nearly free
there.
"""

import onnx_ir as ir

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.guard_name import guard_name
from sonnx_ort.custom_ops.native_types import CARRIERS
from sonnx_ort.loading.value_names import ValueNames
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.domain import DOMAIN, DOMAIN_VERSION, STANDARD_DOMAIN
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Status
from sonnx_ort.rewriting.broadcast_lowering import BroadcastLowering
from sonnx_ort.rewriting.broadcast_nodes import lower_broadcast
from sonnx_ort.rewriting.failure_channel import make_guard
from sonnx_ort.rewriting.known_output import DATA_TYPES, declare_output, element_type_of
from sonnx_ort.rewriting.replacement import replace_node

RULES = "sonnx_ort.rules"
"""The key in a node's metadata under which the ids of the rules stand that bind it."""

PROVED = "sonnx_ort.proved"
"""The key under which those of them stand that hold in every run."""


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
        self._opset = model.opset_imports.get(STANDARD_DOMAIN, 1)
        model.opset_imports[DOMAIN] = DOMAIN_VERSION

    def enforce(self, examined: ExaminedNode) -> None:
        """Replace a node, in place; its outputs keep their names, types and shapes.

        Args:
            examined: The node, with its obligations.
        """
        node = examined.target.node
        if examined.target.operator is BROADCAST:
            replace_node(node, *lower_broadcast(examined, self._names, self._opset))
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
        lowering = BroadcastLowering(
            self._names, target.label, str(target.output.name), self._opset
        )
        *others, last = values
        operand = examined.operands[-1]
        if plan.trailing and operand.shape is not None:
            last = lowering.line_up(last, len(operand.shape), plan.trailing)
        expanded = lowering.expand([*others, last], plan)
        return [*lowering.nodes, *self._enforced(examined, tuple(expanded))]

    def _enforced(self, examined: ExaminedNode, operands: tuple[ir.Value, ...]) -> list[ir.Node]:
        """The custom operator and its guard."""
        target = examined.target
        own = [o for o in examined.obligations if o.operator == target.operator.name]
        rules = [obligation.rule for obligation in own]
        proved = [o.rule.id for o in own if o.status is Status.PROVED]
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
                PROVED: " ".join(proved),
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
        return ir.node("Cast", [value], {"to": DATA_TYPES[to]}, outputs=[output])

    def _value(self, name: str) -> ir.Value:
        return ir.val(self._names.fresh(name))
