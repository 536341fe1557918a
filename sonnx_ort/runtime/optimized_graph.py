"""Lets ONNX Runtime write down what its optimizers made of a model, and looks at it."""

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
from sonnx_ort.loading.traversal import all_graphs
from sonnx_ort.runtime.optimized_nodes import compare, guards_by_output
from sonnx_ort.runtime.session_options import (
    DISABLED_OPTIMIZERS,
    OPTIMIZED_WEIGHTS,
    WEIGHTS_FOLDER,
    attribute,
    config_entry,
    locked,
    temporary_folder,
    write_weights_apart,
)

_FORMAT = "session.save_model_format"
_ERRORS_ONLY = 3
_FATAL_ONLY = 4
_NAMED_LOSSES = 5

_Level = onnxruntime.GraphOptimizationLevel
_QUIET_LEVELS = (_Level.ORT_DISABLE_ALL, _Level.ORT_ENABLE_BASIC, _Level.ORT_ENABLE_EXTENDED)

_FUSIONS = (
    "AttentionFusion",
    "CommonSubexpressionElimination",
    "ConstantSharing",
    "ConvAddFusion",
    "ConvBNFusion",
    "ConvMulFusion",
    "DivMulFusion",
    "DoubleQDQPairsRemover",
    "EnsureUniqueDQForNodeUnit",
    "FuseReluClip",
    "GeluFusionL1",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "LabelEncoderFusion",
    "LayerNormFusionL1",
    "MatMulAddFusion",
    "MatMul_BatchNormalization_Fusion",
    "NoopElimination",
    "NotWhereFusion",
    "Pad_Fusion",
    "QDQPropagationTransformer",
    "ReshapeFusion",
    "RocmBlasAltImpl",
    "SliceConcatToSpaceToDepthFusion",
    "WeightBiasQuantization",
)
"""The optimizers of the level ORT_ENABLE_BASIC that do more than fold constants, leave out nodes
that give back what they read, and move Transpose."""


class RecordedOptimization:
    """What ONNX Runtime's optimizers made of a model."""

    def __init__(self, options: onnxruntime.SessionOptions) -> None:
        """Record nothing yet.

        Args:
            options: The options of the session.
        """
        self._options = options
        self._optimized: onnx.ModelProto | None = None

    def read(self, path: Path) -> None:
        """Read the optimized model, without large weights.

        Args:
            path: Its file.
        """
        self._optimized = _read(path)

    def require_enforced(self, model: ir.Model, content: bytes) -> Mapping[str, str]:
        """Require that what enforces the profile is still there.

        What depends on nothing but constants is folded, and what nothing reads is left out; that
        is right. Only if something is gone ONNX Runtime is asked what that alone leaves.

        Args:
            model: The enforced model; not modified.
            content: The same as the session got it.

        Returns:
            The guards' names by the names that ONNX Runtime gave to their nodes, for those that
            it renamed: it does so where it puts a branch in the place of its If.

        Raises:
            SonnxError: A Div, a Sub or a guard is gone, or bypassed.
        """
        if self._optimized is None:
            raise SonnxError("ONNX Runtime wrote no optimized model; make the session first")
        optimized = ir.from_proto(self._optimized)
        enforced = _inlined(model)
        guards = guards_by_output(enforced)
        found = compare(enforced, optimized, guards)
        if found.losses:
            try:
                simplified = self._simplified_somehow(content)
            except Exception as error:
                raise SonnxError(_message(found.losses)) from error
            found = compare(ir.from_proto(simplified), optimized, guards)
        if found.losses:
            raise SonnxError(_message(found.losses))
        return found.guards

    def _simplified_somehow(self, content: bytes) -> onnx.ModelProto:
        try:
            return self._simplified(content, _FUSIONS)
        except Exception:  # noqa: BLE001 - whatever ONNX Runtime makes of it
            # It needs this one to come to an end with some calls of functions.
            kept = "CommonSubexpressionElimination"
            return self._simplified(content, [name for name in _FUSIONS if name != kept])

    def _simplified(self, content: bytes, disabled: Sequence[str]) -> onnx.ModelProto:
        """The model after the optimizations that take nothing away that enforces the profile."""
        options = self._options
        with (
            locked(options),
            temporary_folder() as folder,
            attribute(options, "graph_optimization_level", _Level.ORT_ENABLE_BASIC),
            attribute(options, "log_severity_level", _FATAL_ONLY),
            _written(options, folder) as path,
        ):
            onnxruntime.InferenceSession(
                content,
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=disabled,
            )
            return _read(path)


