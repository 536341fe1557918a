"""How many lines have to be trusted: those that are loaded where something is proved.

    python3 scripts/trusted.py

Counts, for each of `LOADED`, the files of Python of the package that are loaded, their lines, and
those of code: without empty lines, comments and docstrings. README.md, docs/certificates.md and the
safety manual have these figures, and a test holds them to this script.
"""

import ast
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from environment import ROOT, run_in_environment

_LIST = """
print(json.dumps([str(m.__file__) for n, m in list(sys.modules.items())
                  if n.startswith("sonnx_ort.") and getattr(m, "__file__", None)]))
"""

_ALONE = """
import json, sys, types
# The checker runs without what Python runs first of the package.
package = types.ModuleType("sonnx_ort")
package.__path__ = [sys.argv[1]]
sys.modules["sonnx_ort"] = package
import sonnx_ort.checker
"""

_LIMITED = f"{_ALONE}import sonnx_ort.checker.contracts, sonnx_ort.checker.premises\n"

_CHECK = """
import json, sys
import sonnx_ort.loading.canonical
import sonnx_ort.analysis.examination
"""

LOADED: Mapping[str, str] = {
    "a certificate of one model": _ALONE,
    "a certificate under a contract": _LIMITED,
    "a certificate of an enforced model": f"{_LIMITED}import sonnx_ort.checker.enforcement\n",
    "a check that is proved": _CHECK,
}
"""What loads the files, by what is proved there."""

_NO_CODE = frozenset(
    [
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        *(tokenize.ENCODING, tokenize.ENDMARKER),
    ]
)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is loaded.

    Attributes:
        files: How many files of Python.
        lines: How many lines they have.
        code: How many of these are code.
        rooms: The lines by the folder of the package.
    """

    files: int
    lines: int
    code: int
    rooms: Mapping[str, int]


def code_lines(text: str) -> int:
    """How many lines of a file are code: no empty lines, no comments, no docstrings."""
    told = {
        line
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if isinstance(each.value.value, str)
        for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)
    }
    found = {
        line
        for token in tokenize.generate_tokens(StringIO(text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(found - told)


def measured(what: str, python: str | Path = sys.executable) -> Size:
    """Measure what is loaded where something is proved.

    Args:
        what: One of `LOADED`.
        python: An interpreter that has the package.
    """
    program = [python, "-c", LOADED[what] + _LIST, ROOT / "sonnx_ort"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    places = sorted({Path(each) for each in json.loads(done.stdout.splitlines()[-1])})
    texts = {each: each.read_text("utf-8") for each in places if each.suffix == ".py"}
    rooms: Counter[str] = Counter()
    for place, text in texts.items():
        rooms[_room(place)] += len(text.splitlines())
    code = sum(map(code_lines, texts.values()))
    return Size(len(texts), rooms.total(), code, dict(sorted(rooms.items())))


def _room(place: Path) -> str:
    """The folder of the package in which a file lies."""
    parts = place.relative_to(ROOT).parts
    return parts[1] if parts[0] == "sonnx_ort" and len(parts) > 2 else parts[0]


def main() -> None:
    """Print a table."""
    print("| what is proved | files | lines | of code | lines by folder |")
    print("| --- | --- | --- | --- | --- |")
    for what in LOADED:
        size = measured(what)
        rooms = ", ".join(f"{room} {lines:,}" for room, lines in size.rooms.items())
        print(f"| {what} | {size.files} | {size.lines:,} | {size.code:,} | {rooms} |")


if __name__ == "__main__":
    run_in_environment()
    main()
