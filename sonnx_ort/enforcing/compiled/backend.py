"""Enforcement by compiled custom operators, of the domain `sonnx.compiled`.

One node takes the place of another, checks all its rules in each run, also proved ones, and
computes:

    A, B -> Div -> C        A, B -> sonnx.compiled::CheckedDiv -> C

It broadcasts by itself what a Broadcast in front of it would expand. What has no compiled kernel is
enforced as by the native backend, so a model is recognized in the same way.
"""

from collections.abc import Sequence
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.custom_ops.compiled.catalog import COMPILED_OPERATORS
from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.enforcing.native.backend import NativeBackend
from sonnx_ort.enforcing.native.record import Original
from sonnx_ort.enforcing.nodes import record_rules
from sonnx_ort.enforcing.value_info import element_type_of
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.examined_node import ExaminedNode
from sonnx_ort.profile.operator import COMPILED_DOMAIN, DOMAIN_VERSION
from sonnx_ort.profile.rule import Status


class CompiledBackend(NativeBackend):
    """Replaces nodes by compiled operators, and puts guards in front of others."""

    @staticmethod
    def oldest_opset(examined: ExaminedNode) -> int:
        """The oldest opset in which a node can be enforced, without a Broadcast in front of it."""
        return 1 if has_compiled_kernel(examined) else NativeBackend.oldest_opset(examined)

    @staticmethod
    def broadcasts(examined: ExaminedNode) -> bool:
        """Whether the kernel of a node broadcasts, so that nothing has to be expanded."""
        return has_compiled_kernel(examined)

    def prepare(self, examination: Examination) -> Sequence[ExaminedNode]:
        """Guard graph inputs if that decides the shapes of several nodes without kernels.

        Returns:
            The nodes, with the obligations that are still to be enforced.
        """
        compiled = {n.target.node: n for n in examination.nodes if has_compiled_kernel(n)}
        others = tuple(n for n in examination.nodes if n.target.node not in compiled)
        prepared = super().prepare(replace(examination, nodes=others))
        by_node = compiled | {n.target.node: n for n in prepared}
        return [by_node[examined.target.node] for examined in examination.nodes]

    def enforce(self, examined: ExaminedNode) -> None:
        """Replace a node, or put guards in front of it, in place; its outputs keep their names.

        Raises:
            SonnxError: The node has no compiled kernel, and the native backend cannot enforce it.
        """
        if not has_compiled_kernel(examined):
            super().enforce(examined)
            return
        target = examined.target
        self._model.opset_imports[COMPILED_DOMAIN] = DOMAIN_VERSION
        result = self.nodes(str(target.output.name)).value("result")
        node = ir.node(
            COMPILED_OPERATORS[target.operator.name].name,
            target.inputs,
            {"node": target.label, "edition": self._edition.value, **_broadcast(examined)},
            domain=COMPILED_DOMAIN,
            outputs=[result],
            name=target.node.name,
            doc_string=target.node.doc_string,
            metadata_props=target.node.metadata_props,
        )
        record_rules(node, examined)
        self._replace(examined, Original.of(target.node), [node], [result])


def _broadcast(examined: ExaminedNode) -> dict[str, str]:
    """The attributes of a kernel that broadcasts: which operands, and their names for its errors.

    The others have the common shape, or break the rule on equal shapes.
    """
    plan = examined.broadcast
    if plan is None:
        return {}
    first, second = (operand.value for operand in plan.operands)
    match plan.expanded:
        case (True, True):
            expanded = "both"
        case (True, False):
            expanded = "first"
        case _:
            expanded = "second"
    return {"expanded": expanded, "first": first, "second": second}


def has_compiled_kernel(examined: ExaminedNode) -> bool:
    """Whether a compiled kernel enforces a node.

    A node of constants is kept if all its rules are proved: ONNX Runtime folds only standard ones.
    """
    target, element_type = examined.target, element_type_of(examined)
    compiled = COMPILED_OPERATORS.get(target.operator.name)
    if compiled is None or element_type not in compiled.types:
        return False
    if target.further_attributes or examined.waived or _aligns(examined):
        return False
    in_run = [obligation for obligation in examined.obligations if obligation.rule.in_run]
    if any(obligation.status is Status.VIOLATED for obligation in in_run):
        return False
    if all(examined.foldable) and all(o.status is Status.PROVED for o in in_run):
        return False
    return bool(in_run) or element_type in CARRIERS


def _aligns(examined: ExaminedNode) -> bool:
    """Whether operands are aligned as old versions of operators do."""
    return examined.broadcast is not None and examined.broadcast.alignment is not None
