"""What the documents say of any node: exact results, enclosures, or nothing.

One table maps the name of an operator to one function. It computes exact elements for a `Node`, and
balls for a `BallNode`. The table knows names, versions, attributes and
operands only, not the rules of the profile: an operator has a meaning here whether or not it has
rules.

`meaning` says of a node, for the operands that a run has computed, what its results are by a
document of the working group. `followed` says what a node makes of balls, which go from node to
node: they enclose what a whole graph means over the reals, or what implementations in a format may
make of it. `meaning_of` says by balls what the results of a node are where no document of SONNX has
its operator, or where its operands are enclosed only; the documents are those of ONNX, and the
roundings those of a kernel that adds in any order. Functions that are not rational require
python-flint, the extra `oracle`.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import ceil, floor, prod
from typing import Any

import numpy as np

from sonnx_ort.meaning import (
    activations,
    casts,
    elementwise,
    layout,
    normalization,
    products,
    quantization,
    ranges,
    recurrent,
    reshaping,
    resizing,
    scattering,
    searches,
    transposed,
    windows,
)
from sonnx_ort.meaning.balls import NotFollowedError, ends, precisely
from sonnx_ort.meaning.lines import broadcast_lines, first_lines
from sonnx_ort.meaning.node import (
    ELEMENT_TYPES,
    BallNode,
    Node,
    are_balls,
    balls,
    is_float,
    mapped,
    require_finite,
    size_of_first,
    size_of_result,
)
from sonnx_ort.meaning.numbers import FLOAT_FORMATS, TYPES, Array, BinaryFormat, Operands
from sonnx_ort.meaning.operation import Compute, Operation
from sonnx_ort.meaning.origins import PARTS, measured
from sonnx_ort.meaning.results import (
    Elements,
    Enclosure,
    NotDefinedError,
    Result,
    Undefined,
    between_balls,
    exactly,
    has_signs,
)
from sonnx_ort.meaning.zeros import OF_BALLS, OF_MOVED, SIGNS_OF_ZEROS, Signs, SignsOfZeros
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition


def _elementwise(operator: str, since: int | None = 7) -> Operation:
    return Operation(
        elementwise.elementwise(operator), size_of_result, since, lines=broadcast_lines
    )


def _reduction(compute: windows.Reduce, since: int) -> Operation:
    lines = windows.lines_of_reduction(since)
    return Operation(windows.reduction(compute, since), size_of_first, exact=True, lines=lines)


def _convolution(compute: Compute, since: int) -> Operation:
    count, lines = products.multiplications_of_windows, products.lines_of_convolution
    return Operation(compute, count, since, lines=lines)


def _quantization(compute: Compute) -> Operation:
    return Operation(compute, size_of_first, 10, lines=quantization.lines_of_quantization)


_moving = partial(Operation, moves=True, exact=True)
_of_onnx = partial(Operation, of_onnx=True)

OPERATIONS: Mapping[str, Operation] = {
    **{operator: _elementwise(operator) for operator in elementwise.OPERATORS},
    **{name: _elementwise(name, 6) for name in ("Exp", "LeakyRelu", "Relu", "Sigmoid", "Tanh")},
    **{name: _elementwise(name, None) for name in ("Ceil", "Floor")},
    "ArgMax": Operation(searches.arg_max, since=1, lines=searches.lines_of_search),
    "AveragePool": Operation(windows.average_pool, windows.elements_of_windows),
    "BatchNormalization": Operation(
        normalization.batch_normalization,
        size_of_first,
        7,
        lines=normalization.lines_of_normalization,
    ),
    "Cast": Operation(casts.cast, size_of_first, 7, exact=True, lines=broadcast_lines),
    "Clip": Operation(activations.clip, size_of_first, 6, lines=first_lines),
    "Concat": _moving(layout.concat, since=1),
    "Constant": _moving(layout.constant, since=1),
    "ConstantOfShape": _moving(layout.constant_of_shape, lambda node: prod(node.known(0).tolist())),
    "Conv": _convolution(products.convolve, 1),
    "ConvInteger": _convolution(products.convolve_integers, 10),
    "ConvTranspose": Operation(transposed.convolve_back, transposed.multiplications),
    "Cos": Operation(elementwise.elementwise("Cos"), size_of_result),
    "DequantizeLinear": _quantization(quantization.dequantize_linear),
    "Dropout": _moving(layout.dropout),
    "Erf": _of_onnx(elementwise.elementwise("Erf"), size_of_first, lines=broadcast_lines),
    "Expand": _moving(reshaping.expand, lambda node: prod(reshaping.expanded_shape(node))),
    "Flatten": _moving(reshaping.flatten, since=1),
    "GRU": _of_onnx(recurrent.gru, recurrent.multiplications),
    "Gather": _moving(layout.gather, layout.gathered_size),
    "Gelu": Operation(activations.gelu, size_of_first, lines=broadcast_lines),
    "Gemm": Operation(
        products.gemm,
        products.multiplications_of_matrices,
        7,
        lines=products.lines_of_matrices,
    ),
    "GlobalAveragePool": Operation(
        windows.global_average, size_of_first, lines=windows.lines_of_channels
    ),
    "HardSigmoid": Operation(activations.hard_sigmoid, size_of_first, lines=broadcast_lines),
    "HardSwish": _of_onnx(activations.hard_swish, size_of_first, lines=broadcast_lines),
    "Identity": _moving(layout.identity),
    "LSTM": Operation(recurrent.lstm, recurrent.multiplications, 7),
    "LayerNormalization": Operation(normalization.layer_normalization, size_of_first),
    "MatMul": Operation(
        products.mat_mul, products.multiplications_of_stacks, 1, lines=products.lines_of_stacks
    ),
    "MaxPool": Operation(
        windows.max_pool, windows.elements_of_windows, 1, lines=windows.lines_of_windows
    ),
    "Not": Operation(
        lambda node: (~node.known(0),), size_of_first, exact=True, lines=broadcast_lines
    ),
    "Pad": _moving(layout.pad, layout.padded_size),
    "QuantizeLinear": _quantization(quantization.quantize_linear),
    "Range": Operation(ranges.range_of, ranges.count_of_range, 11),
    "ReduceMax": _reduction(windows.top, 18),
    "ReduceMean": _reduction(windows.mean, 18),
    "ReduceMin": _reduction(windows.bottom, 18),
    "ReduceSum": _reduction(windows.total, 13),
    "ReduceSumSquare": _reduction(windows.sum_of_squares, 18),
    "Reshape": _moving(reshaping.reshape, since=1),
    "Resize": _moving(
        resizing.resize, resizing.elements_read, unless=resizing.interpolates, moved=(0,)
    ),
    "ScatterND": _moving(scattering.scatter, unless=scattering.reduces, moved=(0, 2)),
    "Shape": _moving(reshaping.shape, lambda _: 0, 1),
    "Sin": _elementwise("Sin"),
    "Slice": _moving(layout.cut, since=1),
    "Softmax": Operation(activations.softmax, size_of_first, 1, lines=activations.lines_of_softmax),
    "Softplus": _of_onnx(elementwise.elementwise("Softplus"), size_of_first, lines=broadcast_lines),
    "Split": _moving(layout.split),
    "Squeeze": _moving(layout.squeeze, since=1),
    "Tile": _moving(layout.tile, layout.tiled_size),
    "Transpose": _moving(layout.transpose),
    "Unsqueeze": _moving(layout.unsqueeze, since=1),
    "Where": _moving(elementwise.elementwise("Where"), size_of_result, 7, lines=broadcast_lines),
}
"""What each operator means."""

COMPUTED = frozenset(name for name, each in OPERATIONS.items() if each.since is not None)
"""The operators that have a meaning by a document of SONNX."""

FOLLOWED = frozenset(OPERATIONS)
"""The operators that are followed, some of them for integers and bools only."""

MOVED = frozenset(name for name, operation in OPERATIONS.items() if operation.moves)
"""The operators that only move elements, some of them for some attributes only."""

_OF_ONNX = frozenset(name for name, operation in OPERATIONS.items() if operation.of_onnx)

SIGNS: Mapping[str, SignsOfZeros] = {
    **dict.fromkeys(FOLLOWED - COMPUTED, OF_BALLS),
    **dict.fromkeys(MOVED, OF_MOVED),
    **SIGNS_OF_ZEROS,
}
"""Which signs of zeros are decided, of each operator that may give floats."""


def moves(operator: str, attributes: Mapping[str, Any]) -> bool:
    """Whether a node of an operator only moves elements."""
    operation = OPERATIONS.get(operator)
    return operation is not None and operation.only_moves(attributes)


def moved_operands(operator: str, operands: Operands) -> list[int]:
    """The places of the operands whose floats a node that only moves elements moves."""
    named = OPERATIONS[operator].moved
    given = enumerate(operands) if named is None else ((k, operands[k]) for k in named)
    return [k for k, operand in given if operand is not None and is_float(operand)]


def meaning(
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Operands,
    edition: Edition = Edition.TYPED,
) -> tuple[Result, ...] | Undefined:
    """What the documents say of the results of a node.

    Args:
        operator: Its name, one of `COMPUTED`.
        version: The version of the operator, or of the opset.
        attributes: The attributes that the node has: numbers, strings, sequences and arrays.
        operands: All operands, arrays of the dtypes of element types, None for omitted ones.
        edition: The edition of the profile, which some operators depend on.

    Returns:
        All results of the operator in their order, or why there is none at all.

    Raises:
        ValueError: The operator, this version, or its operands' types have no meaning here.
    """
    if operator not in COMPUTED:
        raise ValueError(f"{operator} has no meaning here")
    operation = OPERATIONS[operator]
    if version < (operation.since or 0):
        raise ValueError(f"{operator} has no meaning here before version {operation.since}")
    try:
        made = operation.compute(Node(version, attributes, tuple(operands), edition))
        return tuple(_finished(operator, each) for each in made)
    except NotDefinedError as error:
        return Undefined(str(error))


def _finished(operator: str, made: Elements | Result) -> Result:
    """A result in its type, with the signs of its zeros."""
    if isinstance(made, Result) and not has_signs(made.nearest):
        return made
    of_zeros = SIGNS[operator]
    result = made.rounded(of_zeros.signs) if isinstance(made, Elements) else made
    return replace(result, zeros=str(of_zeros))


_REFUSALS = (
    *(NotDefinedError, ArithmeticError, AttributeError, LookupError, StopIteration, TypeError),
    ValueError,
)
"""What operands and attributes cause that no checker has seen."""

_BROADCAST_LATE = 7
"""The version since which element-wise operators broadcast as they do now."""


def followed(operator: str, node: Node, binary: BinaryFormat | None = None) -> tuple[Array, ...]:
    """What a node of one of the operators `FOLLOWED` makes of balls, integers and bools.

    Arrays of floats stand for the balls that are these numbers. With a format, a ball contains what
    implementations in it may give, too.

    Returns:
        The results, floats as arrays of balls. Integers that are not certain are balls too. Of some
        operators the second and further results are missing.

    Raises:
        NotFollowedError: Balls do not decide the results, or they are not defined.
    """
    try:
        with precisely():
            for operand in node.given():
                require_finite(operand)
            made = _followed(operator, _ball_node(node, binary))
            return tuple(balls(each) if is_float(each) else each for each in made)
    except _REFUSALS as error:
        raise _not_followed(error) from error


def _ball_node(node: Node, binary: BinaryFormat | None = None) -> BallNode:
    return BallNode(node.version, node.attributes, node.operands, node.edition, binary)


def operations(operator: str, node: Node) -> int:
    """How many scalar operations a node takes; of sums of products these are multiplications.

    Raises:
        NotFollowedError: Its operands do not fit each other.
    """
    try:
        with precisely():
            return OPERATIONS[operator].count(_ball_node(node))
    except _REFUSALS as error:
        raise _not_followed(error) from error


def _not_followed(error: Exception) -> NotFollowedError:
    if isinstance(error, NotDefinedError | ValueError):
        return NotFollowedError(str(error))
    return NotFollowedError("its operands or attributes are not those of the operator")


def _followed(operator: str, node: BallNode) -> tuple[Array, ...]:
    """The results of an operator, as balls where it computes with floats."""
    operation = OPERATIONS.get(operator)
    inexact = any(is_float(operand) or are_balls(operand) for operand in node.given())
    if not inexact and operator in COMPUTED and not (operation and operation.exact):
        return _exactly(operator, node)
    if operation is None or not (inexact or operation.exact):
        raise NotFollowedError("the operator is not followed")
    if (
        operator in elementwise.OPERATORS
        and node.version < _BROADCAST_LATE
        and len(node.given()) > 1
    ):
        raise NotFollowedError(f"it is not followed before version {_BROADCAST_LATE}")
    if not operation.only_moves(node.attributes) or any(map(are_balls, node.given())):
        operands = (balls(o) if o is not None and is_float(o) else o for o in node.operands)
        node = replace(node, operands=tuple(operands))
    return tuple(map(_array, operation.compute(node)))


def _array(made: Array | Elements | Result) -> Array:
    match made:
        case Elements():
            return made.elements
        case Result():
            return made.nearest
    return made


def _exactly(operator: str, node: BallNode) -> tuple[Array, ...]:
    """The results on integers and bools, which the oracle computes exactly."""
    found = meaning(operator, node.version, node.attributes, node.operands, node.edition)
    if isinstance(found, Undefined):
        raise NotFollowedError(found.reason)
    for result in found:
        if result.undefined.any():
            raise NotFollowedError(result.reason)
    return tuple(result.nearest for result in found)


_ROUNDINGS = "the operator's roundings, sums in any order (ours; no document of SONNX)"
_JOINED = "what the joined nodes admit together (ours)"


def meaning_of(
    operator: str, node: Node, given: Operands | None = None
) -> tuple[Result, ...] | Undefined:
    """What a node means, by a document of SONNX or, without one, by that of ONNX.

    The operator is one of `FOLLOWED`. Operands may also be balls around all admitted values, and
    are `given` then as arrays of element types.

    Raises:
        ValueError: The results are not known.
    """
    of_balls = any(map(are_balls, node.given()))
    if not of_balls and operator in COMPUTED:
        return meaning(operator, node.version, node.attributes, node.operands, node.edition)
    try:
        if not of_balls and (moves(operator, node.attributes) or operator in _OF_ONNX):
            return tuple(_finished(operator, each) for each in OPERATIONS[operator].compute(node))
        known = node.operands if given is None else given
        result_type = _type_of_results(operator, node.attributes, known)
        binary = None if result_type is None else FLOAT_FORMATS.get(result_type)
        rounded = followed(operator, node, binary)
        reals = followed(operator, node) if any(map(are_balls, rounded)) else rounded
        bounds = (_JOINED if of_balls else _ROUNDINGS, measured(operator, result_type))
        bound = PARTS.join(filter(None, bounds))
        with precisely():
            pairs = zip(reals, rounded, strict=True)
            return tuple(_result(*pair, result_type, bound) for pair in pairs)
    except _REFUSALS as error:
        raise _not_followed(error) from error


def _result(exact: Array, rounded: Array, element_type: ElementType | None, bound: str) -> Result:
    """The exact results, with what the balls admit in their place."""
    if not are_balls(rounded):
        return exactly(rounded)
    if element_type is None:
        raise ValueError("its results have no known type")
    if element_type not in FLOAT_FORMATS:
        return _between_integers(rounded, element_type, bound)
    # Balls have no signs of zeros.
    made = Elements(mapped(between_balls, exact, rounded), element_type, bound)
    return replace(made.rounded(Signs.OPEN), bound=bound, zeros=str(OF_BALLS))


def _between_integers(rounded: Array, element_type: ElementType, bound: str) -> Result:
    """Results of which each is one of the integers in a ball."""
    bounds = np.iinfo(element_type.dtype.name)
    lowest, highest, middles = (np.empty(rounded.shape, element_type.dtype) for _ in range(3))
    for index, ball in np.ndenumerate(rounded):
        low, high = ends(ball) if ball.is_finite() else (bounds.min - 1, bounds.max + 1)
        if not bounds.min <= low <= high <= bounds.max:
            raise ValueError("its results have no known bounds")
        lowest[index], highest[index] = ceil(low), floor(high)
        middles[index] = (ceil(low) + floor(high)) // 2
    nothing = np.zeros(rounded.shape, np.bool_)
    return Result(middles, Enclosure(lowest, highest, nothing), nothing, bound)


def _type_of_results(
    operator: str, attributes: Mapping[str, Any], operands: Operands
) -> ElementType | None:
    """The element type of results that may be balls; None if it is not known."""
    match operator:
        case "Cast":
            return TYPES.get(attributes.get("to", 0))
        case "QuantizeLinear":
            zero = operands[2] if len(operands) > 2 else None
            return ElementType.UINT8 if zero is None else ELEMENT_TYPES.get(zero.dtype)
        case "Resize":
            return None if operands[0] is None else ELEMENT_TYPES.get(operands[0].dtype)
    for operand in (*operands, attributes.get("value")):
        dtype = getattr(operand, "dtype", None)
        element_type = None if dtype is None else ELEMENT_TYPES.get(dtype)
        if element_type in FLOAT_FORMATS:
            return element_type
    return None
