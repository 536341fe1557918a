"""Session options: reading and setting them, and `register`.

`register` adds the libraries of custom operators, which options take only once, and switches
optimizers off. The library of onnxruntime-extensions holds its own operators, those in Python of
this package, and those that a program defines by `onnx_op`. Session options that have it twice
start no session, and they do not tell what they have: only a session does.
"""

import tempfile
import threading
import weakref
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import onnx
import onnx.parser
import onnxruntime

from sonnx_ort.arguments import checked_arguments
from sonnx_ort.backends import Backend, BackendChoice, choose_backend, require_installed
from sonnx_ort.custom_ops.compiled.library import kernels_library
from sonnx_ort.errors import BackendUnavailable, SonnxError
from sonnx_ort.kernel.optimizers import MUST_BE_OFF
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.operator import Optimizer
from sonnx_ort.runtime.canaries import OPTIMIZERS_OF_NUMBERS

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
            raise SonnxError(f"the session option {key}=1 {effect}; leave it out")


DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"
"""The config key for optimizers to skip, separated by ";"."""

OPTIMIZERS_OF_GUARDS = (
    Optimizer(
        "ReshapeFusion",
        "merges the Reshape of a guard with a Reshape after it",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[?] x, int64[?] s) => (float[2,2] y) <int64[2] target = {2, 2}> {
            [guard] c = Reshape(x, s)
            [reshape] y = Reshape(c, target)
        }""",
    ),
    Optimizer(
        "QDQPropagationTransformer",
        "quantizes the output of a guard after a DequantizeLinear again, in 8 bits",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (int32[?] x, int64[?] s) => (float[?] y) <float scale = {0.5}> {
            [dequantize] d = DequantizeLinear(x, scale)
            [guard] y = Reshape(d, s)
        }""",
    ),
)
"""Optimizers that remove guards or their names, or change what they pass on.

Models of every backend have guards.
"""

OPTIMIZERS_OF_OPERATORS = tuple(
    optimizer for operator in OPERATORS.values() for optimizer in operator.optimizers
)
"""Optimizers that remove operators of the profile. Only the native backend keeps such nodes."""

UNWANTED_OPTIMIZERS = OPTIMIZERS_OF_GUARDS + OPTIMIZERS_OF_OPERATORS
"""All optimizers that must not act on a rewritten model of any backend."""


def names_of(optimizers: Iterable[Optimizer]) -> list[str]:
    """The names of optimizers without repetitions; one may remove several operators."""
    return list(dict.fromkeys(optimizer.name for optimizer in optimizers))


def names_to_switch_off() -> list[str]:
    """The names of all optimizers that must not act on some rewritten model.

    They are those that undo the enforcement, and those that form other floats than are proved.
    """
    return list(dict.fromkeys((*names_of(UNWANTED_OPTIMIZERS), *MUST_BE_OFF)))


def switch_off_optimizers(
    options: onnxruntime.SessionOptions, names: Iterable[str] | None = None
) -> None:
    """Switch optimizers off by their names, in addition to those that are already off.

    Args:
        options: The options to change.
        names: The names; by default all of `names_to_switch_off`.
    """
    off = [name for name in config_entry(options, DISABLED_OPTIMIZERS).split(";") if name]
    wanted = names_to_switch_off() if names is None else names
    missing = [name for name in wanted if name not in off]
    if missing:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join([*off, *missing]))


def disabled_optimizers(options: onnxruntime.SessionOptions, more: Iterable[str]) -> list[str]:
    """Those that options switch off, and more: the argument of a session replaces the entry."""
    off = config_entry(options, DISABLED_OPTIMIZERS).split(";")
    return list(dict.fromkeys(name for name in (*off, *more) if name))


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
    "leave out options.register_custom_ops_library(onnxruntime_extensions.get_library_path()): "
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
            f"{cause}; install it again, or use another backend for the original model"
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


_DISABLE_ALL = "set options.graph_optimization_level to ORT_DISABLE_ALL first"

_proved: set[tuple[Optimizer, ...]] = set()
_proved_lock = threading.Lock()


