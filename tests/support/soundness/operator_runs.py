"""Runs random nodes of one operator in ONNX Runtime, and holds what is certain against the outcome.

Attempts for `support.soundness.isolated`: `NUMBER // ATTEMPTS` chooses the operator.
"""

import random
from typing import Any

import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from sonnx_ort.errors import InvalidModel
from sonnx_ort.kernel.catalog import SHAPE_RULES, operator_version
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.terms.operand import Shape
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.node_cases import misfit
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
