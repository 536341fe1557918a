"""Models and their parts, in versions that ONNX Runtime 1.23 and later load."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

OPSET = 17
IR_VERSION = 9
LEGACY_IR_VERSION = 3
"""The version of the file format that models of opset 1 and 6 were written in."""

NODE_NAMES = {"Div": "divide", "Sub": "subtract"}

Array = npt.NDArray[Any]
Attribute = int | str | Sequence[int] | onnx.GraphProto | None
Dimensions = Sequence[int | str | None]
"""A size, a symbol or None per axis."""


def tensor_type(dtype: npt.DTypeLike) -> int:
    """The number of an element type in ONNX files.

    Args:
        dtype: The numpy dtype of the same values.
    """
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def value(name: str, dtype: npt.DTypeLike, shape: Dimensions) -> onnx.ValueInfoProto:
    """Declare a tensor.

    Args:
        name: Its name.
        dtype: Its element type.
        shape: Its shape.
    """
    return helper.make_tensor_value_info(name, tensor_type(dtype), shape)


def constant(name: str, array: Array) -> onnx.TensorProto:
    """Make an initializer.

    Args:
        name: The name of the value.
        array: Its elements.
    """
    return numpy_helper.from_array(array, name)


def node(
    operator: str,
    inputs: str,
    outputs: str,
    name: str | None = None,
    domain: str | None = None,
    /,
    **attributes: Attribute,
) -> onnx.NodeProto:
    """Make a node; `Div` and `Sub` are named after what they do unless a name is given.

    Args:
        operator: The operator.
        inputs: The names of its inputs, separated by single spaces; an optional one may be empty.
        outputs: The names of its outputs, separated by single spaces.
        name: Its name.
        domain: Its domain; the default one unless given.
        **attributes: Its attributes.
    """
    made = helper.make_node(
        operator,
        inputs.split(" "),
        outputs.split(" "),
        name=name or NODE_NAMES.get(operator),
        domain=domain,
    )
    made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return made


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto] = (),
    name: str = "graph",
) -> onnx.GraphProto:
    """Make a graph.

    Args:
        nodes: Its nodes, in order.
        inputs: Its inputs.
        outputs: Its outputs.
        initializers: Its initializers.
        name: Its name.
    """
    return helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(initializers))


def model(
    main: onnx.GraphProto,
    *,
    opset: int = OPSET,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """Make a model.

    Args:
        main: Its graph.
        opset: The version of the default domain.
        functions: Its local functions.
        domains: The versions of further domains.
    """
    imports = {"": opset} | dict(domains or {})
    return helper.make_model(
        main,
        producer_name="sonnx_ort",
        ir_version=IR_VERSION if opset >= 7 else LEGACY_IR_VERSION,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in imports.items()],
        functions=list(functions),
    )


def binary(
    operator: str,
    dtype: npt.DTypeLike,
    a: Dimensions,
    b: Dimensions,
    opset: int = OPSET,
    /,
    **attributes: Attribute,
) -> onnx.ModelProto:
    """Make a model of one node: `A, B -> operator -> C`.

    Args:
        operator: "Div" or "Sub".
        dtype: The element type of all three.
        a: The declared shape of A.
        b: The declared shape of B; where it is not A's, the sizes of C are left open.
        opset: The version of the default domain.
        **attributes: The node's attributes.
    """
    c = a if a == b else (None,) * max(len(a), len(b))
    main = graph(
        [node(operator, "A B", "C", **attributes)],
        [value("A", dtype, a), value("B", dtype, b)],
        [value("C", dtype, c)],
    )
    return model(main, opset=opset)
