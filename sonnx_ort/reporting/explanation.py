"""What `explain` says of a rule or an operator."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.general import RESTRICTIONS
from sonnx_ort.profile.rule import Illustration, Rule, Source, Standing, Subject, Words

_RESULTS = "Results"
"""Begins the paragraph on what an operator computes."""

_UNENFORCED = "ONNX Runtime"
"""Occurs in the paragraphs on what happens without enforcement, and in no other one but results."""


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """The paragraphs that describe an operator.

    Attributes:
        summary: What the operator is.
        paragraphs: The other ones, each on one line: first what it computes.
    """

    summary: str
    paragraphs: tuple[str, ...]

    @property
    def unenforced(self) -> str:
        """What ONNX Runtime does where nothing enforces the rules; empty if nothing is told."""
        told = (p for p in self.paragraphs if _UNENFORCED in p and not p.startswith(_RESULTS))
        return " ".join(told)


@cache
def describe_operator(name: str) -> OperatorDescription:
    """Give the paragraphs that describe an operator.

    Args:
        name: The operator's name.
    """
    paragraphs = inspect.cleandoc(OPERATORS[name].description).split("\n\n")
    summary, *rest = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return OperatorDescription(summary, tuple(rest))


_WHY: Mapping[Subject, str] = MappingProxyType(
    {
        Subject.TYPES: "ONNX Runtime 1.32.0 starts no session where these types differ.",
        Subject.STORAGE: "ONNX Runtime 1.32.0 stores a sparse initializer densely, without a "
        "word: an element that the file does not have is 0.",
    }
)
"""What ONNX Runtime does with its own operators where a rule is broken before all runs."""

_TELL_THEMSELVES = frozenset({"Broadcast", "Cast", "Pow"})
"""Operators of which that is not so: ONNX Runtime does not have them, or lets types differ."""

_WHY_RESTRICTED = (
    "A model that does not meet it computes the same, but says less about itself than it should."
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is told of a rule or restriction.

    Attributes:
        id: Its id.
        sentence: What it demands.
        source: Where that is written.
        stated: Whose the rule and its words are, and what the document says otherwise.
        later: The tag of the same demand in later drafts; empty if there is none.
        why: What happens where nothing enforces it; empty if nothing is told.
        example: What keeps it, what breaks it, and how to mend that.
    """

    id: str
    sentence: str
    source: str
    stated: str
    later: str
    why: str
    example: Illustration

    def __str__(self) -> str:
        """Give it in lines with labels, without those of which there is nothing to say."""
        parts = {
            "source": self.source,
            "stated": self.stated,
            "later": self.later,
            "why": self.why,
            "keeps": self.example.kept,
            "breaks": self.example.broken,
            "to mend": self.example.mended,
        }
        told = (f"  {name + ':':9}{text}" for name, text in parts.items() if text)
        return "\n".join([f"{self.id}: {self.sentence}", *told])


def explanation_of(identifier: str) -> Explanation:
    """Explain one rule or restriction.

    Args:
        identifier: Its id, in any case.

    Raises:
        SonnxError: There is no such rule; the message says how to list them.
    """
    name = _IDS.get(identifier.lower())
    if name is None:
        raise SonnxError(f"there is no rule '{identifier}'; `sonnx-ort explain` lists all rules")
    if name in RESTRICTIONS:
        restriction = RESTRICTIONS[name]
        return _explanation(
            name, restriction.sentence, restriction.source, _WHY_RESTRICTED, restriction.example
        )
    rule = RULES[name]
    return _explanation(name, rule.sentence, rule.source, _why(rule), rule.requirement.example)


def explain(identifier: str) -> str:
    """Explain one rule in lines with labels.

    Args:
        identifier: Its id, in any case.

    Returns:
        Its sentence, its source, whose rule and whose words it is, the tag of later drafts, what
        ONNX Runtime does without it, an example that keeps it, one that breaks it, and how to
        mend it.

    Raises:
        SonnxError: There is no such rule; the message says how to list them.
    """
    return str(explanation_of(identifier))


def list_rules() -> str:
    """List all rules, one on a line."""
    width = max(map(len, _IDS.values()))
    lines = [f"{rule.id:{width}}  {rule.sentence}" for rule in RULES.values()]
    lines += [f"{found.id:{width}}  {found.sentence}" for found in RESTRICTIONS.values()]
    return "\n".join(lines)


def _explanation(
    identifier: str, sentence: str, source: Source, why: str, example: Illustration
) -> Explanation:
    later = source.later_tag or ""
    return Explanation(identifier, sentence, str(source), _standing(source), later, why, example)


def _why(rule: Rule) -> str:
    """What ONNX Runtime does without a rule, as far as it is told."""
    operator = _OPERATOR_OF.get(rule.id)
    subject = rule.requirement.subject
    if operator is None or (subject in _WHY and not _tells_itself(operator, subject)):
        return _WHY.get(subject, "")
    return describe_operator(operator).unenforced


def _tells_itself(operator: str, subject: Subject) -> bool:
    return subject is Subject.TYPES and operator in _TELL_THEMSELVES


def _standing(source: Source) -> str:
    """Whose the rule and its words are, and what the document says otherwise."""
    match source.standing, source.words:
        case Standing.STATED, words:
            told = {
                Words.AS_WRITTEN: "in these words",
                Words.CHANGED: "in other words",
                Words.OURS: "in substance, the words are ours",
            }[words]
        case standing, _:
            told = {
                Standing.BY_ANALOGY: "no, ours by analogy",
                Standing.OWN: "no, our own",
            }[standing]
    return f"{told}. {source.remark}" if source.remark else told


_IDS = {identifier.lower(): identifier for identifier in (*RULES, *RESTRICTIONS)}

_OPERATOR_OF = {
    rule.id: name for name, operator in OPERATORS.items() for rule in operator.all_rules()
}
