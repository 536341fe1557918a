"""`diff --why`: finds what makes a model compute other numbers if it runs in another way.

An optimizer of ONNX Runtime is known by a name, by which it can be switched off. The log of a
session names those that change the graph, but not the rules that one of them applies.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import onnx

from sonnx_ort.comparing.difference import (
    Comparison,
    Runs,
    Stop,
    Trace,
    compared,
    in_words,
    pair_of,
    trace,
)
from sonnx_ort.comparing.input_shapes import UNSAID, Sizes
from sonnx_ort.comparing.inputs import Inputs, complete, require_within
from sonnx_ort.comparing.isolated_run import (
    Failed,
    IsolatedRuns,
    Level,
    Settings,
)
from sonnx_ort.comparing.measures import EXACT, Tolerance
from sonnx_ort.comparing.part import constants_of
from sonnx_ort.comparing.prepared_model import (
    contract_for_runs,
    enforced_natively,
    seed_random_operators,
    unseeded,
    whole,
)
from sonnx_ort.comparing.sessions import acting_optimizers
from sonnx_ort.comparing.shrinking import least
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.obligations.contracts import ContractSource
from sonnx_ort.pipeline import require_serializable
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runtime.feeds import as_tensors, graph_inputs

RULES = (
    "EliminateIdentity", "EliminateSlice", "UnsqueezeElimination", "EliminateDropout",
    "ExpandElimination", "CastElimination", "PreShapeNodeElimination", "NoopElimination",
    "DivMulFusion", "FuseReluClip", "GemmSumFusion", "GemmTransposeFusion", "NotWhereFusion",
    "ConvAddFusion", "ConvMulFusion", "ConvBNFusion", "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion", "LabelEncoderFusion", "ClipQuantRewrite",
    "ReluQuantRewrite",
)  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class AgainstPlain:
    """Runs of one model in several ways, each of which is compared with a plain one.

    Attributes:
        plain: How the plain one is run: without optimizations.
        plain_outputs: What it computes.
        seeded: The random operators without a seed, which got one, so that all draw the same.
    """

    model: ReadModel
    inputs: Inputs
    runs: IsolatedRuns
    plain: Settings
    plain_outputs: Trace
    tolerance: Tolerance = EXACT
    seeded: tuple[str, ...] = ()

    def cause(self, settings: Settings) -> Cause:
        """What makes the run with other settings differ.

        What other threads or providers change is no matter of optimizers: these runs are compared
        value by value.

        Raises:
            SonnxError: No optimizer that is known makes the difference.
        """
        other = replace(settings, native=self.plain.native)
        both = self.plain, other
        found = self.compared(self.plain_outputs, self.outputs(other))
        if found.equal:
            return Cause(found, both)
        unoptimized = replace(other, level=Level.NONE)
        if not self._is_plain(unoptimized):
            return Cause(self._walked(unoptimized), both)
        off = self.responsible(other)
        without, optimized = (self._optimized(each) for each in (replace(other, off=off), other))
        gone, new = _only_in(without, optimized), _only_in(optimized, without)
        return Cause(found, both, off, tuple(gone), tuple(new))

    def _is_plain(self, settings: Settings) -> bool:
        if settings == self.plain:
            return True
        return self.compared(self.plain_outputs, self.outputs(settings)).equal

    def _walked(self, settings: Settings) -> Comparison:
        """The comparison of all values, or of the outputs if that has no difference."""
        found = self.compared(self.values(self.plain), self.values(settings))
        if found.equal:
            return self.compared(self.plain_outputs, self.outputs(settings))
        return found

    def values(self, settings: Settings) -> Trace:
        """All values of a run."""
        return trace(self.model, self.inputs.arrays, self.runs, settings)

    def outputs(self, settings: Settings) -> Trace:
        """The outputs of a run, in which optimizers may leave out the values between."""
        return _outputs(self.model, self.inputs, self.runs, settings)

    def compared(self, first: Trace, second: Trace) -> Comparison:
        """Compare two runs."""
        pair = pair_of(self.model.proto, self.model.proto, {})
        return compared(Runs(self.inputs, (first, second), pair), self.tolerance)

    def responsible(self, other: Settings) -> tuple[str, ...]:
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


@contextmanager
def against_plain(  # noqa: PLR0913 - one for each choice
    model: ModelSource,
    given: Mapping[str, Any],
    *,
    threads: int = 0,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    tolerance: Tolerance = EXACT,
    contract: ContractSource = NO_CONTRACT,
) -> Iterator[AgainstPlain]:
    """Run a model in several ways in this block; the plain run has so many threads.

    Args:
        model: A model, in any form that `check` takes.
        given: Inputs by name; the others are random.
        threads: 0 leaves it to ONNX Runtime.
        seed: The seed of the random inputs.
        sizes: Their sizes, where the model leaves them open.
        tolerance: By how much values may differ.
        contract: What the inputs may be.

    Raises:
        SonnxError: The model, the contract or an input cannot be used, or the plain run fails.
    """
    source = whole(read(model))
    seeded = tuple(map(in_words, unseeded(source.proto)))
    seed_random_operators(source.proto)
    limits, declared = contract_for_runs(source, contract), graph_inputs(source.proto)
    plain = Settings(native=enforced_natively(source.proto), threads=threads)
    with IsolatedRuns() as runs:
        arrays = as_tensors(declared, given)
        inputs = complete(source, arrays, runs, seed=seed, sizes=sizes, contract=limits)
        require_within(limits, declared, inputs.arrays)
        outputs = _outputs(source, inputs, runs, plain)
        if outputs.stop is not None:
            reason = outputs.stop.reason
            raise SonnxError(f"the model does not run without optimizations: {reason}")
        yield AgainstPlain(source, inputs, runs, plain, outputs, tolerance, seeded)


def _outputs(model: ReadModel, inputs: Inputs, runs: IsolatedRuns, settings: Settings) -> Trace:
    graph = model.proto.graph
    results = runs.run(require_serializable(model.proto), None, inputs.arrays, settings)
    nodes = {name: in_words(node) for node in graph.node for name in node.output}
    said = {output.name: nodes.get(output.name, "no node") for output in graph.output}
    if isinstance(results, Failed):
        stop = Stop("a node of the optimized model", results.reason, results.violated)
        return Trace(said, {}, stop)
    return Trace(said, results, None)


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
