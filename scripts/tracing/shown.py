"""Which entries and rules are shown by a test that fails with a fault, by what was recorded."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from environment import ROOT

from tracing.entries import Document, all_entries, own_rules
from tracing.faults import faults_of, faults_of_rule, file_of
from tracing.marks import Mark, marks_of

RECORD = ROOT / "docs" / "records" / "entries.json"
"""The record of the faults that were tried."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a record of faults shows.

    Attributes:
        record: The record: `faults` has the tests that notice each, and `sources` the digests of
            the files with the faults and the tests, by their paths.
    """

    record: Mapping[str, Any]

    def current(self, fault: str) -> list[str]:
        """The tests that notice a fault, of files that have not changed since."""
        if self._has_changed(file_of(fault)):
            return []
        return [test for test in self.noticing(fault) if not self._has_changed(_file(test))]

    def noticing(self, fault: str) -> Sequence[str]:
        """The tests that were recorded to notice a fault."""
        found: Sequence[str] = self.record["faults"].get(fault, ())
        return found

    def by(self, fault: str, tests: Iterable[str]) -> list[str]:
        """Those of some tests that notice a fault, by a record that is not older than the files."""
        noticing = self.current(fault)
        return [test for test in tests if test in noticing]

    def missing(
        self, documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
    ) -> list[tuple[str, str]]:
        """The entries and rules with a fault that was noticed by none of their tests, with it.

        Those that are shown by review have none.
        """
        reviewed = {entry.id for entry in all_entries(documents) if entry.review}
        return [
            (name, fault)
            for fault, by_name in demanded(documents, marks).items()
            for name, tests in by_name.items()
            if name not in reviewed and not set(tests) & set(self.noticing(fault))
        ]

    @property
    def changed(self) -> list[str]:
        """The files that are others than those of the record."""
        return [path for path in self.record["sources"] if self._has_changed(path)]

    def _has_changed(self, path: str) -> bool:
        known: str | None = self.record["sources"].get(path)
        return known != _digest(path)


def recorded() -> Shown:
    """What the record in the repository shows."""
    return Shown(json.loads(RECORD.read_text("utf-8")))


def demanded(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """The faults that have to be noticed, with the tests of each entry or rule that has them."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, faults, those in _tried(documents, marks):
        for fault in faults:
            tests = dict.fromkeys(mark.test for mark in those)
            found.setdefault(fault, {})[name] = tuple(tests)
    return found


def _tried(
    documents: Sequence[Document], marks: Mapping[str, Sequence[Mark]]
) -> Iterator[tuple[str, Sequence[str], Sequence[Mark]]]:
    for entry in all_entries(documents):
        if not entry.not_applicable:
            yield entry.id, faults_of(entry), marks.get(entry.id, ())
    for rule in own_rules(documents):
        yield rule.id, faults_of_rule(rule.id), marks_of(rule, marks)


def digest_of(faults: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The digests of the files that faults and the tests that notice them are in."""
    files = {file_of(fault) for fault in faults}
    files |= {_file(test) for tests in faults.values() for test in tests}
    return {path: _digest(path) for path in sorted(files)}


def _file(test: str) -> str:
    return test.partition("::")[0]


@cache
def _digest(path: str) -> str:
    file = ROOT / path
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
