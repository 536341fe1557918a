"""The table of accuracies: what is read of it, and that what it does not have is rejected."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sonnx_ort.facts import accuracy
from sonnx_ort.facts.accuracy import SAFETY, Accuracy, accuracy_of
from sonnx_ort.facts.arithmetic import FORMATS
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.facts.sizes import Rejected

INF, NAN = math.inf, math.nan
UNIT, NORMAL = FORMATS["float"].unit, FORMATS["float"].normal

COLUMNS = (
    "function,type,version,arguments,undefined,result,result_near_zero,argument,"
    "argument_near_zero,one,fall,below_least,below_largest,above_least,above_largest,"
    "minus_zero,zero,minus_infinity,infinity,nan_least,nan_largest"
)
WHOLE = 2**32
"""As many arguments as a row of float has."""


def row(
    element_type: str = "float",
    version: str = "1",
    *,
    arguments: int = WHOLE,
    undefined: int = 0,
    errors: str = "1,0,1,0,1,0",
    results: str = "-1.0,-0.0,0.0,1.0",
    special: str = "-0.0,0.0,-1.0,1.0",
    of_nan: str = ",",
) -> str:
    head = f"F,{element_type},{version},{arguments},{undefined}"
    return f"{head},{errors},{results},{special},{of_nan}"


Plant = Callable[..., Accuracy]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    """What is read of a table of some rows; of the function F of a type."""
    path = tmp_path / "accuracy.csv"
    monkeypatch.setattr(accuracy, "_TABLE", path)

    def clear() -> None:
        accuracy._rows_by_function.cache_clear()
        accuracy_of.cache_clear()

    def planted(*rows: str, element_type: str = "float") -> Accuracy:
        path.write_text("\n".join([COLUMNS, *rows]), "utf-8")
        clear()
        return accuracy_of("F", element_type)

    yield planted
    clear()


def test_worst_of_all_versions_counts(read: Plant) -> None:
    found = read(
        row(errors="1,2,3,4,5,6", results="-2.0,-1.0,1.0,3.0", special="0.0,1.0,-9.0,nan"),
        row(
            version="2",
            errors="2,1,4,3,1,9",
            results="-1.0,1.0,2.0,4.0",
            special="-1.0,0.0,nan,7.0",
            of_nan="5.0,6.0",
        ),
    )
    assert found == Accuracy(
        FORMATS["float"],
        *(SAFETY * error for error in (2, 2, 4, 4, 5)),
        fall=SAFETY * 9,
        below=(-2, 1),
        above=(1, 4),
        zeros=(-1, 1),
        minus_infinity=(-9, -9),
        infinity=(7, 7),
        nan_of_infinities=(True, True),
        of_nan=(5, 6),
    )


def test_fall_of_a_function_that_falls_is_not_told(read: Plant) -> None:
    assert read(row(errors="1,0,1,0,1,")).fall is None


def test_errors_near_zero_count_a_number_that_is_flushed(read: Plant) -> None:
    found = read(row(errors="1,0,1,0.001,1,0"))
    assert (found.result_near_zero, found.argument_near_zero) == (1, 1)


@pytest.mark.parametrize("element_type", ["float16", "bfloat16"])
def test_type_without_a_row_is_rejected(read: Plant, element_type: str) -> None:
    words = f"^the accuracy of F of {element_type} was not measured$"
    with pytest.raises(Rejected, match=words):
        read(row(), element_type=element_type)


def test_function_that_one_version_defines_elsewhere_is_rejected(read: Plant) -> None:
    with pytest.raises(Rejected, match=r"^F of float is defined elsewhere than the exact one$"):
        read(row(), row(version="2", undefined=1))


@pytest.mark.parametrize(
    ("of_double", "of_float", "below", "above"),
    [
        pytest.param("0.0,0.5,0.5,1.0", "0.0,0.5,0.5,1.0", (0, INF), (0, INF), id="never below 0"),
        pytest.param(
            "-1.0,-1e-9,1e-9,1.0", "-1.0,-0.0,0.0,1.0", (-INF, 0), (0, INF), id="signs kept"
        ),
        pytest.param(
            "-1.0,-0.0,0.0,1.0", "-1.0,1e-7,-1e-7,1.0", (-INF, INF), (-INF, INF), id="not in float"
        ),
        pytest.param(
            "inf,-inf,1.0,2.0", "inf,-inf,1.0,2.0", (INF, -INF), (0, INF), id="not defined below 0"
        ),
        pytest.param(
            "inf,-inf,1.0,2.0", "1.0,2.0,1.0,2.0", (-INF, INF), (0, INF), id="defined in float"
        ),
    ],
)
def test_of_a_type_that_was_sampled_only_signs_are_told(
    read: Plant,
    of_double: str,
    of_float: str,
    below: tuple[float, float],
    above: tuple[float, float],
) -> None:
    rows = row("double", results=of_double, arguments=300_000), row(results=of_float)
    found = read(*rows, element_type="double")
    assert (found.below, found.above) == (below, above)


def test_sample_alone_tells_no_sign(read: Plant) -> None:
    found = read(row("double", arguments=300_000), element_type="double")
    assert (found.below, found.above) == ((-INF, INF), (-INF, INF))


def test_sample_of_floats_tells_no_sign(read: Plant) -> None:
    found = read(row(arguments=WHOLE - 1))
    assert (found.below, found.above) == ((-INF, INF), (-INF, INF))


@pytest.mark.parametrize(
    ("errors", "magnitudes", "expected"),
    [
        pytest.param("2,0,9,0,9,0", (0.5, 4, 8), 8 * UNIT * 0.5 + NORMAL, id="of the result"),
        pytest.param("9,0,1,0,9,0", (8, 4, 8), 4 * UNIT * 8 + NORMAL, id="of the argument"),
        pytest.param("9,0,1,0,9,0", (8, 9, 8), 4 * UNIT * 9 + NORMAL, id="beyond the argument"),
        pytest.param("9,0,9,0,1,0", (8, 0.5, 99), 4 * UNIT, id="of 1"),
        pytest.param("9,0,9,0,1,0", (8, 4, 99), 4 * UNIT * 4, id="beyond 1"),
        pytest.param("1,3,9,0,9,0", (0, 1, 8), 12 * NORMAL, id="near 0"),
        pytest.param("9,0,1,3,9,0", (1, 0, 0), 12 * NORMAL, id="argument near 0"),
        pytest.param("1e8,0,9e9,0,9e8,0", (0, 0.5, 99), 4e8 * UNIT * 0.5 + NORMAL, id="no digit"),
        pytest.param("1,0,1,0,1,0", (2, INF, INF), 4 * UNIT * 2 + NORMAL, id="infinite"),
    ],
)
def test_error_is_the_least_that_one_of_the_bounds_allows(
    read: Plant, errors: str, magnitudes: tuple[float, ...], expected: float
) -> None:
    """The magnitudes are of the end, of exact results and of arguments."""
    arrays = (np.array(float(number)) for number in magnitudes)
    assert float(read(row(errors=errors)).error(*arrays)) == expected


STEP = SAFETY * UNIT
"""How much further results may lie that were seen."""


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (-3, -2, (-1 - STEP, 0)),
        (2, 3, (1e-9 - 1e-9, 5 + 5 * STEP)),
        (-3, 3, (-1 - STEP, 5 + 5 * STEP)),
        (-3, 0, (-1 - STEP, 0.5 + STEP)),
        (0, 0, (0.25 - STEP, 0.5 + STEP)),
        (-INF, -2, (-1 - STEP, 0)),
        (INF, INF, (INF, -INF)),
    ],
)
def test_limits_are_those_of_the_sides_and_keep_signs(
    read: Plant, lower: float, upper: float, expected: tuple[float, float]
) -> None:
    found = read(row(results="-1.0,-0.0,1e-9,5.0", special="0.25,0.5,-7.0,9.0"))
    assert tuple(map(float, found.limits(Interval.of(lower, upper)))) == expected


@pytest.mark.parametrize(
    ("x", "special", "nan"),
    [
        (Interval.of(-3, 3), (INF, -INF), False),
        (Interval.of(-3, 3, nan=True), (2 - 2 * STEP, 3 + 3 * STEP), True),
        (Interval.of(-INF, 3), (0, 0), False),
        (Interval.of(-3, INF), (INF, -INF), True),
        (Interval.of(-INF, INF), (0, 0), True),
    ],
    ids=str,
)
def test_results_of_infinities_and_nan(
    read: Plant, x: Interval, special: tuple[float, float], nan: bool
) -> None:
    found = read(row(special="0.0,0.0,-0.0,nan", of_nan="2.0,3.0"))
    assert tuple(map(float, found.special(x))) == special
    assert found.nan(x) is nan


def test_limits_are_told_element_by_element(read: Plant) -> None:
    found = read(row(results="-1.0,-0.0,0.0,5.0"))
    lower, upper = found.limits(Interval(np.array([-2.0, 1.0]), np.array([-1.0, 2.0]), nan=False))
    assert lower.tolist() == [-1 - STEP, 0]
    assert upper.tolist() == [0, 5 + 5 * STEP]
