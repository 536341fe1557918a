"""Runs of one model in several ways, each against a plain one: `diff --why` and `repeat`.

An optimizer of ONNX Runtime is known by a name, by which it can be switched off. The log of a
session names those that change the graph, but not the rules that one of them applies.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import onnx
import onnx.parser
import onnxruntime

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import all_nodes, names_needed
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import in_words
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runs.audit.other_places import at_other_places
from sonnx_ort.runs.derived_models import (
    constants_of,
    contract_for_runs,
    enforced_natively,
    seed_random_operators,
    whole,
)
from sonnx_ort.runs.diff.difference import EXACT, Comparison, Tolerance, compared
from sonnx_ort.runs.input_shapes import UNSAID, Sizes
from sonnx_ort.runs.inputs import Inputs, complete_within
from sonnx_ort.runs.isolated_run import (
    Failed,
    IsolatedRuns,
    Level,
    Settings,
    session_options,
    start_session,
)
from sonnx_ort.runs.limits import DEFAULT, Limits
from sonnx_ort.runs.pairs import Runs, Trace, outputs_of, pair_of, trace
from sonnx_ort.runs.reduce.shrinking import least

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

_ANY_MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["": 17]> any (float x) => (float y) { y = Neg(x) }'
).SerializeToString()
"""A model with which nothing can go wrong."""


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
        gone, new = self._changed_nodes(replace(other, off=off), other)
        return Cause(found, both, off, gone, new)

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
        """The outputs of a run, in which optimizers may omit the values between."""
        return outputs_of(self.model, self.inputs, self.runs, settings)

    def compared(self, first: Trace, second: Trace) -> Comparison:
        """Compare two runs."""
        pair = pair_of(self.model.proto, self.model.proto, {})
        return compared(Runs(self.inputs, (first, second), pair), self.tolerance)

    def responsible(self, other: Settings) -> tuple[str, ...]:
        """The least set of optimizers without which a run is as the plain one.

        Of several such sets, the one that acts last: what comes before only prepares it.

        Raises:
            SonnxError: There is none.
        """

        def plain_without(off: list[str]) -> bool:
            return self._is_plain(replace(other, off=tuple(off)))

        off: list[str] = []
        while not plain_without(off):
            more = self._suspects(replace(other, off=tuple(off)))
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

    def _suspects(self, settings: Settings) -> list[str]:
        """The optimizers that act with some settings, and can be switched off.

        Where a session fails or ends the process, its log does not name the one that does it: all
        that a session of another model tries.
        """
        content = require_serializable(self.model.proto)
        tried = self.runs.call(optimizers_tried, content, settings)
        if ended := isinstance(tried, Failed):
            tried = self.runs.call(optimizers_tried, _ANY_MODEL, settings)
        if isinstance(tried, Failed):
            raise SonnxError(f"ONNX Runtime's optimizers cannot be found out: {tried.reason}")
        acting = (name for name, acts in tried.items() if acts or ended)
        named = (RULES if name.endswith(_APPLIES_RULES) else (name,) for name in acting)
        return [name for name in dict.fromkeys(chain(*named)) if name not in settings.off]

    def _changed_nodes(self, without: Settings, other: Settings) -> tuple[tuple[str, ...], ...]:
        """The nodes that are in the first of two optimized models alone, and in the second."""
        first, second = (self.runs.optimize(self.model.proto, each) for each in (without, other))
        if isinstance(first, Failed) or isinstance(second, Failed):
            return (), ()
        return tuple(_only_in(first, second)), tuple(_only_in(second, first))


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
    limits: Limits = DEFAULT,
) -> Iterator[AgainstPlain]:
    """Run a model in several ways in this block; the plain run has so many threads.

    The arguments are those of `run_both`; 0 leaves the number of threads to ONNX Runtime.

    Raises:
        SonnxError: The model, the contract or an input cannot be used, or the plain run fails.
    """
    source = whole(read(model))
    seeded = tuple(map(in_words, seed_random_operators(source.proto)))
    demands = contract_for_runs(source, contract)
    plain = Settings(native=enforced_natively(source.proto), threads=threads)
    with IsolatedRuns(limits) as runs:
        inputs = complete_within(source, given, runs, seed=seed, sizes=sizes, contract=demands)
        outputs = outputs_of(source, inputs, runs, plain)
        if outputs.stop is not None:
            reason = outputs.stop.reason
            raise SonnxError(f"the model does not run without optimizations: {reason}")
        yield AgainstPlain(source, inputs, runs, plain, outputs, tolerance, seeded)


_VERBOSE, _STANDARD_ERROR = 0, 2


_TRIED = re.compile(r"GraphTransformer (\S+) modified: ([01])")
"""What ONNX Runtime's log says of each optimizer that it tries: its name, and whether it acts."""


