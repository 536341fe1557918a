"""What is special in floating point: zeros, infinities, NaN, rounding and the ends of the range."""

from collections.abc import Iterator, Sequence

import numpy as np

from model_builders import graphs
from model_builders.bundle import (
    Array,
    Bundle,
    bundle,
    gives,
    in_both_editions,
    zero_divisor_cases,
)
from model_builders.expected import differences, quotients
from model_builders.float32_edges import with_float32_edges
from sonnx_ort.oracle.arithmetic import FLOAT_FORMATS
from sonnx_ort.profile.element_type import ElementType

_INF, _NAN = np.inf, np.nan

_DIVISIONS = (
    *((a, b) for a in (1.0, -1.0, 0.0, -0.0, _INF, -_INF, _NAN) for b in (0.0, -0.0)),
    *((a, b) for a in (0.0, -0.0) for b in (1.0, -1.0, _INF, -_INF)),
    *((a, b) for a in (1.0, -1.0, _INF, -_INF) for b in (_INF, -_INF)),
    *((_INF, 2.0), (-_INF, 2.0), (_NAN, 1.0), (1.0, _NAN)),
)
_SUBTRACTIONS = (
    *((a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)),
    *((a, b) for a in (_INF, -_INF) for b in (_INF, -_INF)),
    *((1.5, 1.5), (1.0, _INF), (1.0, -_INF), (_INF, 1.0), (_NAN, 1.0), (1.0, _NAN)),
)


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for element_type in FLOAT_FORMATS:
        for make in (_special_quotients, _rounded_quotients, _differences):
            yield with_float32_edges(make(element_type))


def _special_quotients(element_type: ElementType) -> Bundle:
    a, b = _operands(_DIVISIONS, element_type)
    return bundle(
        f"div_zeros_and_infinities_{a.dtype.name}",
        f"x/0, 0/0, signed zeros and infinities in {a.dtype.name}; the editions differ at x/0.",
        graphs.binary("Div", a.dtype, a.shape, b.shape),
        zero_divisor_cases(a, b),
    )


def _rounded_quotients(element_type: ElementType) -> Bundle:
    tiny, largest = _ends(element_type)
    pairs = (
        *((1.0, 3.0), (2.0, 3.0), (-1.0, 10.0), (1.0, 49.0), (7.0, -5.0)),
        *((tiny, 2.0), (3 * tiny, 2.0), (-tiny, 4.0), (5 * tiny, 3.0)),
        *((largest, 0.5), (-largest, 0.5), (largest, largest), (1.0, largest)),
    )
    a, b = _operands(pairs, element_type)
    return bundle(
        f"div_rounding_{a.dtype.name}",
        f"Quotients in {a.dtype.name} are rounded to nearest even, subnormal ones too.",
        graphs.binary("Div", a.dtype, a.shape, b.shape),
        in_both_editions(gives(C=quotients(a, b)), A=a, B=b),
    )


def _differences(element_type: ElementType) -> Bundle:
    tiny, largest = _ends(element_type)
    epsilon = 2.0 ** (1 - FLOAT_FORMATS[element_type].precision)
    pairs = (
        *_SUBTRACTIONS,
        *((1.0, epsilon / 4), (1.0, epsilon / 2), (1 + epsilon, epsilon / 2)),
        *((2 * tiny, tiny), (tiny, 2 * tiny), (largest, -largest), (-largest, largest)),
    )
    a, b = _operands(pairs, element_type)
    return bundle(
        f"sub_special_{a.dtype.name}",
        f"Differences in {a.dtype.name} of zeros, infinities, ties and the ends of the range.",
        graphs.binary("Sub", a.dtype, a.shape, b.shape),
        in_both_editions(gives(C=differences(a, b)), A=a, B=b),
    )


def _ends(element_type: ElementType) -> tuple[float, float]:
    """The smallest and the largest positive finite number."""
    binary_format = FLOAT_FORMATS[element_type]
    tiny = 2.0 ** (binary_format.smallest_exponent - binary_format.precision + 1)
    return tiny, (2.0 - 2.0 ** (1 - binary_format.precision)) * 2.0**binary_format.largest_exponent


def _operands(
    pairs: Sequence[tuple[float, float]], element_type: ElementType
) -> tuple[Array, Array]:
    a, b = (
        np.array(column, np.float64).astype(element_type.dtype)
        for column in zip(*pairs, strict=True)
    )
    return a, b
