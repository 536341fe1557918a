"""Random nodes of networks, nodes with subgraphs, and calls of model-local functions.

Most nodes of networks keep the rules of their drafts. What may differ in its last bit from one
library to the other is read by nobody but who runs the model.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from support.operator_cases import LSTM_ATTRIBUTES, MAX_POOL_ATTRIBUTES
from support.soundness.arrays import Array, random_array
from support.soundness.random_elementwise import Kind, numeric, of, wide
from support.soundness.random_nodes import KINDS, matrix
from support.soundness.scope import DOMAIN, Scope

_FLOAT = "float32"


_floats = of(_FLOAT, least=1)
_pooled = of(_FLOAT, "float64", "int8", "uint8", least=1)


def _number(scope: Scope, value: float, dtype: str) -> str:
    """A constant scalar, or now and then a vector of one element."""
    return scope.constant(np.full((1,) if scope.chance(0.07) else (), value, dtype))


def _of_rank(scope: Scope, name: str, rank: int) -> str:
    """The tensor with axes of size 1 in front, so that it has a rank; now and then as it is."""
    missing = rank - scope.values[name].ndim
    if missing <= 0 or scope.chance(0.07):
        return name
    axes = scope.constant(np.arange(missing))
    made = scope.add("Unsqueeze", [name, axes])
    return made[0] if made else name


def _add_rough(
    scope: Scope, operator: str, inputs: Sequence[str], said: Mapping[str, Any], *, outputs: int = 1
) -> None:
    made = scope.add(operator, list(inputs), outputs=outputs, hopeless=0.5, **said)
    for output in made or ():
        scope.values.pop(output, None)


def _most_of(scope: Scope, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes, of which now and then one is left out."""
    left_out = scope.rng.choice(sorted(attributes)) if scope.chance(0.05) else None
    return {name: value for name, value in attributes.items() if name != left_out}


def _window(scope: Scope, shape: Sequence[int]) -> tuple[list[int], dict[str, Any]]:
    """A kernel, and attributes of a window that fits into the spatial axes for the most part."""
    sizes = [*shape[2:4], 1, 1][:2]
    kernel = [scope.rng.randint(1, max(1, min(size, 2))) for size in sizes]
    if scope.chance(0.05):
        kernel[0] = 3
    pads = [min(scope.rng.choice([0, 0, 1]), size - 1) for size in kernel] * 2
    dilation = 2 if scope.chance(0.1) else 1
    strides = [scope.rng.choice([1, 1, 2]) for _ in kernel]
    return kernel, {"pads": pads, "strides": strides, "dilations": [dilation] * 2}