@contextmanager
def recorded_optimization(
    options: onnxruntime.SessionOptions,
) -> Iterator[RecordedOptimization]:
    """Record what a session that is made in this block does to its model.

    The optimized model goes to a folder that is gone afterwards, unless the options name a file for
    it. ONNX Runtime warns of such a file at its highest levels; where the options leave its
    severity of logging open, the session logs errors only.

    Args:
        options: The options of that session. After the block they are as they were, but for two
            entries that put large weights into a file of their own.

    Raises:
        SonnxError: The options ask for the format ORT, in which nothing can be found again.
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
            "an optimized model in the format ORT cannot be checked for what enforces the profile; "
            "leave out the session options that ask for it, or save it as .onnx"
        )


@contextmanager
def _written(options: onnxruntime.SessionOptions, folder: Path) -> Iterator[Path]:
    """Have the optimized model written, without its weights.

    References to weights in other files stay what they are. What lies in memory would be written
    as well, so it goes where nothing is kept.
    """
    path = folder / "optimized.onnx"
    if not config_entry(options, WEIGHTS_FOLDER):
        write_weights_apart(options)
    weights = config_entry(options, OPTIMIZED_WEIGHTS)
    if Path(weights).name != weights:
        raise SonnxError(
            f"the session option '{OPTIMIZED_WEIGHTS}' is '{weights}', which leads out of the "
            "folder of the optimized model; name a file without a folder"
        )
    if weights:
        _discard(folder / weights)
    with attribute(options, "optimized_model_filepath", str(path)):
        yield path


def _discard(file: Path) -> None:
    """Let nothing be kept of what is written to a file, where the system can do that."""
    with suppress(OSError, NotImplementedError):
        file.symlink_to(os.devnull)


def _inlined(model: ir.Model) -> ir.Model:
    """The model without functions: what a call depends on is known from its function alone."""
    if not model.functions:
        return model
    copy = model.clone()
    # Functions may import versions of their own, which say nothing of what depends on what.
    versions = dict(copy.opset_imports)
    for function in copy.functions.values():
        for domain, version in function.opset_imports.items():
            function.opset_imports[domain] = versions.setdefault(domain, version)
    try:
        InlinePass()(copy)
    except (ValueError, PassError, InvariantError) as error:
        raise SonnxError(
            "what ONNX Runtime made of the model cannot be looked at, for its model-local "
            f"functions cannot be inlined: {error}"
        ) from error
    return copy


def _read(path: Path) -> onnx.ModelProto:
    model = onnx.load(path, load_external_data=False)
    for graph in all_graphs(model):
        # Nothing is compared by its type or shape.
        del graph.value_info[:]
        # Without optimizations a constant of a body stands there as a node and as an initializer.
        initializers = {tensor.name for tensor in graph.initializer}
        repeated = [
            n for n in graph.node if n.op_type == "Constant" and n.output[0] in initializers
        ]
        for node in repeated:
            graph.node.remove(node)
    return model


def _message(losses: tuple[str, ...]) -> str:
    named = "; ".join(losses[:_NAMED_LOSSES])
    more = len(losses) - _NAMED_LOSSES
    if more > 0:
        named += f"; and {more} more"
    return (
        f"ONNX Runtime's optimizer undid what enforces the profile: {named}. Add the optimizer "
        f"that did it to the session option {DISABLED_OPTIMIZERS}, or set "
        "options.graph_optimization_level to ORT_DISABLE_ALL"
    )
