"""The public functions `conform` and `conform_file`, which fix violations in a model."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

import numpy.typing as npt
import onnx
import onnx_ir as ir

from sonnx_ort.analysis.contracts import ContractSource, contract_for
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.premises import premises_of
from sonnx_ort.analysis.report import Report, selected_rules
from sonnx_ort.backends import Backend
from sonnx_ort.conforming.assumptions import assuming
from sonnx_ort.conforming.bounds import MEASURED_DEVIATION
from sonnx_ort.conforming.change import MOST_STEPS, Safety
from sonnx_ort.conforming.fixpoint import ConformedGraph
from sonnx_ort.conforming.input_statements import (
    OPEN_SIZES,
    fixed_numbers,
    open_shapes,
    open_size_of,
    stated_by,
    without_assumed,
)
from sonnx_ort.conforming.outcome import outcome_of
from sonnx_ort.conforming.proposal import Proposal, Remaining, rounds, with_proposal
from sonnx_ort.conforming.proposal import propose as propose_options
from sonnx_ort.conforming.rounds import Made, Selection
from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.arguments import checked_arguments, choose
from sonnx_ort.errors.notebook import HTML, shown_as
from sonnx_ort.errors.remedies import Remedy, arguments_of, listed
from sonnx_ort.facts.decimals import at_most
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.saving import (
    Transfer,
    TransferChoice,
    check_place,
    files_of,
    refuse_inputs,
    refuse_source,
    write_model,
)
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import every_node
from sonnx_ort.options import PROFILE, Choices, OperatorsChoice
from sonnx_ort.ort.feeds import graph_inputs
from sonnx_ort.pipeline import Enforced, examine, load
from sonnx_ort.pipeline import conform as conform_graph
from sonnx_ort.profile.both_contracts import ASSUMED_CONTRACT
from sonnx_ort.profile.contract import NO_CONTRACT, contract_to_json
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice
from sonnx_ort.runs.diff.deviations import Measured
from sonnx_ort.runs.diff.deviations import measure as measure_deviations
from sonnx_ort.runs.diff.difference import Comparison, compare_stepwise
from sonnx_ort.runs.input_shapes import Sizes
from sonnx_ort.runs.limits import SECONDS, Limits

_logger = logging.getLogger("sonnx_ort")

Model = TypeVar("Model", onnx.ModelProto, ir.Model)


@dataclass(frozen=True, slots=True, repr=False)
class Conformed(Generic[Model]):
    """The result of `conform`.

    Attributes:
        model: The changed model: an `onnx_ir.Model` if one was given, otherwise an
            `onnx.ModelProto`.
        changes: The changes, in the order in which they were made.
        remaining: The remaining violations, each with the reason why no change fixes it.
        before: The report of the original model.
        report: The report of the changed model.
        left_out: The changes that were undone because a run gave other results with them.
        assumed: What was assumed of inputs in every run, in words. `report.premises` also has what
            was when the model was conformed before.
        measured: How far outputs are from those of the original model in runs of both; None if no
            change rounds, or nothing was to be measured.
        new: The remaining violations that the original does not have, at what changes added.
        proposal: Further options that fix what is left, if these were to be tried and some do.
    """

    model: Model
    changes: tuple[Made, ...]
    remaining: Remaining
    before: Report
    report: Report
    left_out: tuple[Made, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)
    measured: Measured | None = None
    new: tuple[Obligation, ...] = ()
    proposal: Proposal | None = None

    def __repr__(self) -> str:
        """Give the numbers, for model and reports are long."""
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        """Render the changes by rule, and the report of the changed model, for a notebook."""
        return shown_as(HTML, self)

    def summary(self) -> str:
        """How many changes were made, and how many violations there were and are."""
        before, after = len(self.before.violations), len(self.remaining)
        return f"changes: {len(self.changes):,}; violations: {before:,} before, {after:,} now"


class ConformOptions(TypedDict, total=False):
    """The options of `conform`, by name.

    Attributes:
        edition: As for `rewrite`.
        broadcast: As for `rewrite`. With "explicit", `conform` does not change broadcasts, because
            `rewrite` makes them explicit.
        operators: The operators whose violations are fixed, as for `rewrite`; "profile" by default.
        rounding: Whether to make also changes after which results may be rounded differently.
        name_outputs: Whether outputs that nodes omit, or that nothing reads, become outputs of
            the graph.
        unroll: How many steps a Loop or Scan may have that becomes the nodes of all its steps; 16
            by default.
        both_branches: Whether both branches of an If are computed where only a run knows its
            condition. It costs the time of both. Only branches whose rules are all proved are, for
            the branch that is not taken would break them too.
        assume: Elements of inputs that are the same in every run. They become constants, and the
            changed model has no such input.
        assume_shapes: Shapes of inputs that are the same in every run. An input of shape () is
            reshaped to it, for ONNX Runtime takes any shape where a file declares a scalar.
        contract: What the inputs may be, as for `check`: what follows from it needs no change, and
            results may change beyond it. A changed model has it in its metadata, and does not
            enforce it; `rewrite` and `InferenceSession` do, and demand it in every run.
        select: The rules to fix, by id or the beginning of ids; all by default.
        ignore: The rules not to fix.
        verify: Whether to run both models, and to omit each change after which a value has
            other bits; each that rounds, after which less than half of its digits agree, or it is
            not near to the exact result, where the oracle knows that.
        measure: Whether to run both models if a change rounds, and to measure how far each output
            is from the original one, over random inputs, samples and the corners of a contract. The
            changed model states it in its metadata. It is done by default.
        samples: Inputs of further measured runs, by name.
        inputs: Inputs of all runs, by name; the others are random, as for `sonnx-ort diff`.
        seed: The seed of the random inputs; 0 by default.
        sizes: The sizes of their open dimensions, by name; others are chosen.
        input_shapes: The shapes of random inputs, by name.
        propose: Whether to try which further options would fix what is left; not by default, for it
            takes a multiple of the time. `Conformed.proposal` says what they are.
        time_limit: How many seconds a run that verifies may take; 60 by default.
        memory_limit: How many MB of memory it may take; three quarters of the machine's by default.
    """

    edition: EditionChoice
    broadcast: BroadcastChoice
    operators: OperatorsChoice
    rounding: bool
    name_outputs: bool
    unroll: int
    both_branches: bool
    assume: Mapping[str, npt.ArrayLike]
    assume_shapes: Mapping[str, Sequence[int]]
    contract: ContractSource
    select: str | Iterable[str] | None
    ignore: str | Iterable[str] | None
    verify: bool
    measure: bool
    samples: Sequence[Mapping[str, npt.NDArray[Any]]]
    inputs: Mapping[str, npt.NDArray[Any]]
    seed: int
    sizes: Mapping[str, int]
    input_shapes: Mapping[str, Sequence[int]]
    propose: bool
    time_limit: int | float
    memory_limit: int | None


# Its order matters: protocol buffers have an untyped base, so they pass for anything.
@overload
def conform(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto, **options: Unpack[ConformOptions]
) -> Conformed[onnx.ModelProto]: ...
@overload
def conform(model: ir.Model, **options: Unpack[ConformOptions]) -> Conformed[ir.Model]: ...
@checked_arguments
def conform(
    model: ModelSource, **options: Unpack[ConformOptions]
) -> Conformed[onnx.ModelProto] | Conformed[ir.Model]:
    """Fix violations of the profile without changing any result.

    The changes make explicit what the model leaves implicit: types, shapes, attributes, the axes
    and steps of a Slice, broadcasts. Every result has the same bits as before, in every run of ONNX
    Runtime without optimizations; only a NaN may become another NaN. Conforming a conformed model
    changes nothing.

    Args:
        model: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`; it is not
            modified.
        **options: See `ConformOptions`.

    Raises:
        InvalidModel: The model is not a readable, valid ONNX model.
        SonnxError: An option is unknown, `rewrite` made the model, or a run that verifies the
            changes fails.
    """
    with collector_paused():
        result = _conform(read(model), **options)
        changed = result.changed
        if isinstance(model, ir.Model):
            return result.of(changed.model)
        return result.of(changed.to_complete_proto())


@checked_arguments
def conform_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    external_data: TransferChoice = "copy",
    force: bool = False,
    strict: bool = False,
    **options: Unpack[ConformOptions],
) -> Conformed[onnx.ModelProto]:
    """Conform a model from file to file.

    The target is written completely or not at all. External data stays in its files. If the target
    is in the source's folder, both refer to the same data; otherwise the data is copied or linked
    beside the target.

    Args:
        source: The file of the model.
        target: The file to write; an existing one is replaced, but not the source.
        external_data: As for `rewrite_file`.
        force: Whether the target may replace the source.
        strict: Whether nothing is written if a violation remains.
        **options: As for `conform`.

    Returns:
        As `conform` does; external data of the model stays external.

    Raises:
        SonnxError: As for `conform`; also if the target cannot be written or would replace an input
            file, or the external data would replace another file.
    """
    source, target = Path(source), Path(target)
    check_place(target)
    transfer = choose(Transfer, "external_data", external_data)
    with collector_paused():
        model = read(source)
        refuse_source(target, source, model.proto, force=force)
        refuse_inputs(target, files_of(options.get("contract")))
        result = _conform(model, **options)
        proto = result.changed.to_proto()
        content = require_serializable(proto)
    if strict and result.graph.remaining:
        return result.of(proto)
    write_model(proto, content, source, target, transfer)
    return result.of(proto)


@dataclass(frozen=True, slots=True)
class _Result:
    """A conformed model that is not yet given to its user."""

    changed: Enforced
    graph: ConformedGraph
    before: Report
    left_out: tuple[Made, ...] = ()
    assumed: Mapping[str, str] = field(default_factory=dict)
    measured: Measured | None = None
    premises: tuple[str, ...] = ()
    proposal: Proposal | None = None

    def of(self, model: Model) -> Conformed[Model]:
        """The result as it is given, with the model in its form."""
        graph = self.graph
        report = replace(graph.examination.report, premises=self.premises)
        changes, remaining = tuple(graph.made), with_proposal(graph.remaining, self.proposal)
        new = outcome_of(self.before, graph).new
        said = self.left_out, self.assumed, self.measured, new, self.proposal
        return Conformed(model, changes, remaining, self.before, report, *said)


def _conform(  # noqa: PLR0913 - one for each option
    source: ReadModel,
    *,
    edition: EditionChoice = "typed",
    broadcast: BroadcastChoice = "reject",
    operators: OperatorsChoice = PROFILE,
    rounding: bool = False,
    name_outputs: bool = False,
    unroll: int = MOST_STEPS,
    both_branches: bool = False,
    assume: Mapping[str, npt.ArrayLike] = MappingProxyType({}),
    assume_shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    contract: ContractSource = NO_CONTRACT,
    select: str | Iterable[str] | None = None,
    ignore: str | Iterable[str] | None = None,
    verify: bool = False,
    measure: bool = True,
    samples: Sequence[Mapping[str, npt.NDArray[Any]]] = (),
    inputs: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
    seed: int = 0,
    sizes: Mapping[str, int] = MappingProxyType({}),
    input_shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    propose: bool = False,
    time_limit: int | float = SECONDS,
    memory_limit: int | None = None,
) -> _Result:
    if unroll < 0:
        raise SonnxError(f"unroll is {unroll}; give a number of steps, or 0 for none")
    rules = selected_rules(select, ignore)
    original, declared = source, graph_inputs(source.proto)
    # Values inside are checked by a model that is enforced alone.
    limits = contract_for(source, contract).of_inputs(each.name for each in declared)
    stated = stated_by(declared, [*samples, inputs], Sizes(sizes, input_shapes), limits)
    limits = without_assumed(limits, declared, assume)
    source = assuming(source, assume, assume_shapes)
    premises = premises_of(source.proto)
    selection = Selection(rules, rounding, name_outputs, unroll, both_branches, stated=stated)
    choices = Choices.of(edition, broadcast, operators, Backend.NATIVE, contract=limits)
    result = _changed(source, choices, selection)
    how: Any = {
        "seed": seed,
        "sizes": Sizes(sizes, input_shapes),
        "contract": limits,
        "limits": Limits(time_limit, memory_limit),
    }
    if verify:
        compared = partial(compare_stepwise, given=inputs, **how)
        result = _verified(result, source, choices, selection, compared)
    assumed = {n: each for n, each in premises.inputs.items() if n in (*assume_shapes, *assume)}
    if limits and result.graph.made:
        text = contract_to_json(limits)
        result.changed.model.metadata_props[ASSUMED_CONTRACT] = text
        assumed["every input"] = f"within the contract {text}"
        premises = replace(premises, contract=limits)
    measured = None
    if measure and any(change.bound is not None for change in result.graph.made):
        made = replace(source, proto=result.changed.to_proto())
        measured = measure_deviations(source, made, inputs, samples, **how)
        result.changed.model.metadata_props[MEASURED_DEVIATION] = measured.to_json()
    said = tuple(premises.lines())
    result = replace(result, assumed=assumed, measured=measured, premises=said)
    if propose and result.graph.remaining:
        trials = _Trials(original, choices, selection, assume, assume_shapes)
        proposal = trials.proposal(result.graph)
        if proposal is not None and rounds(proposal) and measure:
            source, made = trials.made(proposal)
            with suppress(SonnxError):
                found = measure_deviations(source, made, inputs, samples, **how)
                proposal = replace(proposal, rounding=_deviation(found))
        result = replace(result, proposal=proposal)
    return result


_MOST_TRIALS = 12
"""How often a model is conformed again to find options."""

_NODES_OF_TRIALS = 8000
"""How many nodes all trials may have, for the time of a trial grows with these; two are made."""


@dataclass(slots=True)
class _Trials:
    """A model that is conformed again with further options.

    Attributes:
        source: The model without what is assumed.
        choices: What its user asks for.
        selection: Which changes were made.
        assume: The values of inputs that its user states.
        assume_shapes: The shapes of inputs that its user states.
        left: What was left, by the options; None if the model cannot be conformed with them.
        best: The options of the trial that left least, with the model; of equal ones the last.
        most: How many trials there are at most; after these no other option is tried or left out.
    """

    source: ReadModel
    choices: Choices
    selection: Selection
    assume: Mapping[str, npt.ArrayLike]
    assume_shapes: Mapping[str, Sequence[int]]
    left: dict[frozenset[Remedy], Remaining | None] = field(default_factory=dict)
    best: tuple[frozenset[Remedy], ReadModel, _Result] | None = None
    most: int = _MOST_TRIALS

    def proposal(self, graph: ConformedGraph) -> Proposal | None:
        """Options that fix what is left in a graph; None if none does."""
        stated = self.selection.stated
        inputs = [
            each
            for each in graph_inputs(self.source.proto)
            if each.name not in self.assume_shapes and each.name not in self.assume
        ]
        nodes = sum(1 for _ in every_node(graph.model.graph))
        self.most = min(_MOST_TRIALS, max(2, _NODES_OF_TRIALS // (nodes + 1)))
        further = dict.fromkeys(open_shapes(inputs, stated, size) for size in OPEN_SIZES)
        certain = fixed_numbers(inputs, self.choices.demands.contract)
        found = propose_options(graph.remaining, self._left, further, certain=certain)
        if found is None:
            return None
        return replace(found, open_size=open_size_of(found.remedies, inputs, stated))

    def _left(self, remedies: Sequence[Remedy]) -> Remaining | None:
        """What is left with these options; None if it is not known, or not tried any more."""
        key = frozenset(remedies)
        if key not in self.left and len(self.left) >= self.most:
            return None
        if key not in self.left:
            try:
                source, result = self._changed(remedies)
            except Exception as error:  # noqa: BLE001 - the model is conformed without it
                _logger.debug("what %s would fix is unknown: %s", listed(remedies), error)
                self.left[key] = None
            else:
                self.left[key] = found = result.graph.remaining
                if self.best is None or len(found) <= len(self.best[2].graph.remaining):
                    self.best = key, source, result
        return self.left[key]

    def _changed(self, remedies: Sequence[Remedy]) -> "tuple[ReadModel, _Result]":
        """The model with what is assumed, and conformed with further options.

        Raises:
            SonnxError: It cannot be conformed with these.
        """
        options = arguments_of(remedies)
        source = assuming(
            self.source,
            {**self.assume, **options.pop("assume", {})},
            {**self.assume_shapes, **options.pop("assume_shapes", {})},
        )
        if "unroll" in options:
            options["most_steps"] = options.pop("unroll")
        names = [each.name for each in graph_inputs(source.proto)]
        demands = self.choices.demands
        demands = replace(demands, contract=demands.contract.of_inputs(names))
        choices = replace(self.choices, demands=demands)
        return source, _changed(source, choices, replace(self.selection, **options))

    def made(self, proposal: Proposal) -> tuple[ReadModel, ReadModel]:
        """The model with what a proposal assumes, and what is made of it."""
        if self.best is None or self.best[0] != frozenset(proposal.remedies):
            source, result = self._changed(proposal.remedies)
        else:
            _, source, result = self.best
        return source, replace(source, proto=result.changed.to_proto())


def _deviation(measured: Measured) -> str:
    """How far outputs deviate at most, in words; empty if nothing was measured."""
    if measured.reason:
        return ""
    largest = max(each.absolute for each in measured.deviations)
    count = sum(measured.runs.values())
    runs = "1 run" if count == 1 else f"{count} runs"
    if not largest:
        return f"may round, but no output deviated in {runs}"
    return f"rounds: outputs deviated by at most {at_most(largest, 2)} in {runs}"


def _changed(source: ReadModel, choices: Choices, selection: Selection) -> _Result:
    examined = examine(load(source, choices), complete=True)
    graph = conform_graph(examined, selection)
    loaded = examined.loaded.model
    changed = Enforced(
        graph.model,
        choices.backend,
        choices.demands,
        not graph.made,
        loaded.folder,
        loaded.proto,
    )
    return _Result(changed, graph, examined.examination.report)


def _verified(
    result: _Result,
    source: ReadModel,
    choices: Choices,
    selection: Selection,
    compared: Callable[..., Comparison],
) -> _Result:
    """Omit changes until every value has the bits of the original, or is near enough."""
    left_out: list[Made] = []
    while result.graph.made:
        made = replace(source, proto=result.changed.to_proto())
        rounding = [
            value
            for change in result.graph.made
            if change.safety is Safety.ROUNDING
            for value in change.values
        ]
        comparison = compared(source, made, rounding=rounding)
        if comparison.stops[0] is not None:
            raise SonnxError(
                "the changes cannot be verified: the original model fails at "
                f"{comparison.stops[0].node} ({comparison.stops[0].reason}); give inputs with "
                "which it runs"
            )
        values = (name for change in result.graph.made for name in change.values)
        if comparison.equal_but_for(values):
            break
        suspected = _suspected(comparison, result.graph.made)
        if not suspected:
            raise SonnxError(
                "the changed model gives other results, and none of the changes explains them"
            )
        left_out += suspected
        without = frozenset(change.key for change in left_out)
        result = _changed(source, choices, replace(selection, without=without))
    return replace(result, left_out=tuple(left_out))


def _suspected(comparison: Comparison, made: Iterable[Made]) -> list[Made]:
    """The changes that may have caused a difference: of the first value that differs, else all."""
    at_nodes = [change for change in made if change.values]
    stop = comparison.stops[1]
    if stop is not None:
        return [change for change in at_nodes if _computes(change, stop.node)] or at_nodes
    first = next((mismatch.name for mismatch in comparison.mismatches), None)
    return [change for change in at_nodes if first in change.values] or at_nodes


def _computes(change: Made, node: str) -> bool:
    """Whether a node, as text, is the changed one or one of those that were added."""
    names = (change.node, *(name for _, name in change.added))
    return any(f"'{name}'" in node for name in names)