def optimizers_tried(model: bytes, settings: Settings) -> dict[str, bool]:
    """Whether each optimizer that a session tries changes a model; those that do come first.

    Only the log of a session names them.

    Raises:
        SonnxError: It does not.
        Exception: ONNX Runtime makes no session.
    """
    options = session_options(None, settings)
    options.log_severity_level = _VERBOSE
    with tempfile.TemporaryFile() as log:
        kept = os.dup(_STANDARD_ERROR)
        os.dup2(log.fileno(), _STANDARD_ERROR)
        try:
            start_session(model, settings, options)
        finally:
            os.dup2(kept, _STANDARD_ERROR)
            os.close(kept)
        log.seek(0)
        tried = _TRIED.findall(log.read().decode(errors="replace"))
    if not tried:
        version = onnxruntime.__version__
        raise SonnxError(f"the log of ONNX Runtime {version} does not name its optimizers")
    acting = dict.fromkeys((name for name, acts in tried if acts == "1"), True)
    return acting | {name: False for name, _ in tried if name not in acting}


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
    copy = deepcopy(node)
    # ONNX Runtime writes some domains that are empty, and omits others.
    for field in ("name", "doc_string", "overload", *(() if node.domain else ("domain",))):
        copy.ClearField(field)
    kept = sorted((a for a in copy.attribute if not a.HasField("g")), key=lambda each: each.name)
    del copy.attribute[:]
    copy.attribute.extend(kept)
    content: bytes = copy.SerializeToString(deterministic=True)
    return content


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run a model.

    Attributes:
        new_process: Whether each run has a process of its own.
        other_places: Whether nodes are run alone, on tensors that have the elements elsewhere.
    """

    name: str
    settings: Settings
    new_process: bool = False
    other_places: bool = False


@dataclass(frozen=True, slots=True)
class Repeated:
    """Runs of a model in one way, compared with a plain one.

    Attributes:
        runs: How many there were.
        unequal: How many of them differ.
        starts: The values that differ in one of them though all that their nodes read is the same,
            as text: the kernels of these nodes compute something else.
        following: How many other values differ.
        optimizers: The least set of optimizers without which the outputs do not differ.
        stops: Why runs ended early.
    """

    way: str
    runs: int
    unequal: int
    starts: tuple[str, ...] = ()
    following: int = 0
    optimizers: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()


def ways(plain: Settings, threads: int, providers: tuple[str, ...]) -> Iterator[Way]:
    """The ways in which a model is run: on up to so many threads, and on these providers."""
    yield Way("again", plain)
    yield Way("new process", plain, new_process=True)
    yield Way("bound inputs and outputs", replace(plain, bound=True))
    yield Way("nodes in parallel", replace(plain, parallel=True))
    yield Way("elements at other indices", plain, other_places=True)
    for count in range(2, threads + 1):
        yield Way(f"{count} threads", replace(plain, threads=count))
    if providers != plain.providers:
        yield Way(", ".join(providers), replace(plain, providers=providers))
    for level in Level:
        if level is not plain.level:
            yield Way(f"level {level}", replace(plain, level=level))


def repeat(model: AgainstPlain, chosen: Sequence[Way], runs: int) -> Iterator[Repeated]:
    """Run a model in several ways, each so many times.

    All values are compared, and the outputs in runs without the other values: as outputs they
    would keep optimizers from joining nodes.

    Raises:
        SonnxError: ONNX Runtime rejects the model with all values as outputs.
    """
    values = model.values(model.plain)
    for way in chosen:
        if way.other_places:
            yield _at_other_places(model, values, way)
            continue
        found = []
        for _ in range(runs):
            if way.new_process:
                with IsolatedRuns(model.runs.limits) as own:
                    found.append(_compared(replace(model, runs=own), values, way))
            else:
                found.append(_compared(model, values, way))
        yield _repeated(model, way, found)


def _at_other_places(model: AgainstPlain, values: Trace, way: Way) -> Repeated:
    """Run each node that computes element by element on other tensors, always as often."""
    known = {**model.inputs.arrays, **values.values}
    proto = model.model.proto
    found = list(at_other_places(proto, known, model.runs, way.settings))
    starts = (f"'{node.output[0]}' of {in_words(node)}" for node, equal in found if equal is False)
    stops = {equal.reason for _, equal in found if isinstance(equal, Failed)}
    return Repeated(
        way.name,
        len(found),
        sum(equal is not True for _, equal in found),
        tuple(dict.fromkeys(starts)),
        stops=tuple(sorted(stops)),
    )


def _compared(model: AgainstPlain, values: Trace, way: Way) -> tuple[Comparison, ...]:
    """Compare a run with the plain one: the outputs, and all values if nothing is optimized."""
    outputs = model.compared(model.plain_outputs, model.outputs(way.settings))
    if way.settings.level is not model.plain.level:
        return (outputs,)
    return outputs, model.compared(values, model.values(way.settings))


def _repeated(model: AgainstPlain, way: Way, runs: Sequence[tuple[Comparison, ...]]) -> Repeated:
    """Where the runs of a setting differ, what of it only follows, and by which optimizers."""
    nodes = model.model.proto.graph.node
    read = {name: set(names_needed(node)) for node in nodes for name in node.output}
    starts, following, stops = set[str](), set[str](), set[str]()
    for run in runs:
        found = {mismatch.name: mismatch.node for each in run for mismatch in each.mismatches}
        for name, node in found.items():
            follows = not found.keys().isdisjoint(read.get(name, ()))
            (following if follows else starts).add(f"'{name}' of {node}")
        stops.update(stop.reason for each in run for stop in each.stops if stop is not None)
    unequal = sum(not all(each.equal for each in run) for run in runs)
    optimizers: tuple[str, ...] = ()
    if way.settings.level is not model.plain.level and unequal == len(runs):
        # What no optimizer that has a name makes stays without one.
        with suppress(SonnxError):
            optimizers = model.responsible(way.settings)
    said = tuple(f"'{name}' of {in_words(node)}" for node in nodes for name in node.output)
    return Repeated(
        way.name,
        len(runs),
        unequal,
        tuple(place for place in said if place in starts),
        len(following - starts),
        optimizers,
        tuple(sorted(stops)),
    )
