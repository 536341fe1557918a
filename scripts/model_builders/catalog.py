"""All bundled models, in the order of the manifest."""

from collections.abc import Iterator

from model_builders import broadcasting, control_flow, digits, documents, numbers, operators
from model_builders.bundle import Bundle

SUBJECTS = (
    *(documents.examples, numbers.floats, numbers.integers),
    *(broadcasting.of_div_and_sub, broadcasting.own_broadcasts, control_flow.bundles),
    *(documents.older_versions, numbers.sparse_tensors, numbers.products),
    *(operators.of_one_size, operators.of_elements, operators.of_single_operands, digits.bundles),
)
"""What gives models. A new subject is one more entry."""


def bundles() -> Iterator[Bundle]:
    """Give every model."""
    for subject in SUBJECTS:
        yield from subject()
