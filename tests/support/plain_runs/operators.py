"""Single nodes of every element type, with what the exact oracle says of them."""

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import onnx

import sonnx_ort
from sonnx_ort.oracle import Violation, outcome
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family, smallest_value
from sonnx_ort.profile.options import Edition
from support.graphs import binary_model
from support.plain_runs.run import Array, Failure, Run
from support.values import all_pairs, special_values

_NODE = "the_node"


def operator_runs() -> Iterator[Run]:
    """Both operators, in both editions, in all types: special values, and each violation."""
    for operator in ("Div", "Sub"):
        for element_type in NUMERIC_TYPES:
            for edition in Edition:
                for kind, (a, b) in _operands(operator, element_type).items():
                    yield Run(
                        f"{operator} {element_type} {edition}, {kind}",
                        partial(_enforced, operator, element_type, edition),
                        {"A": a, "B": b},
                        _expected(operator, a, b, element_type, edition),
                    )


def _operands(operator: str, element_type: ElementType) -> dict[str, tuple[Array, Array]]:
    a, b = all_pairs(special_values(element_type))
    chosen = {"of unequal shape": (a[:3], b[:1])}
    if operator == "Sub" or element_type.family is Family.FLOAT:
        return chosen | {"special values": (a, b)}
    overflows = np.zeros(a.shape, bool)
    if element_type.dtype.kind == "i":
        overflows = (a == smallest_value(element_type)) & (b == -1)
        chosen["smallest by -1"] = (a[overflows], b[overflows])
    defined = (b != 0) & ~overflows
    return chosen | {"special values": (a[defined], b[defined]), "by zero": (a[-3:], b[-3:] * 0)}


@cache
def _enforced(operator: str, element_type: ElementType, edition: Edition) -> onnx.ModelProto:
    model = binary_model(operator, element_type, [None], [None], node=_NODE)
    return sonnx_ort.rewrite(model, edition=edition, backend="native")


def _expected(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> dict[str, Array] | Failure:
    found = outcome(operator, (a, b), element_type, edition)
    if isinstance(found, Violation):
        return Failure(operator, _NODE, found.rule)
    return {"C": found}
