"""Makes certificates of what the analysis proved and the checker concludes.

The analysis says what holds; the checker says what follows by its own rules. A certificate names
the obligations of which the checker says that they follow, and what holds the others.
"""

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import onnx
import onnx_ir as ir

from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.obligation import Obligation, unsettled
from sonnx_ort.analysis.progress import following
from sonnx_ort.checker import FORMAT, Model, Rejected, check, established
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.guards import require_guarded
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.errors import SonnxError, to_json
from sonnx_ort.facts.deriving import Watch
from sonnx_ort.facts.optimizers import MAY_ACT, MUST_BE_OFF
from sonnx_ort.loading.traversal import every_graph
from sonnx_ort.profile.contract import contract_document
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import is_of_contract
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand


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


_FOLLOWING: Watch = following("following proofs at nodes")
_CHECKING: Watch = following("checking proofs at nodes")

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
        """The certificate as the text of a file, with an obligation in a line."""
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
            check(content, self.content, enforced, _CHECKING)
        except Rejected as error:
            raise SonnxError(f"the model cannot be certified: {error}") from error


class Proofs:
    """What is proved of the nodes of a model, and what of it the checker follows."""

    def __init__(self, proto: onnx.ModelProto, graph: ir.Graph, examination: Examination) -> None:
        """Try every proof."""
        self._proto = proto
        self._concluded: list[Entry] = []
        self._open: list[tuple[Entry, Obligation]] = []
        self._waived: list[Entry] = []
        self._certified: list[Obligation] = []
        self.uncertified: list[Uncertified] = []
        self._known: Model | None = None
        self._reason = ""
        self._contract = examination.report.demands.contract
        self._proved = sum(o.status is Status.PROVED for o in examination.report.enforced)
        self._names: dict[ir.Value, str] = {}
        try:
            self._known = established(proto, self._contract, _FOLLOWING)
            self._names = names_of_values(graph, self._known)
        except Rejected as error:
            self._reason = str(error)
        for node in examination.nodes:
            value = next(output for output in node.ruled.node.outputs if output.name)
            for obligation in node.found:
                self._try(self._name(value), obligation)
        for limited in examination.limited:
            self._try(self._name(limited.value), limited.obligation)

    @property
    def rests_on_numbers(self) -> bool:
        """Whether a certificate can rest on floats that a kernel computes.

        Whether it does is known only where guards are compared.
        """
        return self._known is not None and self._known.computes_numbers

    @functools.cached_property
    def _without(self) -> Model | None:
        """What follows without the contract."""
        within = self._known is not None and bool(self._contract)
        return established(self._proto, watch=_FOLLOWING) if within else self._known

    def _name(self, value: ir.Value) -> str:
        """The name of a value as the checker knows it."""
        return self._names.get(value, str(value.name))

    def _try(self, output: str, obligation: Obligation) -> None:
        """Note an obligation as waived, as concluded by the checker, or as open."""
        entry, proved = [output, obligation.rule.id], obligation.status is Status.PROVED
        if obligation.status is Status.VIOLATED:
            self._waived.append(entry)
            return
        reason = self._reason
        if self._known is not None:
            try:
                conclude(self._known, *entry)
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
        sizes = _sizes(self._known, self._names.get(value, ""))
        return replace(operand, shape=sizes, scalar_inputs=operand.scalar_inputs and sizes is None)

    def shape_named(self, name: str) -> tuple[int | None, ...] | None:
        """The certified shape of the only value of this name, without a contract, or None.

        What is declared in a model holds without guards.
        """
        known = self._without
        only = known is not None and len(known.names.get(name, ())) == 1
        return _sizes(known, name) if only else None

    def certificate(self, sha256: str) -> Certificate:
        """The certificate of the model alone."""
        read = () if self._known is None else (self._known,)
        made = {**self._head(sha256, read), "obligations": self._concluded}
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
        known, without = self._known, self._without
        if known is None or without is None:
            raise SonnxError(
                f"the model cannot be certified ({self._reason}); rewrite without a certificate"
            )
        guarded: list[Entry] = []
        unknown: list[tuple[Entry, Uncertified]] = []
        try:
            beside = Enforced(known, enforced)
            before = Enforced(without, enforced) if self._contract else beside
        except Rejected as error:
            raise SonnxError(
                f"the enforced model cannot be certified ({error}); rewrite without a certificate"
            ) from error
        for entry, obligation in self._open:
            of_contract = is_of_contract(entry[1])
            try:
                require_guarded(known, before if of_contract else beside, *entry)
                guarded.append(entry)
            except Rejected as error:
                if of_contract:
                    raise SonnxError(
                        f"the enforced model cannot be certified ({error}); rewrite without a "
                        "certificate"
                    ) from error
                unknown.append((entry, Uncertified(obligation, str(error))))
        made = {
            **self._head(sha256, (known, without)),
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

    def _head(self, sha256: str, read: Iterable[Model]) -> dict[str, Any]:
        """The entries that say of what a certificate is, and in which sessions and runs it holds.

        Args:
            sha256: The SHA-256 of the model.
            read: The models of which was read what is established.
        """
        head: dict[str, Any] = {"format": FORMAT, "model": sha256}
        if self._contract:
            head["contract"] = contract_document(self._contract)
        if any(each.rests_on_numbers for each in read):
            head["optimizers"] = {"off": [*MUST_BE_OFF], "may_act": [*MAY_ACT]}
        return head


def _sizes(known: Model | None, name: str) -> tuple[int | None, ...] | None:
    """The certified sizes of a value, None for open ones; None if its rank is not known."""
    shape = None if known is None else known.known_or_none("shape", name)
    if shape is None:
        return None
    return tuple(size if isinstance(size, int) else None for size in shape)


def only_certified(examination: Examination, proofs: Proofs) -> Examination:
    """Leave to the run what is proved and not certified.

    Raises:
        SonnxError: A rule is not certified that no run can check.
    """
    changed: dict[int, Obligation] = {}
    # What is settled without a proof at the node has no certificate either.
    found = chain.from_iterable(node.obligations for node in examination.nodes)
    known = (*found, *(each.obligation for each in examination.limited))
    changed |= {id(o): unsettled(o) for o in known if o.settled and o.status is Status.RUNTIME}
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
            operands=tuple(map(proofs.certified, node.ruled.inputs, node.operands)),
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
