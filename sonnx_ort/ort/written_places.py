"""Tells of a violation in a run where its node was written, as the model says.

A run knows a node by its name. The model is read for it only after a violation.
"""

import threading
from collections.abc import Mapping
from functools import cached_property

from sonnx_ort.errors import ContractViolation
from sonnx_ort.pipeline import written_places


class WrittenPlaces:
    """Where the nodes of an enforced model were written, by their names in violations."""

    def __init__(self, model: bytes) -> None:
        """Keep the serialized model."""
        self._model = model
        self._lock = threading.Lock()

    def tell(self, violation: ContractViolation) -> None:
        """Add to a violation where its node was written, if the model says it."""
        with self._lock:
            place = self._places.get(violation.node)
        if place is not None:
            violation.tell_place(place)

    @cached_property
    def _places(self) -> Mapping[str, str]:
        """The place of each named node; none if the model does not tell them."""
        try:
            return {name: str(place) for name, place in written_places(self._model).items()}
        except Exception:  # noqa: BLE001 - the violation itself is to be raised
            return {}
