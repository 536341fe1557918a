"""Slices of a run are decided as what is known before it is judged."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.profile.rule import JudgedInRuns

Array = npt.NDArray[Any]

NAMES = ("X", "starts", "ends", "axes", "steps")

PLACES = (-(2**63), -6, -5, -4, -3, -1, 0, 1, 3, 4, 5, 2**63 - 1)


def vectors(*entries: tuple[int, ...]) -> list[Array]:
    return [np.array(each, np.int64) for each in zip(*entries, strict=True)]


def assert_judged_alike(demand: SliceDemand, arrays: list[Array]) -> None:
    requirement = Slicing(demand)
    names = NAMES[: len(arrays)]
    judged = JudgedInRuns.violation_of(requirement, names, arrays)
    assert requirement.violation_of(names, arrays) == judged, arrays


@pytest.mark.parametrize("demand", SliceDemand)
@pytest.mark.parametrize("size", [0, 1, 4])
def test_places_of_one_axis_are_decided_as_they_are_judged(demand, size):
    data = np.zeros((2, size), np.int8)
    for start, end, axis, step in itertools.product(PLACES, PLACES, (1, -1, 2), (1, -2, 0)):
        assert_judged_alike(demand, [data, *vectors((start, end, axis, step))])


@pytest.mark.parametrize("demand", SliceDemand)
def test_places_of_two_axes_are_decided_as_they_are_judged(demand):
    data = np.zeros((2, 4), np.int8)
    for start, end, step in itertools.product(PLACES, PLACES, (1, -2)):
        for entries in itertools.permutations([(0, 2, 0, 1), (start, end, 1, step)]):
            assert_judged_alike(demand, [data, *vectors(*entries)])


@pytest.mark.parametrize("demand", SliceDemand)
@pytest.mark.parametrize(
    "places",
    [
        [np.array(0), np.array(9), np.array(0), np.array(1)],
        [np.array([0, 9]), np.array([9]), np.array([0]), np.array([1])],
        [np.array([9]), np.array([0])],
        [np.array([9]), np.array([0]), np.array([0])],
        [np.empty(0, np.int64)] * 4,
    ],
    ids=["scalars", "vectors of other lengths", "no axes", "no steps", "nothing"],
)
def test_unusual_places_are_decided_as_they_are_judged(demand, places):
    assert_judged_alike(demand, [np.zeros(4, np.int8), *places])
