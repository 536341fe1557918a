"""`InferenceSession`: the session of ONNX Runtime, with the profile enforced."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypedDict, Unpack

import onnx
import onnx_ir as ir
import onnxruntime

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.api.unenforced import warn_of_unenforced
from sonnx_ort.backends import Backend, BackendChoice, require_runnable
from sonnx_ort.custom_ops.failure_channel import LOG
from sonnx_ort.errors import ContractViolation, SonnxError, printable
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.loading.file_traversal import all_attributes
from sonnx_ort.loading.pauses import collector_paused
from sonnx_ort.loading.serialization import deserialize, require_serializable
from sonnx_ort.loading.source import ModelSource
from sonnx_ort.loading.validity import refuse_repeated_names
from sonnx_ort.options import Choices, OperatorsChoice, Waivers, name_operators
from sonnx_ort.ort.asynchronous import KeptRun
from sonnx_ort.ort.disabled_optimizers import has_minus_zero
from sonnx_ort.ort.feeds import (
    graph_inputs,
    in_machine_order,
    require_bound,
    what_is_wrong,
    wrong_feeds_named,
)
from sonnx_ort.ort.given_initializers import AddedInitializers, replaceable_names
from sonnx_ort.ort.held_rules import HeldRules
from sonnx_ort.ort.optimizers import disabled_optimizers
from sonnx_ort.ort.registration import prepare, second_registration_explained
from sonnx_ort.ort.session_options import FATAL, require_same_results
from sonnx_ort.ort.violations import (
    NOT_RENAMED,
    EnforcedRuns,
    ReferenceRun,
    Run,
    raised_instead,
    violation_of_error,
    violations_raised,
)
from sonnx_ort.ort.weights import INSIDE, SeparatedModel, Weights, place, separate
from sonnx_ort.ort.written_places import WrittenPlaces
from sonnx_ort.pipeline import Enforced, enforce
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.profile.options import BroadcastChoice, EditionChoice

if TYPE_CHECKING:
    from sonnx_ort.ort.optimized_graph import RecordedOptimization

_Plain = onnxruntime.InferenceSession

_BUFFER_REUSED = "Shape mismatch attempting to re-use buffer"
"""ONNX Runtime's error if sizes of one symbol differ in a run; it precedes that of any guard."""


_UNSET = -1
"""The severity of options that say nothing of it."""


class RuntimeOptions(TypedDict, total=False):
    """Further arguments of `onnxruntime.InferenceSession`; it takes them without checking names.

    Attributes:
        disabled_optimizers: Names of optimizers to skip.
        enable_fallback: Whether a session that cannot start goes on with other providers.
        read_config_from_model: Whether the model's metadata may set session options.
    """

    disabled_optimizers: Iterable[str] | None
    enable_fallback: bool | int
    read_config_from_model: bool | int


