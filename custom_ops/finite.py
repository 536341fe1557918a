"""The custom operator that checks that all elements of a value are finite.

It returns the value's shape, to which the graph reshapes the value itself:

    X -> sonnx::FiniteElements -> X's shape, its shape -> Reshape -> shape
    X, shape -> Reshape -> X
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.definition import (
    CARRIERS,
    KernelDefinition,
    KernelOutput,
    shape_output,
)
from sonnx_ort.custom_ops.failure_channel import guard_name
from sonnx_ort.custom_ops.violation_log import contract_violation, failed, kernel_failed
from sonnx_ort.printable import escaped
from sonnx_ort.profile.element_type import FLOAT_TYPES, ElementType
from sonnx_ort.profile.finite import FINITE, computing_operator, finite_elements

_INT64 = ElementType.INT64.dtype
_NAME = "FiniteElements"


def finite_shape(
    elements: npt.NDArray[Any], node: str, operator: str, value: str, element_type: str
) -> tuple[KernelOutput, KernelOutput]:
    """Give the shape of a value if all of its elements are finite.

    Args:
        elements: The value; 16-bit floats as float, perhaps before they are rounded.
        node: The name of the node that computes it.
        operator: That node's operator.
        value: The value's name.
        element_type: The value's own type.

    Returns:
        The shape, and its own shape: `[rank]`, or `[-ticket]` on a violation. Never raises.
    """
    try:
        rounded = _rounded(elements, ElementType(element_type))
        violation = finite_elements(value).violation((rounded,))
        if violation is not None:
            shapes = (elements.shape,)
            error = contract_violation(
                computing_operator(operator), FINITE, node, (value,), shapes, violation
            )
            return failed(_INT64, FINITE.code, error)
        return shape_output(elements.shape), shape_output((elements.ndim,))
    except BaseException as error:  # noqa: BLE001 - nothing may leave a kernel
        return kernel_failed(_INT64, _NAME, node, error)


@np.errstate(all="ignore")
def _rounded(elements: npt.NDArray[Any], element_type: ElementType) -> npt.NDArray[Any]:
    return elements.astype(element_type.dtype, copy=False)


def finite_guard_name(operator: str, node: str, value: str) -> str:
    """Make the name of the guard behind a value.

    Args:
        operator: The operator of the node that computes it, of any domain.
        node: The name of that node.
        value: The value's name.
    """
    # Errors are read by an operator's name of letters, digits and underscores.
    name = re.sub(r"\W", "_", operator)
    return guard_name(name, node, [FINITE], f"'{escaped(value)}' has to be finite")


FINITE_ELEMENTS = tuple(
    KernelDefinition(
        name=_NAME,
        operator=None,
        inputs=(element_type.value,),
        output=ElementType.INT64.value,
        attributes=("node", "operator", "value", "element_type"),
        kernel=finite_shape,
    )
    for element_type in FLOAT_TYPES
    if element_type not in CARRIERS
)
"""One kernel for each type of floats that kernels take."""
