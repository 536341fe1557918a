"""Rules of sizes say what ONNX Runtime's kernels compute, for every combination of small numbers.

The cubes hold all small sizes and numbers of an operator, and numbers at the ends of int32, int64
and double. What the analysis and the checker say of constants is compared with kernels that get
them in a run; what `conform` makes of them has to give the same elements.
"""

import resource
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from sonnx_ort.analysis.values.derived import derived
from sonnx_ort.checker import Model, Rejected
from sonnx_ort.facts.sizes import LARGEST, is_within
from sonnx_ort.facts.types import Types, tensor_of
from sonnx_ort.models.example import differing_elements
from sonnx_ort.profile.contract import NO_CONTRACT, Contract, SizeContract
from sonnx_ort.terms.operand import dimensions
from support.changes import changed
from support.derived import fact
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.cubes import CUBES
from support.soundness.isolated import Line, run_attempts
from support.soundness.leaves import count_of_places, places
from support.soundness.node_cases import ExactSize, misfit, symbols
from support.soundness.nodes import NodeCase

NODES = 500
"""How many nodes stand in one model."""

PARTS = [(name, part) for name, cube in CUBES.items() for part in range(cube.parts)]
"""A name of a cube, and a part of it, for each number."""

CONFORMED = [
    number
    for number, (name, _) in enumerate(PARTS)
    if name in ("slices", "slices of int32", "axes of slices", "axes", "windows", "squeezes")
]
"""The numbers of parts with numbers that `conform` changes."""

INFERRED = [
    number
    for number, (name, _) in enumerate(PARTS)
    if name not in ("elements", "far windows", "slices of long axes")
]
"""The numbers of parts that inference is quick with."""

_INFERRED = 1500
"""Of so many nodes of a part shapes are inferred."""

_MEMORY = 4 << 30
"""No kernel gets more bytes than this: a tensor that is larger is not made."""

_LARGE = 1 << 16
"""Of results of as many bytes the shape is compared."""

Outcome = tuple[NodeCase, list[Array]]
"""A case, and what the kernels give."""

Shape = tuple[int | str | None, ...]


def attempt(number: int) -> dict[str, Any]:
    """Try a part of a cube.

    Returns:
        How many nodes ran (`ran`) and how many not (`refused`), of how many the shape of the first
        result was certain by the analysis and the checker (`analysis`, `checker`), and within a
        contract (`contract`) of so many (`near`), and what contradicts a kernel (`misfits`).
    """
    ran, refused = _outcomes_of(number)
    counts = Counter(ran=len(ran), refused=refused, contract=0)
    misfits: list[str] = []
    near = _near(ran)
    counts["near"] = len(near)
    for tried, is_open, within in ((ran, False, False), (near, True, False), (near, True, True)):
        for chunk in _chunks(tried):
            compared(chunk, is_open, counts, misfits, within=within)
    return {**counts, "misfits": misfits[:5]}


def attempt_conformed(number: int) -> dict[str, Any]:
    """Try a part of a cube in a conformed model.

    Returns:
        How many changes there were (`changes`), and where results lost bits (`misfits`).
    """
    ran, _ = _outcomes_of(number)
    changes, misfits = 0, []
    for chunk in _chunks([each for each in ran if _runs_as_declared(each)]):
        conformed = sonnx_ort.conform(model_of(chunk, is_open=False))
        changes += len(conformed.changes)
        found = iter(_run(conformed.model, chunk))
        for case, made in chunk:
            for own, other in zip(made, islice(found, len(made)), strict=True):
                same = own.shape == other.shape and not differing_elements(own, other).any()
                misfits += [] if same else [f"{other} is not {own} of {described(case)}"]
    return {"changes": changes, "misfits": misfits[:5]}


