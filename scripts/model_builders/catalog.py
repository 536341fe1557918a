"""All bundled models, in the order of the manifest."""

from collections.abc import Iterator

from model_builders import digits, numbers, tiny_yolo
from model_builders.bundle import Bundle, read

SUBJECTS = (
    *("documents", numbers.random_examples, numbers.floats, numbers.integers),
    *("constants", "broadcasting", "control_flow", "older_versions"),
    *(numbers.sparse_tensors, "products", "operators", "layout", "windows"),
    *(digits.bundles, tiny_yolo.bundles),
)
"""What gives models: files in `models/`, and functions. A new subject is one more entry."""


def bundles() -> Iterator[Bundle]:
    """Give every model."""
    for subject in SUBJECTS:
        yield from read(subject) if isinstance(subject, str) else subject()
