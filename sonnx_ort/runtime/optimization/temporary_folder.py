"""Where ONNX Runtime writes an optimized graph that is only to be looked at."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonnx_ort.errors import SonnxError

_WRITE_FAILURES = (
    "Protobuf serialization failed",
    "Failed to write external initializers",
    "Failed writing",
    "Failed to flush",
)
"""What ONNX Runtime says where a disk is full."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder that nobody else can read, and that is gone after the block.

    Raises:
        SonnxError: There is no room for it, or for what ONNX Runtime writes in the block.
    """
    try:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from error
    with folder as name:
        try:
            yield Path(name)
        except Exception as error:
            if any(failure in str(error) for failure in _WRITE_FAILURES):
                raise _no_room(error) from error
            raise


def _no_room(error: Exception) -> SonnxError:
    return SonnxError(
        f"the optimized graph cannot be written to a temporary folder, to be checked: {error}. "
        "Make room there, or name another folder in the environment variable TMPDIR"
    )
