"""What `check` says of a model: every obligation, every finding, and what it was looked at with."""

import dataclasses
import enum
import functools
import importlib.metadata
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape

import onnx

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.general import Restriction
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Operand, has_known_sizes
from sonnx_ort.profile.options import Broadcasting, Demands, Edition
from sonnx_ort.profile.rule import Rule


@dataclass(frozen=True, slots=True)
class Obligation:
    """What a rule demands of a node, and what is known of it.

    Attributes:
        rule: The rule.
        operator: The operator's name; empty for a rule of the whole graph.
        node: The node's name, with the path of calls if it came out of a function; empty for a
            rule of the whole graph.
        operands: What is known of the node's inputs, or of the values that the rule is about.
        status: When the rule is decided, and how.
        evidence: Why, as a clause.
        hint: What to do about a violation, as a clause; empty otherwise.
        path: The nodes whose subgraphs the node lies in, outermost first.
        enforced: Whether its operator is among those that are to be enforced.
    """

    rule: Rule
    operator: str
    node: str
    operands: tuple[Operand, ...]
    status: Status
    evidence: str
    hint: str = ""
    path: tuple[str, ...] = ()
    enforced: bool = True

    @property
    def place(self) -> str:
        """The node in words, with the subgraphs it lies in."""
        if not self.operator:
            return "the graph"
        inside = "".join(f" in {node}" for node in reversed(self.path))
        return f"{self.operator} '{self.node}'{inside}"

    def __str__(self) -> str:
        """Give the obligation in lines: the finding, the operands, the rule, and what to do."""
        lines = [
            f"{self.place}: {self.rule.id} {self.status}: {self.evidence}",
            *map(str, self.operands),
            f"the rule: {self.rule.sentence} ({self.rule.source})",
        ]
        if self.hint:
            lines.append(f"to mend it: {self.hint}")
        return "\n    ".join(lines)


@dataclass(frozen=True, slots=True)
class Finding:
    """A restriction that the graph as written does not meet.

    It changes no result, so it rejects no model.

    Attributes:
        restriction: The restriction.
        place: The node or the value that it is about.
        detail: What was found there, as a clause.
    """

    restriction: Restriction
    place: str
    detail: str

    def __str__(self) -> str:
        """Give the finding on one line."""
        return f"{self.place}: {self.restriction.id}: {self.detail}"


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
    """

    demands: Demands
    obligations: tuple[Obligation, ...]
    findings: tuple[Finding, ...]
    coverage: tuple[Coverage, ...]
    identity: Identity

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
        """Those of them that fail in every run that reaches their node."""
        return tuple(o for o in self.enforced if o.status is Status.VIOLATED)

    @property
    def ok(self) -> bool:
        """Whether nothing is violated; what is decided at run time may still fail there."""
        return not self.violations

    def summary(self) -> str:
        """Count the obligations by status, in one line."""
        shown = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        uncovered = sum(self.not_covered.values())
        not_asked_for = sum(c.nodes for c in self.coverage if c.extent is Extent.NOT_ASKED_FOR)
        return (
            f"edition {self.edition}, broadcast {self.broadcasting}: "
            f"{_counted(len(self.enforced), 'obligation')}: {shown}; "
            f"{_counted(len(self.findings), 'finding')}; "
            f"{_counted(uncovered, 'node')} not covered by any rule"
            + (f"; {_counted(not_asked_for, 'node')} not asked for" if not_asked_for else "")
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
        return json.dumps(self._document(), indent=2, ensure_ascii=False)

    def _document(self) -> dict[str, object]:
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
            "operands": dataclasses.asdict(self.operands),
            "rules": {
                rule.id: _rule(rule)
                for rule in dict.fromkeys(obligation.rule for obligation in self.obligations)
            },
            "obligations": [_obligation(o) for o in self.obligations],
            "findings": [
                {"restriction": f.restriction.id, "place": f.place, "detail": f.detail}
                for f in self.findings
            ],
            "coverage": [
                {"operator": c.operator, "nodes": c.nodes, "extent": c.extent.value}
                for c in self.coverage
            ],
            "not_covered": dict(self.not_covered),
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


def _rule(rule: Rule) -> dict[str, object]:
    source = rule.source
    return {
        "sentence": rule.sentence,
        "document": source.document,
        "section": source.section,
        "tag": source.tag,
        "standing": source.standing.value,
        "words": source.words.value,
        "remark": source.remark,
        "later_tag": source.later_tag,
    }


def _obligation(obligation: Obligation) -> dict[str, object]:
    return {
        "rule": obligation.rule.id,
        "operator": obligation.operator,
        "node": obligation.node,
        "path": list(obligation.path),
        "status": obligation.status.value,
        "enforced": obligation.enforced,
        "evidence": obligation.evidence,
        "hint": obligation.hint,
        "operands": [_operand(operand) for operand in obligation.operands],
    }


def _operand(operand: Operand) -> dict[str, object]:
    return {
        "letter": operand.name,
        "value": operand.value,
        "origin": operand.origin,
        "element_type": operand.element_type,
        "shape": None if operand.shape is None else list(operand.shape),
        "constant": operand.constant is not None,
    }


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
