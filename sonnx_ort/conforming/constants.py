"""Constant: the tensor stands in the attribute `value`.

ONNX says of each other attribute what tensor it means (Constant-12): a number or a text is a scalar
of float, int64 or string, and a list of them a vector. The tensor is the same where it is stored.
"""

from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, Site

_TYPES = MappingProxyType({"float": np.float32, "int": np.int64, "string": object})
"""The types of what attributes hold that mean a tensor, and are none."""


def store_as_tensor(site: Site) -> bool:
    """Store the numbers or texts of a Constant as its tensor.

    Raises:
        NoChangeError: It has other attributes than one of these.
    """
    names = sorted(site.node.attributes)
    kind = names[0].removeprefix("value_").removesuffix("s") if len(names) == 1 else ""
    if kind not in _TYPES:
        raise NoChangeError(f"its attributes are {', '.join(names) or 'left out'}")
    elements = np.asarray(site.node.attributes[names[0]].value, _TYPES[kind])
    site.set_attribute("value", _tensor(elements))
    site.remove_attribute(names[0])
    return True


def _tensor(elements: npt.NDArray[Any]) -> ir.TensorProtocol:
    if elements.dtype != object:
        return ir.tensor(elements)
    texts = [str(text).encode() for text in elements.flat]
    return ir.StringTensor(texts, shape=ir.Shape(elements.shape))


CHANGES = (Change("store the tensor as value", frozenset({"Constant.R1"}), store_as_tensor),)
"""The changes of Constant."""
