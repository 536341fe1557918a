"""Registers the operators with onnxruntime-extensions, once, when this module is imported.

Registering one more operator in the domain after a session exists would move the definitions that
the session points to, and end the process; so all are registered here and none ever after.
"""

from onnxruntime_extensions import PyOp, get_library_path, onnx_op

from sonnx_ort.custom_ops.div import CUSTOM_DIV
from sonnx_ort.custom_ops.kernel import CustomOperator, make_kernel
from sonnx_ort.custom_ops.sub import CUSTOM_SUB
from sonnx_ort.profile.domain import DOMAIN
from sonnx_ort.profile.element_type import ElementType

CUSTOM_OPERATORS: tuple[CustomOperator, ...] = (CUSTOM_DIV, CUSTOM_SUB)
"""All operators of the domain. A new one is one more entry."""

LIBRARY_PATH: str = get_library_path()
"""The shared library through which a session reaches the operators."""


def _register(custom: CustomOperator, element_type: ElementType) -> None:
    declared = getattr(PyOp, f"dt_{element_type.value}")
    onnx_op(
        op_type=f"{DOMAIN}::{custom.operator.name}",
        inputs=[declared] * len(custom.operator.operands),
        outputs=[declared, PyOp.dt_int64],
        attrs={"node": PyOp.dt_string, "edition": PyOp.dt_string},
    )(make_kernel(custom, element_type))


for _custom in CUSTOM_OPERATORS:
    for _element_type in _custom.element_types:
        _register(_custom, _element_type)
