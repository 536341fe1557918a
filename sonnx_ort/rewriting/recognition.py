"""Tells a natively enforced model from one that only says so.

It is one exactly if undoing the enforcement and doing it again gives the same model: node for
node, name for name, and with the same declarations. So a model cannot talk its way around the
rules: where a guard is missing, or is another than `rewrite` would make, it is an ordinary model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import onnx
import onnx_ir as ir

from sonnx_ort.analysis.examination import examine_loaded
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.analysis.waiving import waiver_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import LoadedModel, load
from sonnx_ort.loading.source import ModelSource, ReadModel
from sonnx_ort.loading.traversal import defined_values
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.options import Demands
from sonnx_ort.rewriting.lowering import lower
from sonnx_ort.rewriting.native.record import forget, read_enforcement
from sonnx_ort.rewriting.native.restoration import restore
from sonnx_ort.rewriting.options import Backend, Choices, Enforcement
from sonnx_ort.rewriting.waivers import recorded_waivers, with_recorded_waivers


@dataclass(frozen=True, slots=True)
class NativelyEnforced:
    """A model that the native backend made.

    Attributes:
        model: The graph.
        enforcement: How it is enforced.
        report: Every obligation of the model that it was made from.
    """

    model: ir.Model
    enforcement: Enforcement
    report: Report

    def require(self, demands: Demands) -> None:
        """Refuse the other edition, and operators that are not enforced.

        Args:
            demands: What the model is to be held to.

        Raises:
            SonnxError: The model is enforced under the other edition, or has nodes of further
                operators that are to be enforced.
        """
        kept = self.enforcement.demands
        differing = any(o.operator != BROADCAST.name for o in self.report.enforced)
        if differing and kept.edition is not demands.edition:
            raise SonnxError(
                f"the model is enforced already, under the edition '{kept.edition}'; "
                f"rewrite the original model to have it under '{demands.edition}'"
            )
        present = {c.operator for c in self.report.coverage}
        missing = sorted((demands.operators - kept.operators) & present)
        if missing:
            raise SonnxError(
                f"the model is enforced already, without {', '.join(missing)}; rewrite the "
                "original model to have them enforced as well"
            )


def load_and_recognize(
    model: ModelSource | ReadModel, operators: frozenset[str]
) -> tuple[LoadedModel, NativelyEnforced | None]:
    """Load a model, and find out whether the native backend made it.

    Args:
        model: As for `load`.
        operators: As for `load`.

    Returns:
        The model, without what it says of its enforcement if that is not so, and what is known
        of it if it is.

    Raises:
        InvalidModel: As `load`.
    """
    loaded = load(model, operators)
    enforcement = read_enforcement(loaded.graph_model)
    if enforcement is None:
        return loaded, None
    if enforcement.demands.operators != operators:
        loaded = load(model, enforcement.demands.operators)
    recognized = _recognize(loaded, enforcement)
    if recognized is None:
        loaded = load(model, operators)
        forget(loaded.graph_model)
    return loaded, recognized


def report_on(
    model: ModelSource | ReadModel, demands: Demands, waivers: Iterable[Waiver] = ()
) -> tuple[Report, LoadedModel]:
    """Find every obligation of a model, of all operators; that of the original for an enforced one.

    Args:
        model: As for `load`.
        demands: What the model is held to.
        waivers: What is not enforced when the model is rewritten.

    Returns:
        The report, and the model that it is about.

    Raises:
        SonnxError: As for `check`.
    """
    loaded, native = load_and_recognize(model, demands.operators)
    if native is not None:
        native.require(demands)
        return native.report, loaded
    report = examine_loaded(loaded, demands, complete=True, waivers=waivers).report
    recorded = recorded_waivers(loaded.graph_model.metadata_props)
    return with_recorded_waivers(report, recorded), loaded


def restored(loaded: LoadedModel) -> Enforcement | None:
    """Turn a natively enforced model back into what it was made from.

    Args:
        loaded: The model, which tells the truth if it says that it is; changed in place.

    Returns:
        How it was enforced; None if there was nothing to enforce.
    """
    enforcement = read_enforcement(loaded.graph_model)
    if enforcement is not None:
        restore(loaded.graph_model, enforcement)
    return enforcement


def _recognize(loaded: LoadedModel, enforcement: Enforcement) -> NativelyEnforced | None:
    model = loaded.graph_model
    given = _fingerprint(model)
    choices = Choices(enforcement.demands, Backend.NATIVE)
    recorded = recorded_waivers(model.metadata_props)
    try:
        restore(model, enforcement)
        examination = examine_loaded(loaded, choices.demands, complete=True, waivers=recorded)
        if not all(_may_be_waived(o, recorded) for o in examination.report.violations):
            return None
        lower(model, examination, choices)
    except Exception:  # noqa: BLE001 - whatever a model may say of itself
        return None
    if _fingerprint(model) != given:
        return None
    report = with_recorded_waivers(examination.report, recorded)
    enforced = replace(report, obligations=_enforced(report.obligations))
    return NativelyEnforced(model, enforcement, enforced)


def _may_be_waived(violation: Obligation, recorded: Sequence[Waiver]) -> bool:
    return violation.rule.waivable and waiver_of(violation, recorded) is not None


def _enforced(obligations: Sequence[Obligation]) -> tuple[Obligation, ...]:
    return tuple(
        replace(o, evidence=f"{o.evidence}; the model checks it in each run")
        if o.status is Status.RUNTIME and o.rule.in_run and o.enforced
        else o
        for o in obligations
    )


def _content(node: onnx.NodeProto) -> bytes:
    """A node with its subgraphs, but for the names of constants, which looking at them changes."""
    for attribute in node.attribute:
        if attribute.HasField("t"):
            attribute.t.ClearField("name")
        if attribute.HasField("g"):
            inner = sorted(attribute.g.node, key=_content)
            attribute.g.ClearField("node")
            attribute.g.node.extend(inner)
    content: bytes = node.SerializeToString(deterministic=True)
    return content


def _fingerprint(model: ir.Model) -> tuple[object, ...]:
    """All of a model but the elements of its initializers, which nothing here changes.

    Nor does the order of nodes count: names say what reads what.
    """
    return (
        sorted(_content(ir.serde.serialize_node(node)) for node in model.graph),
        sorted((str(v.name), str(v.type), str(v.shape)) for v in defined_values(model.graph)),
        [value.name for value in (*model.graph.inputs, *model.graph.outputs)],
        dict(model.opset_imports),
        dict(model.metadata_props),
    )
