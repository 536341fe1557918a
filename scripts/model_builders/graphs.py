"""ONNX models in ONNX's textual syntax; the tests make theirs with it too."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnx
from onnx import numpy_helper, parser

OPSET = 17
IR_VERSION = 9
"""A version of the file format that ONNX Runtime 1.23 and later load."""

Dimensions = Sequence[int | str | None] | None
"""One size, symbol or None (unknown) per axis; None instead of all: not even the rank is known."""


def parse(
    text: str,
    *,
    opset: int = OPSET,
    domains: Mapping[str, int] | None = None,
    constants: Mapping[str, npt.NDArray[Any]] | None = None,
    ir_version: int = IR_VERSION,
) -> onnx.ModelProto:
    """Make a model; it is not checked.

    Args:
        text: A graph without its name, and after it the functions that it calls. For example
            `(float[n] A, float[n] B) => (float[n] C) { [divide] C = Div(A, B) }`.
        opset: The version of the default domain.
        domains: The versions of further domains.
        constants: Initializers by name.
        ir_version: The version of the file format.
    """
    versions = {"": opset, **(domains or {})}
    imports = ", ".join(f'"{domain}": {version}' for domain, version in versions.items())
    header = f'ir_version: {ir_version}, opset_import: [{imports}], producer_name: "sonnx_ort"'
    made = parser.parse_model(f"<{header}> graph {text}")
    for nodes in (made.graph.node, *(function.node for function in made.functions)):
        _clear_empty_domains(nodes)
    for name, array in (constants or {}).items():
        made.graph.initializer.append(numpy_helper.from_array(array, name))
    return made


def declared(element_type: str, shape: Dimensions) -> str:
    """Write a type down: "float[2,n,?]"."""
    if shape is None:
        return f"{element_type}[]"
    sizes = ",".join("?" if size is None else str(size) for size in shape)
    return f"{element_type}[{sizes}]" if sizes else element_type


def binary(
    operator: str, element_type: str, shapes: Sequence[Dimensions], node: str, *, opset: int = OPSET
) -> onnx.ModelProto:
    """Make a model of one node: `A, B -> operator -> C`."""
    a, b, c = (declared(element_type, shape) for shape in shapes)
    made = parse(f"({a} A, {b} B) => ({c} C) {{ C = {operator}(A, B) }}", opset=opset)
    made.graph.node[0].name = node
    return made


def _clear_empty_domains(nodes: Iterable[onnx.NodeProto]) -> None:
    """Leave the default domain out, as `onnx.helper` does."""
    for node in nodes:
        if not node.domain:
            node.ClearField("domain")
        for attribute in node.attribute:
            _clear_empty_domains(attribute.g.node)