def attempt_inferred(number: int) -> dict[str, Any]:
    """Hold what is doubted of the shapes of a part against what is inferred wrongly of them.

    Returns:
        How many shapes are inferred as kernels give them (`right`), how many otherwise (`wrong`),
        and of which of the latter nothing is doubted (`misfits`).
    """
    ran, _ = _outcomes_of(number)
    counts: Counter[str] = Counter(right=0, wrong=0)
    misfits = []
    for is_open, chunk in product((False, True), _chunks(_near(ran)[:_INFERRED])):
        proto = model_of(chunk, is_open)
        told = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph.output
        inferred = {value.name: value.type.tensor_type for value in told}
        model = ir.serde.deserialize_model(proto)
        certain = derived(model, _OfIntegers())
        values = {value.name: value for value in model.graph.outputs}
        for index, (case, made) in enumerate(chunk):
            for k, array in enumerate(made):
                kind, value = inferred[f"y{index}_{k}"], values[f"y{index}_{k}"]
                wrong = kind.HasField("shape") and _contradicts(kind.shape, array.shape)
                counts["wrong" if wrong else "right"] += 1
                shape = certain.established("shape").get(value)
                if wrong and not certain.misinference.may_be_wrong(value, shape):
                    misfits.append(f"{array.shape} is not {kind.shape} of {described(case)}")
    return {**counts, "misfits": misfits[:5]}


def _contradicts(inferred: onnx.TensorShapeProto, shape: tuple[int, ...]) -> bool:
    """Whether a rank, or a shape without an open size, is another one."""
    sizes = [each.dim_value for each in inferred.dim if each.HasField("dim_value")]
    other = len(sizes) == len(inferred.dim) and tuple(sizes) != shape
    return other or len(inferred.dim) != len(shape)


def _run(model: onnx.ModelProto, chunk: Sequence[Outcome]) -> list[Array]:
    """Run a model of `model_of` on the data of its cases."""
    feeds = {
        f"x{index}_{k}": array
        for index, (case, _) in enumerate(chunk)
        for k, array in enumerate(case.inputs)
        if array is not None and is_data(case, k)
    }
    options = on_one_thread("none")
    # Where it infers another size than a kernel gives, it would reuse the memory of another node.
    options.enable_mem_reuse = False
    session = ort.InferenceSession(model.SerializeToString(), options)
    results: list[Array] = session.run(None, feeds)
    return results


def _runs_as_declared(outcome: Outcome) -> bool:
    """Whether ONNX Runtime takes a case whose shapes are declared: it may infer others."""
    with suppress(Exception):
        _run(model_of([outcome], is_open=False), [outcome])
        return True
    return False


def _outcomes_of(number: int) -> tuple[list[Outcome], int]:
    """The cases of a part that run, with their results, and how many do not."""
    ort.set_default_logger_severity(4)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    name, part = PARTS[number]
    cube = CUBES[name]
    cases = [case for index, case in enumerate(cube.cases()) if index % cube.parts == part]
    ran = [(case, results) for case, results in outcomes(cases) if results is not None]
    return ran, len(cases) - len(ran)


def _chunks(tried: Sequence[Outcome]) -> Iterator[Sequence[Outcome]]:
    """As many as one model has nodes, of one version of the standard operators."""
    for opset in sorted({case.opset for case, _ in tried}):
        alike = [each for each in tried if each[0].opset == opset]
        for first in range(0, len(alike), NODES):
            yield alike[first : first + NODES]


def _near(ran: Sequence[Outcome]) -> list[Outcome]:
    """Those of which no open size is beyond int32: rules say nothing of others."""
    sizes = ([n for x in case.inputs if x is not None for n in x.shape] for case, _ in ran)
    return [each for each, own in zip(ran, sizes, strict=True) if is_within(own)]


def outcomes(cases: Sequence[NodeCase]) -> Iterator[tuple[NodeCase, list[Array] | None]]:
    """What the kernels give for each case; None where they fail."""
    groups: dict[str, list[NodeCase]] = {}
    for case in cases:
        kinds = [None if x is None else str(x.dtype) for x in case.inputs]
        key = repr((case.operator, case.opset, case.attributes, kinds, case.outputs))
        groups.setdefault(key, []).append(case)
    for group in groups.values():
        session = _session(group[0])
        for case in group:
            yield case, None if session is None else _results(session, case)


def _session(case: NodeCase) -> ort.InferenceSession | None:
    names = [f"x{k}" if array is not None else "" for k, array in enumerate(case.inputs)]
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), None)
        for name, array in zip(names, case.inputs, strict=True)
        if array is not None
    ]
    try:
        model = case.model(names, inputs, [])
        return ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return None


def _results(session: ort.InferenceSession, case: NodeCase) -> list[Array] | None:
    feeds = {f"x{k}": array for k, array in enumerate(case.inputs) if array is not None}
    try:
        return [_light(array) for array in session.run(None, feeds)]
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return None


