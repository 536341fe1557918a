"""Makes certificates: steps that the checker follows, for obligations that the analysis proved.

The analysis says what holds; the checker says what follows by its own rules. A certificate has the
obligations of which both are true, and the steps that they need.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

import onnx
import onnx_ir as ir

from sonnx_ort.checker import FORMAT, Model, Rejected, bodies_of, check, rests_on_numbers
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.guards import require_guarded
from sonnx_ort.checker.model import KINDS, with_true_assumptions
from sonnx_ort.checker.obligations import (
    conclude,
    is_of_contract,
    is_of_value,
    rules_of,
    values_to_be_finite,
)
from sonnx_ort.checker.premises import Changing
from sonnx_ort.errors import SonnxError, to_json
from sonnx_ort.kernel.elements import HELD
from sonnx_ort.kernel.node import FLOATS, INTEGERS
from sonnx_ort.kernel.optimizers import MAY_ACT, MUST_BE_OFF
from sonnx_ort.loading.traversal import every_graph
from sonnx_ort.obligations.examination import Examination
from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.profile.contract import NO_CONTRACT, Contract, contract_document
from sonnx_ort.profile.options import Demands
from sonnx_ort.profile.rule import Status
from sonnx_ort.progress import followed
from sonnx_ort.terms.operand import Operand

_MOST_ELEMENTS = 64
"""Longer vectors are no shapes, axes or indices."""

_BOUNDED = INTEGERS | {"bool"}

Step = tuple[str, str]
"""A value, and what is claimed of it."""


def names_of_values(graph: ir.Graph, model: Model) -> dict[ir.Value, str]:
    """The names that the checker gives to the values of the canonical graph."""
    values: dict[str, list[ir.Value]] = {}
    for inner in every_graph(graph):
        own = (*inner.inputs, *inner.initializers.values())
        for value in dict.fromkeys((*own, *(output for node in inner for output in node.outputs))):
            values.setdefault(str(value.name), []).append(value)
    pairs = ((found, model.names.get(name, ())) for name, found in values.items())
    # What an inlined function defines, the checker does not see.
    known = (zip(*pair, strict=True) for pair in pairs if len(pair[0]) == len(pair[1]))
    return dict(chain.from_iterable(known))


def candidates(graph: onnx.GraphProto, model: Model) -> Iterator[Step]:
    """Steps for all values of a graph, those of bodies before those of their nodes."""
    names = [tensor.name for tensor in graph.initializer]
    # An initializer may be the default of an input.
    yield from _steps_of(dict.fromkeys((*(each.name for each in graph.input), *names)), model)
    nodes: Iterable[onnx.NodeProto] = graph.node
    if graph is model.proto.graph:
        nodes = followed(nodes, "following proofs at nodes", len(graph.node))
    for node in nodes:
        for body in bodies_of(node):
            yield from candidates(body, model)
        yield from _steps_of(filter(None, node.output), model)


def _steps_of(values: Iterable[str], model: Model) -> Iterator[Step]:
    """Steps for results of one node, whose types its rules read first."""
    names = list(values)
    yield from ((name, "type") for name in names)
    for name in names:
        yield from ((name, kind) for kind in KINDS[1:] if _may_derive(kind, name, model))


def _may_derive(kind: str, value: str, model: Model) -> bool:
    match kind:
        case "elements":
            return _few(model, value)
        case "bounds":
            return model.knows("type", value) and model.known("type", value) in _BOUNDED
        case "interval":
            return model.knows("type", value) and model.known("type", value) in FLOATS
    return True


def _few(model: Model, value: str) -> bool:
    """Whether a value may be a shape, axes or indices."""
    if not model.knows("type", value) or not model.knows("shape", value):
        return False
    shape = model.known("shape", value)
    size = shape[0] if shape else 1
    may_hold = model.known("type", value) in HELD
    return may_hold and len(shape) < 2 and isinstance(size, int) and size <= _MOST_ELEMENTS


class Traced(Model):
    """A model that keeps in mind on which steps each step rests."""

    def __init__(
        self,
        model: onnx.ModelProto,
        contract: Contract = NO_CONTRACT,
        changing: Changing = MappingProxyType({}),
    ) -> None:
        super().__init__(model, contract, changing)
        self.steps: dict[Step, set[Step]] = {}
        self._used: set[Step] = set()

    def known(self, kind: str, value: str) -> Any:
        """What an earlier step has established, which is kept in mind."""
        found = super().known(kind, value)
        self._used.add((value, kind))
        return found

    @classmethod
    def of(cls, model: onnx.ModelProto, contract: Contract = NO_CONTRACT) -> "Traced":
        """The model with every step that follows."""

        def take_steps(changing: Changing) -> Traced:
            made = cls(model, contract, changing)
            for step in candidates(made.proto.graph, made):
                made.try_step(step)
            return made

        found = with_true_assumptions(take_steps)
        for value, kind in list(found.steps):
            given = found.states.needed_with(value) if kind == "shape" else None
            if given is not None:
                found.steps[value, kind].add((given, "shape"))
        found.forget()
        return found

    def try_step(self, step: Step) -> None:
        """Take a step if it follows, and was not taken before."""
        if step in self.steps:
            return
        self.forget()
        try:
            self.derive(*step)
        except Rejected:
            return
        self.steps[step] = set(self._used)

    def needed_for(self, output: str, rule: str) -> set[Step]:
        """The steps on which an obligation rests, but for those of obligations before.

        Raises:
            Rejected: It does not follow.
        """
        self._used = set()
        try:
            conclude(self, output, rule)
        except Rejected:
            self.forget()
            raise
        return self.needed()

    def forget(self) -> None:
        """Forget which steps were used."""
        self._used, self._true = set(), set()

    def needed(self) -> set[Step]:
        """The steps that were used, and those on which they rest."""
        needed: set[Step] = set()
        waiting = set(self._used)
        while waiting:
            step = waiting.pop()
            needed.add(step)
            waiting |= self.steps[step] - needed
        return needed


Entry = list[str]
"""An output of a node, and the id of a rule."""


@dataclass(frozen=True, slots=True)
class Uncertified:
    """A proved obligation without a certificate, and why: what the checker says."""

    obligation: Obligation
    reason: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of a model.

    Attributes:
        content: The certificate, as `checker` reads it from JSON.
        obligations: The obligations that it proves.
        uncertified: The obligations that are proved without it.
        unknown: Of a certificate with an enforced model, the obligations that are left to guards
            of which the checker knows no form.
        by_file: Of a certificate of one model, how many obligations are proved that the file alone
            decides; no certificate has them.
    """

    content: dict[str, Any]
    obligations: tuple[Obligation, ...]
    uncertified: tuple[Uncertified, ...]
    unknown: tuple[Uncertified, ...] = ()
    by_file: int = 0

    @property
    def beyond(self) -> int:
        """How many obligations of one model it proves that the analysis leaves to runs."""
        return len(self.content["obligations"]) - len(self.obligations)

    def to_json(self) -> str:
        """The certificate as the text of a file, with a step in a line."""
        entries = []
        for name, value in self.content.items():
            text = to_json(value)
            if isinstance(value, list) and value and name != "operators":
                lines = ",\n".join(to_json(each) for each in value)
                text = f"[\n{lines}\n]"
            entries.append(f'"{name}": {text}')
        return "{\n" + ",\n".join(entries) + "\n}\n"

    def require_accepted(self, content: bytes, enforced: bytes | None = None) -> None:
        """Have the checker accept the certificate, so that none is written that it rejects.

        Raises:
            SonnxError: It is rejected.
        """
        try:
            check(content, self.content, enforced)
        except Rejected as error:
            raise SonnxError(f"the model cannot be certified: {error}") from error


