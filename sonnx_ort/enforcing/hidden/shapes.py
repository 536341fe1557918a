"""Hides the shape of a value until the run.

If ONNX Runtime knows all sizes of a value statically, it computes the Shape from them. These sizes
can be wrong: its kernels contradict them for a PRelu that broadcasts both ways and for a reduction
of an empty tensor. It also accepts tensors of any rank for an input declared as a scalar. A Loop's
state has no static shape, so a Loop without iterations passes a value on and hides its shape until
the run.
"""

import functools
from collections.abc import Iterable, Sequence

import onnx.defs
import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.values.provenance import is_control_input
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.enforcing.nodes import StandardNodes, uses_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.facts.schemas import allowed_types
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_LOOP = 1
"""The first opset with Loop."""

LOOP_OF_BFLOAT16 = 16
"""The first opset in which a Loop's state can be bfloat16."""


@functools.cache
def oldest_opset_to_pass_on(element_type: str, *, hidden: bool) -> int:
    """The oldest opset in which Reshape, and a Loop if it hides shapes, take tensors of a type.

    Raises:
        SonnxError: There is none.
    """
    operators = ("Shape", "Reshape", *(("Loop",) if hidden else ()))
    for version in range(1, onnx.defs.onnx_opset_version() + 1):
        if all(f"tensor({element_type})" in _tensors_of(each, version) for each in operators):
            return version
    raise SonnxError(f"no {operators[-1]} takes tensors of type {element_type}")


def _tensors_of(operator: str, version: int) -> frozenset[str]:
    """The types that a version of an operator takes as what it passes on."""
    types = allowed_types(operator, version, STANDARD_DOMAIN)
    # That of a Loop is the type of its states, the last one.
    return types[-1 if operator == "Loop" else 0]


def hide_misinferred_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], examined: ExaminedNode
) -> tuple[ir.Value, ...]:
    """Hide the shapes of those operands that ONNX Runtime may infer wrongly."""
    return tuple(
        hide_shape(nodes, value) if may_be_misinferred else value
        for value, may_be_misinferred in zip(values, examined.may_be_misinferred, strict=True)
    )


def hide_shape(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    """Pass a value through a Loop, so that its shape is known only in a run."""
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(True, "condition", ElementType.BOOL)
    body = {"body": _body(nodes, value)}
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", body)


def oldest_opset_with_hidden_shapes(examined: ExaminedNode) -> int:
    """The oldest opset in which the operands of a node can be hidden."""
    types = {operand.element_type for operand in examined.operands}
    hidden = examined.operands[0].scalar_inputs or any(examined.may_be_misinferred)
    return LOOP_OF_BFLOAT16 if hidden and ElementType.BFLOAT16 in types else _LOOP


def hide_scalars_after(
    graph: ir.Graph,
    groups: Groups,
    nodes: Iterable[ExaminedNode],
    facts: Facts,
    checked: Iterable[CheckedValue] = (),
) -> None:
    """Hide the shapes of inputs declared as scalars on which operands or these values depend.

    A Scan needs the shape; its body gets a state of unknown shape in any case. ONNX Runtime's
    optimizer replaces a Dropout by its ratio if the ratio is computed.
    """
    read = [*(node.ruled.inputs for node in nodes), *((each.value,) for each in checked)]
    uses = {
        value: [u for u in each if u[0].op_type != "Scan" and not is_control_input(*u)]
        for value, each in uses_of(facts.scalars_affecting_any(read)).items()
    }
    if uses:
        hiding = groups.nodes("inputs")
        after = {value: hide_shape(hiding, value) for value in uses}
        groups.read_after_inputs(graph, hiding, after, uses)


def _body(nodes: StandardNodes, value: ir.Value) -> ir.Graph:
    """The body of a Loop of no iterations, whose state has no declared shape."""
    boolean = ir.TensorType(ir.DataType.BOOL)
    iteration = nodes.value("iteration")
    iteration.type, iteration.shape = ir.TensorType(ir.DataType.INT64), ir.Shape([])
    go_on, still = nodes.value("go_on"), nodes.value("still")
    for flag in (go_on, still):
        flag.type, flag.shape = boolean, ir.Shape([])
    state, following = nodes.value("state"), nodes.value("next_state")
    state.type = following.type = value.type
    return ir.Graph(
        [iteration, go_on, state],
        [still, following],
        nodes=[ir.node("Identity", [go_on], outputs=[still]), _next_state(state, following)],
        name="nothing",
    )


def _next_state(state: ir.Value, following: ir.Value) -> ir.Node:
    """A node whose output has the state's type; a Loop without iterations never computes it."""
    if isinstance(state.type, ir.SequenceType) and isinstance(state.type.elem_type, ir.TensorType):
        # Identity takes sequences since opset 14.
        return ir.node(
            "SequenceEmpty", [], {"dtype": state.type.elem_type.dtype.value}, outputs=[following]
        )
    return ir.node("Identity", [state], outputs=[following])
