"""A bundled model as code gives it, and short ways to write one down, with the oracle's results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from model_builders import graphs
from model_builders.graphs import Dimensions
from sonnx_ort import models as m
from sonnx_ort import oracle
from sonnx_ort.models import Case, Expectation
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Outcome = m.Outputs | m.RunViolation
Compute = Callable[..., Expectation]

TYPED = Edition.TYPED
PRELIMINARY = Edition.PRELIMINARY

NODE_NAMES = {
    "Div": "divide",
    "Sub": "subtract",
    "Broadcast": "spread",
    "Add": "add",
    "Mul": "multiply",
    "Max": "take_largest",
    "Min": "take_smallest",
    "PRelu": "scale_below_zero",
    "And": "require_both",
    "Or": "require_any",
    "Xor": "require_one",
    "BitwiseAnd": "mask_bits",
    "BitwiseOr": "set_bits",
    "BitwiseXor": "flip_bits",
    **dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"), "compare"),
    "Where": "choose",
    "Mod": "take_remainder",
    "Pow": "raise",
    "BitShift": "shift_bits",
    "Abs": "take_magnitude",
    "Neg": "negate",
    "Reciprocal": "invert",
    "Sqrt": "take_root",
    "Log": "take_logarithm",
    "Acos": "take_angle",
    "Cast": "convert",
    "Clip": "clip",
    "MatMul": "multiply_matrices",
    "BatchNormalization": "normalize",
    "Slice": "cut_out",
    "ArgMax": "find_largest",
}
"""What the nodes are called, unless a model has several of one operator."""


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """A model with its entry in the manifest."""

    example: m.Example
    model: onnx.ModelProto


def bundle(
    name: str, shows: str, model: onnx.ModelProto, cases: Iterable[Case], *sources: m.Citation
) -> Bundle:
    """Put a model and its entry together: its cases, and where its numbers come from."""
    return Bundle(m.Example(name, shows, sources, tuple(cases)), model)


def binary(
    operator: str, operand: Array, a: Dimensions = None, b: Dimensions = None
) -> onnx.ModelProto:
    """Make a model of one node: `A, B -> operator -> C`."""
    a = operand.shape if a is None else a
    c = a if b is None else (None,) * max(len(a), len(b))
    shapes = a, a if b is None else b, c
    return graphs.binary(operator, element_type_of(operand), shapes, NODE_NAMES[operator])


def case(
    name: str, expected: Expectation | Array, edition: Edition = TYPED, /, **inputs: Array
) -> Case:
    """Make a case of the operators enforced by default; an expected array is that of C."""
    outputs = m.Outputs({"C": expected}) if isinstance(expected, np.ndarray) else expected
    return Case(name, edition, "reject", "default", inputs, outputs)


def explicit(*cases: Case) -> list[Case]:
    """Have cases ask for explicit broadcasting, and say so in their names."""
    return [replace(c, name=f"explicit {c.name}", broadcast="explicit") for c in cases]


def in_both_modes(*cases: Case) -> list[Case]:
    """Give cases, and behind them the same with explicit broadcasting."""
    return [*cases, *explicit(*cases)]


def in_both_editions(expected: Expectation | Array, /, **inputs: Array) -> list[Case]:
    """Make two cases that expect the same, one per edition; arguments as for `case`."""
    return [case(edition.value, expected, edition, **inputs) for edition in Edition]


def outcome(operator: str, *operands: Array, edition: Edition = TYPED, node: str = "") -> Outcome:
    """What comes of a node of an element-wise operator: its output, or the rule it breaks."""
    found = oracle.outcome(operator, operands, element_type_of(operands[-1]), edition)
    if isinstance(found, oracle.Violation):
        return _violation(found, operator, operands, node)
    return m.Outputs({OPERATORS[operator].result: found})


def node_outcome(
    operator: str, inputs: Mapping[str, Array], attributes: Mapping[str, int | float] | None = None
) -> Outcome:
    """What comes of a node of any operator, whose operands have the names of the profile."""
    profiled = OPERATORS[operator]
    operands = [inputs.get(name) for name in profiled.operands]
    kind = element_type_of(inputs[profiled.operands[0]])
    found = oracle.outcome(operator, operands, kind, TYPED, attributes or {})
    if isinstance(found, oracle.Violation):
        checked_operands = [inputs[name] for name in profiled.checked_operands if name in inputs]
        return _violation(found, operator, checked_operands)
    return m.Outputs({profiled.result: found})


def explicit_outcome(operator: str, a: Array, b: Array, edition: Edition = TYPED) -> Outcome:
    """What comes of a node in front of which a Broadcast is inserted."""
    repeated = oracle.broadcast(a, b)
    if isinstance(repeated, oracle.Violation):
        return _violation(repeated, "Broadcast", (a, b), NODE_NAMES[operator])
    return outcome(operator, *repeated, edition=edition)


def broadcast_outcome(*tensors: Array) -> Outcome:
    """What comes of a model's own Broadcast: its outputs Z0, Z1, ..., or the rule it breaks."""
    found = oracle.broadcast(*tensors)
    if isinstance(found, oracle.Violation):
        return _violation(found, "Broadcast", tensors)
    return m.Outputs({f"Z{index}": array for index, array in enumerate(found)})


