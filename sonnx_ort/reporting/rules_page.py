"""The page of all rules: `python -m sonnx_ort.reporting.rules_page > docs/rules.md`."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator

from sonnx_ort import profile
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.general import GENERAL_RULES, RESTRICTIONS
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
- The October drafts of Add, Sub and Mul admit operands that can be broadcast to a common shape; the
  working group's drafts, and every draft of Div, do not. Broadcasting is rejected, unless
  `broadcast="explicit"` writes it out: that satisfies both.

Each operator's section says first what it computes, and what ONNX Runtime does today where nothing
enforces its rules, as measured.
"""


def rules_page() -> str:
    """Give the page in Markdown."""
    sections = [_HEAD]
    for name, operator in OPERATORS.items():
        texts = (_documentation(name), *_explained(rule.id for rule in operator.all_rules()))
        sections.append(_section(name, texts))
    general = (rule.id for rule in GENERAL_RULES)
    sections.append(_section("The whole graph", _explained((*general, *RESTRICTIONS))))
    return "\n".join(sections)


def _section(title: str, texts: Iterable[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"{text}\n" for text in texts)])


def _explained(rules: Iterable[str]) -> Iterator[str]:
    for rule in rules:
        yield "\n".join(f"    {line}".rstrip() for line in explain(rule).splitlines())


def _documentation(name: str) -> str:
    """What the file of an operator says of it: what it computes, and what ONNX Runtime does."""
    for module in pkgutil.iter_modules(profile.__path__):
        file = importlib.import_module(f"{profile.__name__}.{module.name}")
        if OPERATORS[name] in vars(file).values() and module.name != "catalog":
            return inspect.getdoc(file) or ""
    raise LookupError(f"no file in profile/ defines {name}")


if __name__ == "__main__":
    print(rules_page(), end="")
