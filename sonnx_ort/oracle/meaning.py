"""What the documents say of any node: exact results, enclosures, or nothing.

One table leads from the name of an operator to what computes it. It knows names, versions,
attributes and operands only, not the rules of the profile: an operator has a meaning here whether
or not it has rules.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sonnx_ort.oracle import (
    activations,
    layout,
    products,
    quantization,
    recurrent,
    sums,
    windows,
)
from sonnx_ort.oracle.elements import Exact, Operands
from sonnx_ort.oracle.elementwise import OPERATORS as ELEMENTWISE
from sonnx_ort.oracle.elementwise import elementwise
from sonnx_ort.oracle.node import Node
from sonnx_ort.oracle.results import Elements, NotDefinedError, Result, Undefined, tensor
from sonnx_ort.profile.options import Edition

Compute = Callable[[Node], Sequence[Elements | Result]]

_COMPUTED: Mapping[str, tuple[int, Compute]] = MappingProxyType(
    {
        **{operator: (7, elementwise(operator)) for operator in ELEMENTWISE},
        "ArgMax": (1, layout.arg_max),
        "BatchNormalization": (7, sums.batch_normalization),
        "Clip": (6, activations.clip),
        "Concat": (1, layout.concat),
        "Constant": (1, layout.constant),
        "Conv": (1, products.convolve),
        "ConvInteger": (10, products.convolve_integers),
        "DequantizeLinear": (10, quantization.dequantize_linear),
        "Exp": (6, activations.function("Exp")),
        "Flatten": (1, layout.flatten),
        "Gemm": (7, products.gemm),
        "LSTM": (7, recurrent.lstm),
        "LeakyRelu": (6, activations.leaky_relu),
        "MatMul": (1, products.mat_mul),
        "MaxPool": (1, windows.max_pool),
        "QuantizeLinear": (10, quantization.quantize_linear),
        "Range": (11, layout.range_of),
        "Relu": (6, activations.relu),
        "Reshape": (1, layout.reshape),
        "Shape": (1, layout.shape),
        "Sigmoid": (6, activations.function("Sigmoid")),
        "Sin": (7, activations.function("Sin")),
        "Slice": (1, layout.cut),
        "Softmax": (1, activations.softmax),
        "Squeeze": (1, layout.squeeze),
        "Tanh": (6, activations.function("Tanh")),
        "Unsqueeze": (1, layout.unsqueeze),
    }
)
"""What computes an operator, and the oldest version with this meaning."""

_REAL = frozenset(
    {"Conv", "Exp", "Gemm", "LSTM", "LeakyRelu", "MatMul", "MaxPool", "Range", "Relu"}
    | {"Sigmoid", "Sin", "Softmax", "Tanh"}
)
"""The operators that are computed over the reals too."""

COMPUTED = frozenset(_COMPUTED)
"""The operators that have a meaning here."""


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
    oldest, compute = _COMPUTED[operator]
    if version < oldest:
        raise ValueError(f"{operator} has no meaning here before version {oldest}")
    try:
        made = compute(Node(version, attributes, tuple(operands), edition))
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
        made = _COMPUTED[operator][1](Node(newest, attributes, tuple(operands)))
    except NotDefinedError as error:
        return Undefined(str(error))
    return tuple(_over_the_reals(each) for each in made)


def _over_the_reals(made: Elements | Result) -> Exact:
    if isinstance(made, Result):
        return made.nearest.astype(object)
    return tensor((each.ends for each in made.elements.ravel()), made.elements.shape)
