"""Broadcast against the oracle: every type, rank and arity, bit by bit, and the verdict."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from restrictions import Violation, broadcast

import sonnx_ort
from sonnx_ort.profile.element_type import NUMERIC_TYPES
from sonnx_ort.vectors.applied import special_values
from support import ort_values
from support.broadcasting import assert_identical, broadcast_model, numbered, shapes_of_tensors
from support.sessions import quiet
from support.values import FLOATS, bits_dtype, from_bits

DTYPES = {str(element_type): element_type.dtype for element_type in NUMERIC_TYPES} | {
    "bool": np.dtype(np.bool_)
}
RANKS = range(9)
SESSIONS_KEPT = 64


@functools.lru_cache(SESSIONS_KEPT)
def session(backend, element_types, shapes):
    """A session for operands of these shapes, of which sizes or ranks may be open."""
    return sonnx_ort.InferenceSession(
        broadcast_model(element_types, shapes), quiet(), backend=backend
    )


DECLARED = {
    "sizes": lambda array: array.shape,
    "ranks": lambda array: (None,) * array.ndim,
    "nothing": lambda _: None,
}
"""By what a model declares, the shape of an operand in it."""


def outcome(backend, element_types, arrays, known="ranks"):
    feeds = {f"x{index}": array for index, array in enumerate(arrays)}
    shapes = tuple(DECLARED[known](array) for array in arrays)
    try:
        return ort_values.run(session(backend, tuple(element_types), shapes), feeds)
    except sonnx_ort.ContractViolation as violation:
        return violation
    except sonnx_ort.ModelRejected as rejected:
        (found,) = rejected.report.violations
        return found.rule.id


def assert_is_the_oracles(found, arrays):
    expected = broadcast(*arrays)
    if isinstance(found, str):
        assert Violation(found) == expected
        return
    if isinstance(found, sonnx_ort.ContractViolation):
        assert Violation(found.rule) == expected
        assert found.shapes == tuple(array.shape for array in arrays)
        return
    assert not isinstance(expected, Violation), "a broken rule goes unnoticed"
    for result, wanted in zip(found, expected, strict=True):
        assert_identical(result, wanted)


def tensor_of(name, shape, first=1):
    return numbered(shape, np.int64, first).astype(DTYPES[name])


@pytest.mark.satisfies(
    "Broadcast.C1 Broadcast.one_shape Broadcast.repeated Broadcast.step_2.elements",
    "Broadcast.step_2.first",
)
@pytest.mark.parametrize(
    "rank", [pytest.param(r, marks=() if r in (0, 3, 8) else pytest.mark.thorough) for r in RANKS]
)
@pytest.mark.parametrize("name", DTYPES)
def test_every_type_and_rank(backend, name, rank):
    shape = (2, 1, 3, 1, 2, 1, 2, 1)[:rank]
    repeated = (1, 3, 1, 2, 1, 2, 1, 2)[:rank]
    arrays = [tensor_of(name, shape), tensor_of(name, repeated, 2), tensor_of(name, (), 3)]
    assert_is_the_oracles(outcome(backend, [name] * 3, arrays), arrays)


@pytest.mark.satisfies("Broadcast.condition_1", "Broadcast.prepended", "Broadcast.step_1.elements")
@pytest.mark.parametrize("ranks", [(small, large) for large in RANKS for small in range(large)])
def test_every_pair_of_ranks(backend, ranks):
    sizes = (2, 3, 1, 2, 1, 2, 1, 2)
    arrays = [tensor_of("int16", sizes[8 - rank :]) for rank in ranks]
    assert_is_the_oracles(outcome(backend, ["int16"] * 2, arrays, "nothing"), arrays)


@pytest.mark.satisfies("Broadcast.restrictions", "Broadcast.count")
@pytest.mark.parametrize("arity", [1, 2, 3, 10])
def test_every_type_in_one_node(backend, arity):
    names = [*DTYPES, *DTYPES][:arity] if arity < 10 else list(DTYPES)
    arrays = [
        tensor_of(name, (3, 1) if index % 2 else (2,), index) for index, name in enumerate(names)
    ]
    assert_is_the_oracles(outcome(backend, names, arrays, "nothing"), arrays)


@pytest.mark.satisfies("Broadcast.accuracy")
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_special_values_and_payloads_of_nans_keep_their_bits(backend, element_type):
    values = special_values(element_type)
    if element_type in FLOATS:
        nans = np.isnan(values)
        bits = values[nans].view(bits_dtype(element_type))
        signalling = bits - (bits & -bits) + 1
        values = np.concatenate(
            [values, from_bits(np.concatenate([bits + 1, signalling]), element_type)]
        )
    arrays = [values, np.ones((2, 1), element_type.dtype)]
    assert_is_the_oracles(outcome(backend, [element_type] * 2, arrays), arrays)


@pytest.mark.parametrize(
    "shapes",
    [
        ((0,), (0,)),
        ((0, 3), (0, 1)),
        ((0, 1), (0, 3), (0, 3)),
        ((2, 0), (1, 0)),
        ((0,), (1,)),
        ((0,), ()),
        ((0, 3), (3,)),
        ((0,), (3,)),
        ((1, 0), (2, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["float", "bool", "bfloat16"])
@pytest.mark.parametrize("known", DECLARED)
def test_tensors_without_elements(backend, known, name, shapes):
    arrays = [tensor_of(name, shape) for shape in shapes]
    assert_is_the_oracles(outcome(backend, [name] * len(shapes), arrays, known), arrays)


@given(data=st.data())
def test_any_shapes_types_and_bits(backend, data):
    names = data.draw(st.lists(st.sampled_from(sorted(DTYPES)), min_size=1, max_size=3))
    shapes = data.draw(shapes_of_tensors(len(names)))
    seed = data.draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    arrays = []
    for name, shape in zip(names, shapes, strict=True):
        dtype = DTYPES[name]
        if name == "bool":
            arrays.append(generator.integers(0, 2, shape).astype(np.bool_))
            continue
        bits = generator.bytes(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        arrays.append(np.frombuffer(bits, dtype).reshape(shape).copy())
    known = data.draw(st.sampled_from(sorted(DECLARED)))
    assert_is_the_oracles(outcome(backend, names, arrays, known), arrays)
