"""The texts of `explain` for a rule or an operator."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.rule import Illustration, Rule, Subject
from sonnx_ort.profile.source import Basis, Standing, Words

_RESULTS = "Results"
"""The start of the paragraph on results."""

_UNENFORCED = "ONNX Runtime"
"""A phrase of the paragraphs on what happens without enforcement."""


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """The paragraphs that describe an operator.

    Attributes:
        summary: What the operator is.
        paragraphs: The other paragraphs, each on one line; the first describes the results.
    """

    summary: str
    paragraphs: tuple[str, ...]

    @property
    def unenforced(self) -> str:
        """What ONNX Runtime does without enforcement; empty if that is not described."""
        described = (p for p in self.paragraphs if _UNENFORCED in p and not p.startswith(_RESULTS))
        return " ".join(described)


@cache
def describe_operator(name: str) -> OperatorDescription:
    """The paragraphs that describe an operator of the profile."""
    paragraphs = inspect.cleandoc(OPERATORS[name].description).split("\n\n")
    summary, *rest = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return OperatorDescription(summary, tuple(rest))


_WHY: Mapping[Subject, str] = MappingProxyType(
    {
        Subject.TYPES: "ONNX Runtime 1.32.0 starts no session if these types differ.",
        Subject.STORAGE: "ONNX Runtime 1.32.0 silently stores a sparse initializer densely: "
        "an element that the file omits is 0.",
        Subject.GRAPH: "A model that violates it computes the same, but its meaning depends on "
        "more than the file and the profile.",
        Subject.HELD: "ONNX Runtime 1.32.0 rejects a violation with an error.",
    }
)
"""What happens without enforcement if a rule is violated before a run."""

_EXEMPT = frozenset({"Broadcast", "Cast", "Pow"})
"""Operators that `_WHY` does not cover: ONNX Runtime does not have them, or allows other types."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of the explanation of a rule.

    Attributes:
        id: Its id.
        sentence: What it demands.
        source: The document and section.
        stated: Whether the document states it, in which words, and with which difference.
        later: The tag of the same demand in later drafts; empty if there is none.
        kernels: For which versions of ONNX Runtime it exists; empty for a rule of the profile.
        why: What happens without enforcement; empty if that is not described.
        example: An example that keeps it, one that violates it, and a remedy.
    """

    id: str
    sentence: str
    source: str
    stated: str
    later: str
    kernels: str
    why: str
    example: Illustration

    def __str__(self) -> str:
        """The explanation as lines with labels, without empty ones."""
        parts = {
            "source": self.source,
            "stated": self.stated,
            "later": self.later,
            "kernels": self.kernels,
            "why": self.why,
            "keeps": self.example.kept,
            "breaks": self.example.broken,
            "to fix": self.example.mended,
        }
        lines = (f"  {name + ':':9}{text}" for name, text in parts.items() if text)
        return "\n".join([f"{self.id}: {self.sentence}", *lines])


def explanation_of(identifier: str) -> Explanation:
    """Explain one rule by its id, in upper or lower case.

    Raises:
        SonnxError: There is no such rule; the message says how to list them.
    """
    name = _IDS.get(identifier.lower())
    if name is None:
        meant = did_you_mean(identifier, (*RULES, *OPERATORS))
        raise SonnxError(
            f"there is no rule '{identifier}'{meant}; `sonnx-ort explain` lists all rules"
        )
    rule = RULES[name]
    source, example = rule.source, rule.requirement.example
    return Explanation(
        name,
        rule.sentence,
        str(source),
        _statement(rule),
        source.later_tag or "",
        _kernels(rule),
        _why(rule),
        example,
    )


def explain(name: str) -> str:
    """Explain a rule, or all rules of an operator, as lines with labels.

    Args:
        name: The id of a rule, or the name of an operator; capitals make no difference.

    Raises:
        SonnxError: There is neither; the message has a similar name.
    """
    operator = _OPERATOR_NAMES.get(name.lower())
    if operator is None or name.lower() in _IDS:
        return str(explanation_of(name))
    description = describe_operator(operator)
    return "\n\n".join(
        [
            description.summary,
            *description.paragraphs,
            *map(str, map(_together, explanations(operator))),
        ]
    )


def is_explained(name: str) -> bool:
    """Whether a name, in upper or lower case, is a rule or an operator with rules."""
    return name.lower() in _IDS or name.lower() in _OPERATOR_NAMES


def explanations(operator: str) -> list[tuple[Explanation, ...]]:
    """What is said of the rules of an operator, beside its description.

    Rules that demand the same in the same words are together.
    """
    described = describe_operator(operator).unenforced
    rules = [explanation_of(rule.id) for rule in OPERATORS[operator].all_rules()]
    return alike(replace(r, why="" if r.why == described else r.why) for r in rules)


def alike(rules: Iterable[Explanation]) -> list[tuple[Explanation, ...]]:
    """Explanations, with those together that differ in their sources only."""
    groups: dict[tuple[object, ...], list[Explanation]] = {}
    for rule in rules:
        groups.setdefault((rule.sentence, rule.why, rule.kernels, rule.example), []).append(rule)
    return [tuple(group) for group in groups.values()]


def _together(group: Sequence[Explanation]) -> Explanation:
    """One explanation for several rules, with the sources of each."""
    sources = f"\n{' ' * 11}".join(f"{rule.source}; stated: {rule.stated}" for rule in group)
    ids = ", ".join(rule.id for rule in group)
    return replace(group[0], id=ids, source=sources, stated="", later="")


def list_rules() -> str:
    """List all rules, one per line."""
    width = max(map(len, _IDS.values()))
    basis = max(map(len, Basis))
    lines = [f"{r.id:{width}}  {r.basis.value:{basis}}  {r.sentence}" for r in RULES.values()]
    return "\n".join(lines)


def _why(rule: Rule) -> str:
    """What ONNX Runtime does without enforcement of a rule, if that is described."""
    if rule.unenforced:
        return rule.unenforced
    operator = _OPERATOR_OF.get(rule.id)
    subject = rule.requirement.subject
    if operator is None or (subject in _WHY and not _is_exempt(operator, subject)):
        return _WHY.get(subject, "")
    return describe_operator(operator).unenforced


def _kernels(rule: Rule) -> str:
    """For which versions of ONNX Runtime a rule exists, if only for the kernels of some."""
    if rule.needed_before is None:
        return ""
    return (
        f"needed only for versions of ONNX Runtime before {rule.needed_before}, which compute "
        "wrong results; the python backend enforces it if such a version is installed, the native "
        "backend always, because any version may run its model"
    )


def _is_exempt(operator: str, subject: Subject) -> bool:
    return subject is Subject.TYPES and operator in _EXEMPT


def _statement(rule: Rule) -> str:
    """Whether the document states a rule, in which words, and with which difference."""
    source = rule.source
    match rule.basis:
        case Basis.STATED:
            statement = {
                Words.AS_WRITTEN: "in these words",
                Words.CHANGED: "in other words",
                Words.OURS: "in substance, in our words",
            }[source.words]
        case Basis.FOLLOWS:
            statement = f"no, it {rule.basis}"
        case Basis.OURS:
            by_analogy = source.standing is Standing.BY_ANALOGY
            statement = f"no, {rule.basis}{', by analogy' if by_analogy else ''}"
    return f"{statement}. {source.remark}" if source.remark else statement


_OPERATOR_NAMES = {name.lower(): name for name in OPERATORS}

_IDS = {identifier.lower(): identifier for identifier in RULES}

_OPERATOR_OF = {
    rule.id: name for name, operator in OPERATORS.items() for rule in operator.all_rules()
}