def _light(array: Array) -> Array:
    """The array, or its shape alone if it is large: all results of a part are kept."""
    return array if array.nbytes < _LARGE else np.broadcast_to(array.dtype.type(0), array.shape)


def compared(
    chunk: Sequence[Outcome],
    is_open: bool,
    counts: Counter[str],
    misfits: list[str],
    *,
    within: bool = False,
) -> None:
    """Compare what is said of a chunk, whose data are declared open or not, with its results.

    Open sizes are within a contract, if that is asked for.
    """
    model = model_of(chunk, is_open)
    said_by = {"analysis": _by_the_analysis(model), "checker": _by_the_checker(model)}
    if within:
        said_by = {"contract": _by_the_analysis(model, _contract_of(chunk))}
    for index, (case, results) in enumerate(chunk):
        sizes = _sizes(index, case) if is_open else {}
        for who, said in said_by.items():
            shapes, elements = said(index, case.outputs)
            counts[who] += shapes[0] is not None
            counts[f"{who}, elements"] += elements is not None
            found = misfit(shapes, results, sizes) or _other_elements(elements, results[0])
            if found:
                misfits.append(f"{who}: {found} of {described(case)}")


def _other_elements(said: Shape | None, result: Array) -> str:
    """Say where elements are other numbers than those that are certain."""
    found = result.ravel().tolist()
    if said is None:
        return ""
    pairs = zip(said, found, strict=True) if len(said) == len(found) else [(len(said), len(found))]
    differ = any(isinstance(one, int) and one != other for one, other in pairs)
    return f"{found} is not {said}" if differ else ""


def described(case: NodeCase) -> str:
    """A case as text."""
    arrays = [
        x if x is None or x.size > 8 or k == 0 else x.tolist() for k, x in enumerate(case.inputs)
    ]
    shapes = [x.shape if isinstance(x, np.ndarray) else x for x in arrays]
    return f"{case.operator} {case.opset} {shapes} {case.attributes}"


def _sizes(index: int, case: NodeCase) -> dict[str, int]:
    return {
        name: ExactSize(size)
        for k, array in enumerate(case.inputs)
        if array is not None and is_data(case, k)
        for name, size in zip(_symbols(index, k, array), array.shape, strict=True)
    }


def _symbols(index: int, place: int, array: Array) -> list[str]:
    return [f"n{index}_{name}" for name in symbols(place, array)]


def is_data(case: NodeCase, place: int) -> bool:
    """Whether an input is no constant but an input of the model; numbers are constants."""
    array = case.inputs[place]
    data = array is not None and array.dtype.kind != "i"
    return place == 0 and data and case.operator != "Range"


def model_of(chunk: Sequence[Outcome], is_open: bool) -> onnx.ModelProto:
    """A model of a node for each case, that read inputs of known or open sizes and constants."""
    nodes, inputs, constants, outputs = [], [], [], []
    for index, (case, made) in enumerate(chunk):
        names = []
        for k, array in enumerate(case.inputs):
            name = f"x{index}_{k}" if array is not None else ""
            names.append(name)
            if array is not None and is_data(case, k):
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                shape = _symbols(index, k, array) if is_open else array.shape
                inputs.append(helper.make_tensor_value_info(name, kind, shape))
            elif array is not None:
                constants.append(numpy_helper.from_array(array, name))
        while names and not names[-1]:
            names.pop()
        results = [f"y{index}_{k}" for k in range(case.outputs)]
        nodes.append(helper.make_node(case.operator, names, results, **case.attributes))
        kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in made]
        outputs += map(helper.make_tensor_value_info, results, kinds, [None] * len(results))
    graph = helper.make_graph(nodes, "cube", inputs, outputs, constants)
    opset = [helper.make_opsetid("", chunk[0][0].opset)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10)


class _OfIntegers(Types):
    """The types of these models, in which all values are sizes."""

    def __init__(self) -> None:
        """Follow no model."""

    def of(self, value: ir.Value) -> str:
        """The type of sizes."""
        del value
        return tensor_of("int64")


Said = tuple[list[Shape | None], Shape | None]
"""What is said of the shapes of a node's results, and of the elements of the first."""

Answers = Callable[[int, int], Said]


def _contract_of(chunk: Sequence[Outcome]) -> Contract:
    """A contract that the sizes of a chunk keep, with other ends and multiples for each."""
    sizes = [each for index, (case, _) in enumerate(chunk) for each in _sizes(index, case).items()]
    return Contract(
        sizes=tuple(_around(k, name, int(size)) for k, (name, size) in enumerate(sizes))
    )


