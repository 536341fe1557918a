"""Runs random nodes and models in ONNX Runtime, and holds what is certain against the outcome.

Attempts are for `support.soundness.isolated`.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from sonnx_ort.checker import Rejected, established
from sonnx_ort.facts.catalog import SHAPE_RULES, operator_version
from sonnx_ort.terms.operand import Shape
from support.derived import facts
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.models import random_feeds, random_model
from support.soundness.node_cases import misfit, stands_for
from support.soundness.nodes import random_case
from support.soundness.operator_runs import Attempt, OneNode, chosen, held_to_a_run

OPERATORS = sorted(SHAPE_RULES)


def attempt(number: int) -> Attempt:
    """Try one node; tell the `version` of its operator, and how many `facts` were derived."""
    operator, rng = chosen("shapes", OPERATORS, number)
    case, made = random_case(rng, operator), OneNode()
    model = made.model(case, lambda *given: _source(rng, made, *given))
    claimed = _derived(model)

    def compared(shapes: list[Shape | None], outputs: list[Array]) -> dict[str, Any]:
        results = dict(zip((value.name for value in model.graph.output), outputs, strict=True))
        contradicted = [*misfits_of(model, made.feeds, claimed, results)]
        by_facts = misfit(shapes, outputs, _sizes_of_run(model, made.feeds))
        return {"misfit": "; ".join(filter(None, [by_facts, *contradicted])), "facts": len(claimed)}

    found = held_to_a_run(rng, model, made.feeds, lambda facts: facts.shape, compared)
    return found and {"version": operator_version(operator, case.opset)} | found


def _source(rng: random.Random, made: OneNode, index: int, array: Array) -> str:
    """An operand: a constant, or an input that is declared, open, or of unknown rank."""
    few_integers = array.dtype.kind == "i" and array.ndim <= 1
    if rng.random() < (0.6 if few_integers else 0.15):
        return made.constant(f"x{index}", array)
    return made.given(f"x{index}", array, _declared(rng, index, array))


def _declared(rng: random.Random, index: int, array: Array) -> list[int | str] | None:
    match rng.choice(["fixed", "fixed", "fixed", "open", "open", "open", "mixed", "unknown"]):
        case "fixed":
            return list(array.shape)
        case "open":
            return [f"s{index}_{axis}" for axis in range(array.ndim)]
        case "mixed":
            return [rng.choice([s, f"s{index}_{axis}"]) for axis, s in enumerate(array.shape)]
    return None


def attempt_of_graph(number: int) -> dict[str, Any] | None:
    """Try one graph."""
    rng = random.Random(f"certified {number}")  # noqa: S311 - no cryptography
    made = random_model(rng)
    return _held(made.proto, random_feeds(rng, made), rng.choice(("none", "all")))


def _derived(model: onnx.ModelProto) -> Mapping[tuple[str, str], Any]:
    """What is derived of values, by their names and by what it is; nothing of what is refused."""
    try:
        return facts(established(model))
    except Rejected:
        return {}


def _held(model: onnx.ModelProto, feeds: Mapping[str, Array], level: str) -> dict[str, Any] | None:
    """How many facts a run confirms, and what contradicts one; None if there is no run or fact."""
    ort.set_default_logger_severity(4)
    claimed = _derived(model)
    names = [name for node in model.graph.node for name in node.output if name]
    shown = [name for name in names if any((name, kind) in claimed for kind in ("type", "shape"))]
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
    misfits = [*misfits_of(model, feeds, claimed, results)]
    text = f"{misfits[0]} of\n{onnx.printer.to_text(model)}\n{feeds}" if misfits else ""
    count = sum(value in results for value, _ in claimed)
    return {"facts": count, "misfit": text}


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
    claimed: Mapping[tuple[str, str], Any],
    results: Mapping[str, Any],
) -> Iterator[str]:
    """What is claimed of values, and a run contradicts."""
    sizes = _sizes_of_run(model, feeds)
    for (value, kind), claim in claimed.items():
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
    """Whether a size can be what is claimed; of an input that is not fed no size is known."""
    try:
        return stands_for(claim, found, sizes)
    except NameError:
        return True
