"""The report: the result of the analysis of a model."""

import dataclasses
import enum
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from sonnx_ort.analysis.obligation import (
    Finding,
    Identity,
    Obligation,
    obligation_document,
    rule_document,
)
from sonnx_ort.errors import SonnxError, did_you_mean, to_json
from sonnx_ort.errors.arguments import checked_arguments, choose
from sonnx_ort.errors.notebook import HTML, TEXT, shown_as
from sonnx_ort.errors.remedies import joined
from sonnx_ort.profile.catalog import RULES, WHOLE_PROFILE, OperatorStanding
from sonnx_ort.profile.contract import contract_document
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.graph import FINITE_OUTPUTS, FINITE_VALUES, GRAPH
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Operand, has_known_sizes


def choose_rules(names: str | Iterable[str]) -> frozenset[str]:
    """Find the ids of rules by name.

    Args:
        names: Ids, or prefixes of ids up to a dot, such as "Div" or "Div.int", in any case; or one
            string with commas in between.

    Raises:
        SonnxError: No rule matches a name; the message lists the available ones.
    """
    requested = names.split(",") if isinstance(names, str) else names
    chosen: set[str] = set()
    for name in (str(name).strip() for name in requested):
        found = _rules_by_beginning().get(name.lower())
        if found is None:
            raise SonnxError(f"there is no rule '{name}'{_available_rules(name)}")
        chosen |= found
    return frozenset(chosen)


@cache
def _rules_by_beginning() -> Mapping[str, frozenset[str]]:
    """The ids of rules that begin with each beginning of one up to a dot, in small letters."""
    found = defaultdict[str, set[str]](set)
    for rule in RULES:
        parts = rule.lower().split(".")
        for length in range(1, len(parts) + 1):
            found[".".join(parts[:length])].add(rule)
    return {beginning: frozenset(rules) for beginning, rules in found.items()}


class RulesOf(enum.StrEnum):
    """Whose rules a report includes."""

    ALL = "all"
    """All rules."""

    STATED = "stated"
    """Those that SONNX states, or that follow from ONNX; none that this project added."""


def selected_rules(
    select: str | Iterable[str] | None,
    ignore: str | Iterable[str] | None,
    rules: RulesOf = RulesOf.ALL,
) -> frozenset[str]:
    """Find the ids of the rules that a report includes.

    Args:
        select: Those to include, as for `choose_rules`; None for all.
        ignore: Those to exclude; None for none.
        rules: Whose rules are included.

    Raises:
        SonnxError: As for `choose_rules`.
    """
    chosen = frozenset(RULES) if select is None else choose_rules(select)
    if rules is RulesOf.STATED:
        from sonnx_ort.profile.source import Basis  # noqa: PLC0415 - no verdict

        chosen = frozenset(name for name in chosen if RULES[name].basis is not Basis.OURS)
    return chosen if ignore is None else chosen - choose_rules(ignore)


def _available_rules(name: str) -> str:
    """The rules of the operator that the name starts with, or the prefixes of all rules."""
    operator = name.lower().partition(".")[0]
    rules = sorted(rule for rule in RULES if rule.lower().startswith(f"{operator}."))
    if rules:
        return f"; choose from {', '.join(rules)}, or their beginnings"
    prefixes = sorted({rule.partition(".")[0] for rule in RULES})
    return (
        f"{did_you_mean(operator, prefixes)}; choose from {', '.join(prefixes)}; "
        "`sonnx-ort explain` lists all rules"
    )


class Extent(enum.StrEnum):
    """Whether rules on an operator are enforced."""

    ENFORCED = "enforced"
    """There are rules for it, and they are enforced."""

    NOT_ASKED_FOR = "not asked for"
    """There are rules for it, but they are not enforced."""

    NO_RULES = "no rules"
    """There are no rules for the operator itself."""


