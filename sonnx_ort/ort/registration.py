"""Registration: what makes session options those of a rewritten model.

`register` adds the libraries of custom operators, which options take only once, and switches
optimizers off. The library of onnxruntime-extensions holds its own operators, those in Python of
this package, and those that a program defines by `onnx_op`. Session options that have it twice
start no session, and they do not tell what they have: only a session does.
"""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import onnx.parser
import onnxruntime

from sonnx_ort.backends import (
    Backend,
    BackendChoice,
    choose_backend,
    other_backends,
    require_installed,
)
from sonnx_ort.custom_ops.compiled.library import kernels_library
from sonnx_ort.errors import BackendUnavailable, SonnxError
from sonnx_ort.errors.arguments import checked_arguments
from sonnx_ort.ort.optimizers import require_off
from sonnx_ort.ort.session_options import FATAL, attribute, locked, require_same_results

_TRIAL = onnx.parser.parse_model(
    """<ir_version: 9, opset_import: ["ai.onnx.contrib": 1, "sonnx": 1, "unknown": 1]>
    trial (string[n] texts) => (int64[m] y) {
        lengths = ai.onnx.contrib.StringLength(texts)
        shape, count = sonnx.AlignedShape(lengths, lengths)
        y = unknown.Unknown(shape)
    }"""
).SerializeToString()
"""A model that never starts: the error names the first operator that the options do not have."""

_TWICE = "Conflicting with a registered kernel"

_REGISTERED_HERE = (
    "remove options.register_custom_ops_library(onnxruntime_extensions.get_library_path()): "
    "sonnx_ort registers this library, with all its operators and those defined by onnx_op"
)

_registered: "weakref.WeakSet[onnxruntime.SessionOptions]" = weakref.WeakSet()
_with_kernels: "weakref.WeakSet[onnxruntime.SessionOptions]" = weakref.WeakSet()
_lock = threading.Lock()


def register_library(options: onnxruntime.SessionOptions, *, new: bool) -> None:
    """Register the library with the custom operators, unless the options have it.

    Args:
        options: The options to change.
        new: Whether they have no library, which otherwise a session on them has to show.

    Raises:
        BackendUnavailable: onnxruntime-extensions is not installed, or cannot be loaded.
        SonnxError: The options have it twice, or from before the operators were added to it.
    """
    require_installed(Backend.PYTHON)
    try:
        # Imported late: it loads onnxruntime-extensions, and torch if that is installed.
        from sonnx_ort.custom_ops.registration import LIBRARY_PATH  # noqa: PLC0415
    except ImportError as cause:
        raise BackendUnavailable(
            "the python backend cannot run here, because onnxruntime-extensions cannot be loaded: "
            f"{cause}; install it again, or use {other_backends()} for the original model"
        ) from cause

    with _lock:
        if options in _registered:
            return
        error = "" if new else _error_of_trial(options)
        if _TWICE in error:
            raise _registered_twice()
        if "sonnx:AlignedShape" in error:
            raise SonnxError(
                "onnxruntime-extensions was registered on these session options before sonnx_ort "
                f"added its operators to it; {_REGISTERED_HERE}"
            )
        if "unknown:Unknown" not in error:
            options.register_custom_ops_library(LIBRARY_PATH)
        _registered.add(options)


def register_kernels(options: onnxruntime.SessionOptions) -> None:
    """Register the library of the compiled kernels, unless the options have it.

    Raises:
        SonnxError: It is not built.
    """
    with _lock:
        if options not in _with_kernels:
            options.register_custom_ops_library(str(kernels_library()))
            _with_kernels.add(options)


@contextmanager
def second_registration_explained() -> Iterator[None]:
    """Say what to omit if a session does not start because operators conflict.

    Raises:
        SonnxError: They do.
    """
    try:
        yield
    except Exception as error:
        if _TWICE not in str(error):
            raise
        raise _registered_twice() from error


def _registered_twice() -> SonnxError:
    return SonnxError(f"a library is registered twice on these session options; {_REGISTERED_HERE}")


def _error_of_trial(options: onnxruntime.SessionOptions) -> str:
    """The error of a session on these options, which ends before it has set anything up."""
    with (
        locked(options),
        attribute(options, "enable_profiling", value=False),  # it would write a file
        attribute(options, "log_severity_level", FATAL),
    ):
        try:
            onnxruntime.InferenceSession(_TRIAL, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - ONNX Runtime has one for each status
            return str(error)
    return ""


@checked_arguments
def register(
    options: onnxruntime.SessionOptions | None = None, *, backend: BackendChoice = None
) -> onnxruntime.SessionOptions:
    """Register the custom operators of a backend on session options.

    The library of "python" also contains the operators of onnxruntime-extensions, and those that
    the program has defined with `onnx_op`. It can be registered only once.

    Also switches off the graph optimizers of ONNX Runtime that would remove what enforces the
    profile, form numbers of which nothing is proved, or take attributes 0 and -0 for equal, for
    models of every backend. Once per process it verifies that they are off, unless the options
    disable all optimizations (`ORT_DISABLE_ALL`). A second call for the same options has no further
    effect.

    A session on the options looks at no model: it runs one whose guards another tool has removed,
    or one that was conformed and not rewritten, without an error. `check` tells the first, and
    `InferenceSession` enforces both. Nor does it say which rules `rewrite` left unenforced: without
    `operators`, that enforces Div and Sub alone, and warns.

    Args:
        options: The options to change; new ones by default.
        backend: "python", "compiled", or "native", which has no operators; by default the same
            as `rewrite` takes. A second call with another backend registers its operators too.

    Returns:
        The same options.

    Raises:
        SonnxError: There is no such backend, or its kernels are not built. The options change
            results, such as by flushing denormal numbers to zero. Or onnxruntime-extensions was
            registered on them without the custom operators. Or ONNX Runtime applies an optimizer
            although it is switched off.
    """
    chosen = onnxruntime.SessionOptions() if options is None else options
    _register_operators(chosen, choose_backend(backend), new=options is None)
    require_off(chosen, rests_on_numbers=True, has_minus_zero=True)
    return chosen


def prepare(
    options: onnxruntime.SessionOptions,
    backend: Backend,
    *,
    rests_on_numbers: bool,
    has_minus_zero: bool,
    new: bool = False,
) -> None:
    """Set only those session options that a model of one backend needs.

    Args:
        options: The options to change.
        backend: The backend.
        rests_on_numbers: Whether something is proved of the model by floats that a kernel computes.
        has_minus_zero: Whether an attribute of the model is -0.
        new: Whether nobody has set anything of the options, so that there is nothing to refuse.

    Raises:
        SonnxError: As for `register`.
    """
    _register_operators(options, backend, new=new)
    require_off(options, rests_on_numbers=rests_on_numbers, has_minus_zero=has_minus_zero)


def _register_operators(
    options: onnxruntime.SessionOptions, backend: Backend, *, new: bool
) -> None:
    """Register only the custom operators.

    Raises:
        SonnxError: The options change results, or have the library of the operators already, so
            that they cannot take it.
    """
    if not new:
        require_same_results(options)
    match backend:
        case Backend.PYTHON:
            register_library(options, new=new)
        case Backend.COMPILED:
            register_kernels(options)
        case Backend.NATIVE:
            pass
