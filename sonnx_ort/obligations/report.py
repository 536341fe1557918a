"""A report: everything that was found of a model."""

import dataclasses
import enum
import functools
import importlib.metadata
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape

import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.obligations.obligation import Finding, Obligation, obligation_document, rule_document
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS
from sonnx_ort.profile.operand import Operand, has_known_sizes
from sonnx_ort.profile.options import Broadcasting, Demands, Edition
from sonnx_ort.profile.rule import Status

ALL_RULES = frozenset({*RULES, *RESTRICTIONS})
"""The ids of all rules, and of the restrictions that findings are about."""


def choose_rules(names: str | Iterable[str]) -> frozenset[str]:
    """Find the ids of rules and restrictions.

    Args:
        names: Ids, or what ids begin with up to a dot, such as "Div" or "Div.int", in any case;
            or one text of them with commas between.

    Raises:
        SonnxError: There is no rule of such a name; the message lists those that there are.
    """
    given = names.split(",") if isinstance(names, str) else names
    chosen: set[str] = set()
    for name in (str(name).strip() for name in given):
        beginning = f"{name}.".lower()
        found = {rule for rule in ALL_RULES if f"{rule}.".lower().startswith(beginning)}
        if not found:
            raise SonnxError(f"there is no rule '{name}'; {_those_there_are(name)}")
        chosen |= found
    return frozenset(chosen)


def rules_told_of(
    select: str | Iterable[str] | None, ignore: str | Iterable[str] | None
) -> frozenset[str]:
    """Find the ids of the rules and restrictions that a report is to tell of.

    Args:
        select: Those to tell of, as for `choose_rules`; None stands for all.
        ignore: Those among them not to tell of; None stands for none.

    Raises:
        SonnxError: As for `choose_rules`.
    """
    chosen = ALL_RULES if select is None else choose_rules(select)
    return chosen if ignore is None else chosen - choose_rules(ignore)


def _those_there_are(name: str) -> str:
    """The rules of the operator that the name begins with, or what all begin with."""
    operator = name.lower().partition(".")[0]
    rules = sorted(rule for rule in ALL_RULES if rule.lower().startswith(f"{operator}."))
    if rules:
        return f"choose some of {', '.join(rules)}, or what they begin with"
    beginnings = sorted({rule.partition(".")[0] for rule in ALL_RULES})
    return f"choose some of {', '.join(beginnings)}; `sonnx-ort explain` lists all rules"


class Extent(enum.StrEnum):
    """How far the profile reaches to an operator."""

    ENFORCED = "enforced"
    """The profile has rules for it, which are to be enforced."""

    NOT_ASKED_FOR = "not asked for"
    """The profile has rules for it, which are not to be enforced."""

    NO_DOCUMENT = "no document"
    """No rule speaks of it, and nothing is checked of it."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the profile reaches to the nodes of one operator.

    Attributes:
        operator: Its name, with its domain in front if that is not the default one.
        nodes: How many nodes there are of it.
        extent: How far the profile reaches.
    """

    operator: str
    nodes: int
    extent: Extent


PACKAGES = ("sonnx_ort", "onnx", "onnx-ir", "onnxruntime")
"""The packages whose versions a report states."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A model, and with what it was looked at.

    Attributes:
        sha256: Of the file, without external data; of the serialized model where there was no
            file.
        opsets: The imported version of each domain.
        versions: Of the packages that took part.
    """

    sha256: str
    opsets: Mapping[str, int]
    versions: Mapping[str, str]


def identify(sha256: str, proto: onnx.ModelProto) -> Identity:
    """Identify a model.

    Args:
        sha256: Of its file.
        proto: The model.
    """
    return Identity(
        sha256,
        {entry.domain: entry.version for entry in proto.opset_import},
        {package: _version(package) for package in PACKAGES},
    )


@functools.cache
def _version(package: str) -> str:
    return importlib.metadata.version(package)


