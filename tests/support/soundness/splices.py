"""Node cases of the onnx package with a Div or Sub behind one of their outputs.

Attributes and sizes are changed at random, also to what an operator's document does not give. The
other operand has the real shape of the output, the one that inference tells, a size of 0 or 1
somewhere, or is an input of the node. Some compute with the sizes of both instead, for ONNX Runtime
follows sizes before a run. Attempts for `support.soundness.isolated`.
"""

import copy
import logging
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from sonnx_ort.errors import InvalidModel
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.runs.reduce.shrinking import Trial
from support.sessions import on_one_thread
from support.soundness.arrays import Array
from support.soundness.kernel_truth import judge, operands_at_each_level
from support.soundness.node_cases import node_cases, tensors, with_constants
from support.soundness.other_sizes import other_sizes
from support.soundness.shrinking import smallest

Declare = Callable[[random.Random, str, Sequence[int]], list[int | str] | None]
"""Gives what an input of a name and a shape is declared with; None for an unknown rank."""

_TYPES = {onnx.TensorProto.FLOAT: np.float32, onnx.TensorProto.DOUBLE: np.float64}
_OTHERS = (
    *(onnx.TensorProto.BOOL, onnx.TensorProto.UINT8, onnx.TensorProto.INT8),
    *(onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT16),
)
"""Types that are cast to float in front of the Div or Sub."""


_CASES = [
    case
    for case in node_cases()
    # A Div or Sub of the case's own could broadcast.
    if not {"Div", "Sub"} & {node.op_type for node in all_nodes(case.model)}
]
ort.set_default_logger_severity(4)
logging.getLogger("sonnx_ort").disabled = True


_OF_NUMBERS = [
    [case for case in _CASES if [node.op_type for node in case.model.graph.node] == [operator]]
    for operator in (
        *("ArgMax", "AveragePool", "ConstantOfShape", "Conv", "ConvTranspose", "Expand", "Flatten"),
        *("Gather", "MaxPool", "OneHot", "Pad", "Range", "ReduceSum", "Reshape", "Resize", "Slice"),
        *("Split", "Squeeze", "Tile", "TopK", "Unsqueeze"),
    )
]
"""The cases of each operator that gets sizes by numbers, which are changed."""

_FAR = 1 << 54
"""A number by which a double does not divide exactly."""


def attempt(number: int) -> dict[str, int]:
    """Judge one graph, and give what was looked at."""
    trial = splice(number)
    if trial is None:
        return {"no graph": 1}
    try:
        return dict(judge(trial))
    except InvalidModel:
        return {"no valid model": 1}


def original_alone(number: int) -> None:
    """Run what a graph is made of without this project, which may end the process by itself."""
    trial = splice(number)
    if trial is not None:
        operands_at_each_level(trial)


def shrunk(number: int) -> str:
    """Give the smallest graph on which the same goes wrong.

    Args:
        number: That of a graph on which something goes wrong.
    """
    return str(smallest(splice(number), judge))


def splice(number: int) -> Trial | None:
    """Make the graph of a number; None if its node does not run."""
    rng = random.Random(number)  # noqa: S311 - no cryptography
    of_numbers = rng.random() < 1 / 4
    case = rng.choice(rng.choice(_OF_NUMBERS) if of_numbers else _CASES)
    # Half of the graphs declare all sizes, so that there is something to prove.
    declare = _fixed if rng.random() < 1 / 2 else _any
    if of_numbers or rng.random() < (2 / 3 if declare is _fixed else 1 / 3):
        model, _ = with_constants(case)
    else:
        model = copy.deepcopy(case.model)
    model.ir_version = min(model.ir_version, 10)
    given = dict(zip([i.name for i in case.model.graph.input], case.data_sets[0][0], strict=False))
    arrays = [tensors([given[declared.name]])[0] for declared in model.graph.input]
    if any(array is None or array.dtype == object for array in arrays):
        return None
    feeds: dict[str, Array] = {}
    for declared, array in zip(model.graph.input, arrays, strict=True):
        if array is not None:
            feeds[declared.name] = other_sizes(rng, array) if rng.random() < 1 / 4 else array
    if of_numbers:
        _change_numbers(rng, model)
    elif rng.random() < 1 / 2:
        _change_attributes(rng, model)
    for value in model.graph.input:
        kind = value.type.tensor_type.elem_type
        sizes = declare(rng, value.name, feeds[value.name].shape)
        value.CopyFrom(helper.make_tensor_value_info(value.name, kind, sizes))
    return _spliced(rng, model, feeds, declare)


