"""Which kernel computes a node, and in which type."""

from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.definition import CARRIERS
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.judgement import Status
from sonnx_ort.rewriting.value_info import element_type_of


def carrier_of(examined: ExaminedNode) -> ElementType | None:
    """The type that stands in for the operands' own; None if there is no need of one.

    Args:
        examined: The node.
    """
    element_type = element_type_of(examined)
    custom = CUSTOM_OPERATORS.get(examined.target.operator.name)
    return None if custom is None or element_type is None else custom.carriers.get(element_type)


def has_kernel(examined: ExaminedNode) -> bool:
    """Whether a node's own kernel computes in the node's own type, as the custom operator does.

    Args:
        examined: The node.
    """
    custom = CUSTOM_OPERATORS.get(examined.target.operator.name)
    if custom is None or element_type_of(examined) is None or carrier_of(examined) is not None:
        return False
    return custom.arithmetic is None or not examined.target.further_attributes


def left_in_place(examined: ExaminedNode) -> bool:
    """Whether a standard operator's kernel computes what the python backend would let compute.

    Args:
        examined: The node.
    """
    operator = examined.target.operator
    custom = CUSTOM_OPERATORS.get(operator.name)
    if custom is not None and custom.arithmetic is None:
        return operator.rounds_once or element_type_of(examined) is not ElementType.BFLOAT16
    return has_kernel(examined)


def require_kernel(examined: ExaminedNode) -> None:
    """Demand that the python backend can enforce a node.

    Args:
        examined: The node.

    Raises:
        SonnxError: There is no kernel for it.
    """
    target = examined.target
    name, element_type = target.operator.name, element_type_of(examined)
    told = f"{name} '{target.label}': the python backend has no kernel for it"
    if name not in CUSTOM_OPERATORS:
        raise SonnxError(f"{told}; custom_ops/ has no file of that operator")
    if target.further_attributes and CUSTOM_OPERATORS[name].arithmetic is not None:
        raise SonnxError(f"{told} with the attribute '{target.further_attributes[0]}'")
    if element_type is ElementType.BFLOAT16 and not target.operator.rounds_once:
        raise SonnxError(f"{told} in {element_type}, and ONNX Runtime has none either")
    if element_type in CARRIERS and carrier_of(examined) is None:
        raise SonnxError(f"{told} in {element_type}")


def require_nothing_waived(examined: ExaminedNode) -> None:
    """Demand that a kernel has to check all rules of a node.

    Args:
        examined: The node.

    Raises:
        SonnxError: A violation of one is waived.
    """
    for obligation in examined.obligations:
        if obligation.status is Status.VIOLATED:
            raise SonnxError(
                f"the waiver of {obligation.rule.id} at {obligation.place} cannot have effect: the "
                "kernels of the python backend check all rules of a node; use the native backend"
            )
