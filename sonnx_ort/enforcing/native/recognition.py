"""Verifies that the native backend made a model.

A model's metadata is trusted only if undoing the enforcement and applying it again gives the same
model: the same nodes, names and declarations. If a guard is missing or differs from what `rewrite`
makes, the model is treated as an ordinary one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import onnx
import onnx_ir as ir

from sonnx_ort.enforcing.lowering import apply_plan, plan_enforcement
from sonnx_ort.enforcing.native.record import restore
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import LoadedModel
from sonnx_ort.loading.serialization import serialize
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.obligations.examination import Examination, examine_model
from sonnx_ort.obligations.identity import identify
from sonnx_ort.obligations.obligation import Obligation, waiver_of
from sonnx_ort.obligations.waivers import Waiver
from sonnx_ort.obligations.waiving import recorded_waivers, with_recorded_waivers
from sonnx_ort.options import Choices, Enforcement
from sonnx_ort.printable import restored
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.finite import FINITE_OUTPUTS, FINITE_VALUES
from sonnx_ort.profile.graph import GRAPH
from sonnx_ort.profile.operator import COMPILED_DOMAIN
from sonnx_ort.profile.options import Demands
from sonnx_ort.profile.rule import Status


@dataclass(frozen=True, slots=True)
class NativelyEnforced:
    """A model that the native backend made.

    Attributes:
        enforcement: How it is enforced.
        examination: All obligations of the original model.
    """

    enforcement: Enforcement
    examination: Examination

    def require(self, demands: Demands) -> None:
        """Reject other demands than those that are enforced.

        Raises:
            SonnxError: The model is enforced under the other edition, or without some of the
                operators.
        """
        self.require_edition(demands)
        if missing := self.without(demands):
            raise SonnxError(
                f"the model is already rewritten, without {', '.join(missing)}; rewrite the "
                "original model with these operators as well"
            )

    def require_edition(self, demands: Demands) -> None:
        """Reject the other edition than that which is enforced.

        Raises:
            SonnxError: The model is enforced under the other edition.
        """
        kept = self.enforcement.demands
        differing = any(o.operator != BROADCAST.name for o in self.examination.report.enforced)
        if differing and kept.edition is not demands.edition:
            raise SonnxError(
                f"the model is already rewritten with the edition '{kept.edition}'; rewrite the "
                f"original model with '{demands.edition}'"
            )

    def without(self, demands: Demands) -> list[str]:
        """The operators of the model, and rules on graphs, that are demanded and not enforced."""
        on_values = (GRAPH, FINITE_OUTPUTS, FINITE_VALUES)
        present = {*on_values, *(c.operator for c in self.examination.report.coverage)}
        return sorted((demands.operators - self.enforcement.demands.operators) & present)


def recognize_native_model(
    loaded: LoadedModel, enforcement: Enforcement
) -> NativelyEnforced | None:
    """Verify that the native backend made a model as its metadata says.

    Returns:
        None if the metadata is wrong; the graph of the model is then unusable.
    """
    model = loaded.graph_model
    given = _fingerprint(model)
    choices = Choices(enforcement.demands, enforcement.backend, certified=enforcement.certified)
    recorded = recorded_waivers(model.metadata_props)
    try:
        restore(model, enforcement)
        examination = examine_model(
            model,
            choices.demands,
            identify(loaded.sha256, loaded.proto),
            complete=True,
            rewritten=True,
            waivers=recorded,
        )
        proofs = None
        if enforcement.certified:
            from sonnx_ort.certificates.making import Proofs, only_certified

            proofs = Proofs(serialize(model), model.graph, examination)
            examination = only_certified(examination, proofs)
        if not all(_may_be_waived(o, recorded) for o in examination.report.violations):
            return None
        apply_plan(model, plan_enforcement(model, examination, choices, proofs))
    except Exception:  # noqa: BLE001 - whatever a model may say of itself
        return None
    if _fingerprint(model) != given:
        return None
    report = with_recorded_waivers(examination.report, recorded)
    enforced = replace(
        report, obligations=_enforced(report.obligations), backend=enforcement.backend.value
    )
    return NativelyEnforced(enforcement, replace(examination, report=enforced))


def _may_be_waived(violation: Obligation, recorded: Sequence[Waiver]) -> bool:
    return violation.rule.waivable and waiver_of(violation, recorded) is not None


def _enforced(obligations: Sequence[Obligation]) -> tuple[Obligation, ...]:
    return tuple(
        replace(o, evidence=f"{o.evidence}; the model checks it in each run")
        if o.status is Status.RUNTIME and o.rule.in_run and o.enforced
        else o
        for o in obligations
    )


def _content(node: onnx.NodeProto) -> tuple[str, bytes]:
    """A node with its subgraphs, without the names of constants, which may change.

    Earlier versions did not escape the names of nodes that they wrote into others.
    """
    for attribute in node.attribute:
        if attribute.HasField("t"):
            attribute.t.ClearField("name")
        if attribute.HasField("g"):
            inner = sorted(attribute.g.node, key=_content)
            attribute.g.ClearField("node")
            attribute.g.node.extend(inner)
        if node.domain == COMPILED_DOMAIN and attribute.s:
            attribute.s = restored(attribute.s.decode()).encode()
    name = restored(node.name)
    node.ClearField("name")
    return name, node.SerializeToString(deterministic=True)


def _fingerprint(model: ir.Model) -> tuple[object, ...]:
    """A model without the order of its nodes and the elements of its initializers."""
    return (
        sorted(_content(ir.serde.serialize_node(node)) for node in model.graph),
        sorted((str(v.name), str(v.type), str(v.shape)) for v in defined_values(model.graph)),
        [value.name for value in (*model.graph.inputs, *model.graph.outputs)],
        dict(model.opset_imports),
        dict(model.metadata_props),
    )
