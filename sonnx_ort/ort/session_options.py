"""Session options: reading and setting them."""

import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnxruntime

from sonnx_ort.errors import SonnxError

FATAL = 4
"""The severity at which ONNX Runtime logs nothing of a run that fails: its error says it."""

CHANGING_RESULTS = {
    "session.set_denormal_as_zero": "makes results differ from IEEE 754",
    "optimization.enable_cast_chain_elimination": "removes conversions that round results",
    "optimization.enable_gelu_approximation": "replaces Gelu by an approximation",
    "session.enable_quant_qdq_cleanup": "removes QuantizeLinear and DequantizeLinear nodes",
    "mlas.enable_gemm_fastmath_arm64_bfloat16": "rounds the operands of products to bfloat16",
}
"""The config keys that change results if they are set to 1, and what each does."""

WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
"""The config key of the folder with the external data of a model given as bytes."""

OPTIMIZED_WEIGHTS = "session.optimized_model_external_initializers_file_name"
"""The config key of the file for the weights of a written optimized model."""

_OPTIMIZED_WEIGHTS_SIZE = "session.optimized_model_external_initializers_min_size_in_bytes"

_locks: "weakref.WeakKeyDictionary[onnxruntime.SessionOptions, threading.RLock]" = (
    weakref.WeakKeyDictionary()
)
_locks_lock = threading.Lock()


def locked(options: onnxruntime.SessionOptions) -> threading.RLock:
    """The lock of session options; it is held while they are temporarily changed."""
    with _locks_lock:
        return _locks.setdefault(options, threading.RLock())


@contextmanager
def attribute(options: onnxruntime.SessionOptions, name: str, value: object) -> Iterator[None]:
    """Set an attribute of session options, whose lock is held, until the block ends."""
    previous = getattr(options, name)
    setattr(options, name, value)
    try:
        yield
    finally:
        setattr(options, name, previous)


def config_entry(options: onnxruntime.SessionOptions, key: str) -> str:
    """A config entry of session options; empty if it is not set."""
    try:
        return str(options.get_session_config_entry(key))
    except RuntimeError:
        return ""


def require_same_results(options: onnxruntime.SessionOptions) -> None:
    """Reject options that make results other than those of the model.

    Raises:
        SonnxError: There is such an option.
    """
    for key, effect in CHANGING_RESULTS.items():
        if config_entry(options, key) == "1":
            raise SonnxError(f"the session option {key}=1 {effect}; remove it")


def write_weights_externally(options: onnxruntime.SessionOptions) -> None:
    """Have the weights of an optimized model written to a separate file, which may discard them.

    Existing entries are kept, because ONNX Runtime warns if one is overwritten.
    """
    for key, value in ((OPTIMIZED_WEIGHTS, "weights"), (_OPTIMIZED_WEIGHTS_SIZE, "1024")):
        if not config_entry(options, key):
            options.add_session_config_entry(key, value)


_WRITE_FAILURES = (
    "Protobuf serialization failed",
    "Failed to write external initializers",
    "Failed writing",
    "Failed to flush",
)
"""ONNX Runtime's messages if a disk is full."""


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a private folder that is deleted after the block.

    Raises:
        SonnxError: There is no space for the folder, or for what ONNX Runtime writes in the block.
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
        f"the optimized graph cannot be written to a temporary folder for its check: {error}. "
        "Free space there, or set the environment variable TMPDIR to another folder"
    )
