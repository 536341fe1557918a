"""All bundled models, in the order of the manifest."""

from collections.abc import Iterator

from model_builders import (
    broadcast_operator,
    broadcasting,
    control_flow,
    digits,
    documents,
    elements,
    elementwise,
    floats,
    integers,
    legacy,
    optimizer,
    single_operands,
    sparse,
)
from model_builders.bundle import Bundle

SUBJECTS = (
    documents,
    floats,
    integers,
    broadcasting,
    broadcast_operator,
    control_flow,
    legacy,
    sparse,
    optimizer,
    elementwise,
    elements,
    single_operands,
    digits,
)
"""The modules that give models. A new subject is one more entry."""


def bundles() -> Iterator[Bundle]:
    """Give every model."""
    for subject in SUBJECTS:
        yield from subject.bundles()
