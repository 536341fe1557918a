"""Records the model that ONNX Runtime's optimizers produce, and checks it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import onnx
import onnx_ir as ir
import onnxruntime
from onnx_ir.passes import InvariantError, PassError
from onnx_ir.passes.common import InlinePass

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import all_graphs
from sonnx_ort.loading.serialization import deserialize
from sonnx_ort.ort.given_initializers import replaceable_names
from sonnx_ort.ort.optimized_nodes import compare, guards_by_output
from sonnx_ort.ort.optimized_numbers import unknown_nodes
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from sonnx_ort.ort.session_options import (
    FATAL,
    OPTIMIZED_WEIGHTS,
    WEIGHTS_FOLDER,
    attribute,
    config_entry,
    locked,
    temporary_folder,
    write_weights_externally,
)

_FORMAT = "session.save_model_format"
_ERRORS_ONLY = 3
_NAMED_LOSSES = 5

_Level = onnxruntime.GraphOptimizationLevel
_QUIET_LEVELS = (_Level.ORT_DISABLE_ALL, _Level.ORT_ENABLE_BASIC, _Level.ORT_ENABLE_EXTENDED)

_FUSIONS = (
    *("AttentionFusion", "CommonSubexpressionElimination", "ConstantSharing", "ConvAddFusion"),
    *("ConvBNFusion", "ConvMulFusion", "DivMulFusion", "DoubleQDQPairsRemover"),
    *("EnsureUniqueDQForNodeUnit", "FuseReluClip", "GeluFusionL1", "GemmSumFusion"),
    *("GemmTransposeFusion", "LabelEncoderFusion", "LayerNormFusionL1", "MatMulAddFusion"),
    *("MatMul_BatchNormalization_Fusion", "NoopElimination", "NotWhereFusion", "Pad_Fusion"),
    *("QDQPropagationTransformer", "ReshapeFusion", "RocmBlasAltImpl"),
    *("SliceConcatToSpaceToDepthFusion", "WeightBiasQuantization"),
)
"""Optimizers of ORT_ENABLE_BASIC that do more than fold constants, remove nodes, move Transpose."""


class RecordedOptimization:
    """The model that ONNX Runtime's optimizers made.

    Attributes:
        content: The bytes of its file, without large weights.
        simplified: Whether a further session had to tell what may be missing in it. Otherwise what
            is found follows from it and from the enforced model alone.
    """

    def __init__(self, options: onnxruntime.SessionOptions) -> None:
        """Start without a recorded model, for a session with these options."""
        self._options = options
        self._optimized: onnx.ModelProto | None = None
        self.content = b""
        self.simplified = False

    def read(self, path: Path) -> None:
        """Read the optimized model from its file, without large weights."""
        self.content = path.read_bytes()
        self._optimized = _read_optimized(self.content)

    @property
    def replaceable_names(self) -> set[str]:
        """The names of what session options could have replaced in it."""
        return set() if self._optimized is None else replaceable_names(self._optimized)

    def require_enforced(self, model: ir.Model, content: bytes) -> Mapping[str, str]:
        """Require that the enforcement is still there.

        Constants are folded and unused nodes are removed, which is correct. Only if something is
        missing, ONNX Runtime is asked to apply these optimizations alone.

        `content` is the same model as the session got it; the model is not modified.

        Returns:
            The original names of guards that ONNX Runtime renamed, by the new names. It renames
            nodes when it inlines a branch of an If.

        Raises:
            SonnxError: A Div, a Sub or a guard is missing or bypassed.
        """
        if self._optimized is None:
            raise SonnxError("ONNX Runtime wrote no optimized model; make the session first")
        optimized = deserialize(self._optimized)
        enforced = _inlined(model)
        guards = guards_by_output(enforced)
        found = compare(enforced, optimized, guards)
        self.simplified = bool(found.losses)
        if found.losses:
            try:
                simplified = self._simplified_somehow(content)
            except Exception as error:
                raise SonnxError(_message(found.losses)) from error
            found = compare(deserialize(simplified), optimized, guards)
        if found.losses:
            raise SonnxError(_message(found.losses))
        return found.guards

    def require_known_numbers(self, model: ir.Model) -> None:
        """Require that no node forms numbers of which the proofs of the model do not speak.

        Raises:
            SonnxError: One does.
        """
        if self._optimized is None:
            raise SonnxError("ONNX Runtime wrote no optimized model; make the session first")
        found = unknown_nodes(_inlined(model), deserialize(self._optimized))
        if found:
            raise SonnxError(
                f"an optimizer of ONNX Runtime {onnxruntime.__version__} made what no proof knows: "
                f"{_first(found)}. Set options.graph_optimization_level to ORT_DISABLE_ALL, and "
                "report the model: the optimizer is in no list of sonnx_ort"
            )

    def _simplified_somehow(self, content: bytes) -> onnx.ModelProto:
        try:
            return self._simplified(content, _FUSIONS)
        except Exception:  # noqa: BLE001 - whatever ONNX Runtime makes of it
            # Without this one, the optimization does not terminate for some calls of functions.
            kept = "CommonSubexpressionElimination"
            return self._simplified(content, [name for name in _FUSIONS if name != kept])

    def _simplified(self, content: bytes, disabled: Sequence[str]) -> onnx.ModelProto:
        """The model after only those optimizations that remove no enforcement."""
        options = self._options
        with (
            locked(options),
            temporary_folder() as folder,
            attribute(options, "graph_optimization_level", _Level.ORT_ENABLE_BASIC),
            attribute(options, "log_severity_level", FATAL),
            _written(options, folder) as path,
        ):
            onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
            )
            return _read_optimized(path.read_bytes())


@contextmanager
def recorded_optimization(options: onnxruntime.SessionOptions) -> Iterator[RecordedOptimization]:
    """Record the optimized model of a session that is made in this block.

    The model is written to a temporary folder, unless the options name a file. ONNX Runtime warns
    about such a file at its highest levels, so the session logs only errors, unless the options set
    a severity. After the block the options are unchanged except for two entries that write large
    weights to a separate file.

    Raises:
        SonnxError: The options request the format ORT, which cannot be checked.
    """
    record = RecordedOptimization(options)
    with locked(options), ExitStack() as restored:
        _require_readable_format(options)
        if options.optimized_model_filepath:
            path = Path(options.optimized_model_filepath)
        else:
            folder = restored.enter_context(temporary_folder())
            if (
                options.graph_optimization_level not in _QUIET_LEVELS
                and options.log_severity_level < 0
            ):
                restored.enter_context(attribute(options, "log_severity_level", _ERRORS_ONLY))
            path = restored.enter_context(_written(options, folder))
        yield record
        record.read(path)


def _require_readable_format(options: onnxruntime.SessionOptions) -> None:
    path = options.optimized_model_filepath
    if path.lower().endswith(".ort") or config_entry(options, _FORMAT).upper() == "ORT":
        raise SonnxError(
            "an optimized model in ORT format cannot be checked; remove the session options that "
            "request this format, or save it as .onnx"
        )


@contextmanager
def _written(options: onnxruntime.SessionOptions, folder: Path) -> Iterator[Path]:
    """Have the optimized model written, without its weights.

    References to external data are kept. Weights in memory would be written too, so they go to a
    file that discards them.
    """
    path = folder / "optimized.onnx"
    if not config_entry(options, WEIGHTS_FOLDER):
        write_weights_externally(options)
    weights = config_entry(options, OPTIMIZED_WEIGHTS)
    if Path(weights).name != weights:
        raise SonnxError(
            f"the session option '{OPTIMIZED_WEIGHTS}' is '{weights}', which is outside the "
            "folder of the optimized model; name a file without a folder"
        )
    if weights:
        # What is written there is discarded, if the system can do that.
        with suppress(OSError, NotImplementedError):
            (folder / weights).symlink_to(os.devnull)
    with attribute(options, "optimized_model_filepath", str(path)):
        yield path


def _inlined(model: ir.Model) -> ir.Model:
    """The model with all functions inlined, because a call hides what it depends on."""
    if not model.functions:
        return model
    copy = model.clone()
    # Functions may import other opsets, which do not matter for dependencies.
    versions = dict(copy.opset_imports)
    for function in copy.functions.values():
        for domain, version in function.opset_imports.items():
            function.opset_imports[domain] = versions.setdefault(domain, version)
    try:
        InlinePass()(copy)
    except (ValueError, PassError, InvariantError) as error:
        raise SonnxError(
            "the model that ONNX Runtime optimized cannot be checked, because its model-local "
            f"functions cannot be inlined: {error}"
        ) from error
    return copy


def _read_optimized(content: bytes) -> onnx.ModelProto:
    model = without_repeated_constants(onnx.load_model_from_string(content))
    for graph in all_graphs(model):
        # Types and shapes are not compared.
        del graph.value_info[:]
    return model


def without_repeated_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """Remove, in place, the Constant nodes of an optimized model that are initializers as well.

    Without optimizations, ONNX Runtime writes a constant of a body as both.
    """
    for graph in all_graphs(model):
        initializers = {tensor.name for tensor in graph.initializer}
        repeated = [
            n for n in graph.node if n.op_type == "Constant" and n.output[0] in initializers
        ]
        for node in repeated:
            graph.node.remove(node)
    return model


def _message(losses: tuple[str, ...]) -> str:
    return (
        f"ONNX Runtime's optimizer removed what enforces the profile: {_first(losses)}. Add that "
        f"optimizer to the session option {DISABLED_OPTIMIZERS}, or set "
        "options.graph_optimization_level to ORT_DISABLE_ALL"
    )


def _first(phrases: Sequence[str]) -> str:
    """The first phrases, and how many more there are."""
    named, more = "; ".join(phrases[:_NAMED_LOSSES]), len(phrases) - _NAMED_LOSSES
    return f"{named}; and {more} more" if more > 0 else named