class Proofs:
    """What is proved of the nodes of a model, and what of it the checker follows."""

    def __init__(self, proto: onnx.ModelProto, graph: ir.Graph, examination: Examination) -> None:
        """Try every proof."""
        self._proto = proto
        self._needed: set[Step] = set()
        self._concluded: list[Entry] = []
        self._open: list[tuple[Entry, Obligation]] = []
        self._waived: list[Entry] = []
        self._certified: list[Obligation] = []
        self.uncertified: list[Uncertified] = []
        self._traced: Traced | None = None
        self._reason = ""
        self._contract = examination.report.demands.contract
        self._proved = sum(o.status is Status.PROVED for o in examination.report.enforced)
        self._names: dict[ir.Value, str] = {}
        try:
            self._traced = Traced.of(proto, self._contract)
            self._names = names_of_values(graph, self._traced)
        except Rejected as error:
            self._reason = str(error)
        for node in examination.nodes:
            value = next(output for output in node.target.node.outputs if output.name)
            for obligation in node.found:
                self._try(self._name(value), obligation)
        for limited in examination.limited:
            self._try(self._name(limited.value), limited.obligation)

    @property
    def rests_on_numbers(self) -> bool:
        """Whether a step can be an interval of floats that a kernel computes.

        Which steps a certificate needs is known only where guards are compared.
        """
        traced = self._traced
        return traced is not None and rests_on_numbers(traced, traced.steps)

    @functools.cached_property
    def _without(self) -> Traced | None:
        """What follows without the contract."""
        followed = self._traced is not None and bool(self._contract)
        return Traced.of(self._proto) if followed else self._traced

    def _name(self, value: ir.Value) -> str:
        return self._names.get(value, str(value.name))

    def _try(self, output: str, obligation: Obligation) -> None:
        entry, proved = [output, obligation.rule.id], obligation.status is Status.PROVED
        if obligation.status is Status.VIOLATED:
            self._waived.append(entry)
            return
        reason = self._reason
        if self._traced is not None:
            try:
                self._needed |= self._traced.needed_for(*entry)
            except Rejected as error:
                reason = str(error.__cause__)
            else:
                self._concluded.append(entry)
                self._certified += [obligation] if proved else []
                return
        self._open.append((entry, obligation))
        self.uncertified += [Uncertified(obligation, reason)] if proved else []

    def certified(self, value: ir.Value, operand: Operand) -> Operand:
        """An operand, of whose shape that is known which is certified.

        From it the checker concludes which form a guard has.
        """
        sizes = _sizes(self._traced, self._names.get(value, ""))
        return replace(operand, shape=sizes, scalar_inputs=operand.scalar_inputs and sizes is None)

    def shape_named(self, name: str) -> tuple[int | None, ...] | None:
        """The certified shape of the only value of this name, without a contract, or None.

        What is declared in a model holds without guards.
        """
        traced = self._without
        only = traced is not None and len(traced.names.get(name, ())) == 1
        return _sizes(traced, name) if only else None

    def certificate(self, sha256: str) -> Certificate:
        """The certificate of the model alone."""
        made = {**self._head(sha256, self._needed), "obligations": self._concluded}
        certified, uncertified = tuple(self._certified), tuple(self.uncertified)
        by_file = self._proved - len(certified) - len(uncertified)
        return Certificate(made, certified, uncertified, by_file=by_file)

    def certificate_of_enforced(
        self, sha256: str, enforced: onnx.ModelProto, content: bytes, demands: Demands
    ) -> Certificate:
        """The certificate of a model and of what enforces it.

        Raises:
            SonnxError: The checker does not know the enforced model as its original and guards.
        """
        traced = self._traced
        if traced is None:
            raise SonnxError(
                f"the model cannot be certified ({self._reason}); rewrite without a certificate"
            )
        traced.forget()
        guarded: list[Entry] = []
        unknown: list[tuple[Entry, Uncertified]] = []
        try:
            beside = Enforced(traced, enforced)
            before = Enforced(self._without, enforced) if self._without is not None else beside
            # The checker needs the steps that say which rules bind a node, and which values.
            for output, rule in (*self._concluded, *self._waived):
                if not is_of_value(rule):
                    rules_of(traced.node(output), demands.edition)
            list(values_to_be_finite(traced, sorted(demands.operators)))
        except Rejected as error:
            raise SonnxError(
                f"the enforced model cannot be certified ({error}); rewrite without a certificate"
            ) from error
        for entry, obligation in self._open:
            of_contract = is_of_contract(entry[1])
            try:
                require_guarded(traced, before if of_contract else beside, *entry)
                guarded.append(entry)
            except Rejected as error:
                if of_contract:
                    raise SonnxError(
                        f"the enforced model cannot be certified ({error}); rewrite without a "
                        "certificate"
                    ) from error
                unknown.append((entry, Uncertified(obligation, str(error))))
        made = {
            **self._head(sha256, self._needed | traced.needed()),
            "obligations": self._concluded,
            "enforced": hashlib.sha256(content).hexdigest(),
            "edition": demands.edition.value,
            "operators": sorted(demands.operators),
            "guarded": guarded,
            "waived": self._waived,
            "unknown": [entry for entry, _ in unknown],
        }
        without_form = tuple(each for _, each in unknown)
        return Certificate(made, tuple(self._certified), tuple(self.uncertified), without_form)

    def _head(self, sha256: str, needed: Set[Step]) -> dict[str, Any]:
        head: dict[str, Any] = {"format": FORMAT, "model": sha256, "steps": []}
        if self._contract:
            head["contract"] = contract_document(self._contract)
        if self._traced is not None:
            model = Model(self._proto, self._contract, self._traced.states.changing)
            steps = [step for step in self._traced.steps if step in needed]
            head["steps"] = [[*step, model.derive(*step)] for step in steps]
            if rests_on_numbers(model, steps):
                head["optimizers"] = {"off": [*MUST_BE_OFF], "may_act": [*MAY_ACT]}
        return head


