"""The name of the `Reshape` behind a kernel; it is what a plain session's error shows."""

from collections.abc import Sequence

from sonnx_ort.profile.rule import Rule


def guard_name(operator: str, node: str, rules: Sequence[Rule], remark: str = "") -> str:
    """Name the guard of a node.

    Args:
        operator: The operator's name.
        node: The name of the original node.
        rules: The rules that bind the node; those that a run can break are named.
        remark: What the guard looks at, where the rules do not say it.
    """
    decided = sorted((rule for rule in rules if rule.in_run), key=lambda rule: rule.code)
    codes = ", ".join(f"{rule.code} {rule.id}" for rule in decided)
    return (
        f"{operator} '{node}' breaks the SONNX profile; "
        f"the last two digits of the dimension below tell the rule: {codes}"
        + (f"; {remark}" if remark else "")
    )
