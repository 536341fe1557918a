"""Runs random nodes and models in ONNX Runtime, and holds what is certain against the outcome.

Attempts for `support.soundness.isolated`: `NUMBER // ATTEMPTS` chooses the operator.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from sonnx_ort.certificates import Traced
from sonnx_ort.checker import Rejected
from sonnx_ort.checker.model import as_claim
from sonnx_ort.errors import InvalidModel
from sonnx_ort.kernel.catalog import SHAPE_RULES, operator_version
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.terms.operand import Shape
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.models import random_feeds, random_model
from support.soundness.node_cases import misfit, stands_for
from support.soundness.nodes import NodeCase, random_case

OPERATORS = sorted(SHAPE_RULES)
ATTEMPTS = 1000
"""How many attempts there can be for each operator."""


def attempt(number: int) -> dict[str, Any] | None:
    """Try one node.

    Returns:
        `version`, the operator's; `refused`, why ONNX Runtime did not run it; or `certain`, of how
        many outputs the shape was certain, and `misfit`, what contradicts it. None for a model
        that `check` refuses, or of which nothing is certain.
    """
    ort.set_default_logger_severity(4)
    operator = OPERATORS[number // ATTEMPTS]
    rng = random.Random(f"{operator} {number % ATTEMPTS}")  # noqa: S311 - no cryptography
    case = random_case(rng, operator)
    model, feeds = model_of(rng, case)
    try:
        loaded = load(model).graph_model
    except InvalidModel:
        return None
    facts = Facts(loaded)
    shapes = [facts.shape(output) for output in loaded.graph.outputs]
    if all(shape is None for shape in shapes):
        return None
    version = {"version": operator_version(operator, case.opset)}
    try:
        options = on_one_thread(rng.choice(("none", "all")))
        outputs = ort.InferenceSession(model.SerializeToString(), options).run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return version | {"refused": str(error)[:200]}
    found = _misfits(model, shapes, outputs, feeds)
    certain = sum(shape is not None for shape in shapes)
    return version | {"certain": certain, "misfit": found}


def _misfits(
    model: onnx.ModelProto, shapes: list[Shape | None], outputs: list[Any], feeds: dict[str, Array]
) -> str:
    sizes = {}
    for declared in model.graph.input:
        for axis, dimension in enumerate(declared.type.tensor_type.shape.dim):
            if dimension.dim_param:
                sizes[dimension.dim_param] = feeds[declared.name].shape[axis]
    found = misfit(shapes, outputs, sizes)
    return f"{found} of\n{onnx.printer.to_text(model)}\n{feeds}" if found else ""


def model_of(rng: random.Random, case: NodeCase) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A model of one node, whose inputs are declared, open, of unknown rank, or constants."""
    names, inputs, constants, feeds = [], [], [], {}
    for index, array in enumerate(case.inputs):
        if array is None:
            names.append("")
            continue
        name = f"x{index}"
        names.append(name)
        few_integers = array.dtype.kind == "i" and array.ndim <= 1
        if rng.random() < (0.6 if few_integers else 0.15):
            constants.append(numpy_helper.from_array(array, name))
            continue
        feeds[name] = array
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        inputs.append(helper.make_tensor_value_info(name, kind, _declared(rng, index, array)))
    return case.model(names, inputs, constants), feeds


def _declared(rng: random.Random, index: int, array: Array) -> list[int | str] | None:
    match rng.choice(["fixed", "fixed", "fixed", "open", "open", "open", "mixed", "unknown"]):
        case "fixed":
            return list(array.shape)
        case "open":
            return [f"s{index}_{axis}" for axis in range(array.ndim)]
        case "mixed":
            return [rng.choice([s, f"s{index}_{axis}"]) for axis, s in enumerate(array.shape)]
    return None


