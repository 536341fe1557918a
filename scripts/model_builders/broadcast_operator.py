"""Models that contain the profile's Broadcast themselves."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx

from model_builders import graphs
from model_builders.bundle import (
    TYPED,
    Array,
    Bundle,
    bundle,
    case,
    clashes,
    explicit,
    float32,
    gives,
    in_both_editions,
    in_both_modes,
    int32,
    rejected,
    rejected_even_explicitly,
)
from model_builders.expected import differences, quotients, spread
from model_builders.graphs import Dimensions
from sonnx_ort.models import Case, Source

NODE = "spread"
_DOMAINS = {"sonnx": 1}
_DOCUMENT = Source("SONNX Broadcast", "Informal specification")
_MATRIX = float32([[1, 2, 3], [4, 5, 6]])


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield _given("scalar", "A scalar is repeated to a matrix.", [_MATRIX, float32(7)])
    yield _given("row", "A row is repeated to a matrix.", [_MATRIX, float32([7, 8, 9])])
    yield _given(
        "both", "A column and a row are both repeated.", [float32([[1], [2]]), float32([[3, 4, 5]])]
    )
    yield _given("rank_0", "Scalars of two types stay scalars.", [float32(7), np.array(True)])
    yield _three_inputs()
    yield _incompatible()
    yield _misfit()
    yield _normalization()


def _model(arrays: Sequence[Array], shapes: Sequence[Dimensions]) -> onnx.ModelProto:
    inputs = [f"X{index}" for index in range(len(arrays))]
    outputs = [f"Z{index}" for index in range(len(arrays))]
    rank = max(map(len, shapes))
    main = graphs.graph(
        [graphs.node("Broadcast", " ".join(inputs), " ".join(outputs), NODE, "sonnx")],
        [graphs.value(n, a.dtype, s) for n, a, s in zip(inputs, arrays, shapes, strict=True)],
        [graphs.value(n, a.dtype, (None,) * rank) for n, a in zip(outputs, arrays, strict=True)],
    )
    return graphs.model(main, domains=_DOMAINS)


def _inputs(arrays: Sequence[Array]) -> dict[str, Array]:
    return {f"X{index}": array for index, array in enumerate(arrays)}


def _outputs(arrays: Sequence[Array]) -> dict[str, Array]:
    return {f"Z{index}": array for index, array in enumerate(spread(*arrays))}


def _given(what: str, shows: str, arrays: Sequence[Array]) -> Bundle:
    return bundle(
        f"broadcast_{what}",
        shows,
        _model(arrays, [array.shape for array in arrays]),
        in_both_modes(gives(**_outputs(arrays)), **_inputs(arrays)),
        _DOCUMENT,
    )


def _three_inputs() -> Bundle:
    arrays = [float32([[1], [2]]), np.array([True, False, True]), np.array(-9, np.int64)]
    return bundle(
        "broadcast_three_inputs",
        "Three tensors of three types and ranks get one shape; each keeps its type.",
        _model(arrays, [("n", "m"), ("k",), ()]),
        in_both_modes(gives(**_outputs(arrays)), **_inputs(arrays)),
        _DOCUMENT,
    )


def _incompatible() -> Bundle:
    three, two, one, none = (int32(range(size)) for size in (3, 2, 1, 0))
    clashing = {"3 and 2": [three, two], "0 and 1": [none, one]}
    return bundle(
        "broadcast_incompatible",
        "Sizes that only the run knows: 3 and 1 fit; 3 and 2, and 0 and 1, do not.",
        _model([three, one], [("n",), ("m",)]),
        [
            *in_both_modes(gives(**_outputs([three, one])), **_inputs([three, one])),
            *(
                make(name, TYPED, clashes(NODE, *arrays), **_inputs(arrays))
                for make in (case, explicit)
                for name, arrays in clashing.items()
            ),
        ],
        _DOCUMENT,
    )


def _misfit() -> Bundle:
    cases: list[Case] = [
        make(TYPED, ("Broadcast.E1", NODE)) for make in (rejected, rejected_even_explicitly)
    ]
    return bundle(
        "broadcast_misfit",
        "A Broadcast of (4,) and (3,) is rejected before any run.",
        _model([_MATRIX, _MATRIX], [(4,), (3,)]),
        cases,
        _DOCUMENT,
    )


def _normalization() -> Bundle:
    main = graphs.graph(
        [
            graphs.node("Broadcast", "x mean std", "x_all mean_all std_all", NODE, "sonnx"),
            graphs.node("Sub", "x_all mean_all", "centred"),
            graphs.node("Div", "centred std_all", "C"),
        ],
        [
            graphs.value("x", np.float32, ("n", 3)),
            graphs.value("mean", np.float32, (3,)),
            graphs.value("std", np.float32, (3,)),
        ],
        [graphs.value("C", np.float32, ("n", 3))],
    )
    inputs = {"x": _MATRIX, "mean": float32([2, 3, 4]), "std": float32([2, 4, 3])}
    x, mean, std = spread(*inputs.values())
    expected = gives(C=quotients(differences(x, mean), std))
    return bundle(
        "normalization_by_the_profile",
        "(x - mean) / std as the profile has it: one Broadcast of all three, then equal shapes.",
        graphs.model(main, domains=_DOMAINS),
        [*in_both_editions(expected, **inputs), explicit(TYPED.value, TYPED, expected, **inputs)],
        _DOCUMENT,
    )
