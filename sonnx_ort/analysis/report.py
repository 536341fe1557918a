"""All obligations of a model."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sonnx_ort.analysis.finding import Finding
from sonnx_ort.analysis.identity import Identity
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.profile.broadcasting import Broadcasting
from sonnx_ort.profile.edition import Edition
from sonnx_ort.profile.judgement import Status
from sonnx_ort.profile.operand import Operand
from sonnx_ort.profile.rule import Rule

FORMAT = "sonnx_ort.report/1"
"""The name and version of the JSON form; a change that breaks readers raises the version."""


@dataclass(frozen=True)
class Report:
    """What is known, before any run, of a model and the profile.

    Attributes:
        edition: The edition that the model is held to.
        broadcasting: What becomes of operands of different shapes.
        obligations: One per rule and node, in the order of the graph.
        findings: What the graph as written leaves open or says wrongly; rejects no model.
        not_covered: How many nodes there are of each operator that no rule speaks of.
        identity: The model that this is about, and the versions that took part.
    """

    edition: Edition
    broadcasting: Broadcasting
    obligations: tuple[Obligation, ...]
    findings: tuple[Finding, ...]
    not_covered: Mapping[str, int]
    identity: Identity

    @cached_property
    def violations(self) -> tuple[Obligation, ...]:
        """The obligations that fail in every run that reaches their node."""
        return tuple(o for o in self.obligations if o.status is Status.VIOLATED)

    @property
    def ok(self) -> bool:
        """Whether nothing is violated; what is decided at run time may still fail there."""
        return not self.violations

    def summary(self) -> str:
        """Count the obligations by status, in one line."""
        shown = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        uncovered = sum(self.not_covered.values())
        return (
            f"edition {self.edition}, broadcast {self.broadcasting}: "
            f"{_counted(len(self.obligations), 'obligation')}: {shown}; "
            f"{_counted(len(self.findings), 'finding')}; "
            f"{_counted(uncovered, 'node')} not covered by any rule"
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
            "ok": self.ok,
            "counts": dict(self.counts),
            "rules": {
                rule.id: _rule(rule)
                for rule in dict.fromkeys(obligation.rule for obligation in self.obligations)
            },
            "obligations": [_obligation(o) for o in self.obligations],
            "findings": [
                {"restriction": f.restriction.id, "place": f.place, "detail": f.detail}
                for f in self.findings
            ],
            "not_covered": dict(self.not_covered),
        }

    @property
    def counts(self) -> Mapping[str, int]:
        """How many obligations there are of each status."""
        counts = Counter(obligation.status for obligation in self.obligations)
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
        "evidence": obligation.evidence,
        "hint": obligation.hint,
        "operands": [_operand(operand) for operand in obligation.operands],
    }


def _operand(operand: Operand) -> dict[str, object]:
    return {
        "letter": operand.letter,
        "value": operand.value,
        "origin": operand.origin,
        "element_type": operand.element_type,
        "shape": None if operand.shape is None else list(operand.shape),
        "constant": operand.constant is not None,
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
