"""Models that compute in bfloat16 between float32 inputs and outputs.

ONNX Runtime's `run` takes and gives no bfloat16 arrays; every bfloat16 is a float32, so the casts
at the edges change nothing.
"""

from collections.abc import Mapping
from dataclasses import replace

import ml_dtypes
import numpy as np
import onnx

from model_builders import graphs
from model_builders.bundle import Array, Bundle
from sonnx_ort.models import Case, Outputs

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def with_float32_edges(bundle: Bundle) -> Bundle:
    """Give a bfloat16 model float32 inputs and outputs; one of another type stays as it is.

    Args:
        bundle: A model whose inputs and outputs are all of one type and whose cases expect
            outputs.

    Raises:
        TypeError: A case expects something else.
    """
    main = bundle.model.graph
    if main.input[0].type.tensor_type.elem_type != onnx.TensorProto.BFLOAT16:
        return bundle
    inside = {io.name: f"{io.name}_bfloat16" for io in (*main.input, *main.output)}
    nodes = [
        *(_cast(io.name, inside[io.name], BFLOAT16) for io in main.input),
        *(_renamed(node, inside) for node in main.node),
        *(_cast(inside[io.name], io.name, np.dtype(np.float32)) for io in main.output),
    ]
    edges = [_as_float32(io) for io in (*main.input, *main.output)]
    count = len(main.input)
    model = graphs.model(graphs.graph(nodes, edges[:count], edges[count:]))
    cases = tuple(_case_in_float32(case) for case in bundle.example.cases)
    return Bundle(replace(bundle.example, cases=cases), model)


def _cast(source: str, target: str, dtype: np.dtype[np.generic]) -> onnx.NodeProto:
    return graphs.node("Cast", source, target, to=graphs.tensor_type(dtype))


def _renamed(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    return copy


def _as_float32(declared: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(declared)
    copy.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return copy


def _case_in_float32(case: Case) -> Case:
    if not isinstance(case.expected, Outputs):
        raise TypeError(f"case '{case.name}' expects no outputs")
    values = Outputs(_in_float32(case.expected.values))
    return replace(case, inputs=_in_float32(case.inputs), expected=values)


def _in_float32(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: array.astype(np.float32) for name, array in arrays.items()}
