"""What ONNX Runtime is told of a kernel."""

from collections.abc import Callable
from dataclasses import dataclass

from sonnx_ort.custom_ops.kernel_output import KernelOutput
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import Operator

Kernel = Callable[..., tuple[KernelOutput, KernelOutput]]
"""A total function of the inputs' arrays and of the node's attributes.

It gives the result and its shape; on a violation an empty result and the shape `[-ticket]`.
"""


@dataclass(frozen=True, slots=True)
class KernelDefinition:
    """A kernel for one combination of types.

    Attributes:
        name: The operator's name in the domain `sonnx`.
        operator: The operator of the profile whose rules it enforces; None if its attribute
            `operator` names that.
        inputs: The element types of its inputs.
        output: The element type of its result.
        attributes: The names of its attributes, all of them strings.
        kernel: The kernel.
        remark: What its guard looks at, where the rules do not say it.
    """

    name: str
    operator: Operator | None
    inputs: tuple[ElementType, ...]
    output: ElementType
    attributes: tuple[str, ...]
    kernel: Kernel
    remark: str = ""
