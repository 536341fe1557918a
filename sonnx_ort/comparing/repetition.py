"""`repeat`: whether a model computes the same bits in each run, in whatever way it runs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sonnx_ort.comparing.difference import Comparison, Trace, in_words
from sonnx_ort.comparing.isolated_run import IsolatedRuns, Level, Settings
from sonnx_ort.comparing.optimizers import AgainstPlain
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import names_needed


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run a model.

    Attributes:
        new_process: Whether each run has a process of its own.
    """

    name: str
    settings: Settings
    new_process: bool = False


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
        found = []
        for _ in range(runs):
            if way.new_process:
                with IsolatedRuns() as own:
                    found.append(_compared(replace(model, runs=own), values, way))
            else:
                found.append(_compared(model, values, way))
        yield _repeated(model, way, found)


def _compared(model: AgainstPlain, values: Trace, way: Way) -> tuple[Comparison, ...]:
    """Compare a run with the plain one: the outputs, and all values if nothing is optimized."""
    outputs = model.compared(model.plain_outputs, model.outputs(way.settings))
    if way.settings.level is not model.plain.level:
        return (outputs,)
    return outputs, model.compared(values, model.values(way.settings))


def _repeated(model: AgainstPlain, way: Way, runs: Sequence[tuple[Comparison, ...]]) -> Repeated:
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
