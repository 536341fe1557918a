"""Holds what is proved of numbers under a contract to what sessions compute within it.

The sessions are those that the product starts: of each backend, at each level of optimization, and
plain ones on a rewritten model. The values between are looked at without optimizations; with them,
they could not be outputs, for that keeps nodes from being fused. What a plain session of the
original model computes is counted only, with the optimizers that make it differ: nobody promises
anything of it.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort import ContractViolation, ModelRejected, SonnxError
from sonnx_ort.analysis.obligation import Status
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from sonnx_ort.ort.session_options import config_entry
from sonnx_ort.runs.derived_models import exposed
from sonnx_ort.runs.diff.against_plain import RULES, optimizers_tried
from sonnx_ort.runs.isolated_run import Level, Settings
from sonnx_ort.runs.reduce.shrinking import Feeds, least
from support.sessions import on_one_thread
from support.soundness.isolated import Line, line_of_call
from support.soundness.proof_trials import (
    SUSPECTED,
    Claims,
    ProofTrial,
    UnusableDraftError,
    Way,
    computed,
    shown,
    without_end,
)
from support.soundness.shrinking import smallest

_FINITE = "Graph.finite"
_RULES_END = "_RuleBasedTransformer"
"""How the names of those optimizers end that apply rules, which have names of their own."""

_TOLD = 160
"""How many characters of an error are counted by."""

Start = Callable[[Sequence[str]], Any]
"""Starts a session with further optimizers off."""


class FalseProofError(AssertionError):
    """What is proved is not so in a run within the contract."""


class FalseRuleError(FalseProofError):
    """It is not so without optimizations either: the rule of an operator is false."""


def attempt_at(make: Callable[[int], ProofTrial], number: int) -> dict[str, int]:
    """Judge the trial of a number; tell how much was looked at.

    Raises:
        FalseProofError: As for `judge`.
    """
    try:
        trial = make(number)
    except UnusableDraftError:
        return {"unusable": 1}
    return judge(trial)


def kind_of(line: Line) -> str:
    """What a failure is the fault of: optimizers or an operator, in brackets; or how it ended."""
    if "death" in line:
        return f"[death by {line['death']}]"
    last = str(line["error"]).strip().splitlines()[-1]
    found = re.search(r"Error: (\[[^\]]*\])", last)
    return found[1] if found else f"[{last[:80]}]"


def shrunk_of(make: Callable[[int], ProofTrial], number: int) -> str:
    """Give the smallest trial of which the same is false, for the same reason, as of a number.

    Inputs stay inputs: what is read of constants alone, a session computes in advance.
    """
    trial = make(number)
    line = line_of_call(judge, trial)
    kind = kind_of(line) if "result" not in line else ""

    def judge_alike(smaller: ProofTrial) -> None:
        constants = {tensor.name for tensor in smaller.model.graph.initializer}
        if not constants.isdisjoint(entry.value for entry in smaller.contract.values):
            return
        try:
            judge(smaller)
        except FalseProofError as error:
            if kind in str(error):
                raise

    return str(smallest(trial, judge_alike))


def judge(trial: ProofTrial) -> dict[str, int]:
    """Compare what is proved with what runs compute; tell how much was looked at.

    Raises:
        FalseProofError: Something proved is not so.
    """
    ort.set_default_logger_severity(4)
    logging.getLogger("sonnx_ort").disabled = True
    tally = Counter[str]()
    try:
        claims = Claims.of(trial)
    except SonnxError:
        return {"no valid model": 1}
    if not any(map(claims.informative, computed(trial.model))):
        return {"nothing known": 1}
    tally["models"] += 1
    _judge_kernels(trial, claims, tally)
    proved = _proved(trial)
    if proved is None:
        tally["rejected"] += 1
        return dict(tally)
    tally["values proved finite"] += len(proved)
    tally["models with a proof"] += bool(proved)
    suspected = _plain_differs(trial, claims, tally)
    ways = dict.fromkeys((*trial.ways, *(SUSPECTED if suspected else ())))
    tally["models in enforced sessions"] += bool(ways)
    for way in ways:
        _Enforced(trial, way, claims, proved, tally).judge()
    return dict(tally)


def _judge_kernels(trial: ProofTrial, claims: Claims, tally: Counter[str]) -> None:
    """Compare every value of the original model, without optimizations."""
    safe = without_end(trial.model)
    names = computed(safe)
    model = exposed(safe, len(safe.graph.node))
    try:
        session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime does not take
        tally["refused by ONNX Runtime"] += 1
        return
    for feeds in trial.runs:
        try:
            outputs = session.run(names, feeds)
        except Exception:  # noqa: BLE001 - whatever the run fails with
            tally["failed without optimizations"] += 1
            continue
        tally["runs without optimizations"] += 1
        if found := _misfits(claims, names, outputs):
            first = found.partition(":")[0]
            operator = next(node.op_type for node in safe.graph.node if first in node.output)
            raise FalseRuleError(f"[{operator} without optimizations] {found}; {shown(feeds)}")


def _misfits(claims: Claims, names: Iterable[str], outputs: Iterable[object]) -> str:
    pairs = zip(names, outputs, strict=True)
    return "; ".join(f"{n}: {wrong}" for n, each in pairs if (wrong := claims.misfit(n, each)))


def _proved(trial: ProofTrial) -> frozenset[str] | None:
    """The values that are proved to be finite; None if the model is rejected."""
    try:
        report = sonnx_ort.check(
            trial.model,
            contract=trial.kept_contract,
            operators=trial.operators,
            broadcast=trial.broadcast,
            forecast=False,
        )
    except SonnxError:
        return None
    return frozenset(
        str(each.operands[0].value)
        for each in report.obligations
        if each.rule.id.startswith(_FINITE) and each.status is Status.PROVED
    )


@dataclass(frozen=True)
class _Enforced:
    """A trial that is enforced in one way.

    Attributes:
        trial: The trial.
        way: The way.
        claims: What is known of its values.
        proved: The values that are proved to be finite.
        tally: What is counted.
    """

    trial: ProofTrial
    way: Way
    claims: Claims
    proved: frozenset[str]
    tally: Counter[str]

    def judge(self) -> None:
        """Compare the runs of a session with what is proved.

        Raises:
            FalseProofError: Something proved is not so.
        """
        try:
            start = self._starter()
            session = start(())
        except ModelRejected:
            self.tally["rejected"] += 1
            return
        except Exception as error:  # noqa: BLE001 - whatever does not start
            self.tally[f"no session: {_kind(error)}"] += 1
            return
        for feeds in self.trial.runs:
            if wrong := self._wrong(session, feeds):
                stays = partial(self._stays, start, feeds)
                causes = _responsible(self.trial.model, self.way.level, stays)
                raise FalseProofError(f"[{causes}] {self.way}: {wrong}; {shown(feeds)}")

    def _starter(self) -> Start:
        choices: dict[str, Any] = {
            "backend": self.way.backend,
            "operators": self.trial.operators,
            "broadcast": self.trial.broadcast,
            "contract": self.trial.kept_contract,
        }
        model = self.trial.model
        made = None if self.way.own else sonnx_ort.rewrite(model, **choices)

        def start(off: Sequence[str]) -> Any:
            options = on_one_thread(self.way.level)
            options.intra_op_num_threads = self.way.threads
            if made is None:
                choices["disabled_optimizers"] = off
                return sonnx_ort.InferenceSession(model, options, **choices)
            sonnx_ort.register(options, backend=self.way.backend)
            if off:
                already = config_entry(options, DISABLED_OPTIMIZERS)
                options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join([already, *off]))
            return ort.InferenceSession(made.SerializeToString(), options)

        return start

    def _stays(self, start: Start, feeds: Feeds, off: Sequence[str]) -> bool:
        """Whether a run contradicts something with optimizers off."""
        try:
            session = start(off)
        except Exception:  # noqa: BLE001 - without this one, there may be no session
            return True
        return bool(self._wrong(session, feeds))

    def _wrong(self, session: Any, feeds: Feeds) -> str:
        """What a run contradicts, as text; empty if nothing."""
        names = [output.name for output in self.trial.model.graph.output]
        try:
            outputs = session.run(None, feeds)
        except ContractViolation as violation:
            self.tally["a rule is broken"] += 1
            of_contract = str(violation.rule).startswith("Contract.")
            return f"a contract that is kept is broken: {violation}" if of_contract else ""
        except Exception as error:  # noqa: BLE001 - whatever the run fails with
            # A plain session tells it with the name of a Reshape.
            told = str(error)
            known = "SONNX" in told
            self.tally["a rule is broken" if known else f"failed: {_kind(error)}"] += 1
            return f"a contract that is kept is broken: {told}" if "Contract." in told else ""
        self.tally["runs"] += 1
        wrong = [
            f"{name} is proved to be finite and is not"
            for name, output in zip(names, outputs, strict=True)
            if name in self.proved and not np.isfinite(np.asarray(output, np.float64)).all()
        ]
        # What nothing rests on is no promise.
        if self.proved and (found := _misfits(self.claims, names, outputs)):
            wrong.append(found)
        return "; ".join(wrong)


def _kind(error: Exception) -> str:
    # Why a session of ours does not start says whose fault it is.
    told = re.sub(r"'[^']*'", "'...'", str(error))[:_TOLD] if isinstance(error, SonnxError) else ""
    return f"{type(error).__name__} {told}".strip()


def _responsible(model: onnx.ModelProto, level: str, wrong: Callable[[Sequence[str]], bool]) -> str:
    """The least set of optimizers without which nothing is wrong, as text."""
    try:
        tried = optimizers_tried(model.SerializeToString(), Settings(level=Level(level)))
    except Exception as error:  # noqa: BLE001 - only for the text
        return f"unknown: {_kind(error)}"
    suspects = [name for name in tried if not name.endswith(_RULES_END)] + list(RULES)
    if wrong(suspects):
        return "no optimizer with a name"
    return " and ".join(least(suspects, lambda off: not wrong(off)))


def _plain_differs(trial: ProofTrial, claims: Claims, tally: Counter[str]) -> bool:
    """Whether a plain session of the original contradicts what is proved; count why."""
    model = without_end(trial.model)
    names = [output.name for output in model.graph.output]

    def start(off: Sequence[str]) -> Any:
        options = on_one_thread("all")
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join(off))
        return ort.InferenceSession(model.SerializeToString(), options)

    def wrong(session: Any, feeds: Feeds) -> bool:
        try:
            return bool(_misfits(claims, names, session.run(None, feeds)))
        except Exception:  # noqa: BLE001 - whatever the run fails with
            return False

    try:
        session = start(())
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return False
    for feeds in trial.runs:
        tally["plain runs of the original"] += 1
        if wrong(session, feeds):
            causes = _responsible(model, "all", lambda off, f=feeds: wrong(start(off), f))
            tally[f"plain differs: {causes}"] += 1
            return True
    return False
