"""Runs of two models on the same inputs: their values, which of them belong together, and files.

Exporters, quantizers and optimizers give values other names. The place of a value is the sequence
of operators that leads to it from inputs, constants and values with one name in both models.

Runs are kept in a folder with one for each sample: `run.json` says what is known of it, and each
value is a tensor of ONNX, so that all types are kept. The inputs are `input_0.pb` and so on: the
folder is also one of samples.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper

from sonnx_ort.analysis.contracts import ContractSource
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.saving import new_whole_folder
from sonnx_ort.loading.source import ModelSource, ReadModel, read
from sonnx_ort.loading.traversal import in_words
from sonnx_ort.ort.feeds import graph_inputs, what_is_wrong
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runs.derived_models import contract_for_runs, count_inner_nodes, exposed, unseeded
from sonnx_ort.runs.input_shapes import UNSAID, Sizes
from sonnx_ort.runs.inputs import Inputs, complete_within
from sonnx_ort.runs.isolated_run import (
    UNOPTIMIZED,
    Array,
    Failed,
    IsolatedRuns,
    Outcome,
    Results,
    Settings,
)
from sonnx_ort.runs.limits import DEFAULT, Limits
from sonnx_ort.runs.value_files import read_tensor


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run ended early."""

    node: str
    reason: str
    violated: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """The values that a model computed.

    Attributes:
        nodes: The nodes as text, by the names of the values they compute, in their order.
        values: The values that were computed; None for a value that is not a tensor.
        stop: Where the run ended early; None if it did not.
    """

    nodes: Mapping[str, str]
    values: Results
    stop: Stop | None


def trace(
    model: ReadModel,
    feeds: Mapping[str, Array],
    runs: IsolatedRuns,
    settings: Settings = UNOPTIMIZED,
) -> Trace:
    """Run a model with all its values as outputs; if it ends early, find the failing node.

    Raises:
        SonnxError: ONNX Runtime rejects the inputs, or a model without nodes.
    """
    nodes = model.proto.graph.node

    def run(count: int) -> Outcome:
        return runs.run(exposed(model.proto, count), feeds, settings, folder=model.folder)

    outcome = run(len(nodes))
    stop = None
    if isinstance(outcome, Failed):
        if not (outcome.at_a_node and nodes):
            raise SonnxError(outcome.reason)
        count, outcome, failed = _first_failure(run, len(nodes), outcome)
        stop = Stop(in_words(nodes[count]), failed.reason, failed.violated)
    names = {name: in_words(node) for node in nodes for name in filter(None, node.output)}
    return Trace(names, outcome, stop)


def _first_failure(
    run: Callable[[int], Outcome], unable: int, failed: Failed
) -> tuple[int, Results, Failed]:
    """Find by bisection how many nodes can run, their values, and why the next one fails."""
    able = 0
    results: Results = {}
    while unable - able > 1:
        middle = (able + unable) // 2
        outcome = run(middle)
        if isinstance(outcome, Failed):
            unable, failed = middle, outcome
        else:
            able, results = middle, outcome
    return able, results, failed


@dataclass(frozen=True, slots=True)
class Pair:
    """What two models are to each other, apart from any run.

    Attributes:
        unshared_outputs: The names of the outputs that only one of them has.
        inner_nodes: The number of nodes of each in subgraphs and functions, whose values are not
            compared.
        seeded: The random operators without a seed, which draw from the same one in both if their
            results have the same name.
        positions: The names of values in the second model, by those in the first, that are compared
            because they stand at the same place.
    """

    unshared_outputs: tuple[str, ...]
    inner_nodes: tuple[int, int]
    seeded: tuple[str, ...] = ()
    positions: Mapping[str, str] = field(default_factory=dict)


