"""What the documents say of any node: exact results, enclosures, or nothing.

One table leads from the name of an operator to what computes it, of a `Node` whose elements are
exact and of a `BallNode` whose elements are balls. It knows names, versions, attributes and
operands only, not the rules of the profile: an operator has a meaning here whether or not it has
rules.

`meaning` says of a node, for the operands that a run has computed, what its results are by a
document of the working group. `followed` says what a node makes of balls, which go from node to
node: they enclose what a whole graph means over the reals, or what implementations in a format may
make of it. `enclosed_meaning` says by balls what the results of a node are where no document of
SONNX has its operator, or where its operands are enclosed only; the documents are those of ONNX,
and the roundings those of a kernel that adds in any order. Functions that are not rational require
python-flint, the extra `oracle`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import ceil, floor, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sonnx_ort.oracle import (
    activations,
    elementwise,
    layout,
    products,
    quantization,
    recurrent,
    sums,
    windows,
)
from sonnx_ort.oracle.balls import NotFollowedError, ends, exact_end, precisely
from sonnx_ort.oracle.elements import Exact, Operands, encoded_elements
from sonnx_ort.oracle.node import (
    ELEMENT_TYPES,
    Array,
    BallNode,
    Node,
    Operation,
    are_balls,
    balls,
    is_float,
    require_finite,
    size_of_first,
    size_of_result,
)
from sonnx_ort.oracle.numbers import FLOAT_FORMATS, BinaryFormat, Number, infinity, number
from sonnx_ort.oracle.results import (
    Elements,
    Enclosure,
    NotDefinedError,
    Result,
    Undefined,
    copied,
    exactly,
    tensor,
)
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

if TYPE_CHECKING:
    from flint import arb


def _elementwise(operator: str, since: int | None = 7) -> Operation:
    return Operation(elementwise.elementwise(operator), size_of_result, since)


def _reduction(compute: sums.Reduce, since: int) -> Operation:
    return Operation(sums.reduction(compute, since), size_of_first, exact=True)


_moving = partial(Operation, moves=True, exact=True)

_OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        **{operator: _elementwise(operator) for operator in elementwise.OPERATORS},
        **{name: _elementwise(name, 6) for name in ("Exp", "LeakyRelu", "Relu", "Sigmoid", "Tanh")},
        **{name: _elementwise(name, None) for name in ("Ceil", "Cos", "Erf", "Floor")},
        "ArgMax": Operation(layout.arg_max, since=1),
        "AveragePool": Operation(windows.average_pool, windows.elements_of_windows),
        "BatchNormalization": Operation(sums.batch_normalization, size_of_first, 7),
        "Cast": Operation(quantization.cast, size_of_first, 7, exact=True),
        "Clip": Operation(activations.clip, size_of_first, 6),
        "Concat": _moving(layout.concat, since=1),
        "Constant": _moving(layout.constant, since=1),
        "ConstantOfShape": _moving(
            layout.constant_of_shape, lambda node: prod(node.known(0).tolist())
        ),
        "Conv": Operation(products.convolve, products.multiplications_of_windows, 1),
        "ConvInteger": Operation(
            products.convolve_integers, products.multiplications_of_windows, 10
        ),
        "DequantizeLinear": Operation(quantization.dequantize_linear, size_of_first, 10),
        "Dropout": _moving(layout.dropout),
        "Expand": _moving(layout.expand, lambda node: prod(layout.expanded_shape(node))),
        "Flatten": _moving(layout.flatten, since=1),
        "Gather": _moving(layout.gather, layout.gathered_size),
        "Gelu": Operation(activations.gelu, size_of_first),
        "Gemm": Operation(products.gemm, products.multiplications_of_matrices, 7),
        "GlobalAveragePool": Operation(windows.global_average, size_of_first),
        "HardSigmoid": Operation(activations.hard_sigmoid, size_of_first),
        "Identity": _moving(layout.identity),
        "LSTM": Operation(recurrent.lstm, recurrent.multiplications, 7),
        "LayerNormalization": Operation(sums.layer_normalization, size_of_first),
        "MatMul": Operation(products.mat_mul, products.multiplications_of_stacks, 1),
        "MaxPool": Operation(windows.max_pool, windows.elements_of_windows, 1),
        "Not": Operation(lambda node: (~node.known(0),), size_of_first, exact=True),
        "Pad": _moving(layout.pad, layout.padded_size),
        "QuantizeLinear": Operation(quantization.quantize_linear, size_of_first, 10),
        "Range": Operation(layout.range_of, layout.count_of_range, 11),
        "ReduceMax": _reduction(sums.top, 18),
        "ReduceMean": _reduction(sums.mean, 18),
        "ReduceMin": _reduction(sums.bottom, 18),
        "ReduceSum": _reduction(sums.total, 13),
        "ReduceSumSquare": _reduction(sums.sum_of_squares, 18),
        "Reshape": _moving(layout.reshape, since=1),
        "Shape": _moving(layout.shape, lambda _: 0, 1),
        "Sin": _elementwise("Sin"),
        "Slice": _moving(layout.cut, since=1),
        "Softmax": Operation(activations.softmax, size_of_first, 1),
        "Split": _moving(layout.split),
        "Squeeze": _moving(layout.squeeze, since=1),
        "Tile": _moving(layout.tile, layout.tiled_size),
        "Transpose": _moving(layout.transpose),
        "Unsqueeze": _moving(layout.unsqueeze, since=1),
        "Where": _moving(elementwise.elementwise("Where"), size_of_result, 7),
    }
)

COMPUTED = frozenset(name for name, each in _OPERATIONS.items() if each.since is not None)
"""The operators that have a meaning by a document of SONNX."""

FOLLOWED = frozenset(_OPERATIONS)
"""The operators that are followed, some of them for integers and bools only."""

ENCLOSED = FOLLOWED - COMPUTED
"""The operators that have a meaning by balls alone."""

MOVED = frozenset(name for name, operation in _OPERATIONS.items() if operation.moves)
"""The operators that only move elements."""

_REAL = frozenset(
    {"Conv", "Exp", "Gemm", "LSTM", "LeakyRelu", "MatMul", "MaxPool", "Range", "Relu"}
    | {"Sigmoid", "Sin", "Softmax", "Tanh"}
)
"""The operators that are computed over the reals too."""


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
    operation = _OPERATIONS[operator]
    if version < (operation.since or 0):
        raise ValueError(f"{operator} has no meaning here before version {operation.since}")
    try:
        with precisely():
            made = operation.compute(Node(version, attributes, tuple(operands), edition))
            return tuple(each.rounded() if isinstance(each, Elements) else each for each in made)
    except NotDefinedError as error:
        return Undefined(str(error))


def meaning_over_the_reals(
    operator: str, attributes: Mapping[str, Any], operands: Operands
) -> tuple[Exact, ...] | Undefined:
    """What a document says of the results of a node over the reals, in the newest version.

    Args:
        operator: Its name.
        attributes: The attributes that the node has; those of real type may be `Fraction`.
        operands: All operands, arrays of `Fraction`, None for omitted ones.

    Returns:
        A tensor for each result with two rationals for each element that enclose it; both are the
        same if it is known to be rational. None for an element that is not defined, or too large.
        Integers, as in the second result of MaxPool, are integers. Or why there is none at all.

    Raises:
        ValueError: The operator has no meaning over the reals here.
    """
    if operator not in _REAL:
        raise ValueError(f"{operator} has no meaning over the reals here")
    newest = 1 << 10
    try:
        with precisely():
            made = _OPERATIONS[operator].compute(Node(newest, attributes, tuple(operands)))
            return tuple(map(_over_the_reals, made))
    except NotDefinedError as error:
        return Undefined(str(error))


def _over_the_reals(made: Elements | Result) -> Exact:
    if isinstance(made, Result):
        return made.nearest.astype(object)
    return tensor((each.ends for each in made.elements.ravel()), made.elements.shape)


_REFUSALS = (
    *(NotDefinedError, ArithmeticError, AttributeError, LookupError, StopIteration, TypeError),
    ValueError,
)
"""What operands and attributes cause that no checker has seen."""

_BROADCAST_LATE = 7
"""The version since which element-wise operators broadcast as they do now."""


def followed(  # noqa: PLR0913 - what a node has, and a format
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Operands,
    binary: BinaryFormat | None = None,
    *,
    edition: Edition = Edition.TYPED,
) -> tuple[Array, ...]:
    """What a node makes of balls.

    Args:
        operator: The operator, one of `FOLLOWED`.
        version: The version of the operator, or of the opset.
        attributes: The attributes that the node has, as for `meaning`.
        operands: All operands, None for omitted ones: arrays of balls, and those of integers and
            bools as they are. Arrays of floats stand for the balls that are these numbers.
        binary: A format: then a ball contains what implementations in this format may give, too.
            None for the reals.
        edition: The edition of the profile.

    Returns:
        The results, floats as arrays of balls. Integers that are not certain are balls too. Of some
        operators the second and further results are missing.

    Raises:
        NotFollowedError: Balls do not decide the results, or they are not defined.
    """
    node = BallNode(version, attributes, tuple(operands), binary=binary)
    try:
        with precisely():
            for operand in node.given():
                require_finite(operand)
            made = _followed(operator, node, edition)
            return tuple(balls(each) if is_float(each) else each for each in made)
    except _REFUSALS as error:
        raise _not_followed(error) from error


def operations(
    operator: str, version: int, attributes: Mapping[str, Any], operands: Operands
) -> int:
    """How many scalar operations a node takes; of sums of products these are multiplications.

    Raises:
        NotFollowedError: Its operands do not fit each other.
    """
    node = BallNode(version, attributes, tuple(operands))
    try:
        with precisely():
            return _OPERATIONS[operator].count(node)
    except _REFUSALS as error:
        raise _not_followed(error) from error


def _not_followed(error: Exception) -> NotFollowedError:
    if isinstance(error, NotDefinedError | ValueError):
        return NotFollowedError(str(error))
    return NotFollowedError("its operands or attributes are not those of the operator")


def _followed(operator: str, node: BallNode, edition: Edition) -> tuple[Array, ...]:
    operation = _OPERATIONS.get(operator)
    inexact = any(is_float(operand) or are_balls(operand) for operand in node.given())
    if not inexact and operator in COMPUTED and not (operation and operation.exact):
        return _exactly(operator, node, edition)
    if operation is None or not (inexact or operation.exact):
        raise NotFollowedError("the operator is not followed")
    if (
        operator in elementwise.OPERATORS
        and node.version < _BROADCAST_LATE
        and len(node.given()) > 1
    ):
        raise NotFollowedError(f"it is not followed before version {_BROADCAST_LATE}")
    if not operation.moves or any(map(are_balls, node.given())):
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


def _exactly(operator: str, node: BallNode, edition: Edition) -> tuple[Array, ...]:
    """The results on integers and bools, which the oracle computes exactly."""
    found = meaning(operator, node.version, node.attributes, node.operands, edition)
    if isinstance(found, Undefined):
        raise NotFollowedError(found.reason)
    for result in found:
        if result.undefined.any():
            raise NotFollowedError(result.reason)
    return tuple(result.nearest for result in found)


_BOUND = "the operator's roundings, sums in any order (ours; no document of SONNX)"


def enclosed_meaning(  # noqa: PLR0913 - what a node has, and what a result has
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Operands,
    result_type: ElementType | None,
    *,
    edition: Edition = Edition.TYPED,
    bound: str = _BOUND,
) -> tuple[Result, ...]:
    """What the results of a node are, for operands that are known exactly or by balls.

    Args:
        operator: Its name, one of `FOLLOWED`.
        version: The version of the operator, or of the opset.
        attributes: The attributes that the node has.
        operands: All operands, None for omitted ones: arrays of element types or of balls.
        result_type: The type of float results.
        edition: The edition of the profile.
        bound: The text of the admitted error.

    Raises:
        ValueError: The results are not known.
    """
    node = version, attributes
    try:
        given = [operand for operand in operands if operand is not None]
        if operator == "ConstantOfShape":
            given.append(np.asarray(attributes.get("value", np.zeros(1, np.float32))))
            node = version, {"value": given[-1]}
        if operator in MOVED and any(map(is_float, given)) and not any(map(are_balls, given)):
            return _moved(operator, *node, operands)
        binary = None if result_type is None else FLOAT_FORMATS.get(result_type)
        rounded = followed(operator, *node, operands, binary, edition=edition)
        inexact = any(map(are_balls, rounded))
        reals = followed(operator, *node, operands, edition=edition) if inexact else rounded
    except NotFollowedError as error:
        raise ValueError(str(error)) from error
    return tuple(_result(*pair, result_type, bound) for pair in zip(reals, rounded, strict=True))


def _moved(
    operator: str, version: int, attributes: Mapping[str, Any], operands: Operands
) -> tuple[Result, ...]:
    """The results of an operator that moves elements, whose bits are taken for integers."""
    floats = filter(_is_float_array, (*operands, attributes.get("value")))
    dtype = np.asarray(next(floats)).dtype
    integers = [_as_integers(operand) for operand in operands]
    read = {name: _as_integers(value) for name, value in attributes.items()}
    found = followed(operator, version, read, integers)
    if any(map(are_balls, found)):
        raise NotFollowedError("its result is known by balls only")
    return tuple(copied(_contiguous(each).view(dtype)) for each in found)


def _contiguous(array: Array) -> Array:
    # numpy makes a vector of a scalar.
    return np.ascontiguousarray(array).reshape(array.shape)


def _is_float_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and is_float(value)


def _as_integers(value: Any) -> Any:
    """The bits of an array of floats; anything else as it is."""
    return _contiguous(value).view(f"u{value.dtype.itemsize}") if _is_float_array(value) else value


def _result(exact: Array, rounded: Array, element_type: ElementType | None, bound: str) -> Result:
    if not are_balls(rounded):
        return exactly(rounded)
    if element_type is None:
        raise ValueError("its results have no known type")
    if element_type not in FLOAT_FORMATS:
        return _between_integers(rounded, element_type, bound)

    def encoded(numbers: Sequence[Number]) -> Array:
        return encoded_elements(numbers, element_type).reshape(rounded.shape)

    pairs = [_ends(ball) for ball in rounded.ravel().tolist()]
    middles = [_middle(ball) for ball in exact.ravel().tolist()]
    anything = np.array([not low.is_finite for low, _ in pairs], np.bool_)
    enclosure = Enclosure(
        encoded([low for low, _ in pairs]),
        encoded([high for _, high in pairs]),
        anything.reshape(rounded.shape),
    )
    undefined = np.zeros(rounded.shape, np.bool_)
    return Result(encoded(middles), enclosure, undefined, bound)


def _ends(ball: "arb") -> tuple[Number, Number]:
    if not ball.is_finite():
        return infinity(negative=True), infinity(negative=False)
    lower, upper = ends(ball)
    return number(lower), number(upper)


def _between_integers(rounded: Array, element_type: ElementType, bound: str) -> Result:
    """Results of which each is one of the integers in a ball."""
    bounds = np.iinfo(element_type.dtype.name)
    lowest, highest, middles = (np.empty(rounded.shape, element_type.dtype) for _ in range(3))
    for index, ball in np.ndenumerate(rounded):
        low, high = _ends(ball)
        if not low.is_finite or not bounds.min <= low.value <= high.value <= bounds.max:
            raise ValueError("its results have no known bounds")
        lowest[index], highest[index] = ceil(low.value), floor(high.value)
        middles[index] = (ceil(low.value) + floor(high.value)) // 2
    nothing = np.zeros(rounded.shape, np.bool_)
    return Result(middles, Enclosure(lowest, highest, nothing), nothing, bound)


def _middle(ball: "arb") -> Number:
    return number(exact_end(ball.mid()) if ball.is_finite() else Fraction(0))


def type_of_results(
    operator: str, attributes: Mapping[str, Any], operands: Operands
) -> ElementType | None:
    """The element type of results that may be balls; None if it is not known.

    Args:
        operator: The operator.
        attributes: The attributes that the node has.
        operands: The operands, as arrays of element types.
    """
    match operator:
        case "Cast":
            return next((t for t in ElementType if t.value == attributes.get("to")), None)
        case "QuantizeLinear":
            zero = operands[2] if len(operands) > 2 else None
            return ElementType.UINT8 if zero is None else ELEMENT_TYPES.get(zero.dtype)
    for operand in (*operands, attributes.get("value")):
        dtype = getattr(operand, "dtype", None)
        element_type = None if dtype is None else ELEMENT_TYPES.get(dtype)
        if element_type in FLOAT_FORMATS:
            return element_type
    return None
