"""What is established of the values of a model: each fact is made once, and never changed."""

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

from .node import Value
from .sizes import Rejected, require

KINDS = ("type", "shape", "elements", "bounds", "interval")
"""What is established of a value, in an order in which it follows."""

NUMBERS = ("bounds", "interval")
"""Which of it says what numbers the elements can be."""


class Established:
    """What is established of the values of a model, and on what it rests.

    Attributes:
        rests_on_numbers: Whether anything that was read rests on floats that a kernel computes.
    """

    def __init__(self) -> None:
        """Nothing is established."""
        self._known: dict[str, dict[Value, Any]] = {kind: {} for kind in KINDS}
        self._unguarded: dict[str, dict[Value, Any]] = {kind: {} for kind in KINDS}
        self._of_numbers: dict[str, set[Value]] = {kind: set() for kind in KINDS}
        self.rests_on_numbers = False

    def established(self, kind: str) -> Mapping[Value, Any]:
        """All that is established of this kind, by value."""
        return self._known[kind]

    def knows(self, kind: str, value: Value) -> bool:
        """Whether this is established of a value."""
        return value in self._known[kind]

    def establish(self, kind: str, value: Value, found: Any, *, of_numbers: bool = False) -> None:
        """Keep what is derived of a value. It is never changed: more is derived from it.

        Args:
            kind: What it says.
            value: The value.
            found: What is derived.
            of_numbers: Whether it rests on floats that a kernel computes.

        Raises:
            Rejected: It is established already.
        """
        require(value not in self._known[kind], "it is established already")
        self._known[kind][value] = found
        if of_numbers:
            self._of_numbers[kind].add(value)

    def known(self, kind: str, value: Value) -> Any:
        """What is established of a value.

        Raises:
            Rejected: Nothing is.
        """
        if value not in self._known[kind]:
            raise Rejected(f"the {kind} of '{self.name_of(value)}' is not known")
        return self.known_or_none(kind, value)

    def known_or_none(self, kind: str, value: Value) -> Any:
        """What is established of a value; None if nothing is."""
        if value in self._of_numbers[kind]:
            self.rests_on_numbers = True
        return self._known[kind].get(value)

    def unguarded(self, kind: str, value: Value) -> Any:
        """What is established of a value without the guard of its own contract."""
        known = self.known(kind, value)
        return self._unguarded[kind].get(value, known)

    def before_guard(self, kind: str, value: Value) -> Any:
        """What was known of a value in front of its own guard; None if it has none."""
        return self._unguarded[kind].get(value)

    def _keep_unguarded(self, kind: str, value: Value, found: Any) -> None:
        """Keep what is known without the guard of a contract; it is never changed either."""
        require(value not in self._unguarded[kind], "it is established already")
        self._unguarded[kind][value] = found

    def of_numbers(self, kinds: Sequence[str]) -> Set[Value]:
        """The values of which any of this is established by floats that a kernel computes."""
        return set[Value]().union(*(self._of_numbers[kind] for kind in kinds))

    @property
    def computes_numbers(self) -> bool:
        """Whether anything is established that rests on floats that a kernel computes."""
        return any(self._of_numbers.values())

    @contextmanager
    def reading_apart(self) -> Iterator[None]:
        """Say of what is read in the block alone whether it rests on such floats.

        After the block, `rests_on_numbers` is what it was before.
        """
        before, self.rests_on_numbers = self.rests_on_numbers, False
        try:
            yield
        finally:
            self.rests_on_numbers = before

    def name_of(self, value: Value) -> str:
        """The name of a value."""
        return str(value)