def _around(number: int, name: str, size: int) -> SizeContract:
    factor = (1, 2, 3, 4)[number % 4]
    factor = factor if size % factor == 0 else 1
    below, above = number % 3 * factor, number // 3 % 3 * factor
    return SizeContract(name, max(size - below, 0), min(size + above, LARGEST), factor)


def _by_the_analysis(proto: onnx.ModelProto, contract: Contract = NO_CONTRACT) -> Answers:
    model = ir.serde.deserialize_model(proto)
    certain = derived(model, _OfIntegers(), contract)
    values = {value.name: value for value in model.graph.outputs}

    def answer(index: int, outputs: int) -> Said:
        found = [values[f"y{index}_{k}"] for k in range(outputs)]
        known = [certain.established("shape").get(each) for each in found]
        known.append(certain.established("elements").get(found[0]))
        *shapes, elements = (None if sizes is None else dimensions(sizes) for sizes in known)
        return shapes, elements

    return answer


def _by_the_checker(proto: onnx.ModelProto) -> Answers:
    if proto.opset_import[0].version not in range(7, 24):
        return lambda _, outputs: ([None] * outputs, None)
    model = Model(proto)
    values = (*proto.graph.input, *proto.graph.initializer)
    for value, kind in product(values, ("type", "shape", "elements")):
        _follow(model, value.name, kind)

    def answer(index: int, outputs: int) -> Said:
        names = [f"y{index}_{k}" for k in range(outputs)]
        shapes = [_follow(model, name, "shape") for name in names]
        return shapes, _follow(model, names[0], "elements")

    return answer


def _follow(model: Model, value: str, kind: str) -> Shape | None:
    try:
        found = fact(model, value, kind)
    except Rejected:
        return None
    return None if isinstance(found, str) else tuple(found)


pytestmark = pytest.mark.skipif(
    not changed("kernels survive numbers at the ends of int32 and int64"),
    reason="older kernels end the process at the extreme numbers; a newer onnxruntime is needed",
)

IDS = [f"{name}-{part}" for name, part in PARTS]


@pytest.fixture(scope="module")
def tried(request: pytest.FixtureRequest) -> Callable[[str, int], dict[str, Any]]:
    """Gives what came of a part, without a misfit; all that are chosen are tried at once."""
    lines: dict[str, dict[int, Line]] = {}

    def result(function: str, number: int) -> dict[str, Any]:
        if function not in lines:
            here = [i for i in request.session.items if i.path == request.path]
            numbers = [i.callspec.params[function] for i in here if function in i.callspec.params]
            # By far more seconds than any part was seen to take.
            found = run_attempts(f"soundness.test_size_cubes:{function}", numbers, 2, seconds=120)
            lines[function] = {line["number"]: line for line in found}
        line = lines[function][number]
        assert "result" in line, line
        assert line["result"]["misfits"] == []
        return line["result"]

    return result


@pytest.mark.thorough
@pytest.mark.parametrize("attempt", range(len(PARTS)), ids=IDS)
def test_kernels_give_the_sizes_that_rules_state(attempt: int, tried: Callable) -> None:
    found = tried("attempt", attempt)
    assert found["ran"] > 0
    assert found["analysis"] > 0
    assert (found["contract"] > 0) == (found["near"] > 0)


@pytest.mark.thorough
@pytest.mark.parametrize("attempt_conformed", CONFORMED, ids=[IDS[n] for n in CONFORMED])
def test_conformed_nodes_give_the_same_elements(attempt_conformed: int, tried: Callable) -> None:
    assert tried("attempt_conformed", attempt_conformed)["changes"] > 0


@pytest.mark.parametrize("attempt_inferred", INFERRED, ids=[IDS[n] for n in INFERRED])
def test_what_is_inferred_wrongly_is_doubted(attempt_inferred: int, tried: Callable) -> None:
    assert tried("attempt_inferred", attempt_inferred)["right"] > 0


@pytest.mark.parametrize("step", [-3, -2, -1, 1, 2, 3])
def test_indices_of_a_slice_are_counted_as_they_are_walked(step: int) -> None:
    near = range(-6, 7)
    for size, start, end in product(range(5), near, near):
        numbers = size, start, end, step
        assert count_of_places(*numbers) == len(places(*numbers)), numbers
