"""A rule explained: what it demands, where that is written, and what to do."""

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS


def explain(identifier: str) -> str:
    """Explain one rule.

    Args:
        identifier: Its id, in any case.

    Returns:
        Its sentence, its source, an example that keeps it, one that breaks it, and how to mend it.

    Raises:
        SonnxError: There is no such rule; the message says how to list them.
    """
    rule = _BY_NAME.get(identifier.lower())
    if rule is None:
        raise SonnxError(f"there is no rule '{identifier}'; `sonnx-ort explain` lists all rules")
    sentence, source, example = rule
    return "\n".join(
        [
            f"{_IDS[identifier.lower()]}: {sentence}",
            f"  source:  {source}",
            f"  keeps:   {example.kept}",
            f"  breaks:  {example.broken}",
            f"  to mend: {example.mended}",
        ]
    )


def list_rules() -> str:
    """List all rules, one on a line."""
    width = max(map(len, _IDS.values()))
    return "\n".join(f"{_IDS[name]:{width}}  {rule[0]}" for name, rule in _BY_NAME.items())


_BY_NAME = {
    **{r.id.lower(): (r.sentence, r.source, r.requirement.example) for r in RULES.values()},
    **{r.id.lower(): (r.sentence, r.source, r.example) for r in RESTRICTIONS.values()},
}

_IDS = {identifier.lower(): identifier for identifier in (*RULES, *RESTRICTIONS)}
