"""Where bounds come from, by their words."""

from itertools import islice

import pytest

from sonnx_ort.meaning.origins import Origin, measured, measured_parts, origins
from sonnx_ort.meaning.results import EXACT, UNITS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.cases import cases

T = ElementType
JOINED = "what the joined nodes admit together (ours)"
OF_LOG = "3 units in the last place, measured of ONNX Runtime with each float (ours)"
SIGNS = "signs of zeros are open: the algorithm does not say them"


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (EXACT, []),
        (SIGNS, []),
        (f"{EXACT}; {OF_LOG}", ["measured"]),
        (f"{JOINED}; {OF_LOG}; {SIGNS}", ["measured", "proof"]),
        ("tanh_acc.md, the bound of the first algorithm, of an exponential", ["document"]),
        ("a float may be rounded before (ours)", ["chosen"]),
        ("about 1", []),
    ],
)
def test_words_say_the_origin(bounds: str, expected: list[str]) -> None:
    assert origins(bounds) == [Origin(each) for each in expected]


@pytest.mark.parametrize(
    ("operator", "kind", "expected"),
    [
        ("Log", T.FLOAT, OF_LOG),
        ("Log", T.DOUBLE, "1 unit in the last place, measured of ONNX Runtime with samples (ours)"),
        (
            "Acos",
            T.FLOAT16,
            "1 unit in the last place, measured of ONNX Runtime with each float16 (ours)",
        ),
        ("Log", T.BFLOAT16, ""),
        ("Exp", T.FLOAT, ""),
        ("Log", None, ""),
    ],
)
def test_measured_bound_says_with_what(
    operator: str, kind: ElementType | None, expected: str
) -> None:
    assert measured(operator, kind) == expected


def test_measured_parts_are_told_from_others() -> None:
    assert measured_parts(f"{JOINED}; {OF_LOG}; {SIGNS}") == [OF_LOG]


@pytest.mark.parametrize("operator", ["Erf", "GRU", "HardSwish", "Log", "Pow", "Softplus", "Tanh"])
def test_bound_of_a_case_has_an_origin(operator: str) -> None:
    found = set[Origin]()
    for case in islice(cases([operator]), 20):
        if case.refused or not isinstance(case.applied.meaning, tuple):
            continue
        for result in case.applied.meaning:
            assert result.is_single or origins(result.bound), result.bound
            found |= {*origins(result.bound)}
    has_units = {name for name, _ in UNITS}
    assert (Origin.MEASURED in found) == (operator in has_units)