def _spliced(
    rng: random.Random, model: onnx.ModelProto, feeds: dict[str, Array], declare: Declare
) -> Trial | None:
    output = rng.choice(model.graph.output)
    kind = output.type.tensor_type.elem_type
    if kind not in _TYPES and kind not in _OTHERS:
        return None
    real, inferred = _shapes(model, feeds, output.name)
    if real is None:
        return None
    graph = model.graph
    operand = output.name
    if kind in _OTHERS:
        kind = onnx.TensorProto.FLOAT
        operand = "cast_operand"
        graph.node.add(op_type="Cast", input=[output.name], output=[operand]).attribute.append(
            helper.make_attribute("to", kind)
        )
    fitting = [name for name, array in feeds.items() if array.dtype == _TYPES[kind]]
    if fitting and rng.random() < 1 / 5:
        other = rng.choice(fitting)
    else:
        other = "other"
        feeds[other] = np.ones(_other_shape(rng, [real, inferred]), _TYPES[kind])
        sizes = declare(rng, other, feeds[other].shape)
        graph.input.append(helper.make_tensor_value_info(other, kind, sizes))
    names = rng.sample([operand, other], 2)
    if rng.random() < 1 / 4:
        in_line, kind = rng.random() < 1 / 2, onnx.TensorProto.INT64
        names = [_sizes_of(graph, name, in_line=in_line) for name in names]
    # A quotient of sizes may break rules about elements, which are not judged here.
    operator = "Sub" if kind == onnx.TensorProto.INT64 else rng.choice(["Div", "Sub"])
    graph.node.append(helper.make_node(operator, names, ["spliced"], name="splice"))
    del graph.output[:]
    graph.output.append(onnx.helper.make_tensor_value_info("spliced", kind, None))
    if rng.random() < 3 / 4:
        graph.ClearField("value_info")
    return Trial(model, (feeds,))


def _sizes_of(graph: onnx.GraphProto, name: str, *, in_line: bool) -> str:
    """Add what gives the sizes of a tensor, or of all its elements in a line; give its name."""
    sizes, line = f"sizes_of_{name}", f"{name}_in_line"
    if in_line:
        one_axis = onnx.numpy_helper.from_array(np.array([-1]), "one_axis")
        if one_axis.name not in {tensor.name for tensor in graph.initializer}:
            graph.initializer.append(one_axis)
        graph.node.append(helper.make_node("Reshape", [name, one_axis.name], [line]))
    graph.node.append(helper.make_node("Shape", [line if in_line else name], [sizes]))
    return sizes


def _shapes(
    model: onnx.ModelProto, feeds: Mapping[str, Array], name: str
) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """The shape that an output really has, and the one that inference tells."""
    bare = copy.deepcopy(model)
    for output in bare.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    try:
        session = ort.InferenceSession(bare.SerializeToString(), on_one_thread("none"))
        (result,) = session.run([name], feeds)
        inferred = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph.output
    except Exception:  # noqa: BLE001 - whatever ONNX Runtime does not take
        return None, ()
    if not isinstance(result, np.ndarray):
        return None, ()
    (told,) = [value.type.tensor_type for value in inferred if value.name == name]
    if not told.HasField("shape"):
        return result.shape, result.shape
    sizes = [d.dim_value if d.HasField("dim_value") else None for d in told.shape.dim]
    pairs = zip(sizes, [*result.shape, *[1] * len(sizes)], strict=False)
    return result.shape, tuple(a if size is None else size for size, a in pairs)