class InferenceSession(onnxruntime.InferenceSession):  # type: ignore[misc]
    """Behaves like `onnxruntime.InferenceSession`, and enforces the profile.

    It rewrites the model first, unless it is already rewritten. A rule that is violated in a run
    raises `ContractViolation`; all other errors are those of ONNX Runtime. Of rules that are left
    to ONNX Runtime, its error stays that in the body of a Loop or Scan, and in a run with an input
    that is bound by its address. For wrong inputs, the error has ONNX Runtime's own type, and its
    message names them and says what the model needs.

    Attributes:
        contract: What the values of the model may be; it demands nothing if there is none.
    """

    @checked_arguments
    def __init__(  # noqa: PLR0913 - options, by name
        self,
        path_or_bytes: ModelSource,
        sess_options: onnxruntime.SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        *,
        edition: EditionChoice = "typed",
        broadcast: BroadcastChoice = "reject",
        operators: OperatorsChoice | None = None,
        backend: BackendChoice = None,
        conform: bool = False,
        waivers: Waivers = (),
        contract: ContractSource = NO_CONTRACT,
        verify_proofs: bool = False,
        cache: str | os.PathLike[str] | None = None,
        **kwargs: Unpack[RuntimeOptions],
    ) -> None:
        """Rewrite a model and start a session on it.

        Args:
            path_or_bytes: A path, the bytes of a file, an `onnx.ModelProto` or an `onnx_ir.Model`.
            sess_options: Session options; the settings that the backend needs are added. ONNX
                Runtime does not log a run that fails, unless they have a `log_severity_level`:
                the error says it.
            providers: As for ONNX Runtime.
            provider_options: As for ONNX Runtime.
            edition: As for `rewrite`.
            broadcast: As for `rewrite`.
            operators: As for `rewrite`; without it, Div, Sub and Broadcast, and a warning names
                other operators of the model that have rules.
            backend: As for `rewrite`.
            conform: As for `rewrite`.
            waivers: As for `rewrite`; needed again for a model that was rewritten with waivers.
            contract: As for `rewrite`; a model that was rewritten with a contract keeps it.
            verify_proofs: Whether to repeat every run with the python backend, which also checks
                proved rules. If the verdicts differ, `SonnxError` is raised. Has no effect if it
                is that backend that enforces the model.
            cache: As for `rewrite`. Each session has ONNX Runtime write the optimized graph. It is
                compared with the model unless the very same two were compared before.
            **kwargs: See `RuntimeOptions`.

        Raises:
            ModelRejected: The model violates the profile in every run.
            InvalidModel: It is not a readable, valid ONNX model.
            SonnxError: An option is unknown, a waiver has expired or has no effect, the session
                options change what the model computes or have a library of operators twice, or ONNX
                Runtime's optimizer removed what enforces the profile.
        """
        further: dict[str, Any] = {"waivers": waivers, "conform": conform, "contract": contract}
        choices = Choices.of(edition, broadcast, operators, backend, **further)
        with collector_paused():
            enforced, weights = _enforce(path_or_bytes, choices, sess_options, cache)
            # Weights that are inside are so already: `separate` has looked for others.
            proto = enforced.to_proto()
        warn_of_unenforced(enforced)
        self._description = _described(path_or_bytes, enforced)
        self._renamed = NOT_RENAMED
        # Nobody else has options that are made here, as long as no session has started.
        self._has_given_options = sess_options is not None
        prepared = onnxruntime.SessionOptions() if sess_options is None else sess_options
        self._is_quiet = prepared.log_severity_level == _UNSET
        self._rests_on_numbers = enforced.rests_on_numbers
        prepare_for = partial(
            prepare,
            backend=enforced.backend,
            rests_on_numbers=self._rests_on_numbers,
            has_minus_zero=has_minus_zero(all_attributes(proto)),
        )
        prepare_for(prepared, new=sess_options is None)
        self._weights, self._own_options = place(
            weights, proto, prepared, shared=sess_options is not None
        )
        if self._own_options is not prepared:
            prepare_for(self._own_options)
        refuse_repeated_names(proto)
        self._content = require_serializable(proto)
        self._replaceable = replaceable_names(proto) | replaceable_names(enforced.original)
        self.graph_inputs = graph_inputs(proto)
        self.contract = enforced.demands.contract
        level = self._own_options.graph_optimization_level
        runs = EnforcedRuns(self._content, enforced.backend, level, self._weights)
        self._reference = None if enforced.backend is Backend.PYTHON else ReferenceRun(runs)
        self._held = HeldRules(choices, runs)
        self._places = WrittenPlaces(self._content)
        self._cache = cache
        self._verifies_proofs = verify_proofs
        if verify_proofs and self._reference is not None:
            require_runnable(Backend.PYTHON)
        start = super().__init__
        kwargs["disabled_optimizers"] = disabled_optimizers(
            self._own_options, kwargs.get("disabled_optimizers") or ()
        )
        self._start(
            lambda: enforced.model,
            lambda: start(self._content, self._own_options, providers, provider_options, **kwargs),
        )

    def __repr__(self) -> str:
        """Say which model it runs, and what of it is enforced, by which backend."""
        return f"<sonnx_ort.{type(self).__name__}: {self._description}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled or copied.

        Raises:
            TypeError: In any case.
        """
        raise TypeError(
            f"{self!r} cannot be pickled or copied, because a session belongs to its process: give "
            "the model to the other process, and start a session there"
        )

    def set_providers(self, providers: Any = None, provider_options: Any = None) -> None:
        """Restart the session with other execution providers.

        Raises:
            SonnxError: The session options have come to change what the model computes, or ONNX
                Runtime's optimizer removed what enforces the profile; the session is unusable.
        """
        restart = super().set_providers
        self._has_given_options = True
        try:
            self._start(
                lambda: deserialize(onnx.load_model_from_string(self._content)),
                lambda: restart(providers, provider_options),
            )
        except SonnxError:
            # A rejected session must not run.
            self._sess = None
            raise

    def _start(self, model: Callable[[], ir.Model], start: Callable[[], None]) -> None:
        """Start the session, and check the graph that it runs."""
        if self._has_given_options:
            require_same_results(self._own_options)
        added = AddedInitializers(self._own_options if self._has_given_options else None)
        added.require_none(self._replaceable)
        if self._reference is None and not self._rests_on_numbers:
            with LOG.errors_raised(), second_registration_explained(), violations_raised():
                start()
            self._weights.require_unchanged()
            return
        from sonnx_ort.ort.optimized_graph import recorded_optimization

        with (
            LOG.errors_raised(),
            second_registration_explained(),
            violations_raised(),
            recorded_optimization(self._own_options) as record,
        ):
            start()
        self._weights.require_unchanged()
        self._renamed = self._guards_in(record, model)
        added.require_none(record.replaceable_names)

    def _guards_in(
        self, record: "RecordedOptimization", model: Callable[[], ir.Model]
    ) -> Mapping[str, str]:
        """The original names of guards in the optimized model, which must have all of them.

        Raises:
            SonnxError: As for `RecordedOptimization.require_enforced` and `require_known_numbers`.
        """

        def look() -> Mapping[str, str]:
            graph, renamed = model(), NOT_RENAMED
            if self._reference is not None:
                renamed = record.require_enforced(graph, self._content)
            if self._rests_on_numbers:
                record.require_known_numbers(graph)
            return renamed

        if self._cache is None:
            return look()
        from sonnx_ort.caching.guards import Compared, kept_guards

        demanded = self._reference is not None, self._rests_on_numbers
        compared = Compared(self._content, record.content, self._weights.location, demanded)
        return kept_guards(compared, self._cache, look, lambda: not record.simplified)

    def run(self, output_names: Any, input_feed: Any, run_options: Any = None) -> Any:
        """Compute the outputs, as `onnxruntime.InferenceSession.run` does.

        Raises:
            ContractViolation: A rule of the profile is violated.
        """
        feeds, run_options = in_machine_order(input_feed), self._without_log(run_options)

        def run(session: onnxruntime.InferenceSession) -> Any:
            return _Plain.run(session, output_names, feeds, run_options)

        with wrong_feeds_named(self.graph_inputs, input_feed):
            return self._translated(run, repeated=run, feeds=feeds)

    def run_with_ort_values(
        self, output_names: Any, input_dict_ort_values: Any, run_options: Any = None
    ) -> Any:
        """Compute the outputs as `OrtValue`s.

        Raises:
            ContractViolation: A rule of the profile is violated.
        """
        run_options = self._without_log(run_options)

        def run(session: onnxruntime.InferenceSession) -> Any:
            return _Plain.run_with_ort_values(
                session, output_names, input_dict_ort_values, run_options
            )

        with wrong_feeds_named(self.graph_inputs, input_dict_ort_values):
            return self._translated(run, repeated=run, feeds=input_dict_ort_values)

    def io_binding(self) -> "_Binding":
        """A binding of this session."""
        return _Binding(self)

    def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
        """Compute into bound outputs.

        Raises:
            ContractViolation: A rule of the profile is violated.
            SonnxError: `verify_proofs` is set, which needs inputs that another session can read.
        """
        if self._reference is not None and self._verifies_proofs:
            raise SonnxError(
                Advice(
                    Remedy("verify_proofs"),
                    ": a binding belongs to one session, so the python backend cannot repeat the "
                    "run; use run or run_with_ort_values",
                )
            )
        require_bound(self.graph_inputs, iobinding)
        run_options = self._without_log(run_options)
        # A binding belongs to one session, so the reference cannot repeat the run.
        self._translated(
            lambda session: _Plain.run_with_iobinding(session, iobinding, run_options),
            repeated=None,
            feeds=iobinding.inputs if isinstance(iobinding, _Binding) else None,
        )

    def run_with_ortvaluevector(  # noqa: PLR0913, PLR0917 - the signature of ONNX Runtime
        self,
        run_options: Any,
        feed_names: Any,
        feeds: Any,
        fetch_names: Any,
        fetches: Any,
        fetch_devices: Any,
    ) -> None:
        """Compute into a vector of values.

        Raises:
            ContractViolation: A rule of the profile is violated.
        """
        run_options = self._without_log(run_options)
        args = (run_options, feed_names, feeds, fetch_names, fetches, fetch_devices)
        given = dict(zip(feed_names, map(onnxruntime.OrtValue, feeds), strict=False))
        self._translated(
            lambda session: _Plain.run_with_ortvaluevector(session, *args),
            repeated=lambda other: other.run_with_ort_values(fetch_names, given, run_options),
            feeds=given,
        )

    def run_async(
        self,
        output_names: Any,
        input_feed: Any,
        callback: Callable[[Any, Any, str], None],
        user_data: Any,
        run_options: Any = None,
    ) -> None:
        """Compute in another thread and pass the outputs to a callback.

        On a violation, the callback gets the text of the `ContractViolation` as the error. A
        program that ends waits for the run.
        """
        feeds, run_options = in_machine_order(input_feed), self._without_log(run_options)
        raised = ExitStack()

        def translated(session: InferenceSession, results: Any, data: Any, message: str) -> None:
            with raised:
                found = violation_of_error(message, session._renamed) if message else None
                cause = session._compared_with_reference(
                    found, lambda other: other.run(output_names, feeds), message
                ) or session._held.violation_in(message, feeds)
            if isinstance(cause, ContractViolation):
                session._places.tell(cause)
            if cause is None:
                wrong = what_is_wrong(session.graph_inputs, input_feed) if message else ""
                callback(results, data, wrong or message)
            else:
                callback([], data, str(cause))

        with ExitStack() as refused, wrong_feeds_named(self.graph_inputs, input_feed):
            raised.enter_context(LOG.errors_raised())
            refused.enter_context(raised)
            kept = KeptRun(self, translated)
            refused.callback(kept.give_up)
            super().run_async(output_names, feeds, kept.end, user_data, run_options)
            kept.begun()
            refused.pop_all()  # the run has begun, and its callback ends it

    def _translated(
        self, run: Run, *, repeated: Run | None, feeds: Mapping[str, Any] | None
    ) -> Any:
        """Run in this session; raise the violation that caused ONNX Runtime's error.

        `repeated` does the same in another session, if that is possible. `feeds` are the inputs, if
        they are known.
        """

        def held(message: str) -> ContractViolation | None:
            return None if feeds is None else self._held.violation_in(message, feeds)

        try:
            with LOG.errors_raised():
                return self._raising(run, repeated, held)
        except ContractViolation as violation:
            self._places.tell(violation)
            raise

    def _raising(
        self, run: Run, repeated: Run | None, held: Callable[[str], ContractViolation | None]
    ) -> Any:
        """Run; raise what caused an error, or what only the run of the reference raises."""
        if self._reference is None:
            with violations_raised(held):
                return run(self)

        def cause_of(message: str) -> BaseException | None:
            found = violation_of_error(message, self._renamed)
            if repeated is not None:
                found = self._compared_with_reference(found, repeated, message)
            return found or held(message)

        with raised_instead(cause_of):
            results = run(self)
        if repeated is None:
            return results
        cause = self._compared_with_reference(None, repeated, "")
        if cause is None:
            return results
        try:
            raise cause
        finally:
            del cause

    def _without_log(self, run_options: Any) -> Any:
        """Run options with which ONNX Runtime does not log what an error says, unless it is to."""
        if not self._is_quiet:
            return run_options
        chosen = onnxruntime.RunOptions() if run_options is None else run_options
        if chosen.log_severity_level == _UNSET:
            chosen.log_severity_level = FATAL
        return chosen

    def _compared_with_reference(
        self, found: BaseException | None, run: Run, message: str
    ) -> BaseException | None:
        """The exception to raise for a natively enforced run, compared with the reference.

        Args:
            found: The violation that the run raised, or None.
            run: Repeats the run in another session.
            message: The text of the error with which the run failed; empty if it did not.
        """
        if self._reference is None:
            return found
        if self._verifies_proofs:
            return self._reference.verify(found, run, failed=bool(message))
        if isinstance(found, ContractViolation):
            # A compiled kernel has said all; what another one said, the reference completes.
            return found if found.shapes else self._reference.violation_in(run) or found
        if found is None and _BUFFER_REUSED in message:
            return self._reference.violation_in(run)
        return found


class _Binding(onnxruntime.IOBinding):  # type: ignore[misc]
    """A binding of arrays in any order of bytes; `inputs` has all but those at addresses."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        super().__init__(session)
        self.inputs: dict[str, Any] = {}

    def bind_cpu_input(self, name: Any, arr_on_cpu: Any) -> None:
        """Bind an array in the machine's order, which is kept as long as the binding."""
        self.inputs[name] = in_machine_order(arr_on_cpu)
        super().bind_cpu_input(name, self.inputs[name])

    def bind_ortvalue_input(self, name: Any, ortvalue: Any) -> None:
        """Bind an `OrtValue`."""
        super().bind_ortvalue_input(name, ortvalue)
        self.inputs[name] = ortvalue

    def bind_input(self, name: Any, *place: Any, **kwargs: Any) -> None:
        """Bind what stands at an address."""
        super().bind_input(name, *place, **kwargs)
        self.inputs.pop(name, None)


def _described(source: ModelSource, enforced: Enforced) -> str:
    name = f"graph '{enforced.name}'"
    if isinstance(source, str | os.PathLike):
        name = f"model '{os.fspath(source)}'"
    operators = name_operators(enforced.demands.operators)
    return printable(f"{name}, backend '{enforced.backend}', operators '{operators}'")


def _enforce(
    model: ModelSource,
    choices: Choices,
    options: onnxruntime.SessionOptions | None,
    cache: str | os.PathLike[str] | None,
) -> tuple[Enforced, Weights]:
    """Enforce a model apart from its weights or, if that fails, as a whole."""
    separated = separate(model, options)
    try:
        return _enforced_or_kept(separated, choices, cache), separated.weights
    except SonnxError:
        if separated.whole is None:
            raise
    # Errors are reported for the whole model, with its own digest.
    return enforce(separated.whole, choices), INSIDE


def _enforced_or_kept(
    separated: SeparatedModel, choices: Choices, cache: str | os.PathLike[str] | None
) -> Enforced:
    if cache is None:
        return enforce(separated.source, choices)
    from sonnx_ort.caching.results import kept_model

    return kept_model(separated.source, choices, cache, separated.weights.location)
