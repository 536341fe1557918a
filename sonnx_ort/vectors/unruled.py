"""The operators of the profile that have no rules, and Broadcast, of which ONNX has none.

Nothing but the general restrictions binds the former, and ONNX says what they compute.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import DOMAIN, DOMAIN_VERSION, Operator
from sonnx_ort.profile.options import Edition

_FLOATS = (Family.FLOAT,)


def _of_onnx(
    name: str,
    *operands: str,
    types: Mapping[str, str] = {},
    families: tuple[Family, ...] = tuple(Family),
) -> Operator:
    contract = dict.fromkeys(families, ())
    return Operator(
        name,
        operands,
        (),
        dict.fromkeys(Edition, contract),
        operand_types=types,
        elementwise=False,
    )


_S = {"S": "int64"}

UNRULED: Mapping[str, Operator] = {
    each.name: each
    for each in (
        _of_onnx("ConstantOfShape", "S", types=_S),
        _of_onnx("ConvTranspose", "X", "W", "B", families=_FLOATS),
        _of_onnx("Erf", "X", families=_FLOATS),
        _of_onnx("Expand", "X", "S", types=_S),
        _of_onnx(
            *("GRU", "X", "W", "R", "B", "sequence_lens", "initial_h"),
            types={"sequence_lens": "int32"},
            families=_FLOATS,
        ),
        _of_onnx("Gather", "X", "I", types={"I": "int64"}),
        _of_onnx("GlobalAveragePool", "X", families=_FLOATS),
        _of_onnx("HardSwish", "X", families=_FLOATS),
        _of_onnx("Identity", "X"),
        _of_onnx("Not", "X", families=(Family.BOOLEAN,)),
        _of_onnx("Pad", "X", "P", "C", "A", types={"P": "int64", "A": "int64"}),
        _of_onnx("ReduceMean", "X", "A", types={"A": "int64"}, families=_FLOATS),
        _of_onnx("ReduceSum", "X", "A", types={"A": "int64"}),
        _of_onnx(
            "Resize",
            *("X", "roi", "scales", "sizes"),
            types={"roi": "float", "scales": "float", "sizes": "int64"},
        ),
        _of_onnx("ScatterND", "X", "I", "U", types={"I": "int64"}),
        _of_onnx("Softplus", "X", families=_FLOATS),
        _of_onnx("Split", "X", "S", types=_S),
        _of_onnx("Transpose", "X"),
    )
}
"""The operators of the profile without rules that have a meaning here."""


def known(name: str) -> Operator | None:
    """An operator with or without rules; None if there is none of this name."""
    return OPERATORS.get(name) or UNRULED.get(name)


SHAPES = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((), (2, 3)),
    ((1,), (2, 3)),
    ((2, 1, 3), (4, 1)),
    ((2, 1), (1, 3), (3,)),
    ((0, 3), (0, 1)),
    ((2, 3),),
)
"""Shapes that have a common one."""

APART = (((2, 3), (2,)), ((2,), (3,)), ((0, 3), (1, 3)), ((2, 3), (4, 1, 2)))
"""Shapes that have none, by the document on Broadcast."""


def broadcasts(
    shapes: tuple[tuple[int, ...], ...], kind: ElementType, declared: ElementType | None = None
) -> tuple[onnx.ModelProto, dict[str, npt.NDArray[Any]]]:
    """A model of a Broadcast, and distinct elements for its inputs.

    `declared` is the type that the file declares for the first result, if it is a wrong one.
    """
    feeds = {}
    for number, shape in enumerate(shapes):
        count = int(np.prod(shape))
        elements = np.arange(1, count + 1).reshape(shape) + 20 * number
        feeds[f"X{number}"] = elements.astype(kind.dtype)
    outputs = [f"Z{number}" for number in range(len(shapes))]
    node = helper.make_node("Broadcast", [*feeds], outputs, "the_node", domain=DOMAIN)
    types = [declared or kind, *[kind] * (len(shapes) - 1)]
    graph = helper.make_graph(
        [node],
        "alone",
        [*_declared(feeds, [kind] * len(shapes), [len(shape) for shape in shapes])],
        [*_declared(outputs, types, [max(map(len, shapes))] * len(shapes))],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, DOMAIN_VERSION)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def _declared(
    names: Iterable[str], kinds: Iterable[ElementType], ranks: Iterable[int]
) -> Iterator[onnx.ValueInfoProto]:
    for name, kind, rank in zip(names, kinds, ranks, strict=True):
        number = helper.np_dtype_to_tensor_dtype(kind.dtype)
        yield helper.make_tensor_value_info(name, number, [f"{name}_{k}" for k in range(rank)])