@dataclass(frozen=True, slots=True)
class KnownOperands:
    """Of how many operands of constrained nodes the shape is known before any run.

    Attributes:
        count: How many operands there are.
        known_rank: Of how many the rank is known.
        known_sizes: Of how many every size is known to be a number.
    """

    count: int
    known_rank: int
    known_sizes: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a report does not tell of, because its reader chose so.

    Attributes:
        rules: The ids of the rules and restrictions that something was left out of.
        counts: How many obligations of each status, of the operators to be enforced.
        findings: How many findings.
    """

    rules: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(map(str, Status), 0))
    findings: int = 0

    def __str__(self) -> str:
        """Count them, in one clause; empty where nothing was left out."""
        if not self.rules:
            return ""
        counts = [f"{count} {status}" for status, count in self.counts.items()]
        return f"left out: {', '.join(counts)}, {_counted(self.findings, 'finding')}"


FORMAT = "sonnx_ort.report/1"
"""The name and version of the JSON form; a change that breaks readers raises the version."""


@dataclass(frozen=True)
class Report:
    """What is known, before any run, of a model and the profile.

    Attributes:
        demands: What the model is held to.
        obligations: One per rule and node, in the order of the graph.
        findings: What the graph as written leaves open or says wrongly; rejects no model.
        coverage: How many nodes there are of each operator, and whether rules speak of it.
        identity: The model that this is about, and the versions that took part.
        left_out: What `selected` left out.
    """

    demands: Demands
    obligations: tuple[Obligation, ...]
    findings: tuple[Finding, ...]
    coverage: tuple[Coverage, ...]
    identity: Identity
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def edition(self) -> Edition:
        """The edition that the model is held to."""
        return self.demands.edition

    @property
    def broadcasting(self) -> Broadcasting:
        """What becomes of operands of different shapes."""
        return self.demands.broadcasting

    @property
    def not_covered(self) -> Mapping[str, int]:
        """How many nodes there are of each operator that no rule speaks of."""
        unspoken = (c for c in self.coverage if c.extent is Extent.NO_DOCUMENT)
        return {c.operator: c.nodes for c in unspoken}

    @cached_property
    def enforced(self) -> tuple[Obligation, ...]:
        """The obligations of the operators that are to be enforced."""
        return tuple(o for o in self.obligations if o.enforced)

    @cached_property
    def violations(self) -> tuple[Obligation, ...]:
        """Those of them that fail in every run that reaches their node, and have no waiver."""
        return tuple(o for o in self.enforced if o.status is Status.VIOLATED and not o.waived)

    @cached_property
    def waived(self) -> tuple[Obligation, ...]:
        """Those of them that fail in every run that reaches their node, with a waiver."""
        return tuple(o for o in self.enforced if o.waived)

    @property
    def ok(self) -> bool:
        """Whether nothing is violated without a waiver; what a run decides may still fail there."""
        return not self.violations

    def selected(
        self, select: str | Iterable[str] | None = None, ignore: str | Iterable[str] | None = None
    ) -> "Report":
        """Give a report of some rules only, which counts what it leaves out.

        `rewrite` knows nothing of it: it rejects what any rule rejects.

        Args:
            select: The rules to tell of, by ids or what ids begin with, such as "Div.int"; a text
                with commas between, or any iterable. None stands for all.
            ignore: The rules among them not to tell of; None stands for none.

        Raises:
            SonnxError: There is no rule of such a name; the message lists those that there are.
        """
        chosen = rules_told_of(select, ignore)
        obligations = [o for o in self.enforced if o.rule.id not in chosen]
        findings = [f for f in self.findings if f.restriction.id not in chosen]
        statuses = Counter(str(o.status) for o in obligations)
        rules = {o.rule.id for o in obligations} | {f.restriction.id for f in findings}
        left_out = LeftOut(
            self.left_out.rules | rules,
            {status: count + statuses[status] for status, count in self.left_out.counts.items()},
            self.left_out.findings + len(findings),
        )
        return replace(
            self,
            obligations=tuple(o for o in self.obligations if o.rule.id in chosen),
            findings=tuple(f for f in self.findings if f.restriction.id in chosen),
            left_out=left_out,
        )

    def summary(self) -> str:
        """Count the obligations by status, in one line."""
        shown = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        uncovered = sum(self.not_covered.values())
        not_asked_for = sum(c.nodes for c in self.coverage if c.extent is Extent.NOT_ASKED_FOR)
        waived = f", {len(self.waived)} of these waived" if self.waived else ""
        return (
            f"edition {self.edition}, broadcast {self.broadcasting}: "
            f"{_counted(len(self.enforced), 'obligation')}: {shown}{waived}; "
            f"{_counted(len(self.findings), 'finding')}; "
            f"{_counted(uncovered, 'node')} not covered by any rule"
            + (f"; {_counted(not_asked_for, 'node')} not asked for" if not_asked_for else "")
            + (f"; {self.left_out}" if self.left_out.rules else "")
        )

    def _repr_html_(self) -> str:
        """Show a notebook the verdict, the counts and the violations."""
        counts = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        rows = "".join(
            f"<tr><td>{escape(o.rule.id)}</td><td>{escape(o.place)}</td>"
            f"<td>{escape(o.evidence)}</td><td>{escape(o.hint)}</td></tr>"
            for o in self.violations
        )
        head = "<tr><th>Violated</th><th>Node</th><th>Evidence</th><th>To mend it</th></tr>"
        verdict = "no violation before a run" if self.ok else "violated"
        return (
            f"<p><strong>SONNX profile, {self.edition} edition: {verdict}</strong><br>"
            f"{_counted(len(self.enforced), 'obligation')}: {counts}</p>"
            + (f"<table>{head}{rows}</table>" if rows else "")
        )

    def to_json(self) -> str:
        """Give the report in JSON; `docs/report.md` documents its form."""
        return json.dumps(self.to_document(), indent=2, ensure_ascii=False)

    def to_document(self) -> dict[str, object]:
        """Give what `to_json` writes, as dictionaries and lists."""
        return {
            "format": FORMAT,
            "model": {
                "sha256": self.identity.sha256,
                "opsets": dict(self.identity.opsets),
            },
            "versions": dict(self.identity.versions),
            "edition": self.edition.value,
            "broadcast": self.broadcasting.value,
            "operators": sorted(self.demands.operators),
            "ok": self.ok,
            "counts": dict(self.counts),
            "waived": len(self.waived),
            "operands": dataclasses.asdict(self.operands),
            "rules": {
                rule.id: rule_document(rule)
                for rule in dict.fromkeys(obligation.rule for obligation in self.obligations)
            },
            "obligations": [obligation_document(o) for o in self.obligations],
            "findings": [
                {"restriction": f.restriction.id, "place": f.place, "detail": f.detail}
                for f in self.findings
            ],
            "coverage": [
                {"operator": c.operator, "nodes": c.nodes, "extent": c.extent.value}
                for c in self.coverage
            ],
            "not_covered": dict(self.not_covered),
            "left_out": {
                "rules": sorted(self.left_out.rules),
                "counts": dict(self.left_out.counts),
                "findings": self.left_out.findings,
            },
        }

    @cached_property
    def operands(self) -> KnownOperands:
        """Of how many operands of the nodes that are to be enforced the shape is known."""
        by_node: dict[tuple[str, tuple[str, ...]], tuple[Operand, ...]] = {}
        for obligation in self.enforced:
            if obligation.operator:
                # That of a Broadcast in front comes behind the node's own, and is told of the same.
                by_node.setdefault((obligation.node, obligation.path), obligation.operands)
        shapes = [operand.shape for operands in by_node.values() for operand in operands]
        ranks = sum(shape is not None for shape in shapes)
        return KnownOperands(len(shapes), ranks, sum(map(has_known_sizes, shapes)))

    @property
    def counts(self) -> Mapping[str, int]:
        """How many obligations there are of each status, of the operators to be enforced."""
        counts = Counter(obligation.status for obligation in self.enforced)
        return {status.value: counts[status] for status in Status}

    def describe_violations(self) -> str:
        """List every violation, numbered, under a line that counts them and their nodes."""
        nodes = len({(o.operator, o.node) for o in self.violations})
        head = (
            f"the model breaks the SONNX profile (edition {self.edition}): "
            f"{_counted(len(self.violations), 'violation')} at {_counted(nodes, 'node')}"
        )
        lines = [f"{number}. {o}" for number, o in enumerate(self.violations, start=1)]
        return "\n".join([head, *lines])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class ModelRejected(SonnxError):  # noqa: N818 - a public name of the interface
    """The model breaks the profile in every run.

    Attributes:
        report: All obligations of the model; `report.violations` are those that it breaks.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(report.describe_violations())
        self.report = report
