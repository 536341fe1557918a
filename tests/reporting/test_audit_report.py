"""An audit as text: no bound is smaller than it is."""

import numpy as np
import pytest

from sonnx_ort.comparing.enclosing import EnclosedOutput
from sonnx_ort.comparing.error_bounds import BoundedValue
from sonnx_ort.reporting.audit_report import bound_in_words, distance_in_words, heading_of_errors


@pytest.mark.parametrize(("bound", "enclosed", "text"), [
    (0.0010049, 0.0010049, "at most 0.00101 (a.md); enclosed: at most 0.00101"),
    (0.001, None, "at most 0.001 (a.md); enclosed: not"),
])  # fmt: skip
def test_bounds_of_errors_are_rounded_up(bound: float, enclosed: float | None, text: str) -> None:
    value = BoundedValue("z", "Div 'd'", bound, "a.md", enclosed=enclosed)
    assert bound_in_words(value) == text


@pytest.mark.parametrize(("error", "text"), [
    (0.001, "0.001"), (1.0, "1"), (0.123456789, "0.123456789"), (1e-5, "1e-05"),
])  # fmt: skip
def test_errors_of_inputs_have_all_of_their_digits(error: float, text: str) -> None:
    assert heading_of_errors({"x": error, "y": 0.0}) == (
        f"errors of values, if x is off by at most {text}"
    )


@pytest.mark.parametrize(("units", "text"), [(0.54321, "0.544"), (0.5, "0.5"), (1234.5, "1,235")])
def test_distances_of_outputs_are_rounded_up(units: float, text: str) -> None:
    nothing = np.zeros(1)
    output = EnclosedOutput("z", (1,), nothing, nothing, 0.0010049, 2.0019, units)
    assert distance_in_words(output) == (
        f"known to 0.00101; the run is at most 2.01 ({text} units in the last place) beyond that"
    )
