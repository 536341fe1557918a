"""`register`: session options that know the custom operators."""

import threading
import weakref

import onnxruntime

from sonnx_ort.errors import SonnxError

_FLUSH_DENORMALS = "session.set_denormal_as_zero"
_DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"

UNWANTED_OPTIMIZERS = ("ReshapeFusion",)
"""Optimizers of ONNX Runtime that would take a guard away.

ReshapeFusion makes one Reshape of a guard and a Reshape behind it. The run would still fail, but
with a message that names neither operator nor rule.
"""

_registered: "weakref.WeakSet[onnxruntime.SessionOptions]" = weakref.WeakSet()
_lock = threading.Lock()


def register(
    options: onnxruntime.SessionOptions | None = None,
) -> onnxruntime.SessionOptions:
    """Register the custom operators on session options.

    Also switches off the one graph optimization that would take the operator's name out of error
    messages. Calling it twice on one object is harmless.

    Args:
        options: The options to change; new ones by default.

    Returns:
        The same options.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results.
    """
    # Imported late: it loads onnxruntime-extensions, and torch where that is installed.
    from sonnx_ort.custom_ops.registration import LIBRARY_PATH  # noqa: PLC0415

    chosen = onnxruntime.SessionOptions() if options is None else options
    if _entry(chosen, _FLUSH_DENORMALS) == "1":
        raise SonnxError(
            f"the session option {_FLUSH_DENORMALS}=1 makes results differ from IEEE 754; "
            "leave it out"
        )
    with _lock:
        if chosen not in _registered:
            chosen.register_custom_ops_library(LIBRARY_PATH)
            _registered.add(chosen)
    _disable_optimizers(chosen)
    return chosen


def _disable_optimizers(options: onnxruntime.SessionOptions) -> None:
    disabled = [name for name in _entry(options, _DISABLED_OPTIMIZERS).split(";") if name]
    missing = [name for name in UNWANTED_OPTIMIZERS if name not in disabled]
    if missing:
        options.add_session_config_entry(_DISABLED_OPTIMIZERS, ";".join([*disabled, *missing]))


def _entry(options: onnxruntime.SessionOptions, key: str) -> str:
    try:
        return str(options.get_session_config_entry(key))
    except RuntimeError:
        return ""