def attempt_of_operator(number: int) -> dict[str, Any] | None:
    """Try one node; `number // ATTEMPTS` chooses its operator."""
    operator = OPERATORS[number // ATTEMPTS]
    rng = random.Random(f"certified {operator} {number % ATTEMPTS}")  # noqa: S311
    return _held(*model_of(rng, random_case(rng, operator)), rng.choice(("none", "all")))


def attempt_of_graph(number: int) -> dict[str, Any] | None:
    """Try one graph."""
    rng = random.Random(f"certified {number}")  # noqa: S311 - no cryptography
    made = random_model(rng)
    return _held(made.proto, random_feeds(rng, made), rng.choice(("none", "all")))


def _held(model: onnx.ModelProto, feeds: Mapping[str, Array], level: str) -> dict[str, Any] | None:
    """How many steps a run confirms, and what contradicts one; None if there is no run or step."""
    ort.set_default_logger_severity(4)
    try:
        traced = Traced.of(model)
    except Rejected:
        return None
    steps = {(value, kind): as_claim(traced.known(kind, value)) for value, kind in traced.steps}
    names = [name for node in model.graph.node for name in node.output if name]
    shown = [name for name in names if any((name, kind) in steps for kind in ("type", "shape"))]
    if not shown:
        return None
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    del exposed.graph.output[:]
    exposed.graph.output.extend(helper.ValueInfoProto(name=name) for name in shown)
    try:
        session = ort.InferenceSession(exposed.SerializeToString(), on_one_thread(level))
        results = dict(zip(shown, session.run(shown, feeds), strict=True))
    except Exception:  # noqa: BLE001 - what does not run contradicts nothing
        return None
    misfits = [*misfits_of(model, feeds, steps, results)]
    text = f"{misfits[0]} of\n{onnx.printer.to_text(model)}\n{feeds}" if misfits else ""
    count = sum(value in results for value, _ in steps)
    return {"steps": count, "misfit": text}


def _sizes_of_run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, int]:
    """The sizes of this run, by the names that the first axis has of each."""
    sizes: dict[str, int] = {}
    for declared in model.graph.input:
        for axis, dimension in enumerate(declared.type.tensor_type.shape.dim):
            if declared.name in feeds:
                sizes.setdefault(dimension.dim_param, feeds[declared.name].shape[axis])
    return sizes


def misfits_of(
    model: onnx.ModelProto,
    feeds: Mapping[str, Array],
    steps: Mapping[tuple[str, str], Any],
    results: Mapping[str, Any],
) -> Iterator[str]:
    """What steps say of values, and a run contradicts."""
    sizes = _sizes_of_run(model, feeds)
    for (value, kind), claim in steps.items():
        array = results.get(value)
        if not isinstance(array, np.ndarray):
            continue
        if kind == "type":
            name = helper.np_dtype_to_tensor_dtype(array.dtype)
            found = onnx.TensorProto.DataType.Name(name).lower()
            if array.dtype != object and found != claim:
                yield f"the type of {value} is {found}, not {claim}"
            continue
        found = array.shape if kind == "shape" else array.ravel().tolist()
        if kind == "interval":
            lower, upper, nan = claim
            numbers = array.astype(np.float64)
            within = (numbers >= float(lower)) & (numbers <= float(upper)) | np.isnan(numbers) & nan
            if not within.all():
                yield f"the elements of {value} are {found}, not within {claim}"
            continue
        if kind == "bounds":
            if found and not claim[0] <= min(found) <= max(found) <= claim[1]:
                yield f"the elements of {value} are {found}, not within {claim}"
            continue
        pairs = zip(claim, found, strict=False)
        if len(found) != len(claim) or not all(_fits(*pair, sizes) for pair in pairs):
            yield f"the {kind} of {value} is {found}, not {claim} with {sizes}"


def _fits(claim: int | str, found: int, sizes: dict[str, int]) -> bool:
    """Whether a size can be what a step says; of an input that is not fed no size is known."""
    try:
        return stands_for(claim, found, sizes)
    except NameError:
        return True
