"""Whether a model that is refused breaks the rule for which it is refused, by its own operands.

The operands are what plain ONNX Runtime computes of the original model; what breaks a rule is
the exact oracle's to say.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

import sonnx_ort
from sonnx_ort.loading.traversal import all_nodes
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operand import Shape
from support.onnx_backend import run_with_any_types
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.rules import decided_rules

_ABOUT_TYPES, _ABOUT_SHAPES = ".R2", ".R1"

_AXES, _STEPS = 3, 4
"""Where a Slice reads them."""

_OF_THE_PROFILE = {element_type.dtype for element_type in ElementType}


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that is said to be broken.

    Attributes:
        rule: The rule's id.
        operator: The operator.
        node: How errors call the node.
        shapes: The shapes that it tells of the operands; None for one that it does not know.
    """

    rule: str
    operator: str
    node: str
    shapes: tuple[Shape | None, ...]


def breaches_of(error: Exception | None) -> list[Breach]:
    """What an error says is broken; nothing if it is of another kind.

    Args:
        error: The error.
    """
    match error:
        case sonnx_ort.ModelRejected():
            found = error.report.violations
            return [
                Breach(v.rule.id, v.operator, v.node, tuple(o.shape for o in v.operands))
                for v in found
            ]
        case sonnx_ort.ContractViolation():
            return [Breach(error.rule, error.operator, error.node, error.shapes or ())]
    return []


def unbroken(
    model: onnx.ModelProto, feeds: Mapping[str, Any], breaches: Sequence[Breach]
) -> list[str]:
    """Find the rules that operands keep, and say so of each.

    Args:
        model: The original model.
        feeds: What it is run with.
        breaches: What is said to be broken. In the body of another node, whose values are not
            looked at, it has to be a rule about shapes, and those that are told have to break it,
            or one about inputs that the node has not.
    """
    return list(_unbroken(model, feeds, breaches))


def _unbroken(
    model: onnx.ModelProto, feeds: Mapping[str, Any], breaches: Sequence[Breach]
) -> Iterator[str]:
    for breach in breaches:
        labels = {_label(node): node for node in model.graph.node}
        if breach.node in labels:
            node = labels[breach.node]
            operands = _operands(model, node, feeds)
            kept = not _breaks(breach.rule, node, operands)
            told = ", ".join(map(_told, operands))
        else:
            (node,) = (node for node in all_nodes(model) if _label(node) == breach.node)
            kept = not _said_to_break(breach, node)
            told = str(breach.shapes)
        if kept:
            yield f"{breach.operator} '{breach.node}' keeps {breach.rule}: {told}"


def _label(node: onnx.NodeProto) -> str:
    return node.name or f"(output {node.output[0]})"


def _told(operand: Array | None) -> str:
    return "nothing" if operand is None else f"{operand.dtype}{list(operand.shape)}"


def _said_to_break(breach: Breach, node: onnx.NodeProto) -> bool:
    """Whether a node breaks a rule, by the shapes that are told and by what it has of inputs."""
    shapes = breach.shapes
    match breach.rule:
        case "MatMul.C1":
            return any(shape is not None and len(shape) != 2 for shape in shapes)
        case "Slice.R1" | "Slice.R3":
            position = _AXES if breach.rule == "Slice.R1" else _STEPS
            return not any(node.input[position : position + 1])
    return breach.rule.endswith(_ABOUT_SHAPES) and len(set(shapes)) > 1


def _breaks(rule: str, node: onnx.NodeProto, operands: Sequence[Array | None]) -> bool:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if not OPERATORS[node.op_type].elementwise:
        return decided_rules(node.op_type, operands, "typed", attributes).get(rule, False)
    given = [operand for operand in operands if operand is not None]
    if rule.endswith(_ABOUT_SHAPES):
        return len({operand.shape for operand in given}) > 1
    if rule.endswith(_ABOUT_TYPES):
        types = {operand.dtype for operand in given}
        return len(types) > 1 or not types <= _OF_THE_PROFILE
    given = list(np.broadcast_arrays(*given))
    return decided_rules(node.op_type, given, "typed", attributes).get(rule, False)


def _operands(
    model: onnx.ModelProto, node: onnx.NodeProto, feeds: Mapping[str, Any]
) -> list[Array | None]:
    """What a node of a model reads in a run of plain ONNX Runtime; None where it reads nothing."""
    exposed = copy.deepcopy(model)
    del exposed.graph.output[:]
    names = [name for name in node.input if name]
    computed = [name for name in names if name not in feeds]
    known = dict(feeds)
    for position, name in enumerate(computed):
        exposed.graph.node.add(op_type="Identity", input=[name], output=[f"operand{position}"])
        exposed.graph.output.append(helper.make_empty_tensor_value_info(f"operand{position}"))
    if computed:
        session = ort.InferenceSession(exposed.SerializeToString(), on_one_thread("none"))
        known.update(zip(computed, run_with_any_types(session, feeds), strict=True))
    return [np.asarray(known[name]) if name else None for name in node.input]
