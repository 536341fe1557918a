"""Campaign of units: how it counts, and that the oracle admits what it has recorded."""

import json

import numpy as np
import pytest
from measure_units import OPERATORS, RECORD, Sweep, missed
from restrictions import outcome

from sonnx_ort.meaning import UNITS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

TOLD = json.loads(RECORD.read_text(encoding="utf-8"))["operators"]


def test_units_are_counted_across_zero():
    tiny = np.float32(1e-45)
    found, nearest = np.array([tiny, -tiny, np.float32(-0.0)]), np.array([-tiny, -tiny, tiny])
    assert missed(found, nearest) == {"2": 1, "0": 1, "1": 1}


def test_result_that_is_nan_is_an_error():
    with pytest.raises(ValueError, match=r"^a result is NaN$"):
        missed(np.float32([np.nan]), np.float32([1]))


@pytest.mark.parametrize("operator", OPERATORS)
def test_block_counts_what_the_exact_oracle_would(operator):
    sweep = Sweep(operator)
    place = sweep.floats // 2 + 77
    x = sweep._patterns(place)[:300].view(np.float32)
    nearest = outcome(operator, [x], ElementType.FLOAT, Edition.TYPED)
    with np.errstate(all="ignore"):
        assert sum(missed(sweep._session.run(None, {"X": x})[0], nearest).values()) == 300
    reference = {"Log": np.log, "Acos": np.arccos}[operator]
    assert missed(reference(x.astype(np.float64)).astype(np.float32), nearest) == {"0": 300}


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_float_is_recorded(operator):
    assert TOLD[operator]["floats"] == Sweep(operator).floats


@pytest.mark.parametrize("operator", OPERATORS)
def test_oracle_admits_so_many_units_as_were_recorded(operator):
    assert max(map(int, TOLD[operator]["units"])) == UNITS[operator, ElementType.FLOAT]