def require_effective(
    optimizers: tuple[Optimizer, ...], names: Sequence[str] | None = None
) -> None:
    """Require that ONNX Runtime really skips optimizers that are switched off.

    Each is tested with its canary model, at the highest level. An optimizer that this version does
    not have passes. The result is kept only in the memory of the process, because a file could come
    from another version.

    Args:
        optimizers: The optimizers.
        names: The names of all that are off; by default theirs.

    Raises:
        SonnxError: An optimizer acts nevertheless, or the test fails.
    """
    with _proved_lock:
        if optimizers in _proved:
            return
        off = names_of(optimizers) if names is None else names
        with temporary_folder() as folder:
            for number, optimizer in enumerate(optimizers):
                _require_spared(optimizer, off, folder / f"{number}.onnx")
        _proved.add(optimizers)


def _require_spared(optimizer: Optimizer, off: Sequence[str], path: Path) -> None:
    canary = onnx.parser.parse_model(optimizer.canary)
    options = onnxruntime.SessionOptions()
    switch_off_optimizers(options, off)
    try:
        optimized = _optimized(canary, options, path)
    except Exception as error:
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} cannot optimize the small model that tests "
            f"whether its graph optimizer {optimizer.name} is switched off: {error}; {_DISABLE_ALL}"
        ) from error
    operators = {node.op_type for node in canary.graph.node}
    if _named_nodes(canary, operators) != _named_nodes(optimized, operators):
        raise SonnxError(
            f"ONNX Runtime {onnxruntime.__version__} {optimizer.effect}, although its graph "
            f"optimizer {optimizer.name} is switched off by {DISABLED_OPTIMIZERS}; {_DISABLE_ALL}"
        )


def _optimized(
    canary: onnx.ModelProto, options: onnxruntime.SessionOptions, path: Path
) -> onnx.ModelProto:
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = FATAL
    # Nothing is run, so threads are not needed.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    onnxruntime.InferenceSession(
        canary.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return onnx.load(path)


def _named_nodes(model: onnx.ModelProto, operators: Container[str]) -> set[tuple[str, str]]:
    nodes = (node for node in model.graph.node if node.name and node.op_type in operators)
    return {(node.op_type, node.name) for node in nodes}


@checked_arguments
def register(
    options: onnxruntime.SessionOptions | None = None, *, backend: BackendChoice = None
) -> onnxruntime.SessionOptions:
    """Register the custom operators of a backend on session options.

    The library of "python" also contains the operators of onnxruntime-extensions, and those that
    the program has defined with `onnx_op`. It can be registered only once.

    Also switches off the graph optimizers of ONNX Runtime that would remove what enforces the
    profile, or form numbers of which nothing is proved, for models of every backend. Once per
    process it verifies that they are off, unless the options disable all optimizations
    (`ORT_DISABLE_ALL`). A second call for the same options has no further effect.

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
    _switch_off_all(chosen)
    return chosen


def prepare(
    options: onnxruntime.SessionOptions,
    backend: Backend,
    *,
    rests_on_numbers: bool,
    new: bool = False,
) -> None:
    """Set only those session options that a model of one backend needs.

    A model of the python backend has no Div or Sub, so optimizers of operators can remain on.

    Args:
        options: The options to change.
        backend: The backend.
        rests_on_numbers: Whether something is proved of the model by floats that a kernel computes.
        new: Whether nobody has set anything of the options, so that there is nothing to refuse.

    Raises:
        SonnxError: As for `register`.
    """
    _register_operators(options, backend, new=new)
    if rests_on_numbers:
        _switch_off_all(options)
        return
    unwanted = OPTIMIZERS_OF_GUARDS if backend is Backend.PYTHON else UNWANTED_OPTIMIZERS
    _switch_off(options, unwanted, names_of(unwanted))


def _switch_off_all(options: onnxruntime.SessionOptions) -> None:
    _switch_off(options, UNWANTED_OPTIMIZERS + OPTIMIZERS_OF_NUMBERS, names_to_switch_off())


def _switch_off(
    options: onnxruntime.SessionOptions, optimizers: tuple[Optimizer, ...], names: Sequence[str]
) -> None:
    """Switch optimizers off by their names, and verify it if optimization is enabled.

    Raises:
        SonnxError: An optimizer still acts.
    """
    if options.graph_optimization_level != onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL:
        require_effective(optimizers, names)
    switch_off_optimizers(options, names)


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
