"""Obligations and findings, their JSON form, and what identifies an analysis."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import onnx

from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.errors import printable, printable_advice
from sonnx_ort.errors.remedies import Advice, Remedy, in_command
from sonnx_ort.facts.ranges import Range
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.loading.written import Written
from sonnx_ort.profile.catalog import DEFAULT_OPERATORS
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.terms.operand import OpenSize, Operand
from sonnx_ort.versions import version_of

PACKAGES = ("sonnx_ort", "onnx", "onnx-ir", "onnxruntime")
"""The packages whose versions a report contains."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The analyzed model and the versions of the packages used.

    Attributes:
        sha256: Hash of the file, without external data; of the serialized model if there is no
            file.
        has_training_info: Whether the file has training information.
    """

    sha256: str
    opsets: Mapping[str, int]
    versions: Mapping[str, str]
    has_training_info: bool = False


def identify(sha256: str, proto: onnx.ModelProto) -> Identity:
    """Identify a model by the hash of its file, its opsets and the package versions."""
    return Identity(
        sha256,
        {entry.domain: entry.version for entry in proto.opset_import},
        {package: version_of(package) for package in PACKAGES},
        bool(proto.training_info),
    )


@dataclass(frozen=True, slots=True)
class Obligation:
    """One rule at one node.

    Attributes:
        operator: The operator's name; empty for a rule of the whole graph.
        node: The node's name, with the path of calls if it is from a function; empty for a rule of
            the whole graph.
        operands: What is known about the node's inputs, or about the values the rule applies to.
        evidence: The reason for the status, as a clause.
        hint: How to fix a violation, as a clause, which may be advice; empty otherwise.
        path: The nodes whose subgraphs contain the node, outermost first.
        by_version: Whether it is proved only because of the installed version of onnxruntime.
        enforced: Whether `operators` selects its operator.
        waiver: The waiver that names it; None if none does.
        waiver_expired: Whether that waiver has expired.
        mendable: How `conform` would fix it, as an instruction; empty if it cannot. Only `check`
            sets it, for violations.
        rounding: Whether that may round results otherwise, so that `conform` has to be asked for
            it.
        advice: Why `conform` fixes it with further options alone, and which, as a clause; empty
            otherwise. Only `check` sets it, for violations.
        options: These options.
        written: Where the node was written, as the model says; None if it does not.
        checked_before: Whether a run decides it at a node that comes before, and not again here.
        rests_on_declaration: Whether it holds as soon as the file declares no shape that is not
            proved. The rewritten model declares none.
        evidence_once_rewritten: The reason why it holds then; empty if it does not rest on such a
            declaration, or is about declarations.
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
    waiver: Waiver | None = None
    waiver_expired: bool = False
    by_version: bool = False
    mendable: str = ""
    rounding: bool = False
    advice: str = ""
    options: tuple[Remedy, ...] = ()
    written: Written | None = None
    checked_before: bool = False
    rests_on_declaration: bool = False
    evidence_once_rewritten: str = ""

    @property
    def settled(self) -> bool:
        """Whether the rewritten model keeps it without a check of its own at this node."""
        return self.status is Status.PROVED or self.checked_before or self.rests_on_declaration

    @property
    def left_to_the_run(self) -> bool:
        """Whether each run of the rewritten model has to check it at this node."""
        return self.status is Status.RUNTIME and not self.settled

    @property
    def in_command(self) -> "Obligation":
        """The same, with the options of the command in what advises."""
        if not (isinstance(self.hint, Advice) or self.advice):
            return self
        return replace(self, hint=in_command(self.hint), advice=in_command(self.advice))

    @property
    def refused(self) -> bool:
        """Whether `rewrite` rejects the model for it without `operators` and waivers."""
        by_default = self.rule.id.partition(".")[0] in DEFAULT_OPERATORS
        return by_default and self.status is Status.VIOLATED

    @property
    def waived(self) -> bool:
        """Whether it is a violation that a valid waiver covers."""
        return self.waiver is not None and not self.waiver_expired

    @property
    def place(self) -> str:
        """The node in words, with its enclosing subgraphs."""
        if not self.operator:
            return "the graph"
        inside = "".join(f" in {node}" for node in reversed(self.path))
        return printable(f"{self.operator} '{self.node}'{inside}")

    @property
    def named(self) -> str:
        """The node in words, and where it was written if the model says that."""
        return self.place if self.written is None else f"{self.place}, {self.written}"

    @property
    def waiver_standing(self) -> str:
        """The state of its waiver, as a prefix for the waiver's text."""
        return "waiver EXPIRED, was waived" if self.waiver_expired else "waived"

    def __str__(self) -> str:
        """Format the obligation in lines: status, source line, operands, rule, hint and waiver."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The lines of the obligation, of which the first has no indentation; some are advice."""
        at = [] if self.written is None else [str(self.written)]
        first, *others = [
            f"{self.place}: {self.rule.id} {self.status}: {self.evidence}",
            *at,
            *map(str, self.operands),
            f"the rule: {self.rule.sentence} ({self.rule.source})",
        ]
        if self.hint:
            others.append(Advice("to fix it: ", self.hint))
        if self.waiver is not None:
            others.append(f"{self.waiver_standing} {self.waiver}")
        return [
            printable(first),
            *(printable_advice(Advice("    ", each)) for each in others),
        ]


