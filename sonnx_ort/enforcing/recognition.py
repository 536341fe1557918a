"""Verifies that `rewrite` made a model.

A model's metadata is trusted only if undoing the enforcement and applying it again gives the same
model: the same nodes, names and declarations. If anything is missing or differs from what `rewrite`
makes, the model is treated as an ordinary one, in which no custom operator may be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import onnx
import onnx_ir as ir
import onnxruntime

from sonnx_ort.analysis.declared_shapes import undeclared
from sonnx_ort.analysis.examination import Examination, examine_model
from sonnx_ort.analysis.obligation import Finding, Obligation, identify, waiver_of
from sonnx_ort.analysis.waiving import recorded_waivers, with_recorded_waivers
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.metadata import ENFORCED, OPTIMIZERS, restore
from sonnx_ort.enforcing.planning import apply_plan, plan_enforcement
from sonnx_ort.errors import InvalidModel, SonnxError, restored
from sonnx_ort.loading.canonical import LoadedModel
from sonnx_ort.loading.serialization import serialize, serialize_node
from sonnx_ort.loading.traversal import defined_values, every_node
from sonnx_ort.options import Choices, Enforcement
from sonnx_ort.profile.both_contracts import ContradictionError, DeclaredAxes, both
from sonnx_ort.profile.catalog import kernels_since
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import FALSE_CLAIM, FINITE_OUTPUTS, FINITE_VALUES, GRAPH
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import COMPILED_DOMAIN, DOMAIN, OWN_DOMAINS
from sonnx_ort.profile.rule import Status, Subject


@dataclass(frozen=True, slots=True)
class EnforcedBefore:
    """A model that `rewrite` made.

    Attributes:
        enforcement: How it is enforced.
        examination: All obligations of the original model.
    """

    enforcement: Enforcement
    examination: Examination

    def anew(self, choices: Choices, *, to_examine: bool) -> Choices | None:
        """How to examine the original anew; None if what is enforced suffices.

        What the python backend enforced is enforced again for more operators, beside another
        version of onnxruntime than it relies on, or to make more explicit.

        Args:
            choices: What is asked for.
            to_examine: Whether the model is only examined.

        Raises:
            SonnxError: The model is enforced under the other edition, or for fewer operators by
                another backend than python.
        """
        before, demands = self.enforcement, choices.demands
        self._require_edition(demands)
        self._require_contract(demands)
        demands = replace(demands, contract=before.demands.contract)
        choices = replace(choices, demands=demands)
        by_python = before.backend is Backend.PYTHON
        if by_python and choices.by_default:
            choices = replace(choices, backend=Backend.PYTHON)
        missing = self._missing(demands)
        outdated = before.runtime not in {None, kernels_since(onnxruntime.__version__)}
        if to_examine:
            return choices if missing or outdated else None
        if missing and not by_python:
            raise SonnxError(
                f"the model is already rewritten, without {', '.join(missing)}; rewrite the "
                "original model with these operators as well"
            )
        if not (missing or outdated or (by_python and choices.make_explicit)):
            return None
        if not missing:
            return replace(choices, demands=before.demands)
        operators = before.demands.operators | demands.operators
        return replace(choices, demands=replace(demands, operators=operators))

    def _require_edition(self, demands: Demands) -> None:
        kept = self.enforcement.demands
        differing = any(o.operator != BROADCAST.name for o in self.examination.report.enforced)
        if differing and kept.edition is not demands.edition:
            raise SonnxError(
                f"the model is already rewritten with the edition '{kept.edition}'; rewrite the "
                f"original model with '{demands.edition}'"
            )

    def _require_contract(self, demands: Demands) -> None:
        """A model keeps the contract that it was rewritten with."""
        kept = self.enforcement.demands.contract
        if demands.contract not in {NO_CONTRACT, kept}:
            raise SonnxError(
                "the model is already rewritten, with another contract; rewrite the original model "
                "with this one"
            )

    def _missing(self, demands: Demands) -> list[str]:
        """The operators of the model, and rules on graphs, that are demanded and not enforced."""
        on_values = (GRAPH, FINITE_OUTPUTS, FINITE_VALUES)
        present = {*on_values, *(c.operator for c in self.examination.report.coverage)}
        return sorted((demands.operators - self.enforcement.demands.operators) & present)


def recognize(loaded: LoadedModel, enforcement: Enforcement) -> EnforcedBefore | None:
    """Verify that `rewrite` made a model as its metadata says.

    Returns:
        None if the metadata is wrong; the graph of the model is then unusable.
    """
    model = loaded.graph_model
    given = _fingerprint(model)
    choices = Choices(
        enforcement.demands,
        enforcement.backend,
        certified=enforcement.certified,
        guards_by_kernel=enforcement.guards_by_kernel,
    )
    recorded = recorded_waivers(model.metadata_props)
    try:
        restore(model, enforcement)
        examination = examine_model(
            model,
            choices.demands,
            identify(loaded.sha256, loaded.proto),
            complete=True,
            waivers=recorded,
            runtime=_runtime_of(enforcement),
        )
        proofs = None
        if enforcement.certified:
            from sonnx_ort.analysis.certificates import Proofs, only_certified

            proofs = Proofs(serialize(model), model.graph, examination)
            examination = only_certified(examination, proofs)
        violations = examination.report.violations
        if not all(o.rule.waivable and waiver_of(o, recorded) for o in violations):
            return None
        apply_plan(model, plan_enforcement(model, examination, choices, proofs))
    except Exception:  # noqa: BLE001 - whatever a model may say of itself
        return None
    if _fingerprint(model) != given:
        return None
    report = examination.report
    if enforcement.backend is Backend.PYTHON:
        report = replace(report, obligations=tuple(_with_broadcasts(examination)))
    report = with_recorded_waivers(report, recorded)
    enforced = replace(
        report, obligations=_enforced(report.obligations), backend=enforcement.backend.value
    )
    return EnforcedBefore(enforcement, replace(examination, report=enforced))


def _runtime_of(enforcement: Enforcement) -> str | None:
    """The version of onnxruntime for which rules are judged: the installed one, if it may be."""
    if enforcement.backend is not Backend.PYTHON:
        return None
    installed = onnxruntime.__version__
    return installed if enforcement.runtime == kernels_since(installed) else enforcement.runtime


def require_standard_operators(model: ir.Model) -> None:
    """Reject custom operators in a model that `rewrite` did not make, or not so.

    A Broadcast is an operator of the profile, which any model may have.

    Raises:
        InvalidModel: There is one.
    """
    for node in every_node(model.graph):
        if node.domain in OWN_DOMAINS and node.op_identifier() != (DOMAIN, BROADCAST.name, ""):
            raise InvalidModel(
                f"node '{node.name}' is in the domain '{node.domain}', but `rewrite` did not make "
                "this model as it is, or an earlier version did. Rewrite the original model "
                "again, or give the enforced model itself, not an optimized one"
            )


def still_demanding(choices: Choices, claim: Enforcement, axes: DeclaredAxes) -> Choices:
    """The choices with what a model demands of its inputs that was rewritten, and changed since.

    Args:
        choices: What its user asks for.
        claim: How its metadata says that it is enforced.
        axes: The declared axes of its inputs.

    Raises:
        SonnxError: Its user's contract contradicts that one.
    """
    kept = claim.demands.contract.of_inputs(axes)
    if not kept:
        return choices
    try:
        contract = both(choices.demands.contract, kept, axes)
    except ContradictionError as error:
        raise SonnxError(
            f"contract: the model was rewritten with another contract, and changed since: {error}; "
            "rewrite the original model with this one"
        ) from error
    return replace(choices, demands=replace(choices.demands, contract=contract))


def not_enforced() -> Obligation:
    """The violation of a file whose metadata says that it is enforced, and which is not."""
    violated = Finding(
        FALSE_CLAIM,
        "model",
        ENFORCED,
        "the metadata says that the model is enforced, but another tool or an earlier version "
        "made it as it is; it may enforce nothing",
    ).obligation()
    return replace(
        violated, hint="rewrite the original model again; optimize a model before it is rewritten"
    )


def _with_broadcasts(examination: Examination) -> Iterator[Obligation]:
    """All obligations; kernels check also what was waived, after a Broadcast in its place."""
    kept = {
        id(waived): obligation
        for node in examination.nodes
        for waived, obligation in product(node.waived, node.obligations)
        if waived.rule.requirement.subject is Subject.EQUAL_SHAPES
        and obligation.rule is waived.rule
    }
    yield from (kept.get(id(o), o) for o in examination.report.obligations)


def _enforced(obligations: Sequence[Obligation]) -> tuple[Obligation, ...]:
    """The obligations of the model that enforces them, which declares nothing without proof."""
    return tuple(
        replace(o, evidence=f"{o.evidence}; the model checks it in each run")
        if o.status is Status.RUNTIME and o.rule.in_run and o.enforced
        else o
        for o in map(undeclared, obligations)
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
        sorted(_content(serialize_node(node)) for node in model.graph),
        sorted((str(v.name), str(v.type), str(v.shape)) for v in defined_values(model.graph)),
        [value.name for value in (*model.graph.inputs, *model.graph.outputs)],
        model.ir_version,
        dict(model.opset_imports),
        # Another version of sonnx_ort may know other optimizers.
        {key: value for key, value in model.metadata_props.items() if key != OPTIMIZERS},
    )
