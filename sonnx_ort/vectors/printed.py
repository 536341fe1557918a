"""An example of a draft of the working group, with the numbers that the draft prints."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import Applied, Array


@dataclass(frozen=True)
class Example:
    """An example of a draft.

    Attributes:
        operator: The operator.
        stands: Its places in the draft, between which stands "; ". A place is the section of the
            types, a colon and the heading; of a draft without such sections, the heading.
        kind: The type of its operands that have none of their own.
        operands: The elements of the operands; those that have a type of their own are arrays.
        printed: The elements of the results as the draft prints them, of each result.
        attributes: The attributes of the node.
        rounded: How far a printed number may be from the result, relative to it; 0 if it is one.
        note: What of the draft is read in another way than it stands there.
    """

    operator: str
    stands: str
    kind: ElementType
    operands: Sequence[Any]
    printed: Sequence[Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    rounded: float = 0
    note: str = ""

    @property
    def places(self) -> tuple[str, ...]:
        """Where the draft has it."""
        return tuple(self.stands.split("; "))

    @property
    def applied(self) -> Applied:
        """The node and its operands."""
        return Applied(
            self.operator,
            [*self._arrays()],
            self.attributes,
            results=len(self.printed),
            edition=Edition.TYPED,
        )

    def _arrays(self) -> Iterator[Array]:
        for place, each in enumerate(self.operands):
            is_condition = self.operator == "Where" and place == 0
            given = isinstance(each, np.ndarray)
            yield each if given else np.array(each, bool if is_condition else self.kind.dtype)
