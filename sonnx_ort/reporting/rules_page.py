"""The page of all rules: `python -m sonnx_ort.reporting.rules_page > docs/rules.md`."""

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS
from sonnx_ort.reporting.explanation import explain

_HEAD = """\
# The rules

What each rule demands, where that is written, whose rule and whose words it is, the permanent tag
of the same demand in the later drafts of the SONNX working group, and an example. `sonnx-ort
explain RULE` says the same of one rule; JSON reports carry it under `rules`.

Made by `python -m sonnx_ort.reporting.rules_page`.

## Where the documents leave something open

- Typed `Div` on floats states that B contains no null values, and a formula that gives inf and
  NaN for them. The formula is followed, with the signs of IEEE 754, as the later drafts say too:
  a zero divisor of floats is a result, no violation.
- The typed section on integers is still to be completed. What is enforced there is `Div.int.*`.
- What the smallest value divided by -1 is, no document and no later draft says. ONNX Runtime ends
  the process at int32 and int64; here it is a violation, `Div.int.C2`.
- A size of 0 against a size of 1 cannot be broadcast: by the given document and the working
  group's draft it is neither the largest nor 1. The October drafts of Add, Sub and Mul admit it.
"""


def rules_page() -> str:
    """Give the page in Markdown."""
    parts = (f"    {line}" for name in (*RULES, *RESTRICTIONS) for line in ("", *_lines(name)))
    return "\n".join([_HEAD, "## All rules", *(part.rstrip() for part in parts), ""])


def _lines(name: str) -> list[str]:
    return explain(name).splitlines()


if __name__ == "__main__":
    print(rules_page(), end="")
