"""Registers the operators with onnxruntime-extensions, once, when this module is imported.

Registering another operator in the domain after a session exists would move definitions to which
the session points, and end the process. So all are registered here.
"""

from onnxruntime_extensions import PyOp, get_library_path, onnx_op

from sonnx_ort.custom_ops.catalog import KERNEL_DEFINITIONS
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.profile.operator import DOMAIN

LIBRARY_PATH: str = get_library_path()
"""The shared library through which a session finds the operators."""


def _register(definition: KernelDefinition) -> None:
    registered = onnx_op(
        op_type=f"{DOMAIN}::{definition.name}",
        inputs=[_declared(name) for name in definition.inputs],
        outputs=[_declared(definition.output), PyOp.dt_int64],
        attrs=dict.fromkeys(definition.attributes, PyOp.dt_string),
    )(definition.kernel)
    # Strings need no cast, and the default reads the C++ table of types for every comparison.
    registered.cast_attributes = dict


def _declared(element_type: str) -> int:
    number: int = getattr(PyOp, f"dt_{element_type}")
    return number


for _definition in KERNEL_DEFINITIONS:
    _register(_definition)
