"""The way of a model: load, examine, plan, apply. Read this file first.

    load     any source -> one valid graph, and what `rewrite` made of it before
    examine  every rule at every node: proved, decided in each run, or violated
    conform  on request: changes that mend what is violated, and leave every result as it is
    certify  on request: what is proved is only what a small program follows, the rest runs decide
    plan     what a backend has to do; a model with violations is refused here
    apply    the enforced model

`check` stops after `examine`, and tries what `conform` would mend. A step takes what the one
before gives, and nothing else. A model that `rewrite` made is recognized while it is loaded, by
examining what it was made from; that examination is the model's own.

Conforming and certificates are annexes: a function imports one where it needs it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnx_ir as ir
import onnxruntime

from sonnx_ort.analysis.examination import Examination, examine_model
from sonnx_ort.analysis.obligation import identify
from sonnx_ort.analysis.premises import Premises, premises_of
from sonnx_ort.analysis.report import Coverage, Extent, Report
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.analysis.waiving import (
    record_waivers,
    recorded_waivers,
    waivers_in_effect,
    with_recorded_waivers,
)
from sonnx_ort.backends import Backend
from sonnx_ort.enforcing.metadata import ENFORCED, forget, read_enforcement, restore
from sonnx_ort.enforcing.planning import Plan, apply_plan, plan_enforcement
from sonnx_ort.enforcing.recognition import (
    EnforcedBefore,
    not_enforced,
    recognize,
    require_standard_operators,
    still_demanding,
)
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.canonical import LoadedModel, load_canonical
from sonnx_ort.loading.external_data import external_tensors, load_external_data
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.serialization import (
    deserialize,
    may_be_too_deep,
    require_readable,
    serializable,
    serialize,
)
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import every_node, label_of
from sonnx_ort.loading.validity import checkable
from sonnx_ort.loading.written import Written, where_written
from sonnx_ort.options import Choices, Enforcement
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.demands import Demands

if TYPE_CHECKING:
    from sonnx_ort.analysis.certificates import Proofs
    from sonnx_ort.conforming.fixpoint import ConformedGraph
    from sonnx_ort.conforming.rounds import Made, Selection
    from sonnx_ort.conforming.worsening import Start


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid model, and what `rewrite` made of it before.

    Attributes:
        choices: What its user asks for.
        model: The model, with its canonical graph.
        made: How `rewrite` enforced it; None if it did not.
        restored: Whether the model is the original of one that `rewrite` made.
        premises: What it was conformed for.
        pretends: Whether its metadata says that it is enforced, and it is not; only of a model
            that is examined.
    """

    choices: Choices
    model: LoadedModel
    made: EnforcedBefore | None = None
    restored: bool = False
    premises: Premises = field(default_factory=Premises)
    pretends: bool = False

    @property
    def rewritten(self) -> bool:
        """Whether `rewrite` made it, so that its nodes are not its author's."""
        return self.made is not None or self.restored

    @property
    def false_claim(self) -> str:
        """Why it does not enforce what its metadata says; empty if it does, or says nothing."""
        claim = not_enforced()
        return f"{claim.evidence}; {claim.hint}" if self.pretends else ""


