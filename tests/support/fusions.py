"""Models with a Div or Sub that ONNX Runtime's optimizers would take away."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from support.graphs import model, tensor

Level = ort.GraphOptimizationLevel
LEVELS = {
    "none": Level.ORT_DISABLE_ALL,
    "basic": Level.ORT_ENABLE_BASIC,
    "extended": Level.ORT_ENABLE_EXTENDED,
    "all": Level.ORT_ENABLE_ALL,
}

Constants = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class Fusion:
    """A model, and the optimizer that takes nodes of it away.

    Attributes:
        optimizer: The name under which ONNX Runtime knows the optimizer.
        model: A model that keeps to the profile, with operands of one shape.
        losses: What the verification says is wrong then.
        level: The lowest level of optimization at which it does so.
    """

    optimizer: str
    model: onnx.ModelProto
    losses: str
    level: str

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which it does so."""
        names = tuple(LEVELS)
        return names[names.index(self.level) :]


def fusible(
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, list[int]],
    constants: Constants,
    *,
    element_type: str = "float",
    opset: int = 17,
) -> onnx.ModelProto:
    """Make a model of nodes that give `z`.

    Args:
        nodes: The nodes.
        inputs: The shapes of its inputs.
        constants: Its initializers.
        element_type: The element type of everything.
        opset: The version of the standard operators.
    """
    dtype = helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(element_type.upper()))
    initializers = [
        numpy_helper.from_array(np.asarray(array, np.int64 if name == "axes" else dtype), name)
        for name, array in constants.items()
    ]
    return model(
        nodes,
        [tensor(name, element_type, shape) for name, shape in inputs.items()],
        [tensor("z", element_type, None)],
        initializers=initializers,
        opset=opset,
    )


def node(
    operator: str, inputs: str, output: str, name: str = "", **attributes: object
) -> onnx.NodeProto:
    """Make a node.

    Args:
        operator: The operator.
        inputs: The names of its inputs, separated by blanks.
        output: The name of its output.
        name: Its own.
        **attributes: Its attributes.
    """
    return helper.make_node(operator, inputs.split(), [output], name=name, **attributes)


def reciprocal_times_y(element_type: str = "float") -> onnx.ModelProto:
    """`(1 / x) * y`."""
    nodes = [node("Div", "one x", "r", "divide"), node("Mul", "r y", "z")]
    return fusible(nodes, {"x": [1], "y": [1]}, {"one": [1]}, element_type=element_type)


def without_effect(operator: str, neutral: float) -> onnx.ModelProto:
    """`-(abs(x) op neutral)`."""
    nodes = [
        node("Abs", "x", "absolute"),
        node(operator, "absolute neutral", "r", operator.lower()),
        node("Neg", "r", "z"),
    ]
    return fusible(nodes, {"x": [1]}, {"neutral": [neutral]})


def gelu(opset: int) -> onnx.ModelProto:
    """`x * (erf(x / sqrt(2)) + 1) / 2`, with a product for the last quotient."""
    nodes = [
        node("Div", "x root", "scaled", "divide"),
        node("Erf", "scaled", "e"),
        node("Add", "e one", "f"),
        node("Mul", "x f", "g"),
        node("Mul", "g half", "z"),
    ]
    constants = {"root": [math.sqrt(2)], "one": 1, "half": 0.5}
    return fusible(nodes, {"x": [1]}, constants, opset=opset)


def layer_normalization(opset: int) -> onnx.ModelProto:
    """`(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * w + b`, of one element a row."""
    nodes = [
        node("ReduceMean", "x", "mean", axes=[-1]),
        node("Sub", "x mean", "centred", "centre"),
        node("Pow", "centred two", "square"),
        node("ReduceMean", "square", "variance", axes=[-1]),
        node("Add", "variance epsilon", "sum"),
        node("Sqrt", "sum", "deviation"),
        node("Div", "centred deviation", "normal", "divide"),
        node("Mul", "normal w", "scaled"),
        node("Add", "scaled b", "z"),
    ]
    constants = {"two": 2, "epsilon": 1e-5, "w": [3], "b": [5]}
    return fusible(nodes, {"x": [2, 1]}, constants, opset=opset)


def root_mean_square_normalization() -> onnx.ModelProto:
    """`x / sqrt(mean(x^2) + epsilon) * w`, of one element a row."""
    nodes = [
        node("Pow", "x two", "square"),
        node("ReduceMean", "square", "mean", axes=[-1]),
        node("Add", "mean epsilon", "sum"),
        node("Sqrt", "sum", "root"),
        node("Div", "x root", "normal", "divide"),
        node("Mul", "normal w", "z"),
    ]
    return fusible(nodes, {"x": [2, 1]}, {"two": 2, "epsilon": 1e-5, "w": [3]})


def scaled_product() -> onnx.ModelProto:
    """`(x @ y) / 3`, of one element."""
    nodes = [node("MatMul", "x y", "product"), node("Div", "product three", "z", "divide")]
    return fusible(nodes, {"x": [1, 8], "y": [8, 1]}, {"three": [[3]]})


FUSIONS = {
    "reciprocal": Fusion(
        "DivMulFusion",
        reciprocal_times_y(),
        "Div 'divide': its operand A is no longer the constant 'one'",
        "basic",
    ),
    "x / 1": Fusion("NoopElimination", without_effect("Div", 1), "Div 'div' is gone", "basic"),
    "x - 0": Fusion("NoopElimination", without_effect("Sub", 0), "Sub 'sub' is gone", "basic"),
    "Gelu of opset 20": Fusion("GeluFusionL1", gelu(20), "Div 'divide' is gone", "basic"),
    "Gelu of opset 17": Fusion("GeluFusionL2", gelu(17), "Div 'divide' is gone", "extended"),
    "LayerNormalization of opset 17": Fusion(
        "LayerNormFusionL1",
        layer_normalization(17),
        "Sub 'centre' is gone; Div 'divide' is gone",
        "basic",
    ),
    "LayerNormalization of opset 16": Fusion(
        "LayerNormFusionL2",
        layer_normalization(16),
        "Sub 'centre' is gone; Div 'divide' is gone",
        "extended",
    ),
    "RMSNormalization": Fusion(
        "SimplifiedLayerNormFusion",
        root_mean_square_normalization(),
        "Div 'divide' is gone",
        "extended",
    ),
    "scaled MatMul": Fusion(
        "MatMulScaleFusion", scaled_product(), "Div 'divide' is gone", "extended"
    ),
}