def pair_of(one: onnx.ModelProto, other: onnx.ModelProto, positions: Mapping[str, str]) -> Pair:
    """What two models are to each other, some of whose values are matched by their positions."""
    first = [positions.get(output.name, output.name) for output in one.graph.output]
    second = [output.name for output in other.graph.output]
    unshared = (*(n for n in first if n not in second), *(n for n in second if n not in first))
    seeded = dict.fromkeys(map(in_words, (*unseeded(one), *unseeded(other))))
    inner = count_inner_nodes(one), count_inner_nodes(other)
    return Pair(unshared, inner, tuple(seeded), positions)


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of two models on the same inputs."""

    inputs: Inputs
    traces: tuple[Trace, Trace]
    pair: Pair


def run_both(  # noqa: PLR0913 - one for each choice
    first: ModelSource | ReadModel,
    second: ModelSource | ReadModel,
    samples: Iterable[tuple[Mapping[str, Array], int]],
    sizes: Sizes = UNSAID,
    *,
    contract: ContractSource = NO_CONTRACT,
    match_positions: bool = False,
    limits: Limits = DEFAULT,
) -> Iterator[Runs]:
    """Run two models on the inputs of each sample; those that it lacks are random, of its seed.

    Each model runs without optimizations in a separate process, so that a crash is a result too. If
    a run ends early, it has the values computed before. Random operators without a seed draw the
    same numbers in both, if their results have the same name. With `match_positions`, values with
    other names are compared if they stand at the same place.

    Raises:
        SonnxError: A model or the contract cannot be used, their inputs differ, or one breaks the
            contract.
    """
    one, other = read(first), read(second)
    for model in (one, other):
        check_external_data(model.proto, model.folder)
    _require_same_inputs(one, other)
    demands = contract_for_runs(one, contract, other)
    positions = by_position(one.proto, other.proto) if match_positions else {}
    pair = pair_of(one.proto, other.proto, positions)
    with IsolatedRuns(limits) as runs:
        for given, seed in samples:
            inputs = complete_within(one, given, runs, seed=seed, sizes=sizes, contract=demands)
            if wrong := what_is_wrong(graph_inputs(other.proto), inputs.arrays):
                raise SonnxError(f"the second model does not take the inputs of the first: {wrong}")
            traces = trace(one, inputs.arrays, runs), trace(other, inputs.arrays, runs)
            yield Runs(inputs, traces, pair)


def _require_same_inputs(one: ReadModel, other: ReadModel) -> None:
    first, second = _inputs(one), _inputs(other)
    if sorted(first) != sorted(second):
        texts = [", ".join(found) or "none" for found in (first, second)]
        raise SonnxError(f"the two models have other inputs: {texts[0]}; {texts[1]}")


def _inputs(model: ReadModel) -> list[str]:
    """The inputs that a run requires, with their types."""
    constant = {tensor.name for tensor in model.proto.graph.initializer}
    inputs = (value for value in model.proto.graph.input if value.name not in constant)
    return [f"{_type_name(value)} '{value.name}'" for value in inputs]


def _type_name(value: onnx.ValueInfoProto) -> str:
    if not value.type.HasField("tensor_type"):
        return str(value.type.WhichOneof("value"))
    name: str = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    return name.lower()


def outputs_of(model: ReadModel, inputs: Inputs, runs: IsolatedRuns, settings: Settings) -> Trace:
    """The outputs of a run, in which optimizers may omit the values between."""
    graph = model.proto.graph
    results = runs.run(model.proto, inputs.arrays, settings)
    nodes = {name: in_words(node) for node in graph.node for name in node.output}
    said = {output.name: nodes.get(output.name, "no node") for output in graph.output}
    if isinstance(results, Failed):
        stop = Stop(
            "an optimizer or a node of the optimized model", results.reason, results.violated
        )
        return Trace(said, {}, stop)
    return Trace(said, results, None)


_CONSTANT = "a constant"

_QUANTIZED = "quantized "

_LIMITING = {"Relu", "Clip"}
"""Operators that quantizers omit, because what they limit is not in the range of integers."""


def by_position(one: onnx.ModelProto, other: onnx.ModelProto) -> dict[str, str]:
    """The values of two models that have other names at the same place.

    Outputs are matched in their order if both models have as many. Then values are that lie at one
    place; several, such as products of one value with several constants, in the order of the nodes
    if there are as many in both. What constants and attributes are does not count.

    Returns:
        The names in the second model by those in the first. No name is in both models.
    """
    graphs = one.graph, other.graph
    first, second = (
        {name: None for node in graph.node for name in node.output if name} for graph in graphs
    )
    found: dict[str, str] = {}
    outputs = [[value.name for value in graph.output] for graph in graphs]
    if len(outputs[0]) == len(outputs[1]):
        own = first.keys() - second, second.keys() - first
        found = {a: b for a, b in zip(*outputs, strict=True) if a in own[0] and b in own[1]}
    shared = {name: f"value {name}" for name in first if name in second}
    shared |= {name: f"value {name}" for name in found}
    also = shared | {b: shared[a] for a, b in found.items()}
    places = _by_place(graphs[0], shared), _by_place(graphs[1], also)
    for place, names in places[0].items():
        others = places[1].get(place, [])
        if len(names) == len(others):
            found |= zip(names, others, strict=True)
    return found


def _by_place(graph: onnx.GraphProto, known: Mapping[str, str]) -> dict[str, list[str]]:
    """The values of a graph that are not known, in the order of the nodes, by their places."""
    found: dict[str, list[str]] = {}
    for name, place in _places(graph, known):
        if name not in known:
            found.setdefault(place, []).append(name)
    return found


def _places(graph: onnx.GraphProto, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The place of each value that a node computes, and does not only pass on."""
    places = {value.name: f"input {value.name}" for value in graph.input}
    places |= {tensor.name: _CONSTANT for tensor in graph.initializer}
    for node in graph.node:
        read = [places.get(name, name) for name in node.input]
        passed = _passed(node.op_type, read)
        for number, name in enumerate(node.output):
            if not name:
                continue
            text = repr((node.domain, node.op_type, number, read))
            place = hashlib.sha256(text.encode()).hexdigest()
            places[name] = known.get(name, passed or place)
            if not passed or node.op_type in _LIMITING:
                yield name, place