BOUND = {
    OperatorStanding.DRAFT: "bound by a draft",
    OperatorStanding.OURS: "bound by rules of sonnx_ort",
    OperatorStanding.GENERAL: "bound by general restrictions alone",
    OperatorStanding.OUTSIDE: "outside the profile",
}
"""What binds a node, by the standing of its operator."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of nodes of an operator in a model, and what the profile states for it.

    The operator's name is prefixed with its domain if that is not the default one.
    """

    operator: str
    nodes: int
    extent: Extent
    standing: OperatorStanding

    @property
    def words(self) -> str:
        """What binds the nodes of the operator, and whether they were looked at."""
        outside = self.standing is OperatorStanding.OUTSIDE
        own = ", with rules of sonnx_ort" if outside and self.extent is not Extent.NO_RULES else ""
        passed_over = ", not looked at" if self.extent is Extent.NOT_ASKED_FOR else ""
        return f"{BOUND[self.standing]}{own}{passed_over}"


@dataclass(frozen=True, slots=True)
class KnownOperands:
    """The number of operands of enforced nodes, and how many have a known rank or shape."""

    count: int
    known_rank: int
    known_sizes: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a report excludes on request: rules, obligations per status, and findings.

    It counts only obligations of enforced operators.
    """

    rules: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, Status), 0))
    findings: int = 0

    @property
    def violated(self) -> int:
        """The number of violated obligations, those with a waiver included."""
        return self.counts[Status.VIOLATED]

    def __str__(self) -> str:
        """Count them in one clause; empty if nothing is excluded."""
        if not self.rules:
            return ""
        counts = [f"{count} {status}" for status, count in self.counts.items()]
        rules = _counted(len(self.rules), "rule")
        return f"left out: {rules} with {', '.join(counts)}, {_counted(self.findings, 'finding')}"


@dataclass(frozen=True, slots=True)
class NewViolations:
    """The violations that `conform` would bring about at what it adds, counted by rule.

    An example is an added value whose shape is not known.

    Attributes:
        safe: Those of the model that `conform` makes.
        rounding: Those of the model that it makes with `rounding`.
    """

    safe: Mapping[str, int] = field(default_factory=dict)
    rounding: Mapping[str, int] = field(default_factory=dict)

    def of(self, rules: Container[str]) -> "NewViolations":
        """Those of some rules only."""
        return NewViolations(
            *({r: n for r, n in each.items() if r in rules} for each in (self.safe, self.rounding))
        )


@dataclass(frozen=True, slots=True)
class ContractFile:
    """The file of a contract: its name as it was given, and its SHA-256."""

    name: str
    sha256: str


FORMAT = "sonnx_ort.report/1"
"""Name and version of the JSON format; an incompatible change increments the version."""


def asks_for_numbers(demands: Demands) -> bool:
    """Whether it is asked what numbers values can be: by a contract, or by the rules on them."""
    return bool(demands.contract or demands.operators & {FINITE_OUTPUTS, FINITE_VALUES})


@dataclass(frozen=True, repr=False)
class Report:
    """The result of the analysis of a model.

    Attributes:
        demands: The edition, how broadcasts are treated, and the enforced operators.
        obligations: One per rule and node, in graph order.
        findings: What the graph leaves implicit or declares wrongly, if the rules on graphs are
            not enforced; never rejects a model.
        coverage: The number of nodes per operator, and whether rules cover it.
        identity: The model, and the package versions used.
        left_out: What `selected` excluded.
        settings: The settings file from which options were read; empty if there is none.
        backend: The backend that is to enforce the rules.
        premises: What the model was conformed for, each as a clause; runs that do not keep it have
            other results than its original.
        new_violations: What `conform` would violate anew, if `check` found out what it fixes.
        contract_file: The file of the contract; None if there is none, or it is not known.
    """

    demands: Demands
    obligations: tuple[Obligation, ...]
    findings: tuple[Finding, ...]
    coverage: tuple[Coverage, ...]
    identity: Identity
    left_out: LeftOut = field(default_factory=LeftOut)
    settings: str = ""
    backend: str = "python"
    premises: tuple[str, ...] = ()
    new_violations: NewViolations = field(default_factory=NewViolations)
    contract_file: ContractFile | None = None

    @property
    def edition(self) -> Edition:
        """The edition that applies to the model."""
        return self.demands.edition

    @property
    def broadcasting(self) -> Broadcasting:
        """How operands of different shapes are handled."""
        return self.demands.broadcasting

    @property
    def not_covered(self) -> Mapping[str, int]:
        """The number of nodes of each operator that has no rules."""
        uncovered = (c for c in self.coverage if c.extent is Extent.NO_RULES)
        return {c.operator: c.nodes for c in uncovered}

    @property
    def standings(self) -> Mapping[str, int]:
        """The number of nodes by the standing of their operators."""
        counts = Counter[OperatorStanding]()
        for coverage in self.coverage:
            counts[coverage.standing] += coverage.nodes
        return {standing.value: counts[standing] for standing in OperatorStanding}

    @property
    def whole(self) -> bool:
        """Whether it is about the whole profile."""
        return self.demands.operators >= WHOLE_PROFILE

    @property
    def passed_over(self) -> int:
        """The number of nodes that were not looked at."""
        looked_at = {Extent.ENFORCED}
        if GRAPH in self.demands.operators:
            looked_at.add(Extent.NO_RULES)
        return sum(c.nodes for c in self.coverage if c.extent not in looked_at)

    @cached_property
    def enforced(self) -> tuple[Obligation, ...]:
        """The obligations of the enforced operators."""
        return tuple(o for o in self.obligations if o.enforced)

    @cached_property
    def violated(self) -> tuple[Obligation, ...]:
        """The violated obligations of the enforced operators, also those that a waiver covers."""
        return tuple(o for o in self.enforced if o.status is Status.VIOLATED)

    @cached_property
    def violations(self) -> tuple[Obligation, ...]:
        """The violated obligations that no waiver covers."""
        return tuple(o for o in self.violated if not o.waived)

    @property
    def mendable(self) -> tuple[Obligation, ...]:
        """The violations that `conform` fixes without changing a result; `check` finds them out."""
        return tuple(o for o in self.violations if o.mendable and not o.rounding)

    @property
    def mendable_by_rounding(self) -> tuple[Obligation, ...]:
        """The violations that `conform` fixes only with changes that may round otherwise."""
        return tuple(o for o in self.violations if o.mendable and o.rounding)

    @cached_property
    def waived(self) -> tuple[Obligation, ...]:
        """The violated obligations that a waiver covers."""
        return tuple(o for o in self.enforced if o.waived)

    @property
    def ok(self) -> bool:
        """Whether every violation has a waiver; runtime obligations can still fail in a run."""
        return not self.violations

    @checked_arguments
    def selected(
        self,
        select: str | Iterable[str] | None = None,
        ignore: str | Iterable[str] | None = None,
        rules: str = "all",
    ) -> "Report":
        """Return a report of some rules only, with counts of what it excludes.

        `rewrite` ignores the selection: it rejects any violation.

        Args:
            select: The rules to include, by id or prefix such as "Div.int"; a string with commas,
                or any iterable. None for all.
            ignore: The rules to exclude from these; None for none.
            rules: "all", or "stated" without the rules that this project added.

        Raises:
            SonnxError: No rule matches a name; the message lists the available ones. Or `rules` is
                unknown.
        """
        chosen = selected_rules(select, ignore, choose(RulesOf, "rules", rules))
        obligations = [o for o in self.enforced if o.rule.id not in chosen]
        findings = [f for f in self.findings if f.rule.id not in chosen]
        statuses = Counter(str(o.status) for o in obligations)
        left_out_now = {o.rule.id for o in obligations} | {f.rule.id for f in findings}
        left_out = LeftOut(
            self.left_out.rules | left_out_now,
            {status: count + statuses[status] for status, count in self.left_out.counts.items()},
            self.left_out.findings + len(findings),
        )
        return replace(
            self,
            obligations=tuple(o for o in self.obligations if o.rule.id in chosen),
            findings=tuple(f for f in self.findings if f.rule.id in chosen),
            left_out=left_out,
            new_violations=self.new_violations.of(chosen),
        )

    @property
    def in_command(self) -> "Report":
        """The same report, with the options of the command in its remedies."""
        return replace(self, obligations=tuple(each.in_command for each in self.obligations))

    def summary(self) -> str:
        """Summarize the report in one line."""
        shown = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        waived = f", {len(self.waived)} of these waived" if self.waived else ""
        return (
            f"edition {self.edition}, broadcast {self.broadcasting}, backend {self.backend}: "
            f"{_counted(len(self.enforced), 'check')}: {shown}{waived}; "
            f"{_counted(len(self.findings), 'finding')}"
            + (f"; {_counted(self.passed_over, 'node')} not looked at" if self.passed_over else "")
            + (f"; {self.left_out}" if self.left_out.rules else "")
            + (f"; conformed for: {' and '.join(self.premises)}" if self.premises else "")
        )

    def __repr__(self) -> str:
        """Give the summary, for the obligations can be thousands."""
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        """Render the verdict, the causes of violations and the next call for a notebook."""
        return shown_as(HTML, self)

    def to_json(self) -> str:
        """Serialize the report; `docs/report.md` documents the format."""
        return to_json(self.to_document(), indent=2)

    def to_document(self) -> dict[str, object]:
        """Return the content of `to_json` as dictionaries and lists."""
        new, contract_file = self.new_violations, self.contract_file
        return {
            "format": FORMAT,
            "model": {"sha256": self.identity.sha256, "opsets": dict(self.identity.opsets)},
            "versions": dict(self.identity.versions),
            "edition": self.edition.value,
            "broadcast": self.broadcasting.value,
            "backend": self.backend,
            "operators": sorted(self.demands.operators),
            "contract": contract_document(self.demands.contract),
            **({"contract_file": dataclasses.asdict(contract_file)} if contract_file else {}),
            **({"premises": list(self.premises)} if self.premises else {}),
            "settings": self.settings or None,
            "ok": self.ok,
            "counts": dict(self.counts),
            "waived": len(self.waived),
            "operands": dataclasses.asdict(self.operands),
            "rules": {
                rule.id: rule_document(rule)
                for rule in dict.fromkeys(obligation.rule for obligation in self.obligations)
            },
            "obligations": [
                obligation_document(o, intervals=asks_for_numbers(self.demands))
                for o in self.obligations
            ],
            "findings": [
                {"restriction": f.rule.id, "place": f.place, "detail": f.detail}
                for f in self.findings
            ],
            "coverage": [
                {
                    "operator": c.operator,
                    "nodes": c.nodes,
                    "extent": c.extent.value,
                    "standing": c.standing.value,
                }
                for c in self.coverage
            ],
            "not_covered": dict(self.not_covered),
            "standings": dict(self.standings),
            **({"new_violations": dataclasses.asdict(new)} if new.safe or new.rounding else {}),
            "left_out": {
                "rules": sorted(self.left_out.rules),
                "counts": dict(self.left_out.counts),
                "findings": self.left_out.findings,
            },
        }

    @cached_property
    def operands(self) -> KnownOperands:
        """For how many operands of enforced nodes the shape is known."""
        by_node: dict[tuple[str, tuple[str, ...]], tuple[Operand, ...]] = {}
        for obligation in self.enforced:
            if obligation.operands and obligation.operator:
                # A Broadcast in front repeats the operands of its node.
                by_node.setdefault((obligation.node, obligation.path), obligation.operands)
        shapes = [operand.shape for operands in by_node.values() for operand in operands]
        ranks = sum(shape is not None for shape in shapes)
        return KnownOperands(len(shapes), ranks, sum(map(has_known_sizes, shapes)))

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of obligations per status, for enforced operators."""
        counts = Counter(obligation.status for obligation in self.enforced)
        return {status.value: counts[status] for status in Status}

    def describe_violations(self) -> str:
        """List all violations, numbered, below a line with their count."""
        return joined("\n", self.lines_of_violations())

    def lines_of_violations(self) -> list[str]:
        """The lines of `describe_violations`; some are advice."""
        nodes = len({(o.operator, o.node) for o in self.violations})
        head = (
            f"the model breaks the SONNX profile (edition {self.edition}): "
            f"{_counted(len(self.violations), 'violation')} at {_counted(nodes, 'node')}"
        )
        lines = [head]
        for number, violation in enumerate(self.violations, start=1):
            first, *others = violation.lines()
            lines += [f"{number}. {first}", *others]
        return lines


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class ModelRejected(SonnxError):  # noqa: N818 - a public name of the interface
    """The model violates the profile; `report.violations` are the reasons."""

    def __init__(self, report: Report) -> None:
        super().__init__(*report.lines_of_violations())
        self.report = report

    def __reduce__(self) -> tuple[type["ModelRejected"], tuple[Report]]:
        """Keep the report when the error is pickled, such as to give it to another process."""
        return type(self), (self.report,)

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        return shown_as(HTML, self)

    def _in_notebook(self) -> str:
        return shown_as(TEXT, self)
