"""The texts that rules follow: each with its repository, commit and path, in `texts.csv`.

The texts are drafts that change. A rule is held against one state of them, which anyone can fetch.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

_TABLE = Path(__file__).with_name("texts.csv")
_DRAFT = "SONNX {}, draft of the working group ("


@dataclass(frozen=True, slots=True)
class Text:
    """One text in the state that is followed.

    Attributes:
        title: Its title, which sources of rules name.
        repository: `owner/name` on GitHub.
        commit: The commit whose state of the text is followed, 40 hexadecimal digits.
        date: The day of the text's last change up to that commit, `YYYY-MM-DD`, or its month.
        sha256: The checksum of the text's bytes; empty where the commit is in no repository that
            can be cloned, so that only an index of files has the text.
        path: Where it stands in the repository.
    """

    title: str
    repository: str
    commit: str
    date: str
    sha256: str
    path: str

    @property
    def address(self) -> str:
        """The address of this state of the text."""
        return f"https://github.com/{self.repository}/blob/{self.commit}/{self.path}"


def _read() -> Mapping[str, Text]:
    with _TABLE.open(encoding="utf-8", newline="") as table:
        return MappingProxyType({row["title"]: Text(**row) for row in csv.DictReader(table)})


TEXTS = _read()
"""Every text that is followed, by its title."""


@cache
def draft_of(operator: str) -> Text:
    """The working group's draft of an operator.

    Raises:
        KeyError: There is none.
    """
    start = _DRAFT.format(operator)
    for title, text in TEXTS.items():
        if title.startswith(start):
            return text
    raise KeyError(operator)