def _sizes(traced: Traced | None, name: str) -> tuple[int | None, ...] | None:
    """The certified sizes of a value, None for open ones; None if its rank is not known."""
    if traced is None or not traced.knows("shape", name):
        return None
    shape = traced.known("shape", name)
    return tuple(size if isinstance(size, int) else None for size in shape)


def only_certified(examination: Examination, proofs: Proofs) -> Examination:
    """Leave to the run what is proved and not certified.

    Raises:
        SonnxError: A rule is not certified that no run can check.
    """
    changed: dict[int, Obligation] = {}
    for each in proofs.uncertified:
        obligation = each.obligation
        if not obligation.rule.in_run:
            raise SonnxError(
                f"{obligation.place}: {obligation.rule.id} is proved, but its proof is not "
                f"certified ({each.reason}), and no run can check it; rewrite without a certificate"
            )
        evidence = f"{obligation.evidence}; the proof is not certified: {each.reason}"
        changed[id(obligation)] = replace(obligation, status=Status.RUNTIME, evidence=evidence)

    def current(obligations: Iterable[Obligation]) -> tuple[Obligation, ...]:
        return tuple(changed.get(id(each), each) for each in obligations)

    nodes = (
        replace(
            node,
            obligations=current(node.obligations),
            operands=tuple(map(proofs.certified, node.target.inputs, node.operands)),
        )
        for node in examination.nodes
    )
    report = replace(examination.report, obligations=current(examination.report.obligations))
    limited = (
        replace(each, obligation=changed.get(id(each.obligation), each.obligation))
        for each in examination.limited
    )
    return replace(
        examination,
        nodes=tuple(nodes),
        report=report,
        limited=tuple(limited),
        rests_on_numbers=examination.rests_on_numbers or proofs.rests_on_numbers,
    )
