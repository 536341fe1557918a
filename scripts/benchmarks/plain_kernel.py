"""The Python-defined `Div` that anyone would write first, in a domain of its own.

It hands its result to onnxruntime-extensions as it is, so that every element passes through a
Python list. It is no part of the product: it checks nothing, and floors negative integer quotients.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnxruntime_extensions import PyOp, onnx_op

PLAIN_DOMAIN = "plain"
"""The domain of the plain operators."""

Array = npt.NDArray[Any]


def in_plain_domain(model: onnx.ModelProto) -> onnx.ModelProto:
    """Copy a model, with its Div nodes in the plain domain.

    Args:
        model: A model without subgraphs.

    Returns:
        A model that needs the library of onnxruntime-extensions.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.opset_import.append(onnx.helper.make_opsetid(PLAIN_DOMAIN, 1))
    for node in copy.graph.node:
        if node.op_type == "Div":
            node.domain = PLAIN_DOMAIN
    return copy


def _quotient(a: Array, b: Array) -> Array:
    # A double is as wide as an int64, and its bits would be taken for one.
    return np.asarray(a / b if a.dtype.kind == "f" else a // b)


def _register(declared: int, kernel: Callable[[Array, Array], Array]) -> None:
    onnx_op(op_type=f"{PLAIN_DOMAIN}::Div", inputs=[declared, declared], outputs=[declared])(kernel)


# At import: one more operator in a domain after a session exists would end the process.
for _declared in (PyOp.dt_float, PyOp.dt_int32, PyOp.dt_int64):
    _register(_declared, _quotient)