def _other_shape(rng: random.Random, shapes: Sequence[Sequence[int]]) -> list[int]:
    shape = list(rng.choice(shapes))
    if shape and rng.random() < 1 / 4:
        shape[rng.randrange(len(shape))] = rng.choice([0, 1])
    if shape and rng.random() < 1 / 10:
        shape.pop(0)
    return shape


def _fixed(rng: random.Random, name: str, shape: Sequence[int]) -> list[int | str] | None:
    del rng, name
    return list(shape)


def _any(rng: random.Random, name: str, shape: Sequence[int]) -> list[int | str] | None:
    # ONNX Runtime takes tensors of any rank for what is declared as a scalar.
    if not shape:
        return []
    match rng.choice(["fixed", "open", "open", "mixed", "shared", "unknown"]):
        case "fixed":
            return list(shape)
        case "open":
            return [f"{name}_{axis}" for axis in range(len(shape))]
        case "mixed":
            return [rng.choice([size, f"{name}_{axis}"]) for axis, size in enumerate(shape)]
        case "shared":
            return [f"n{size}" for size in shape]
    return None


def _change_numbers(rng: random.Random, model: onnx.ModelProto) -> None:
    """Change elements of constants, or move a window farther than a double can tell."""
    constants = [t for t in model.graph.initializer if t.data_type == onnx.TensorProto.INT64]
    node = model.graph.node[0]
    if node.op_type == "Slice" and len(node.input) == 5 and rng.random() < 1 / 2:
        # Downwards, from in front of each axis.
        for tensor, number in zip(constants, (-30, -30, None, -1), strict=False):
            if number is not None:
                array = np.full(tensor.dims, number)
                tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
        return
    for tensor in constants:
        array = onnx.numpy_helper.to_array(tensor).copy()
        for place in range(array.size):
            if rng.random() < 1 / 3:
                array.flat[place] = rng.choice([-30, -30, -2, -1, -1, 0, 1, 2, 3, 30])
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    strides = next((a.ints for a in node.attribute if a.name == "strides"), None)
    if not constants and strides and rng.random() < 1 / 2:
        changed = [a for a in node.attribute if a.name in ("pads", "auto_pad")]
        for attribute in changed:
            node.attribute.remove(attribute)
        strides[0] = _FAR
        pads = [rng.choice([_FAR - 4, _FAR - 2]), *[0] * (2 * len(strides) - 1)]
        node.attribute.append(helper.make_attribute("pads", pads))


def _change_attributes(rng: random.Random, model: onnx.ModelProto) -> None:
    nodes = [node for node in model.graph.node if node.attribute]
    if not nodes:
        return
    node = rng.choice(nodes)
    attribute = rng.choice(node.attribute)
    if rng.random() < 1 / 4:
        node.attribute.remove(attribute)
        return
    match attribute.type:
        case onnx.AttributeProto.INT:
            attribute.i = rng.choice([-2, -1, 0, 1, 2, 3])
        case onnx.AttributeProto.INTS if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice([-1, 0, 1, 2, 3])
        case onnx.AttributeProto.STRING:
            attribute.s = rng.choice([b"SAME_UPPER", b"SAME_LOWER", b"VALID", b"NOTSET", b"odd"])
    if rng.random() < 1 / 3:
        _add_attribute(rng, node, model.opset_import[0].version)


def _add_attribute(rng: random.Random, node: onnx.NodeProto, opset: int) -> None:
    """Give a node an attribute that it leaves out."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
    except onnx.defs.SchemaError:
        return
    present = {attribute.name for attribute in node.attribute}
    kinds = onnx.defs.OpSchema.AttrType
    absent = [
        name
        for name, attribute in schema.attributes.items()
        if name not in present and attribute.type == kinds.INT
    ]
    if absent:
        value = rng.choice([-1, 0, 1, 2])
        node.attribute.append(helper.make_attribute(rng.choice(absent), value))