def judged_for(obligation: Obligation, runtime: str | None) -> Obligation:
    """The obligation if a version of onnxruntime runs the model; None is any version.

    A rule that exists only because older kernels are wrong is proved if that version is newer.
    """
    rule = obligation.rule
    if rule.needed_before is None or obligation.status is Status.PROVED:
        return obligation
    if rule.needed_with(runtime):
        which = (
            "any version may run the model" if runtime is None else "an older version is installed"
        )
        why = f"onnxruntime computes it correctly since {rule.needed_before}, and {which}"
        return replace(obligation, evidence=f"{obligation.evidence}; {why}")
    # Without the number of the version, so that a record is the same with a newer one.
    evidence = (
        f"onnxruntime computes it correctly since {rule.needed_before}, and no older version is "
        "installed; the native backend enforces it, because any version may run its model"
    )
    return replace(obligation, status=Status.PROVED, evidence=evidence, hint="", by_version=True)


def once_rewritten(obligation: Obligation) -> Obligation:
    """The obligation, as proved if the rewritten model keeps it without a check at this node."""
    return (
        replace(unsettled(obligation), status=Status.PROVED) if obligation.settled else obligation
    )


def unsettled(obligation: Obligation) -> Obligation:
    """The obligation, as one that each run has to check at this node if it is not proved."""
    return replace(
        obligation, checked_before=False, rests_on_declaration=False, evidence_once_rewritten=""
    )


def waiver_of(obligation: Obligation, waivers: Iterable[Waiver]) -> Waiver | None:
    """The first waiver that names an obligation, for any model and status; None if none does."""
    place = obligation.rule.id, obligation.operator, obligation.node, obligation.path
    return next((waiver for waiver in waivers if waiver.is_for(*place)), None)


@dataclass(frozen=True, slots=True)
class Finding:
    """A place where the graph violates a rule on graphs.

    It changes no result. It is a violation only if `operators` selects the rules on graphs.

    Attributes:
        rule: The rule.
        kind: The operator of a node, or "value", "initializer", "input" or "model".
        name: The name of the node or value.
        detail: What the graph leaves implicit or declares wrongly, as a clause.
        path: The nodes whose subgraphs contain the node, outermost first.
        remedy: How to fix it, as a clause; empty if the rule says that of all places.
        written: Where the node was written, as the model says; None if it does not.
    """

    rule: Rule
    kind: str
    name: str
    detail: str
    path: tuple[str, ...] = ()
    remedy: str = ""
    written: Written | None = None

    @property
    def place(self) -> str:
        """The node or value in words."""
        return printable(f"{self.kind} '{self.name}'")

    def obligation(self) -> Obligation:
        """The violation that it is if the rules on graphs are selected."""
        hint = self.remedy or self.rule.hint()
        return Obligation(
            self.rule,
            self.kind,
            self.name,
            (),
            Status.VIOLATED,
            self.detail,
            hint,
            self.path,
            written=self.written,
        )

    def __str__(self) -> str:
        """Format the finding on one line."""
        at = "" if self.written is None else f", {self.written}"
        return printable(f"{self.place}{at}: {self.rule.id}: {self.detail}")


def rule_document(rule: Rule) -> dict[str, object]:
    """The JSON form of a rule: its sentence and its source."""
    source = rule.source
    return {
        "sentence": rule.sentence,
        "document": source.document,
        "section": source.section,
        "tag": source.tag,
        "standing": source.standing.value,
        "basis": rule.basis.value,
        "words": source.words.value,
        "remark": source.remark,
        "later_tag": source.later_tag,
        "needed_before": rule.needed_before,
    }


def obligation_document(obligation: Obligation, *, intervals: bool) -> dict[str, object]:
    """The JSON form of an obligation and its operands, with what is known of their numbers."""
    return {
        "rule": obligation.rule.id,
        "operator": obligation.operator,
        "node": obligation.node,
        "path": list(obligation.path),
        **({"written": obligation.written.document()} if obligation.written else {}),
        "status": obligation.status.value,
        "enforced": obligation.enforced,
        "refused": obligation.refused,
        "evidence": obligation.evidence,
        "hint": obligation.hint,
        "operands": [
            _operand_document(o) | (_intervals(o) if intervals else {}) for o in obligation.operands
        ],
        "mendable": obligation.mendable or None,
        "rounding": obligation.rounding,
        **({"advice": obligation.advice} if obligation.advice else {}),
        **({"checked_before": True} if obligation.checked_before else {}),
        **({"rests_on_declaration": True} if obligation.rests_on_declaration else {}),
        "waiver": _waiver_document(obligation),
    }


def _waiver_document(obligation: Obligation) -> dict[str, object] | None:
    if (waiver := obligation.waiver) is None:
        return None
    return {
        "reason": waiver.reason,
        "who": waiver.who,
        "until": waiver.until.isoformat(),
        "expired": obligation.waiver_expired,
        "operator": waiver.operator,
        "nodes": waiver.nodes,
        "count": waiver.count,
    }


def _operand_document(operand: Operand) -> dict[str, object]:
    return {
        "letter": operand.name,
        "value": operand.value,
        "origin": operand.origin,
        "element_type": operand.element_type,
        "shape": None if operand.shape is None else list(operand.shape),
        "constant": operand.constant is not None,
    }


def _intervals(operand: Operand) -> dict[str, object]:
    """What the elements of an operand can be, and the symbols in its shape, if it is known."""
    known = operand.bounds or operand.range
    sizes = {
        str(size): _interval(size.size.bounds)
        for size in operand.shape or ()
        if isinstance(size, OpenSize) and size.size.bounds is not None
    }
    of_elements: dict[str, object] = {} if known is None else {"range": _interval(known)}
    return of_elements | ({"sizes": sizes} if sizes else {})


def _interval(known: Bounds | Range) -> dict[str, object]:
    """The JSON form of an interval; infinities are text."""
    least, most = (e if math.isfinite(e) else str(e) for e in (known.lower, known.upper))
    interval: dict[str, object] = {"least": least, "most": most}
    return interval | ({"nan": True} if isinstance(known, Range) and known.nan else {})