def quotients(a: Array, b: Array) -> Array:
    """Divide in the typed edition, after an explicit Broadcast."""
    return only_output(explicit_outcome("Div", a, b))


def differences(a: Array, b: Array) -> Array:
    """Subtract after an explicit Broadcast."""
    return only_output(explicit_outcome("Sub", a, b))


def only_output(found: Outcome) -> Array:
    """The output of an outcome that has to have one."""
    if isinstance(found, m.Outputs):
        (array,) = found.values.values()
        return array
    raise ValueError(f"the operands break {found.rule}")


def runs(
    operator: str, a: Array, b: Array, what: str = "", compute: Compute = outcome
) -> list[Case]:
    """Make two cases of Div or Sub, one per edition, that expect what the oracle computes."""
    return [
        case(
            f"{what} {edition}".strip(), compute(operator, a, b, edition=edition), edition, A=a, B=b
        )
        for edition in Edition
    ]


def explicit_runs(operator: str, a: Array, b: Array, what: str = "") -> list[Case]:
    """Make two cases as `runs` does, with explicit broadcasting."""
    return explicit(*runs(operator, a, b, what, explicit_outcome))


def rejections(typed: str = "", preliminary: str = "", nodes: Sequence[str] = ("",)) -> list[Case]:
    """Make cases that are decided before any run, one per edition that is given rules.

    Args:
        typed: The ids of the rules that are broken in the typed edition, separated by blanks.
        preliminary: Those in the preliminary edition.
        nodes: The nodes that break them all; those of the rules' operators unless given.
    """
    cases = []
    for edition, rules in ((TYPED, typed.split()), (PRELIMINARY, preliminary.split())):
        broken = (
            m.StaticViolation(rule, node or NODE_NAMES[rule.partition(".")[0]])
            for node in nodes
            for rule in rules
        )
        if rules:
            cases.append(case(edition.value, m.Rejection(tuple(broken)), edition))
    return cases


def element_type_of(array: Array) -> ElementType:
    """The element type of an array."""
    return next(t for t in ElementType if t.dtype == array.dtype)


def float32(elements: npt.ArrayLike) -> Array:
    """Make a float32 tensor of elements nested by axis."""
    return np.array(elements, np.float32)


def int32(elements: npt.ArrayLike) -> Array:
    """Make an int32 tensor of elements nested by axis."""
    return np.array(elements, np.int32)


def _violation(
    found: oracle.Violation, operator: str, operands: Sequence[Array], node: str = ""
) -> m.RunViolation:
    shapes = tuple(operand.shape for operand in operands)
    name = node or NODE_NAMES[operator]
    return m.RunViolation(found.rule, operator, name, shapes, found.index, found.values)
