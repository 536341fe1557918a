"""`diff --why`: finds what makes a model compute other numbers if it runs in another way.

An optimizer of ONNX Runtime is known by a name, by which it can be switched off. The log of a
session names those that change the graph, but not the rules that one of them applies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import onnx

from sonnx_ort.comparing.difference import (
    Comparison,
    Stop,
    Trace,
    compared,
    in_words,
    trace,
)
from sonnx_ort.comparing.input_shapes import UNSAID, Sizes
from sonnx_ort.comparing.inputs import Inputs, inputs_within
from sonnx_ort.comparing.isolated_run import (
    Failed,
    IsolatedRuns,
    Level,
    Settings,
    acting_optimizers,
)
from sonnx_ort.comparing.measures import EXACT, Tolerance
from sonnx_ort.comparing.part import constants_of
from sonnx_ort.comparing.prepared_model import enforced_natively, prepared
from sonnx_ort.comparing.shrinking import least
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.obligations.contracts import ContractSource, contract_for
from sonnx_ort.pipeline import require_serializable
from sonnx_ort.profile.contract import NO_CONTRACT

RULES = (
    "EliminateIdentity",
    "EliminateSlice",
    "UnsqueezeElimination",
    "EliminateDropout",
    "ExpandElimination",
    "CastElimination",
    "PreShapeNodeElimination",
    "NoopElimination",
    "DivMulFusion",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "NotWhereFusion",
    "ConvAddFusion",
    "ConvMulFusion",
    "ConvBNFusion",
    "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion",
    "LabelEncoderFusion",
    "ClipQuantRewrite",
    "ReluQuantRewrite",
)
"""The optimizers that the log does not name, in the order in which ONNX Runtime applies them."""

_APPLIES_RULES = "_RuleBasedTransformer"
"""How the names of those end that apply these."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What makes two runs of one model differ.

    Attributes:
        comparison: The runs: of their outputs, or of all values if no optimizer makes it.
        settings: How ONNX Runtime ran the model in each.
        optimizers: The least set of optimizers without which nothing differs; none if it is
            made by something else, or nothing differs.
        gone: The nodes, as text, that are in the optimized model only if they are off.
        new: Those that are there only if they are on.
    """

    comparison: Comparison
    settings: tuple[Settings, Settings]
    optimizers: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


def find_cause(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    given: Mapping[str, Any],
    settings: Settings,
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    tolerance: Tolerance = EXACT,
    contract: ContractSource = NO_CONTRACT,
) -> Cause:
    """Run a model without optimizations and as settings say, and find what makes them differ.

    What other threads or providers change is no matter of optimizers: the runs are compared value
    by value then. If the settings have a number of threads, the first run has one thread.

    Raises:
        SonnxError: The model does not run without optimizations, no optimizer that is known
            makes the difference, or an input cannot be used.
    """
    source = prepared(read(model))
    limits = contract_for(source, contract)
    native = enforced_natively(source.proto)
    plain = Settings(native=native, threads=min(settings.threads, 1))
    other = replace(settings, native=native)
    with IsolatedRuns() as runs:
        inputs = inputs_within(source, given, runs, seed=seed, sizes=sizes, contract=limits)
        return _Search(source, inputs, tolerance, runs, plain).cause(other)


@dataclass(frozen=True, slots=True)
class _Search:
    """Runs of one model, each of which is compared with a plain one."""

    model: ReadModel
    inputs: Inputs
    tolerance: Tolerance
    runs: IsolatedRuns
    plain: Settings

    def cause(self, other: Settings) -> Cause:
        """What makes the run with other settings differ."""
        both = self.plain, other
        found = self._compared(self._outputs(self.plain), self._outputs(other))
        if found.equal:
            return Cause(found, both)
        unoptimized = replace(other, level=Level.NONE)
        if not self._is_plain(unoptimized):
            return Cause(self._walked(unoptimized), both)
        off = self._responsible(other)
        without, optimized = (self._optimized(each) for each in (replace(other, off=off), other))
        gone, new = _only_in(without, optimized), _only_in(optimized, without)
        return Cause(found, both, off, tuple(gone), tuple(new))

    def _is_plain(self, settings: Settings) -> bool:
        if settings == self.plain:
            return True
        return self._compared(self._outputs(self.plain), self._outputs(settings)).equal

    def _walked(self, settings: Settings) -> Comparison:
        """The comparison of all values, or of the outputs if that has no difference."""
        both = self.plain, settings
        found = self._compared(
            *(trace(self.model, self.inputs.arrays, self.runs, each) for each in both)
        )
        return self._compared(*map(self._outputs, both)) if found.equal else found

    def _outputs(self, settings: Settings) -> Trace:
        """The outputs of a run, in which no optimizer is kept from values between."""
        proto = self.model.proto
        content = require_serializable(proto)
        results = self.runs.run(content, None, self.inputs.arrays, settings)
        nodes = {name: in_words(node) for node in proto.graph.node for name in node.output}
        names = [output.name for output in proto.graph.output]
        said = {name: nodes.get(name, "no node") for name in names}
        if not isinstance(results, Failed):
            return Trace(said, results, None)
        if settings == self.plain:
            raise SonnxError(f"the model does not run without optimizations: {results.reason}")
        stop = Stop("a node of the optimized model", results.reason, results.violated)
        return Trace(said, {}, stop)

    def _compared(self, first: Trace, second: Trace) -> Comparison:
        return compared(self.inputs, (self.model, self.model), (first, second), self.tolerance)

    def _responsible(self, other: Settings) -> tuple[str, ...]:
        """The least set of optimizers without which a run is as the plain one.

        Of several such sets, the one that acts last: what comes before only prepares it.
        """

        def plain_without(off: list[str]) -> bool:
            return self._is_plain(replace(other, off=tuple(off)))

        off: list[str] = []
        while not plain_without(off):
            more = list(self._acting(replace(other, off=tuple(off))))
            if not more:
                named = f", with {', '.join(off)} off" if off else ""
                raise SonnxError(
                    "no optimizer that ONNX Runtime names makes the difference: it is there "
                    f"without them too{named}"
                )
            off += more
        while (fewer := least(off, plain_without)) != off:
            off = fewer
        return tuple(off)

    def _acting(self, settings: Settings) -> Iterator[str]:
        """The optimizers that act with some settings, and can be switched off."""
        content = require_serializable(self.model.proto)
        found = self.runs.call(acting_optimizers, content, settings)
        if isinstance(found, Failed):
            raise SonnxError(f"ONNX Runtime's optimizers cannot be found out: {found.reason}")
        for name in found:
            rules = [rule for rule in RULES if rule not in settings.off]
            if name.endswith(_APPLIES_RULES) and rules:
                yield from rules
            elif name not in settings.off:
                yield name

    def _optimized(self, settings: Settings) -> onnx.ModelProto:
        content = self.runs.optimize(require_serializable(self.model.proto), settings)
        if isinstance(content, Failed):
            return onnx.ModelProto()  # it has no nodes to show
        return onnx.load_from_string(content)


def _only_in(one: onnx.ModelProto, other: onnx.ModelProto) -> Iterator[str]:
    """The nodes of a model, as text, that another does not have."""
    present = set(map(_content, all_nodes(other)))
    constants = constants_of(one.graph)
    for node in all_nodes(one):
        if _content(node) not in present:
            read = ", ".join(name for name in node.input if name not in constants)
            yield f"{in_words(node)}: {read or 'constants'} -> {', '.join(node.output)}"


def _content(node: onnx.NodeProto) -> bytes:
    """What a node is, apart from its name and the bodies in it, whose nodes count themselves."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    # ONNX Runtime writes some domains that are empty, and leaves out others.
    for field in ("name", "doc_string", "overload", *(() if node.domain else ("domain",))):
        copy.ClearField(field)
    kept = sorted((a for a in copy.attribute if not a.HasField("g")), key=lambda each: each.name)
    del copy.attribute[:]
    copy.attribute.extend(kept)
    content: bytes = copy.SerializeToString(deterministic=True)
    return content
