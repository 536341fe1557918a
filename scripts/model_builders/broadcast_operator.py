"""Models that contain the profile's Broadcast themselves."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from model_builders.bundle import (
    Array,
    Bundle,
    bundle,
    case,
    explicit,
    float32,
    in_both_editions,
    in_both_modes,
    int32,
    rejections,
)
from model_builders.expected import broadcast_outcome, differences, quotients
from model_builders.graphs import parse
from sonnx_ort.models import Case, Citation

_DOCUMENT = Citation("SONNX Broadcast", "Informal specification")
_DOMAINS = {"sonnx": 1}
_MATRIX = float32([[1, 2, 3], [4, 5, 6]])


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield _broadcast(
        "scalar",
        "A scalar is repeated to a matrix.",
        "float[2,3] X0, float X1 => float[?,?] Z0, float[?,?] Z1",
        in_both_modes(_run(_MATRIX, float32(7))),
    )
    yield _broadcast(
        "row",
        "A row is repeated to a matrix.",
        "float[2,3] X0, float[3] X1 => float[?,?] Z0, float[?,?] Z1",
        in_both_modes(_run(_MATRIX, float32([7, 8, 9]))),
    )
    yield _broadcast(
        "both",
        "A column and a row are both repeated.",
        "float[2,1] X0, float[1,3] X1 => float[?,?] Z0, float[?,?] Z1",
        in_both_modes(_run(float32([[1], [2]]), float32([[3, 4, 5]]))),
    )
    yield _broadcast(
        "rank_0",
        "Scalars of two types stay scalars.",
        "float X0, bool X1 => float Z0, bool Z1",
        in_both_modes(_run(float32(7), np.array(True))),
    )
    three_types = float32([[1], [2]]), np.array([True, False, True]), np.array(-9, np.int64)
    yield _broadcast(
        "three_inputs",
        "Three tensors of three types and ranks get one shape; each keeps its type.",
        "float[n,m] X0, bool[k] X1, int64 X2 => float[?,?] Z0, bool[?,?] Z1, int64[?,?] Z2",
        in_both_modes(_run(*three_types)),
    )
    three, two, one, none = (int32(range(size)) for size in (3, 2, 1, 0))
    clashes = _run(three, two, name="3 and 2"), _run(none, one, name="0 and 1")
    yield _broadcast(
        "incompatible",
        "Sizes that only the run knows: 3 and 1 fit; 3 and 2, and 0 and 1, do not.",
        "int32[n] X0, int32[m] X1 => int32[?] Z0, int32[?] Z1",
        [*in_both_modes(_run(three, one)), *in_both_modes(*clashes)],
    )
    yield _broadcast(
        "misfit",
        "A Broadcast of (4,) and (3,) is rejected before any run.",
        "float[4] X0, float[3] X1 => float[?] Z0, float[?] Z1",
        in_both_modes(*rejections("Broadcast.E1")),
    )
    yield _normalization()


def _broadcast(what: str, shows: str, types: str, cases: Iterable[Case]) -> Bundle:
    inputs, outputs = types.split(" => ")
    xs, zs = (", ".join(re.findall(r"[XZ]\d", part)) for part in (inputs, outputs))
    text = f"({inputs}) => ({outputs}) {{ [spread] {zs} = sonnx.Broadcast({xs}) }}"
    return bundle(f"broadcast_{what}", shows, parse(text, domains=_DOMAINS), cases, _DOCUMENT)


def _run(*arrays: Array, name: str = "typed") -> Case:
    inputs = {f"X{index}": array for index, array in enumerate(arrays)}
    return case(name, broadcast_outcome(*arrays), **inputs)


def _normalization() -> Bundle:
    x, mean, std = _MATRIX, float32([2, 3, 4]), float32([2, 4, 3])
    expected = quotients(differences(x, mean), std)
    typed, preliminary = in_both_editions(expected, x=x, mean=mean, std=std)
    return bundle(
        "normalization_by_the_profile",
        "(x - mean) / std as the profile has it: one Broadcast of all three, then equal shapes.",
        parse(
            """(float[n,3] x, float[3] mean, float[3] std) => (float[n,3] C) {
                [spread] x_all, mean_all, std_all = sonnx.Broadcast(x, mean, std)
                [subtract] centred = Sub(x_all, mean_all)
                [divide] C = Div(centred, std_all)
            }""",
            domains=_DOMAINS,
        ),
        [typed, preliminary, *explicit(typed)],
        _DOCUMENT,
    )
