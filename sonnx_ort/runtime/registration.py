"""`register`: session options that know the custom operators."""

import threading
import weakref

import onnxruntime

from sonnx_ort.runtime.optimization.optimizers import OPTIMIZERS_OF_GUARDS, switch_off_optimizers
from sonnx_ort.runtime.session_options import require_exact_arithmetic

_registered: "weakref.WeakSet[onnxruntime.SessionOptions]" = weakref.WeakSet()
_lock = threading.Lock()


def register(
    options: onnxruntime.SessionOptions | None = None,
) -> onnxruntime.SessionOptions:
    """Register the custom operators on session options.

    Also switches off the graph optimizers that undo enforcement, in models of every backend.
    Calling it twice on one object is harmless.

    Args:
        options: The options to change; new ones by default.

    Returns:
        The same options.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results.
    """
    chosen = onnxruntime.SessionOptions() if options is None else options
    register_operators(chosen)
    switch_off_optimizers(chosen)
    return chosen


def prepare_python(
    options: onnxruntime.SessionOptions | None = None,
) -> onnxruntime.SessionOptions:
    """Set on session options what a model of the python backend needs, and no more.

    In such a model no optimizer finds a Div or Sub; what it does to other operators stays.

    Args:
        options: The options to change; new ones by default.

    Returns:
        The same options.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results.
    """
    chosen = onnxruntime.SessionOptions() if options is None else options
    register_operators(chosen)
    switch_off_optimizers(chosen, OPTIMIZERS_OF_GUARDS)
    return chosen


def prepare_native(
    options: onnxruntime.SessionOptions | None = None,
) -> onnxruntime.SessionOptions:
    """Set on session options what a natively enforced model needs; it needs no custom operators.

    Args:
        options: The options to change; new ones by default.

    Returns:
        The same options.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results.
    """
    chosen = onnxruntime.SessionOptions() if options is None else options
    require_exact_arithmetic(chosen)
    switch_off_optimizers(chosen)
    return chosen


def register_operators(options: onnxruntime.SessionOptions) -> None:
    """Register the custom operators, and nothing else.

    Args:
        options: The options to change.

    Raises:
        SonnxError: The options flush denormal numbers to zero, which changes results.
    """
    # Imported late: it loads onnxruntime-extensions, and torch where that is installed.
    from sonnx_ort.custom_ops.registration import LIBRARY_PATH  # noqa: PLC0415

    require_exact_arithmetic(options)
    with _lock:
        if options not in _registered:
            options.register_custom_ops_library(LIBRARY_PATH)
            _registered.add(options)
