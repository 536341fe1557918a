"""The texts of `explain` for a rule or an operator, and those of `operators`."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import onnx

from sonnx_ort.conforming.decomposing import way_inside
from sonnx_ort.conforming.rounds import CHANGES
from sonnx_ort.errors import SonnxError, did_you_mean
from sonnx_ort.errors.remedies import Advice, joined
from sonnx_ort.profile.catalog import OPERATORS, RULES, OperatorStanding, standing_of
from sonnx_ort.profile.graph import OPERATORS_OF_THE_SET
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.profile.source import Basis, Standing, Words
from sonnx_ort.profile.wording import Illustration
from sonnx_ort.reporting.terminal import wrapped

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


_WHY: Mapping[Subject, str] = {
    Subject.TYPES: "ONNX Runtime 1.32.0 starts no session if these types differ.",
    Subject.STORAGE: "ONNX Runtime 1.32.0 silently stores a sparse initializer densely: "
    "an element that the file omits is 0.",
    Subject.GRAPH: "A model that violates it computes the same, but its meaning depends on "
    "more than the file and the profile.",
    Subject.HELD: "ONNX Runtime 1.32.0 rejects a violation with an error.",
}
"""What happens without enforcement if a rule is violated before a run."""

_EXEMPT = frozenset({"Broadcast", "Cast", "Pow"})
"""Operators that `_WHY` does not cover: ONNX Runtime does not have them, or allows other types."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The parts of the explanation of a rule.

    Attributes:
        sentence: What it demands.
        source: The document and section.
        text: The address of the state of the document that is followed; empty if there is none.
        stated: Whether the document states it, in which words, and with which difference.
        later: The tag of the same demand in later drafts; empty if there is none.
        kernels: For which versions of ONNX Runtime it exists; empty for a rule of the profile.
        why: What happens without enforcement; empty if that is not described.
        example: An example that keeps it, one that violates it, and a remedy.
    """

    id: str
    sentence: str
    source: str
    text: str
    stated: str
    later: str
    kernels: str
    why: str
    example: Illustration

    @property
    def lines(self) -> Advice:
        """The explanation as lines with labels, without empty ones."""
        parts = {
            "source": self.source,
            "text": self.text,
            "stated": self.stated,
            "later": self.later,
            "kernels": self.kernels,
            "why": self.why,
            "keeps": self.example.kept,
            "breaks": self.example.broken,
            "to fix": self.example.remedy,
        }
        lines = (Advice(f"  {name + ':':9}", text) for name, text in parts.items() if text)
        return joined("\n", [f"{self.id}: {self.sentence}", *lines])


def explanation_of(identifier: str) -> Explanation:
    """Explain one rule by its id, in upper or lower case.

    Raises:
        SonnxError: There is no such rule; the message says how to list them.
    """
    name = _IDS.get(identifier.lower())
    if name is None:
        similar = did_you_mean(identifier, (*RULES, *OPERATORS))
        raise SonnxError(
            f"there is no rule '{identifier}'{similar}; `sonnx-ort explain` lists all rules"
        )
    rule = RULES[name]
    source, example = rule.source, rule.example
    return Explanation(
        name,
        rule.sentence,
        str(source),
        source.text.address if source.text else "",
        _statement(rule),
        source.later_tag or "",
        _kernels(rule),
        _why(rule),
        example,
    )


def explain(name: str) -> Advice:
    """Explain a rule, all rules whose ids begin so, or an operator, as lines with labels.

    Capitals make no difference: `Div.int` means `Div.int.R1` and the others of integers.

    Raises:
        SonnxError: There is neither; the message has a similar name.
    """
    family = _family(name)
    if family:
        return joined("\n\n", (explanation_of(each).lines for each in family))
    operator = _OPERATOR_NAMES.get(name.lower())
    if operator is None or name.lower() in _IDS:
        return explanation_of(name).lines
    description = describe_operator(operator)
    rules = (_as_one(each).lines for each in explanations(operator))
    return joined("\n\n", [description.summary, *description.paragraphs, *rules])


def _family(name: str) -> list[str]:
    """The ids that begin with a name and a point, unless it is itself a rule or an operator."""
    if not name or name.lower() in _IDS or name.lower() in _OPERATOR_NAMES:
        return []
    beginning = f"{name.lower()}."
    return [identifier for each, identifier in _IDS.items() if each.startswith(beginning)]


def explanations(operator: str) -> list[tuple[Explanation, ...]]:
    """What is said of the rules of an operator, beside its description.

    Rules that demand the same in the same words are together.
    """
    described = describe_operator(operator).unenforced
    rules = [explanation_of(rule.id) for rule in OPERATORS[operator].all_rules()]
    return grouped(replace(r, why="" if r.why == described else r.why) for r in rules)


def grouped(rules: Iterable[Explanation]) -> list[tuple[Explanation, ...]]:
    """Explanations, with those together that differ in their sources only."""
    groups: dict[tuple[object, ...], list[Explanation]] = {}
    for rule in rules:
        groups.setdefault((rule.sentence, rule.why, rule.kernels, rule.example), []).append(rule)
    return [tuple(group) for group in groups.values()]


def _as_one(group: Sequence[Explanation]) -> Explanation:
    """One explanation for several rules, with the sources of each."""
    stated = (Advice(f"{rule.source}; stated: ", rule.stated) for rule in group)
    sources = joined(f"\n{' ' * 11}", stated)
    ids = ", ".join(rule.id for rule in group)
    text = group[0].text if len({rule.text for rule in group}) == 1 else ""
    return replace(group[0], id=ids, source=sources, text=text, stated="", later="")


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
    exempt = subject is Subject.TYPES and operator in _EXEMPT
    if operator is None or (subject in _WHY and not exempt):
        return _WHY.get(subject, "")
    return describe_operator(operator).unenforced


def _kernels(rule: Rule) -> str:
    """For which versions of ONNX Runtime a rule exists, if only for the kernels of some."""
    if rule.needed_before is None:
        return ""
    return (
        f"needed only for versions of ONNX Runtime before {rule.needed_before}, which compute "
        "wrong results. The python backend enforces it if such a version is installed. The native "
        "backend always does, because any version may run its model"
    )


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
        case Basis.CHOSEN:
            statement = f"{rule.basis}, which contradict each other"
        case Basis.FOLLOWS:
            statement = f"no, it {rule.basis}"
        case Basis.OURS:
            by_analogy = source.standing is Standing.BY_ANALOGY
            statement = f"no, {rule.basis}{', by analogy' if by_analogy else ''}"
    return Advice(statement, ". ", source.remark) if source.remark else statement


_OPERATOR_NAMES = {name.lower(): name for name in OPERATORS}

_IDS = {identifier.lower(): identifier for identifier in RULES}

_OPERATOR_OF = {
    rule.id: name for name, operator in OPERATORS.items() for rule in operator.all_rules()
}


_SAID = {
    OperatorStanding.DRAFT: "has rules that a document or a draft of SONNX states.",
    OperatorStanding.OURS: "is in SONNX's operator set without a draft: rules of sonnx_ort bind "
    "it.",
    OperatorStanding.GENERAL: "is in SONNX's operator set without a draft: the general "
    "restrictions alone bind it, and its meaning is that of ONNX.",
    OperatorStanding.OUTSIDE: "is outside the profile: SONNX neither lists it nor has a draft of "
    f"it, so each node of it violates {OPERATORS_OF_THE_SET.id}.",
}

_HEADS = {
    OperatorStanding.DRAFT: "bound by a draft of SONNX",
    OperatorStanding.OURS: "in SONNX's operator set, bound by rules of sonnx_ort",
    OperatorStanding.GENERAL: "in SONNX's operator set, bound by the general restrictions alone",
    OperatorStanding.OUTSIDE: "outside the profile",
}


def list_operators() -> str:
    """List all operators of ONNX by what SONNX has for them."""
    by_standing: dict[OperatorStanding, list[str]] = {standing: [] for standing in OperatorStanding}
    for domain, name in _schemas():
        by_standing[standing_of(domain, name)].append(_full_name(domain, name))
    by_standing[OperatorStanding.DRAFT] += sorted(set(OPERATORS) - {n for _, n in _schemas()})
    parts = [
        "\n".join([f"{_HEADS[standing]} ({len(names)}):", *wrapped(", ".join(names), "  ")])
        for standing, names in by_standing.items()
    ]
    return "\n\n".join([*parts, "`sonnx-ort explain OPERATOR` says more of each."])


def explain_any(name: str) -> str:
    """Explain a rule, an operator of the profile, or any other operator of ONNX.

    Capitals make no difference.

    Raises:
        SonnxError: There is none; the message has a similar name.
    """
    found = _found(name)
    if found is None:
        if name.lower() in _IDS or name.lower() in _OPERATOR_NAMES or _family(name):
            return explain(name)
        similar = did_you_mean(name, (*RULES, *OPERATORS, *(n for _, n in _schemas())))
        raise SonnxError(
            f"there is no rule and no operator '{name}'{similar}; `sonnx-ort explain` lists all "
            "rules, `sonnx-ort operators` all operators"
        )
    domain, operator = found
    standing = standing_of(domain, operator)
    facts = [f"{_full_name(domain, operator)} {_SAID[standing]}"]
    if _schemas()[found].deprecated:
        since = f"version {_schemas()[found].since_version} of {domain or 'the standard operators'}"
        facts.append(f"ONNX has deprecated it since {since}.")
    if domain == STANDARD_DOMAIN:
        facts += _conforming(operator)
    if standing is OperatorStanding.OUTSIDE:
        facts.append(way_inside(domain, operator))
    text = "\n".join(line for fact in facts for line in wrapped(fact, ""))
    if operator in OPERATORS and domain == STANDARD_DOMAIN:
        return Advice(text, "\n\n", explain(operator))
    about = wrapped(_first_sentence(_schemas()[found].doc), "")
    return "\n".join([text, *(["", *about] if about else [])])


def _found(name: str) -> tuple[str, str] | None:
    """The domain and the name of an operator of ONNX; None if there is none."""
    given = name.lower().removeprefix("ai.onnx::")
    return next((key for key in _schemas() if _full_name(*key).lower() == given), None) or next(
        (key for key in _schemas() if key[1].lower() == given), None
    )


@cache
def _schemas() -> dict[tuple[str, str], onnx.defs.OpSchema]:
    """The newest schema of each operator of ONNX, deprecated ones too, by domain and name."""
    return dict(sorted(((s.domain, s.name), s) for s in onnx.defs.get_all_schemas()))


def _full_name(domain: str, name: str) -> str:
    return f"{domain}::{name}" if domain else name


def _conforming(name: str) -> Iterator[str]:
    """What `conform` does at nodes of an operator: a sentence, or a list of its changes."""
    if name == "Dropout":
        yield "sonnx-ort conform removes it where it is certain not to train."
    prefix = f"{name}."
    titles = [c.title for c in CHANGES if any(rule.startswith(prefix) for rule in c.rules)]
    if titles:
        yield "sonnx-ort conform can"
        yield from (f"- {title}" for title in dict.fromkeys(titles))


def _first_sentence(text: str | None) -> str:
    """The first sentence that says more than that an operator is deprecated."""
    sentences = " ".join((text or "").replace("<br>", " ").split()).split(". ")
    first = next((each for each in sentences if "deprecated" not in each.lower()), "")
    return f"{first.rstrip('.')}." if first else ""