@dataclass(frozen=True, slots=True)
class Examined:
    """A model with every obligation.

    Attributes:
        loaded: The model.
        examination: Its obligations; of one that `rewrite` made those of its original.
        changes: The changes of `conform` that it has, compared to what was loaded.
        proofs: What of it is certified, if that is asked for.
    """

    loaded: Loaded
    examination: Examination
    changes: "tuple[Made, ...]" = ()
    proofs: "Proofs | None" = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A model, and what has to be done to enforce it.

    Attributes:
        examined: The model.
        waivers: Those that have effect on it.
        plan: What the backend has to do; None if it was done before, which `loaded.made` says.
    """

    examined: Examined
    waivers: tuple[Waiver, ...]
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class Enforced:
    """A model that enforces the profile.

    Attributes:
        made: The graph; None if the model was kept by a cache.
        backend: What enforces it.
        demands: What it enforces.
        unchanged: Whether nothing had to be changed.
        folder: Where external data lies; None if the model came without a place.
        original: The model as it was given.
        rests_on_numbers: Whether something is proved by floats that a kernel computes, so that a
            session may let only some optimizers act.
        passed_over: Operators with rules that it does not enforce, because none were chosen.
        kept: The model that was kept; None if there is a graph.
    """

    made: ir.Model | None
    backend: Backend
    demands: Demands
    unchanged: bool
    folder: Path | None
    original: onnx.ModelProto
    rests_on_numbers: bool = False
    passed_over: tuple[Coverage, ...] = ()
    kept: onnx.ModelProto | None = None

    @property
    def model(self) -> ir.Model:
        """The graph; that of a model which was kept is made at each call."""
        return deserialize(self._given) if self.made is None else self.made

    @property
    def name(self) -> str | None:
        """The name of the graph."""
        return self._given.graph.name if self.made is None else self.made.graph.name

    def to_proto(self) -> onnx.ModelProto:
        """The model as a protocol buffer of its own; external data stays external.

        Raises:
            InvalidModel: It nests too deep for readers.
        """
        if self.made is not None and not self.unchanged:
            return _proto_of(self.made, self.original)
        proto = onnx.ModelProto()
        proto.CopyFrom(self._given)
        return proto

    @property
    def _given(self) -> onnx.ModelProto:
        """The model as it was kept, or as it was given."""
        return self.original if self.kept is None else self.kept

    def to_complete_proto(self) -> onnx.ModelProto:
        """The model as a protocol buffer of its own, with the external data of its folder."""
        proto = self.to_proto()
        if self.folder is not None:
            load_external_data(list(external_tensors(proto)), self.folder)
        return proto


def load(model: ModelSource | ReadModel, choices: Choices, *, to_examine: bool = False) -> Loaded:
    """Load a model, and recognize what `rewrite` made.

    Args:
        model: A path, bytes, a model object, or one that was read; it is not modified.
        choices: What its user asks for.
        to_examine: Whether it is only examined: of a model that is enforced for fewer operators the
            original is loaded.

    Raises:
        InvalidModel: It is no readable, valid ONNX model, or pretends to be enforced, or what it
            was conformed for cannot be read, or is not enforced by what `rewrite` made.
        SonnxError: It is enforced under the other edition, or for fewer operators by another
            backend than python, or the contract contradicts that of the model.
    """
    source = read(model)
    premises = premises_of(source.proto)
    given, contract = choices, premises.with_contract(choices.demands.contract)
    if contract:
        choices = replace(choices, demands=replace(choices.demands, contract=contract))
    claim = claimed_enforcement(source.proto)
    if claim is not None:
        loaded = load_canonical(source, claim.demands.operators)
        made = recognize(loaded, claim)
        if made is not None:
            premises.require_enforced(claim.demands.contract)
            # What it was conformed for is enforced; only a contract of its user can differ.
            asked = choices if given.demands.contract else given
            anew = made.anew(asked, to_examine=to_examine)
            if anew is None:
                return Loaded(asked, loaded, made, premises=premises)
            loaded = load_canonical(source, anew.demands.operators)
            restore(loaded.graph_model, claim)
            return Loaded(anew, loaded, restored=True, premises=premises)
    loaded = load_canonical(source, choices.demands.operators)
    if claim is not None:
        forget(loaded.graph_model)
        choices = still_demanding(choices, claim, premises.axes)
    require_standard_operators(loaded.graph_model)
    pretends = to_examine and any(each.key == ENFORCED for each in source.proto.metadata_props)
    return Loaded(choices, loaded, premises=premises, pretends=pretends)


def claimed_enforcement(proto: onnx.ModelProto) -> Enforcement | None:
    """How a model is enforced, as its metadata says; None if that says nothing that can be read."""
    return read_enforcement({entry.key: entry.value for entry in proto.metadata_props})


def examine(
    loaded: Loaded, *, complete: bool = False, known: Examination | None = None
) -> Examined:
    """Hold every node to every rule that binds it.

    Args:
        loaded: The model.
        complete: Whether the report also covers operators that are not to be enforced, and findings
            where nothing is violated.
        known: What is known of the same graph; see `examine_model`.

    Raises:
        InvalidModel: An operand is of a type that its operator's version does not take, or the
            model imports a version of an operator that the profile is not applied to.
    """
    premises = tuple(loaded.premises.lines())
    if loaded.made is not None:
        known = loaded.made.examination
        return Examined(loaded, replace(known, report=replace(known.report, premises=premises)))
    model, choices = loaded.model, loaded.choices
    if choices.make_explicit:
        from sonnx_ort.conforming.declarations import meet_graph_rules

        meet_graph_rules(model.graph_model, choices.demands)
    examination = examine_model(
        model.graph_model,
        choices.demands,
        identify(model.sha256, model.proto),
        complete=complete,
        waivers=choices.waivers,
        # A model of the python backend runs beside its kernels; any version runs a native one.
        runtime=onnxruntime.__version__ if choices.backend is Backend.PYTHON else None,
        known=known,
    )
    recorded = recorded_waivers(model.graph_model.metadata_props)
    report = with_recorded_waivers(examination.report, recorded)
    report = replace(report, backend=choices.backend.value, premises=premises)
    if loaded.pretends:
        report = replace(report, obligations=(not_enforced(), *report.obligations))
    return Examined(loaded, replace(examination, report=report))


def conform(examined: Examined, selection: "Selection") -> "ConformedGraph":
    """Change a model so that it violates less; the loaded graph may be changed in place.

    Args:
        examined: The model.
        selection: Which changes are to be made.

    Raises:
        SonnxError: It enforces the profile already, so that its nodes are not its author's.
    """
    from sonnx_ort.conforming.worsening import conform_without_worsening

    if examined.loaded.rewritten:
        raise SonnxError("the model is already rewritten; conform the original, then rewrite it")
    return conform_without_worsening(_starts(examined), selection)


def _starts(examined: Examined) -> "Iterator[Start]":
    """The graph of a model, and then the same one as often as changes are made anew."""
    from sonnx_ort.conforming.origins import remember_origins
    from sonnx_ort.conforming.worsening import Start

    loaded, known = examined.loaded, examined.examination
    source = ReadModel(loaded.model.proto, loaded.model.folder, loaded.model.sha256)
    while True:
        remember_origins(loaded.model.graph_model)
        yield Start(loaded.model.graph_model, known, partial(_examine_again, loaded))
        loaded = load(source, loaded.choices, to_examine=loaded.pretends)
        known = _examine_again(loaded, None)


def _examine_again(loaded: Loaded, known: Examination | None) -> Examination:
    try:
        return examine(loaded, complete=True, known=known).examination
    except SonnxError as error:
        if not str(error).startswith("contract: "):
            raise
        removed = "a change removed it; leave its entry out, or write a contract for the result"
        raise SonnxError(f"{error}; {removed}") from error


def conformed_if_asked_for(examined: Examined) -> Examined:
    """The model with all safe changes, if its user chose so; a rewritten one has them already."""
    loaded = examined.loaded
    if not loaded.choices.conform or loaded.rewritten:
        return examined
    from sonnx_ort.conforming.rounds import Selection

    graph = conform(examined, Selection(frozenset(RULES)))
    changed = replace(loaded, model=replace(loaded.model, graph_model=graph.model))
    return Examined(changed, graph.examination, tuple(graph.made))


def proofs_of(examined: Examined) -> "Proofs":
    """What is proved of a model, and what of it is certified."""
    from sonnx_ort.analysis.certificates import Proofs

    model = examined.loaded.model
    return Proofs(model.proto, model.graph_model.graph, examined.examination)


def certified_if_asked_for(examined: Examined) -> Examined:
    """The model, of which only that counts as proved whose proof is certified.

    Args:
        examined: The model; one that is rewritten already stays as it is.

    Raises:
        SonnxError: A rule is not certified that no run can check.
    """
    loaded = examined.loaded
    if not loaded.choices.certified or loaded.rewritten:
        return examined
    from sonnx_ort.analysis.certificates import only_certified

    proofs = proofs_of(examined)
    certified = only_certified(examined.examination, proofs)
    return replace(examined, examination=certified, proofs=proofs)


def check(source: ModelSource | ReadModel, choices: Choices, *, forecast: bool) -> Report:
    """The report of a model, with a forecast of what `conform` fixes if that is wanted.

    Raises:
        SonnxError: As for `load` and `examine`.
    """
    with collector_paused():
        examined = examine(load(source, choices, to_examine=True), complete=True)
        return with_forecast(examined) if forecast else examined.examination.report


def with_forecast(examined: Examined) -> Report:
    """The report, which also says of each violation how `conform` would mend it.

    Making all changes takes a multiple of the time of the check.

    The loaded graph is changed in place, and of no use afterwards. Of a model that is rewritten
    already nothing is said, for `conform` takes the original.
    """
    loaded, report = examined.loaded, examined.examination.report
    if loaded.rewritten or report.ok:
        return report
    from sonnx_ort.conforming.forecast import with_marks

    choices, model = loaded.choices, loaded.model.graph_model
    # A change may remove a value inside that a contract names; `conform` asks for none of these.
    limits = choices.demands.contract.of_inputs(value.name or "" for value in model.graph.inputs)
    if limits != choices.demands.contract:
        demands = replace(choices.demands, contract=limits)
        loaded = replace(loaded, choices=replace(choices, demands=demands))
        examined = examine(loaded, complete=True)
    return with_marks(report, _starts(examined))


def plan(examined: Examined) -> Planned:
    """Find out what has to be done to enforce a model.

    Raises:
        ModelRejected: A violation has no waiver.
        SonnxError: A waiver has expired or has no effect, or the python backend made the model
            where another one is asked for.
    """
    loaded, examination = examined.loaded, examined.examination
    choices, graph_model = loaded.choices, loaded.model.graph_model
    recorded = recorded_waivers(graph_model.metadata_props)
    made = loaded.made
    effective = waivers_in_effect(
        examination, recorded, choices.waivers, rewritten=made is not None
    )
    # What another backend made is restored to be examined alone.
    by_python = loaded.restored if made is None else made.enforcement.backend is Backend.PYTHON
    if by_python and not (choices.backend is Backend.PYTHON or choices.by_default):
        raise SonnxError(
            "the model is already rewritten with the python backend; rewrite the original model "
            f"with the {choices.backend} backend"
        )
    if made is not None:
        return Planned(examined, effective, None)
    to_do = plan_enforcement(graph_model, examination, choices, examined.proofs)
    return Planned(examined, effective, to_do)


def apply(planned: Planned) -> Enforced:
    """Make the enforced model; the loaded graph is changed in place.

    Args:
        planned: The model, and what has to be done.

    Raises:
        SonnxError: A node cannot be enforced in the model as it is.
    """
    loaded, to_do = planned.examined.loaded, planned.plan
    choices, model = loaded.choices, loaded.model
    graph_model, changed = model.graph_model, False
    rests_on_numbers = planned.examined.examination.rests_on_numbers
    if to_do is not None:
        if choices.make_explicit:
            from sonnx_ort.conforming.declarations import make_graph_explicit

            make_graph_explicit(graph_model, planned.examined.examination.facts)
        with serializable():
            apply_plan(graph_model, to_do)
        changed = to_do.changes or choices.make_explicit or bool(planned.examined.changes)
    changed = record_waivers(graph_model, planned.waivers) or changed
    made = loaded.made
    backend = choices.backend if made is None else made.enforcement.backend
    demands = (choices if made is None else made.enforcement).demands
    return Enforced(
        graph_model,
        backend,
        demands,
        not changed,
        model.folder,
        model.proto,
        rests_on_numbers,
        _passed_over(planned.examined),
    )


def _passed_over(examined: Examined) -> tuple[Coverage, ...]:
    """The operators with rules that no one chose to leave out; whoever rewrote a model did."""
    if examined.loaded.rewritten or not examined.loaded.choices.operators_by_default:
        return ()
    coverage = examined.examination.report.coverage
    return tuple(each for each in coverage if each.extent is Extent.NOT_ASKED_FOR)


def enforce(model: ModelSource | ReadModel, choices: Choices) -> Enforced:
    """Lead a model all the way.

    Args:
        model: As for `load`.
        choices: How to rewrite it.

    Raises:
        SonnxError: As for each of the steps.
    """
    examined = conformed_if_asked_for(examine(load(model, choices)))
    return apply(plan(certified_if_asked_for(examined)))


def reference_of(model: bytes) -> onnx.ModelProto:
    """Give the python backend's form of a model that the native or the compiled backend made.

    It checks what the guards do, also rules that the installed version of onnxruntime needs not.

    Args:
        model: The serialized model. One in which there was nothing to enforce is its own reference.
    """
    from sonnx_ort.enforcing.python_backend import check_for_any_version

    loaded = load_canonical(model)
    enforcement = read_enforcement(loaded.graph_model.metadata_props)
    if enforcement is None or enforcement.backend is Backend.PYTHON:
        return loaded.proto
    choices = _restored(loaded, enforcement)
    examination = examine(Loaded(choices, loaded)).examination
    choices = replace(choices, backend=Backend.PYTHON)
    apply_plan(loaded.graph_model, plan_enforcement(loaded.graph_model, examination, choices))
    check_for_any_version(loaded.graph_model, choices.demands.edition)
    return _proto_of(loaded.graph_model, loaded.proto)


def examine_original(model: bytes, choices: Choices) -> Examination:
    """Examine what a backend made a model of.

    Args:
        model: The serialized model. One in which there was nothing to enforce is its own original.
        choices: What its user asks for, if it does not say so itself.
    """
    loaded = load_canonical(model)
    enforcement = read_enforcement(loaded.graph_model.metadata_props)
    if enforcement is not None:
        choices = _restored(loaded, enforcement)
    return examine(Loaded(choices, loaded)).examination


def written_places(model: bytes) -> Mapping[str, Written]:
    """Where the nodes of an enforced model, or of its original, were written, by their labels.

    Nodes of one label that were written in several places are left out.

    Args:
        model: The serialized model.
    """
    loaded = load_canonical(model)
    graph_model = loaded.graph_model
    enforcement = read_enforcement(graph_model.metadata_props)
    if enforcement is not None:
        restore(graph_model, enforcement)
    places: dict[str, set[Written | None]] = {}
    for node in every_node(graph_model.graph):
        place = where_written(node, graph_model.producer_name)
        places.setdefault(label_of(node), set()).add(place)
    single = {label: found.pop() for label, found in places.items() if len(found) == 1}
    return {label: place for label, place in single.items() if place is not None}


def restored_original(source: ReadModel) -> onnx.ModelProto:
    """Give what a model was rewritten from, as its metadata says.

    Args:
        source: The model. One in which there was nothing to enforce is its own original.

    Raises:
        SonnxError: Its metadata has no original that can be restored.
    """
    loaded = load_canonical(source)
    enforcement = read_enforcement(loaded.graph_model.metadata_props)
    if enforcement is None:
        return loaded.proto
    try:
        restore(loaded.graph_model, enforcement)
    except Exception as error:
        raise SonnxError(f"its original cannot be restored: {error!r}") from error
    return serialize(loaded.graph_model)


def _restored(loaded: LoadedModel, enforcement: Enforcement) -> Choices:
    """Restore the original of a model, and give what its user asked for."""
    waivers = recorded_waivers(loaded.graph_model.metadata_props)
    restore(loaded.graph_model, enforcement)
    return Choices(enforcement.demands, Backend.NATIVE, waivers=waivers)


def _proto_of(model: ir.Model, original: onnx.ModelProto) -> onnx.ModelProto:
    """A model as a protocol buffer of its own, with what the graph library has no place for."""
    made = serialize(model)
    if may_be_too_deep(made):
        require_readable(checkable(made))
    made.training_info.extend(original.training_info)
    return made
