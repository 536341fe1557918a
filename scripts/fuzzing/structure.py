"""Changes that a parser takes: of edges, names, types, shapes, attributes and versions."""

import random
from collections.abc import Callable, Sequence

import onnx
from onnx import defs

from fuzzing.numbers import any_integer
from fuzzing.operators import random_attribute
from sonnx_ort.loading.traversal import all_graphs, all_nodes

Change = Callable[[random.Random, onnx.ModelProto], None]

_OPERATORS = ("Div", "Sub", "Mod", "Add", "Relu", "Slice", "Reshape", "If", "Loop", "Scan", "Cast")


def _node(rng: random.Random, model: onnx.ModelProto) -> onnx.NodeProto:
    nodes = list(all_nodes(model))
    return rng.choice(nodes) if nodes else model.graph.node.add(op_type="Div", output=["d"])


def _swap_edges(rng: random.Random, model: onnx.ModelProto) -> None:
    one, other = _node(rng, model), _node(rng, model)
    if one.input and other.input:
        i, j = rng.randrange(len(one.input)), rng.randrange(len(other.input))
        one.input[i], other.input[j] = other.input[j], one.input[i]


def _read_any_value(rng: random.Random, model: onnx.ModelProto) -> None:
    """Perhaps one that comes later, so that the graph has a cycle."""
    node = _node(rng, model)
    names = [name for other in all_nodes(model) for name in (*other.input, *other.output)]
    if node.input and names:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)


def _change_inputs(rng: random.Random, model: onnx.ModelProto) -> None:
    node = _node(rng, model)
    match rng.randrange(3):
        case 0 if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(("", "nowhere"))
        case 1 if node.input:
            node.input.pop()
        case _ if node.input:
            node.input.append(rng.choice(list(node.input)))


def _change_outputs(rng: random.Random, model: onnx.ModelProto) -> None:
    node, other = _node(rng, model), _node(rng, model)
    match rng.randrange(3):
        case 0 if node.output and other.output:
            node.output[rng.randrange(len(node.output))] = rng.choice(list(other.output))
        case 1 if node.output:
            node.output[rng.randrange(len(node.output))] = ""
        case _:
            node.output.append("another")


def _drop_node(rng: random.Random, model: onnx.ModelProto) -> None:
    graph = rng.choice(list(all_graphs(model)))
    if graph.node:
        del graph.node[rng.randrange(len(graph.node))]


def _rename_operator(rng: random.Random, model: onnx.ModelProto) -> None:
    _node(rng, model).op_type = rng.choice(_OPERATORS)


def _move_to_a_domain(rng: random.Random, model: onnx.ModelProto) -> None:
    _node(rng, model).domain = rng.choice(("sonnx", "ai.onnx", "local", "com.microsoft"))


def _change_attribute(rng: random.Random, model: onnx.ModelProto) -> None:
    """Give an attribute that the operator has any value."""
    node = _node(rng, model)
    version = max((entry.version for entry in model.opset_import if not entry.domain), default=17)
    try:
        schema = defs.get_schema(node.op_type, min(version, 2**31 - 1), node.domain)
    except (defs.SchemaError, TypeError):
        return
    if not schema.attributes:
        return
    name = rng.choice(sorted(schema.attributes))
    made = random_attribute(rng, name, schema.attributes[name].type)
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    if made is not None:
        del node.attribute[:]
        node.attribute.extend([*kept, made])


def _declared(rng: random.Random, model: onnx.ModelProto) -> onnx.TypeProto.Tensor | None:
    values = [
        value
        for graph in all_graphs(model)
        for each in (graph.input, graph.output, graph.value_info)
        for value in each
    ]
    return rng.choice(values).type.tensor_type if values else None


def _lie_about_a_type(rng: random.Random, model: onnx.ModelProto) -> None:
    declared = _declared(rng, model)
    if declared is not None:
        declared.elem_type = rng.choice((0, 1, 1, 6, 7, 8, 9, 10, 11, 16, 3, 23, 99))


def _lie_about_a_shape(rng: random.Random, model: onnx.ModelProto) -> None:
    declared = _declared(rng, model)
    if declared is None:
        return
    if rng.random() < 1 / 3 and declared.shape.dim:
        dimension = rng.choice(list(declared.shape.dim))
        dimension.dim_value = any_integer(rng)
        return
    declared.ClearField("shape")
    if rng.random() < 3 / 4:
        declared.shape.SetInParent()
        for _ in range(rng.choice((0, 1, 1, 2, 3, 40))):
            declared.shape.dim.add().dim_value = any_integer(rng)


def _claim_of_a_value(rng: random.Random, model: onnx.ModelProto) -> None:
    names = [name for node in model.graph.node for name in node.output]
    if names:
        claim = model.graph.value_info.add(name=rng.choice(names))
        claim.type.tensor_type.elem_type = rng.choice((1, 1, 6, 7, 11))
        for _ in range(rng.randint(0, 3)):
            claim.type.tensor_type.shape.dim.add().dim_value = any_integer(rng)


def _change_a_constant(rng: random.Random, model: onnx.ModelProto) -> None:
    tensors = [tensor for graph in all_graphs(model) for tensor in graph.initializer]
    tensors += [a.t for node in all_nodes(model) for a in node.attribute if a.HasField("t")]
    if not tensors:
        return
    tensor = rng.choice(tensors)
    match rng.randrange(4):
        case 0:
            tensor.data_type = rng.choice((0, 1, 6, 7, 8, 11, 77))
        case 1:
            tensor.dims[:] = [any_integer(rng) for _ in range(rng.randint(0, 3))]
        case 2 if tensor.int64_data:
            tensor.int64_data[rng.randrange(len(tensor.int64_data))] = any_integer(rng)
        case _:
            changed = bytearray(tensor.raw_data)
            if changed:
                changed[rng.randrange(len(changed))] = rng.choice((0, 1, 127, 128, 255))
            tensor.raw_data = bytes(changed)


def _change_version(rng: random.Random, model: onnx.ModelProto) -> None:
    if rng.random() < 1 / 4:
        model.ir_version = rng.choice((0, 1, 3, 7, 8, 10, 11, 13, 99))
    elif model.opset_import:
        entry = rng.choice(list(model.opset_import))
        entry.version = rng.choice((*range(1, 27), 0, -1, 99, 2**62))


def _call_functions(rng: random.Random, model: onnx.ModelProto) -> None:
    """Have a function call one, perhaps itself."""
    if not model.functions:
        return
    caller, called = rng.choice(list(model.functions)), rng.choice(list(model.functions))
    node = caller.node.add(op_type=called.name, domain=called.domain)
    node.input.extend(list(caller.input)[: len(called.input)])
    node.output.extend(list(caller.output)[: len(called.output)])


def _repeat_a_name(rng: random.Random, model: onnx.ModelProto) -> None:
    named: Sequence[onnx.NodeProto | onnx.ValueInfoProto | onnx.TensorProto] = [
        *all_nodes(model),
        *(value for graph in all_graphs(model) for value in (*graph.input, *graph.initializer)),
    ]
    if named:
        rng.choice(named).name = rng.choice(("", rng.choice(named).name))


STRUCTURAL: tuple[Change, ...] = (
    *(_swap_edges, _read_any_value, _change_inputs, _change_outputs, _drop_node),
    *(_rename_operator, _move_to_a_domain, _change_attribute, _change_attribute),
    *(_lie_about_a_type, _lie_about_a_shape, _claim_of_a_value, _change_a_constant),
    *(_change_version, _call_functions, _repeat_a_name),
)
"""All of them; each leaves a model alone that has nothing of what it changes."""
