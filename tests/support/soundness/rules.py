"""Which rules operands break: the profile says which there are, and the exact oracle decides."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from restrictions import OPERATORS as WITH_OUTCOMES
from restrictions import Violation, outcome, single_operand_violations, violation

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule, Subject
from support.soundness.arrays import Array
from support.soundness.leaves import Abandoned

Attributes = Mapping[str, Any]
Places = Sequence[Array | None]
"""The operands of a node, None in the places of those that are left out."""

TYPES = {kind.dtype: kind for kind in ElementType}

_AXES, _STEPS = 3, 4
"""Where a Slice reads them."""


NEWEST = 1 << 10
"""A version in which all rules bind that have no end."""

Breaks = Callable[[Sequence[object | None], Attributes], bool]


def _left_out(position: int) -> Breaks:
    """Whether an input is left out."""
    return lambda places, _: all(place is None for place in places[position : position + 1])


def _not_given(*names: str) -> Breaks:
    return lambda _, said: any(name not in said for name in names)


def _other_than(name: str, admitted: Any, assumed: Any = None) -> Breaks:
    """Whether an attribute has another value; what is assumed is where it is left out."""
    return lambda _, said: said.get(name, assumed) != admitted


def _negative_axis(_: Sequence[object | None], said: Attributes) -> bool:
    return said.get("axis", 0) < 0


def _not_numbers(name: str, count: int, least: int) -> Breaks:
    """Whether a given attribute is not so many numbers, or one of them is too small."""
    return lambda _, said: (
        name in said and (len(said[name]) != count or min(said[name], default=least) < least)
    )


def _activations(_: Sequence[object | None], said: Attributes) -> bool:
    given = list(said.get("activations", ()))
    gates = [["Sigmoid", "Tanh", "Tanh"], ["Relu", "Tanh", "Tanh"]]
    return given not in gates and given not in [one + other for one in gates for other in gates]


def _convolution(operator: str) -> dict[str, Breaks]:
    return {
        f"{operator}.R2": _other_than("auto_pad", "NOTSET"),
        f"{operator}.group": lambda _, said: said.get("group", 1) < 1,
        f"{operator}.strides": _not_numbers("strides", 2, 1),
        f"{operator}.dilations": _not_numbers("dilations", 2, 1),
        f"{operator}.pads": _not_numbers("pads", 4, 0),
    }


_RANKS = frozenset({"Conv.R1", "ConvInteger.R1", "MaxPool.R1", "Gemm.R1", "LSTM.X", "Softmax.C2"})
"""The rules about ranks, behind which the oracle looks at no others."""

_LSTM_INPUTS = ("B", "sequence_lens", "initial_h", "initial_c", "P")

_BY_THE_NODE: Mapping[str, Breaks] = {
    "BatchNormalization.R1": lambda _, said: said.get("training_mode", 0) != 0,
    "BatchNormalization.C1": lambda _, said: not said.get("epsilon", 1e-5) > 0,
    "ArgMax.R4": _negative_axis,
    "Slice.R1": _left_out(_AXES),
    "Slice.R3": _left_out(_STEPS),
    "LeakyRelu.R1": _not_given("alpha"),
    "Softmax.R3": _not_given("axis"),
    "Softmax.R4": _negative_axis,
    "QuantizeLinear.R1": _other_than("axis", 1, 1),
    "QuantizeLinear.R2": _other_than("block_size", 0, 0),
    "QuantizeLinear.R3": _other_than("output_dtype", 0, 0),
    "QuantizeLinear.R4": _other_than("precision", 0, 0),
    "QuantizeLinear.given": _left_out(2),
    "DequantizeLinear.R1": _other_than("axis", 1, 1),
    "DequantizeLinear.R2": _other_than("block_size", 0, 0),
    "DequantizeLinear.R3": _other_than("output_dtype", 0, 0),
    "Concat.R1": _negative_axis,
    "Reshape.S": _left_out(1),
    "Reshape.allowzero.C1": lambda _, said: said.get("allowzero", 0) not in (0, 1),
    "Squeeze.A": _left_out(1),
    "Squeeze.axes": _not_given("axes"),
    "Squeeze.axes.names": lambda _, said: "axes" in said and not said["axes"],
    "Constant.R1": _not_given("value"),
    **_convolution("Conv"),
    **_convolution("ConvInteger"),
    "MaxPool.R2": _not_given("auto_pad", "kernel_shape", "pads", "strides"),
    "MaxPool.R2.storage_order": _not_given("storage_order"),
    "MaxPool.R2.dilations": _not_given("ceil_mode", "dilations"),
    "MaxPool.R3": _other_than("auto_pad", "NOTSET", "NOTSET"),
    "MaxPool.R4": _other_than("ceil_mode", 0, 0),
    "MaxPool.R5": _other_than("storage_order", 0, 0),
    "MaxPool.kernel_shape": _not_numbers("kernel_shape", 2, 1),
    "MaxPool.strides": _not_numbers("strides", 2, 1),
    "MaxPool.dilations": _not_numbers("dilations", 2, 1),
    "MaxPool.pads": _not_numbers("pads", 4, 0),
    "Gemm.R2.alpha": _other_than("alpha", 1, 1),
    "Gemm.R2.beta": _other_than("beta", 1, 1),
    "Gemm.R2.transA": _other_than("transA", 0, 0),
    "Gemm.R2.transB": _other_than("transB", 0, 0),
    "Gemm.R4": _left_out(2),
    **{f"LSTM.{name}": _left_out(3 + place) for place, name in enumerate(_LSTM_INPUTS)},
    "LSTM.activations": _activations,
    "LSTM.input_forget": _other_than("input_forget", 0),
    "LSTM.layout": _other_than("layout", 0),
    "LSTM.clip": lambda _, said: "clip" in said,
}
"""What breaks the rules that no operand decides, of which the oracle says nothing."""


def broken_by_node(
    rule: str, inputs: Sequence[object | None], attributes: Attributes
) -> bool | None:
    """Whether a node breaks a rule that no operand decides; None for other rules.

    Args:
        rule: The rule's id.
        inputs: What stands for its inputs, None for those that are left out.
        attributes: What its attributes say.
    """
    return _BY_THE_NODE[rule](inputs, attributes) if rule in _BY_THE_NODE else None


def type_of(operator: str, places: Places) -> ElementType:
    """The type of the operands that have no type of their own; float where there are none."""
    found = OPERATORS[operator]
    names = found.operand_names(len(places))
    pairs = zip(names, places, strict=False)
    own = (p for name, p in pairs if p is not None and name not in found.operand_types)
    first = next(own, None)
    return ElementType.FLOAT if first is None else TYPES[first.dtype]


def result_of(operator: str, operands: Sequence[Array], edition: str) -> Array | Violation:
    """What an operator without attributes gives of operands."""
    return outcome(operator, operands, type_of(operator, operands), Edition(edition))


def shape_rules(operator: str, places: Places, edition: str) -> tuple[str, ...]:
    """The ids of the rules that demand equal shapes, in order of decision."""
    rules = _rules(operator, places, edition)
    return tuple(r.id for r in rules if r.requirement.subject is Subject.EQUAL_SHAPES)


def decided_rules(
    operator: str, places: Places, edition: str, attributes: Attributes, version: int = NEWEST
) -> dict[str, bool]:
    """The rules that operands can break, in order of decision, and whether they break them.

    Rules behind the first that is broken may be missing: the oracle says no more of them.

    Args:
        operator: One of the profile's, but for Broadcast.
        places: The operands.
        edition: "typed" or "preliminary".
        attributes: What attributes of the node say.
        version: The version of the standard operators.

    Raises:
        Abandoned: ONNX Runtime refuses the operands, if no guard has refused them before.
    """
    rules = [r for r in _rules(operator, places, edition) if r.binds_version(version)]
    decided = {
        rule.id: _BY_THE_NODE[rule.id](places, attributes)
        for rule in rules
        if rule.id in _BY_THE_NODE
    }
    if any(decided.values()):
        return decided
    binding = {rule.id for rule in rules}
    broken, complete = _broken_rules(operator, places, edition, attributes, binding)
    for rule in rules:
        if rule.in_run:
            decided[rule.id] = rule.id in broken
            if decided[rule.id] and not complete:
                break
    return decided


def breaks(operator: str, rule: str, places: Places, attributes: Attributes) -> bool:
    """Whether operands of an operator that is not element-wise break a rule, whatever else they do.

    What a Slice does not have is what ONNX says of it: all axes, in steps of 1.
    """
    by_node = broken_by_node(rule, places, attributes)
    if by_node is not None:
        return by_node
    if RULES[rule].requirement.subject is Subject.TYPES:
        return _of_other_types(operator, RULES[rule], places)
    if _beyond_all_axes(operator, places, attributes):
        return rule == "ArgMax.R5"
    given = list(places)
    if operator == "Slice":
        x, starts, ends, axes, steps = [*given, None, None][: _STEPS + 1]
        assert x is not None
        assert starts is not None
        given = [x, starts, ends, np.arange(starts.size) if axes is None else axes]
        given.append(np.ones(starts.size, np.int64) if steps is None else steps)
    broken = {each.rule for each in single_operand_violations(operator, given, attributes)}
    # Where an operand has another rank, nothing is as demanded that speaks of its axes.
    return rule in broken or bool(broken & _RANKS)


def _of_other_types(operator: str, rule: Rule, places: Places) -> bool:
    """Whether operands have several types, or none of those that a rule names."""
    names = OPERATORS[operator].operand_names(len(places))
    types = {place.dtype for place in rule.select_operands(names, places) if place is not None}
    assert isinstance(rule.requirement, SameNumericType)
    kinds = rule.requirement.kinds
    return len(types) > 1 or (kinds is not None and not types <= {kind.dtype for kind in kinds})


def _rules(operator: str, places: Places, edition: str) -> tuple[Rule, ...]:
    family = type_of(operator, places).family
    return OPERATORS[operator].rules(Edition(edition), family)


def _broken_rules(
    operator: str, places: Places, edition: str, attributes: Attributes, binding: Set[str]
) -> tuple[set[str], bool]:
    """The rules that the oracle finds broken, and whether these are all of them."""
    if not OPERATORS[operator].elementwise:
        if _beyond_all_axes(operator, places, attributes):
            return {"ArgMax.R5"}, True
        found = single_operand_violations(operator, places, attributes)
        first = next((each.rule for each in found if each.rule in binding), None)
        return ({first} if first else set()), first is None
    if operator not in WITH_OUTCOMES:
        return set(), True
    operands = [place for place in places if place is not None]
    asked = type_of(operator, places), Edition(edition), attributes
    first = violation(operator, operands, *asked)
    if first is None:
        return set(), True
    if first.index is None:
        return {first.rule}, False
    alone = (
        violation(operator, [np.asarray(operand[index]) for operand in operands], *asked)
        for index in np.ndindex(operands[0].shape)
    )
    return {each.rule for each in alone if each is not None}, True


def _beyond_all_axes(operator: str, places: Places, attributes: Attributes) -> bool:
    """Whether an ArgMax names an axis that there is not; a Slice that ONNX Runtime refuses."""
    match operator, places:
        case "ArgMax", [np.ndarray() as data]:
            return not -data.ndim <= int(attributes.get("axis", 0)) < data.ndim
        case "Slice", [np.ndarray() as data, *indices]:
            if len(indices) < _STEPS or any(index is None for index in indices):
                return False
            starts, ends, axes, steps = (index for index in indices if index is not None)
            lengths = {index.size for index in (starts, ends, axes, steps)}
            missing = (axes < -data.ndim) | (axes >= data.ndim)
            if len(lengths) > 1 or missing.any() or not steps.all():
                raise Abandoned("Slice")
    return False
