"""A rule explained: what it demands, where that is written, and what to do."""

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS
from sonnx_ort.profile.rule import Source, Standing, Words


def explain(identifier: str) -> str:
    """Explain one rule.

    Args:
        identifier: Its id, in any case.

    Returns:
        Its sentence, its source, whose rule and whose words it is, the tag of later drafts, an
        example that keeps it, one that breaks it, and how to mend it.

    Raises:
        SonnxError: There is no such rule; the message says how to list them.
    """
    rule = _BY_NAME.get(identifier.lower())
    if rule is None:
        raise SonnxError(f"there is no rule '{identifier}'; `sonnx-ort explain` lists all rules")
    sentence, source, example = rule
    parts = {
        "source": str(source),
        "stated": _standing(source),
        "later": source.later_tag or "",
        "keeps": example.kept,
        "breaks": example.broken,
        "to mend": example.mended,
    }
    told = (f"  {name + ':':9}{text}" for name, text in parts.items() if text)
    return "\n".join([f"{_IDS[identifier.lower()]}: {sentence}", *told])


def list_rules() -> str:
    """List all rules, one on a line."""
    width = max(map(len, _IDS.values()))
    return "\n".join(f"{_IDS[name]:{width}}  {rule[0]}" for name, rule in _BY_NAME.items())


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


_BY_NAME = {
    **{r.id.lower(): (r.sentence, r.source, r.requirement.example) for r in RULES.values()},
    **{r.id.lower(): (r.sentence, r.source, r.example) for r in RESTRICTIONS.values()},
}

_IDS = {identifier.lower(): identifier for identifier in (*RULES, *RESTRICTIONS)}