def _passed(operator: str, read: list[str]) -> str:
    """The place of what an operator passes on, in other numbers if it is quantized, or empty."""
    match operator, read:
        case "Constant", _:
            return _CONSTANT
        case "QuantizeLinear", [place, *_]:
            return _QUANTIZED + place
        case "DequantizeLinear", [place, *_] if place == _CONSTANT or place.startswith(_QUANTIZED):
            return place.removeprefix(_QUANTIZED)
        case _, [place, *_] if operator == "Identity" or operator in _LIMITING:
            return place
    return ""


_FILE, _VERSION = "run.json", 1


def keep(
    samples: Iterable[tuple[str, Runs]], folder: Path, models: tuple[str, str]
) -> Iterator[tuple[str, Runs]]:
    """Write samples, and the names of the models, to a new or empty folder as they pass.

    It is there when all have passed.

    Raises:
        SonnxError: The folder is not empty or cannot be written.
    """
    with new_whole_folder(folder) as place:
        for number, (name, runs) in enumerate(samples):
            _write_sample(place / f"{number:06}", runs, {"models": models, "sample": name})
            yield name, runs


def _write_sample(place: Path, runs: Runs, said: Mapping[str, Any]) -> None:
    place.mkdir()
    traces = [
        {
            "nodes": trace.nodes,
            "stop": None if trace.stop is None else asdict(trace.stop),
            "values": _written(place, prefix, trace.values),
        }
        for prefix, trace in zip(("a", "b"), runs.traces, strict=True)
    ]
    inputs = runs.inputs
    about = {
        "version": _VERSION,
        **said,
        "pair": asdict(runs.pair),
        "inputs": _written(place, "input", inputs.arrays),
        "made_up": [inputs.seed, inputs.random, dict(inputs.chosen), inputs.able],
        "traces": traces,
    }
    # Written last, so that a sample without it is none.
    (place / _FILE).write_text(json.dumps(about, indent=1), encoding="utf-8")


def _written(place: Path, prefix: str, values: Results) -> dict[str, str | None]:
    """Write values; their files by name, and None for those that are no tensors."""
    files: dict[str, str | None] = {}
    for number, (name, array) in enumerate(values.items()):
        files[name] = None if array is None else f"{prefix}_{number}.pb"
        if array is not None:
            tensor = numpy_helper.from_array(array, name)
            (place / f"{prefix}_{number}.pb").write_bytes(tensor.SerializeToString())
    return files


def kept(folder: Path) -> tuple[tuple[str, str], Iterator[tuple[str, Runs]]]:
    """Read the names of the models, and then the samples, that `keep` wrote.

    Raises:
        SonnxError: It did not write them, or they cannot be read.
    """
    paths = sorted(folder.glob(f"*/{_FILE}"))
    if not paths:
        raise SonnxError(f"'{folder}' has no runs that `diff --save` has written")
    models, _ = _read_sample(paths[0])
    return models, (sample for _, sample in map(_read_sample, paths))


def _read_sample(path: Path) -> tuple[tuple[str, str], tuple[str, Runs]]:
    """The names of the models, and a sample by its name."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["version"] == _VERSION:
            one, other = said["models"]
            return (one, other), (said["sample"], _read_runs(path.parent, said))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise SonnxError(f"'{path}' cannot be read: {error!r}; save the runs again") from error
    raise SonnxError(f"'{path}' is of another version of sonnx_ort; save the runs again")


def _read_runs(place: Path, said: Mapping[str, Any]) -> Runs:
    seed, random, chosen, able = said["made_up"]
    inputs = Inputs(_read_values(place, said["inputs"]), seed, tuple(random), chosen, able)
    one, other = (
        Trace(
            each["nodes"],
            _read_values(place, each["values"]),
            None if each["stop"] is None else Stop(**each["stop"]),
        )
        for each in said["traces"]
    )
    pair = said["pair"].items()
    fields: Any = {key: tuple(it) if isinstance(it, list) else it for key, it in pair}
    return Runs(inputs, (one, other), Pair(**fields))


def _read_values(place: Path, files: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        name: None if file is None else read_tensor(place / file)[1] for name, file in files.items()
    }