def _kernel(scope: Scope, image: Array, dtype: str) -> tuple[Array, dict[str, Any]]:
    """The operand W of a convolution, and the attributes."""
    channels = image.shape[1] if image.ndim > 1 else 1
    extent, said = _window(scope, image.shape)
    group = channels if channels > 1 and scope.chance(0.2) else 1
    if channels == 4 and scope.chance(0.3):
        group = 2
    outputs = group * scope.rng.randint(1, 2)
    shape = (outputs, max(1, channels // group), *extent)
    attributes = {"auto_pad": "NOTSET", "group": group, **said}
    return random_array(scope.rng, dtype, shape), _most_of(scope, attributes)


def conv(scope: Scope, name: str) -> None:
    """Add a Conv."""
    image = _of_rank(scope, name, 4)
    kernel, said = _kernel(scope, scope.values[image], _FLOAT)
    inputs = [image, scope.constant(kernel)]
    if scope.chance(0.4):
        count = 1 if scope.chance(0.2) else kernel.shape[0]
        inputs.append(scope.constant(random_array(scope.rng, _FLOAT, (count,))))
    _add_rough(scope, "Conv", inputs, said)


def conv_integer(scope: Scope, name: str) -> None:
    """Add a ConvInteger."""
    image = _of_rank(scope, name, 4)
    dtype = scope.values[image].dtype.name
    kernel, said = _kernel(scope, scope.values[image], dtype)
    inputs = [image, scope.constant(kernel)]
    if scope.chance(0.5):
        inputs += [_number(scope, scope.rng.choice([0, 0, 3]), dtype), _number(scope, 1, dtype)]
    scope.add("ConvInteger", inputs, hopeless=0.5, result_type=np.dtype(np.int32), **said)


def max_pool(scope: Scope, name: str) -> None:
    """Add a MaxPool."""
    image = _of_rank(scope, name, 4)
    kernel, said = _window(scope, scope.values[image].shape)
    attributes = {**MAX_POOL_ATTRIBUTES, **said, "kernel_shape": kernel}
    outputs = 2 if scope.chance(0.2) else 1
    # Without its kernel the model is invalid.
    attributes = _most_of(scope, attributes) | {"kernel_shape": kernel}
    scope.add("MaxPool", [image], outputs=outputs, hopeless=0.3, **attributes)


def gemm(scope: Scope, name: str) -> None:
    """Add a Gemm."""
    rows, columns = scope.values[name].shape
    width = scope.rng.randint(1, 3)
    shape = (width,) if scope.chance(0.1) else (1 if scope.chance(0.1) else rows, width)
    others = [random_array(scope.rng, _FLOAT, each) for each in ((columns, width), shape)]
    said = {"alpha": 0.5} if scope.chance(0.05) else {}
    _add_rough(scope, "Gemm", [name, *map(scope.constant, others)], said)


def softmax(scope: Scope, name: str) -> None:
    """Add a Softmax, along an axis that is counted from the front for the most part."""
    rank = scope.values[name].ndim
    axis = scope.rng.randint(0, rank - 1) - (rank if scope.chance(0.1) else 0)
    _add_rough(scope, "Softmax", [name], {} if scope.chance(0.05) else {"axis": axis})


def quantize(scope: Scope, name: str) -> None:
    """Add a QuantizeLinear."""
    scale = _number(scope, scope.rng.choice([0.5, 1, 2, 2, 0]), _FLOAT)
    zero = [_number(scope, scope.rng.choice([0, 128]), "uint8")] if scope.chance(0.95) else []
    scope.add("QuantizeLinear", [name, scale, *zero], result_type=np.dtype(np.uint8))


def dequantize(scope: Scope, name: str) -> None:
    """Add a DequantizeLinear; ONNX Runtime refuses zero points of int32 other than 0."""
    zero = [_number(scope, scope.rng.choice([0, 0, 0, 1]), "int32")] if scope.chance(0.7) else []
    inputs = [name, _number(scope, 0.5, _FLOAT), *zero]
    scope.add("DequantizeLinear", inputs, hopeless=0.3, result_type=np.dtype(np.float32))


def range_(scope: Scope) -> None:
    """Add a Range."""
    dtype = scope.rng.choice(["int64", "int32", "int64", _FLOAT])
    start, limit = scope.rng.randint(-2, 2), scope.rng.randint(-2, 4)
    delta = scope.rng.choice([1, 1, 2, -1])
    ends = [_number(scope, value, dtype) for value in (start, limit, delta)]
    given = scope.pick(lambda array: array.dtype == dtype and array.ndim == 0 and abs(array) < 9)
    if given and scope.chance(0.3):
        ends[scope.rng.randint(0, 1)] = given
    scope.add("Range", ends, hopeless=0.3)


def lstm(scope: Scope, name: str) -> None:
    """Add an LSTM."""
    x = _of_rank(scope, name, 3)
    features = scope.values[x].shape[-1] + (1 if scope.chance(0.1) else 0)
    batch, hidden = [*scope.values[x].shape, 1, 1][1], scope.rng.randint(1, 2)
    state = (1, batch, hidden)
    weights = [(1, 4 * hidden, features), (1, 4 * hidden, hidden), (1, 8 * hidden)]
    arrays = [random_array(scope.rng, _FLOAT, shape) for shape in weights]
    arrays.append(np.full((batch,), scope.values[x].shape[0], np.int32))
    arrays += [random_array(scope.rng, _FLOAT, shape) for shape in (state, state)]
    arrays.append(random_array(scope.rng, _FLOAT, (1, 3 * hidden)))
    said = _most_of(scope, {**LSTM_ATTRIBUTES, "hidden_size": hidden})
    if scope.draft.opset < 14:
        said.pop("layout", None)
    if "hidden_size" in said:
        _add_rough(scope, "LSTM", [x, *map(scope.constant, arrays)], said, outputs=3)


NETWORK_KINDS: Sequence[Kind] = (
    Kind(2, conv, _floats),
    Kind(2, conv_integer, of("int8", "uint8", least=1)),
    Kind(3, max_pool, _pooled),
    Kind(2, gemm, matrix),
    Kind(2, softmax, _floats),
    Kind(2, quantize, of(_FLOAT)),
    Kind(3, dequantize, of("int32")),
    Kind(3, range_),
    Kind(2, lstm, _floats),
)
"""The kinds of nodes that networks are made of."""


_DEEPEST = 2


def fill(scope: Scope, tries: int) -> None:
    """Try so many nodes, and leave out those that the nominal run fails in."""
    kinds = (*KINDS, *NETWORK_KINDS, *(_WITH_SUBGRAPHS if scope.depth < _DEEPEST else ()))
    for kind in scope.rng.choices(kinds, [kind.weight for kind in kinds], k=tries):
        kind.try_in(scope)


def if_(scope: Scope) -> None:
    """Add an If whose branches give a value of one type."""
    condition = _condition(scope)
    name = scope.pick(numeric)
    if name is None:
        return
    dtype = scope.values[name].dtype
    branches = [_branch(scope, dtype, side) for side in ("then", "else")]
    scope.add("If", [condition], then_branch=branches[0], else_branch=branches[1])


def loop(scope: Scope, name: str) -> None:
    """Add a Loop with one state, and perhaps what it collects."""
    state, number, going = (scope.draft.fresh(stem) for stem in ("s", "i", "g"))
    initial = scope.values[name]
    body = scope.inner({number: np.array(0), going: np.array(True), state: initial})
    fill(body, scope.rng.randint(2, 5))
    still = _given_back(body, going)
    after = _given_back(body, _of_type(body, initial.dtype, state))
    collected = []
    if scope.chance(0.4):
        collected.append(_given_back(body, _of_type(body, initial.dtype, state)))
    graph = helper.make_graph(
        body.nodes,
        scope.draft.fresh("body"),
        [_scalar(number, "int64"), _scalar(going, "bool"), _declared(state, body)],
        [
            *(_declared(output, body) for output in (still, after)),
            *(_declared(output, body, ranked=scope.chance(0.5)) for output in collected),
        ],
    )
    trips = scope.constant(np.array(scope.rng.choice([0, 1, 1, 2, 2, 3])))
    if scope.chance(0.3):
        trips = scope.pick(_small_scalar) or trips
    scope.add("Loop", [trips, "", name], outputs=1 + len(collected), body=graph)


def scan(scope: Scope) -> None:
    """Add a Scan with one state over one sequence."""
    name = scope.pick(wide)
    sequence = scope.pick(lambda array: wide(array) and array.ndim > 0 and array.shape[0] > 0)
    if name is None or sequence is None:
        return
    state, element = scope.draft.fresh("s"), scope.draft.fresh("e")
    body = scope.inner({state: scope.values[name], element: scope.values[sequence][0]})
    fill(body, scope.rng.randint(2, 5))
    after = _given_back(body, _of_type(body, scope.values[name].dtype, state))
    scanned = _given_back(body, _of_type(body, scope.values[sequence].dtype, element))
    graph = helper.make_graph(
        body.nodes,
        scope.draft.fresh("body"),
        [_declared(state, body), _declared(element, body)],
        [_declared(output, body) for output in (after, scanned)],
    )
    scope.add("Scan", [name, sequence], outputs=2, body=graph, num_scan_inputs=1)


def call(scope: Scope) -> None:
    """Add a call of a model-local function, a new one or one that there is."""
    names = [scope.pick(numeric) for _ in range(scope.rng.randint(1, 2))]
    arguments = [name for name in names if name is not None]
    if not arguments:
        return
    dtypes = [scope.values[name].dtype for name in arguments]
    known = [name for name, taken in scope.draft.parameters.items() if taken == dtypes]
    if known and scope.chance(0.5):
        scope.add(scope.rng.choice(known), arguments, domain=DOMAIN)
        return
    parameters = {scope.draft.fresh("p"): scope.values[name] for name in arguments}
    body = scope.inner(parameters, isolated=True)
    fill(body, scope.rng.randint(2, 5))
    if not body.made:
        return
    result = scope.rng.choice(list(body.made))
    name = scope.draft.fresh("fun")
    scope.draft.functions.append(
        helper.make_function(
            DOMAIN, name, list(parameters), [result], body.nodes, scope.draft.imports()
        )
    )
    scope.draft.parameters[name] = dtypes
    scope.add(name, arguments, domain=DOMAIN)


def _branch(scope: Scope, dtype: np.dtype[Any], side: str) -> onnx.GraphProto:
    body = scope.inner({})
    fill(body, scope.rng.randint(1, 4))
    fallback = scope.rng.choice([n for n, a in scope.values.items() if a.dtype == dtype])
    result = _given_back(body, _of_type(body, dtype, fallback))
    return helper.make_graph(
        body.nodes, scope.draft.fresh(f"{side}_branch"), [], [_declared(result, body)]
    )


def _condition(scope: Scope) -> str:
    fits = scope.pick(lambda array: array.dtype == np.bool_ and array.ndim == 0)
    if fits is not None and scope.chance(0.8):
        return fits
    return scope.constant(np.array(scope.chance(0.5)))


def _small_scalar(array: Array) -> bool:
    return array.dtype == np.int64 and array.ndim == 0 and bool(array < 4)


def _of_type(body: Scope, dtype: np.dtype[Any], fallback: str) -> str:
    """A value of that type: one that the subgraph made, if there is any."""
    own = [name for name, made in body.made.items() if made == dtype]
    return body.rng.choice(own[-3:]) if own else fallback


def _given_back(body: Scope, name: str) -> str:
    """An output of the subgraph: a value that nothing else is."""
    copy = body.draft.fresh("o")
    node = helper.make_node("Identity", [name], [copy], name=body.draft.fresh("identity"))
    body.nodes.append(node)
    array = body.values.get(name)
    if array is not None:
        body.values[copy] = array
    body.made[copy] = body.made[name] if name in body.made else body.values[name].dtype
    return copy


def _declared(name: str, body: Scope, *, ranked: bool = False) -> onnx.ValueInfoProto:
    """Declare a value without its shape, or with open sizes as exporters do."""
    dtype = body.made[name] if name in body.made else body.values[name].dtype
    array = body.values.get(name)
    shape = (
        [f"{name}_{axis}" for axis in range(array.ndim)] if ranked and array is not None else None
    )
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def _scalar(name: str, dtype: str) -> onnx.ValueInfoProto:
    """ONNX Runtime demands the rank of what a Loop counts and asks."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), ())


_WITH_SUBGRAPHS = (Kind(3, if_), Kind(3, loop, wide), Kind(1, scan), Kind(3, call))
