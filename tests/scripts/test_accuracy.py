"""Campaign of accuracies: what is exact, what it finds, and what it has recorded."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure_accuracy
import numpy as np
import pytest
from accuracy import sweeps
from accuracy.arguments import count_of, doubles, rising
from accuracy.findings import SCALES, add, empty
from accuracy.functions import FUNCTIONS, enclosure, erf
from accuracy.sweeps import Sweep
from accuracy.table import COLUMNS, TABLE, columns_of, loaded, stored, table_of
from flint import arb, ctx
from measure_accuracy import RECORD, run

from sonnx_ort.facts.arithmetic import FORMATS
from support.pages import REPOSITORY

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))
FLOAT = FORMATS["float"]

ENCLOSED: dict[str, Callable[[arb], arb]] = {
    "Erf": lambda x: x.erf(),
    "Gelu none": lambda x: x * (-x / arb(2).sqrt()).erfc() / 2,
    "Softplus": lambda x: x.exp().log1p(),
    "Mish": lambda x: x * x.exp().log1p().tanh(),
    "HardSwish": lambda x: x * max(arb(0), min(arb(1), x / 6 + arb(0.5))),
    "HardSigmoid": lambda x: max(arb(0), min(arb(1), arb(float(np.float32(0.2))) * x + arb(0.5))),
    "Elu": lambda x: x.expm1() if x < 0 else x,
    "Celu": lambda x: x.expm1() if x < 0 else x,
    "Selu": lambda x: (
        arb(float(np.float32(1.0507010)))
        * (arb(float(np.float32(1.6732632))) * x.expm1() if x < 0 else x)
    ),
    "Asin": lambda x: x.asin(),
    "Asinh": lambda x: x.asinh(),
    "Atan": lambda x: x.atan(),
}
"""The functions without a kernel in double, which the campaign need not enclose."""


def arguments() -> np.ndarray:
    rng = np.random.default_rng(3)
    near = [rng.uniform(-limit, limit, 60) for limit in (1, 10, 90)]
    powers = 10.0 ** rng.uniform(-37, 2, 60)
    return np.concatenate([*near, powers, -powers]).astype(np.float32).astype(np.float64)


@pytest.fixture(autouse=True)
def _default_precision() -> Any:
    yield
    ctx.prec = 53


@pytest.mark.parametrize("name", FUNCTIONS)
def test_exact_results_are_within_a_millionth_of_a_unit(name: str) -> None:
    x = arguments()
    with np.errstate(all="ignore"):
        found = FUNCTIONS[name].exact(x)
    for argument, result in zip(x.tolist(), found.tolist(), strict=True):
        exact = (
            ENCLOSED[name](arb(argument))
            if name in ENCLOSED
            else enclosure(FUNCTIONS[name], argument)
        )
        if exact.is_finite():
            apart = abs(float(arb(result) - exact))
            assert apart <= 1e-6 * FLOAT.unit * abs(float(exact)) + 1e-60, argument
        else:
            assert math.isnan(result), argument


def test_large_arguments_of_sin_are_reduced_exactly() -> None:
    x = np.float32([1e10, 3e20, 2.5e30, 3.4e38]).astype(np.float64)
    expected = [float(enclosure(FUNCTIONS["Sin"], argument)) for argument in x.tolist()]
    np.testing.assert_allclose(FUNCTIONS["Sin"].exact(x), expected, rtol=1e-14)


def test_error_function_of_special_numbers() -> None:
    x = np.array([-math.inf, -7.0, -0.0, 0.0, 7.0, math.inf])
    assert erf(x).tolist() == [-1, -1, 0, 0, 1, 1]
    assert np.signbit(erf(x)).tolist() == [True] * 3 + [False] * 3
    assert math.isnan(erf(np.array([math.nan]))[0])


def test_enclosures_are_where_a_kernel_computes_doubles() -> None:
    with pytest.raises(ValueError, match=r"^Erf has no enclosures$"):
        enclosure(FUNCTIONS["Erf"], 1.0)
    for name, function in FUNCTIONS.items():
        assert Sweep(name, "double").has_kernel == (function.enclosed is not None)


def test_arguments_of_float16_are_all_in_rising_order() -> None:
    found = rising("float16", 0, count_of("float16"))
    assert sorted(found.view(np.uint16).tolist()) == list(range(1 << 16))
    missing = np.isnan(found)
    assert (np.diff(found[~missing].astype(np.float64)) >= 0).all()
    assert not missing[: 2 * 0x7C01].any()


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (0, [-np.inf, np.finfo(np.float32).min]),
        (0x7F800000 - 1, [-1e-45, -0.0, 0.0, 1e-45]),
        (2 * 0x7F800001 - 1, [np.inf, np.nan]),
        (2**32 - 2, [np.nan, np.nan]),
    ],
)
def test_arguments_of_float_rise_across_zero(place: int, expected: list[float]) -> None:
    found = rising("float", place, place + len(expected))
    wanted = np.array(expected, np.float32)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    assert (np.signbit(found) == np.signbit(wanted))[numbers].all()


def test_doubles_have_all_exponents_of_both_signs() -> None:
    found = doubles()
    numbers = found[np.isfinite(found)]
    assert set(np.frexp(numbers)[1]) >= set(range(-1022, 1025))
    assert (np.diff(numbers) >= 0).all()
    assert (numbers == -numbers[::-1]).all()


def finding_of(rows: list[tuple[float, float, float]], *, rises: bool = True) -> dict[str, Any]:
    x, y, exact = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    found = empty(rises=rises)
    add(found, FLOAT, x, y, exact, rising=True)
    return found


U, TINY, NAN, INF = FLOAT.unit, FLOAT.normal, math.nan, math.inf


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([(1, 2 + 6 * U, 2)], {"result": 3, "argument": 3, "one": 3}, id="large"),
        pytest.param([(8, 0.5 - U, 0.5)], {"result": 2, "argument": 1 / 8, "one": 1}, id="small"),
        pytest.param(
            [(TINY, 3 * TINY, TINY)],
            {"result": 0, "result_near_zero": 2, "argument_near_zero": 2},
            id="near zero",
        ),
        pytest.param(
            [(1, 3 * TINY, TINY)], {"result_near_zero": 2, "argument_near_zero": 0}, id="far"
        ),
        pytest.param([(1, INF, 1e39)], {"one": 0}, id="overflow of both"),
        pytest.param([(1, FLOAT.largest / 2, 1e39)], {"one": 1 / U / 2}, id="no overflow"),
        pytest.param([(1, 2, 2), (2, 2 - 4 * U, 2)], {"fall": 2}, id="falls"),
        pytest.param([(-1, 3, 3), (1, -2, -2)], {"below": [3, 3], "above": [-2, -2]}, id="signs"),
        pytest.param([(NAN, 7, NAN), (NAN, NAN, NAN)], {"of_nan": [7, 7], "nan": 0}, id="of NaN"),
        pytest.param([(1, NAN, 1)], {"nan": 1, "above": [INF, -INF]}, id="NaN"),
        pytest.param([(1, 5, NAN)], {"outside": 1, "above": [INF, -INF]}, id="outside"),
        pytest.param([(-0.0, -3, -3), (0.0, 3, 3)], {"zeros": [-3, 3]}, id="zeros"),
        pytest.param([(-INF, -3, -3), (INF, 3, 3)], {"infinities": [-3, 3]}, id="infinities"),
    ],
)
def test_findings_are_counted(
    rows: list[tuple[float, float, float]], expected: dict[str, object]
) -> None:
    found = finding_of(rows)
    assert {name: found[name] for name in expected} == expected


def test_fall_is_counted_across_pieces_and_only_of_rising_functions() -> None:
    found, flat = empty(rises=True), empty(rises=False)
    for x, y in ((1.0, 2.0), (2.0, 1.0)):
        for each in (found, flat):
            one = np.array([x]), np.array([y]), np.array([y])
            add(each, FLOAT, *one, rising=True)
    assert (found["fall"], flat["fall"]) == (0.5 / U, None)


def test_worst_arguments_are_kept_once_each_the_worst_first() -> None:
    found = empty(rises=True)
    for x, error in ((3.0, 2), (4.0, 5), (3.0, 2), (5.0, 1)):
        exact = np.array([1.0])
        add(found, FLOAT, np.array([x]), exact + 2 * error * U, exact, rising=True)
    assert found["worst"]["one"] == [[10, 4], [4, 3], [2, 5]]


def place_of(number: float) -> int:
    """Where the piece begins that holds a float, among all in rising order."""
    bits = int(np.float32(abs(number)).view(np.uint32))
    place = 0x7F800001 + bits if number > 0 else 0x7F800000 - bits
    return place // sweeps.PIECE * sweeps.PIECE


@pytest.mark.parametrize(
    ("function", "number", "simple"),
    [
        ("Exp", 1e-9, True),
        ("Exp", 1e-3, False),
        ("Exp", -1e3, True),
        ("Exp", 1e3, True),
        ("Sigmoid", -1e-9, True),
        ("Gelu none", -1e-9, True),
        ("Gelu none", 1e3, True),
        ("Gelu none", -1e3, True),
        ("Elu", -1e3, True),
        ("Elu", 50.0, False),
        ("Erf", 1e-9, False),
        ("Cos", 1e-9, True),
        ("Cos", 1e3, False),
        ("Sqrt", 1e3, False),
    ],
)
def test_ends_tell_what_all_of_a_piece_would(
    function: str, number: float, simple: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = Sweep(function, "float")
    x = sweep.arguments(place_of(number))
    y = sweep.computed(x)
    assert sweep._is_simple(x, y) is simple
    found, wholly = (empty(rises=FUNCTIONS[function].rises) for _ in range(2))
    sweep.add(found, x, y, rising=True)
    monkeypatch.setattr(Sweep, "_is_simple", lambda *_: False)
    sweep.add(wholly, x, y, rising=True)
    worst = found.pop("worst"), wholly.pop("worst")
    for scale in ("result", "argument", "one"):
        assert found.pop(scale) == pytest.approx(wholly.pop(scale), rel=0.02, abs=1e-6)
        assert len(worst[0][scale]) == len(worst[1][scale])
    assert found == wholly


@pytest.mark.parametrize("number", [0.0, math.inf])
def test_piece_with_zero_or_infinity_is_looked_at_wholly(number: float) -> None:
    sweep = Sweep("Exp", "float")
    x = sweep.arguments(place_of(number or 1e-45))
    assert number in x
    assert not sweep._is_simple(x, np.ones_like(x))


def test_short_tensors_whose_results_differ_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(_: Sweep, x: np.ndarray) -> np.ndarray:
        found = np.sqrt(np.abs(x))
        return found if x.size > 1 else np.nextafter(found, np.inf, dtype=x.dtype)

    monkeypatch.setattr(Sweep, "computed", computed)
    monkeypatch.setattr(sweeps, "LENGTHS", 2)
    monkeypatch.setattr(Sweep, "_singles", lambda _: np.float32([1, 4]))
    found = empty(rises=True)
    with np.errstate(all="ignore"):
        counts = Sweep("Sqrt", "float").add_short(found)
    # The special arguments that are finite, and two others; each alone.
    assert counts["length"] == 4 + 2
    assert found["one"] == pytest.approx(2)


def test_what_is_stored_is_loaded() -> None:
    found = empty(rises=False)
    assert loaded(json.loads(json.dumps(stored(found), allow_nan=False))) == found
    assert math.isnan(loaded(stored([math.nan]))[0])


def test_errors_are_rounded_upwards_in_the_table() -> None:
    found = empty(rises=False) | {"one": 1.23456, "result": 2.0000001e7, "of_nan": [1.0, 2.0]}
    columns = dict(zip(COLUMNS[3:], columns_of(found | {"nan": 2, "outside": 3}), strict=True))
    assert columns["undefined"] == "5"
    assert (columns["fall"], columns["nan_least"], columns["nan_largest"]) == ("", "1.0", "2.0")
    assert 1.23456 <= float(columns["one"]) < 1.237
    assert 2.0000001e7 <= float(columns["result"]) < 2.004e7


def test_sweep_goes_on_with_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, table = tmp_path / "record.json", tmp_path / "table.csv"
    arguments = ["--only", "Sqrt float16", "--record", str(record), "--table", str(table)]
    monkeypatch.setattr(sweeps, "PIECE", 1 << 12)
    monkeypatch.setattr(measure_accuracy, "_PIECES_PER_STEP", 3)
    seen = []
    arguments_of = Sweep.arguments

    def noted(sweep: Sweep, first: int) -> Any:
        seen.append(first)
        if first == 5 << 12:
            raise KeyboardInterrupt
        return arguments_of(sweep, first)

    monkeypatch.setattr(Sweep, "arguments", noted)
    with pytest.raises(KeyboardInterrupt):
        run(arguments)
    monkeypatch.setattr(Sweep, "arguments", arguments_of)
    assert (run(arguments), seen) == (0, [place << 12 for place in range(6)])
    (measured,) = json.loads(record.read_text("utf-8")).values()
    entry = measured["sweeps"]["Sqrt float16"]
    assert (entry["done"], entry["of"]) == (65_537, 65_536)
    # The worst of each piece is kept, and tried in short tensors: other pieces keep others.
    # Roots are rounded correctly by every version.
    recorded = next(iter(RECORDED.values()))["sweeps"]["Sqrt float16"]["found"]
    others = {"worst": None, "arguments": None}
    assert entry["found"] | others == recorded | others
    assert table.read_text("utf-8").count("\n") == 2


def test_record_of_other_packages_is_not_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    made_by = {"onnxruntime": measure_accuracy.onnxruntime.__version__, "numpy": "0"}
    content = {made_by["onnxruntime"]: {"made_by": made_by, "sweeps": {}}}
    record.write_text(json.dumps(content), "utf-8")
    assert run(["--only", "none", "--record", str(record)]) == 2
    assert capsys.readouterr().out == (
        f"{record} has {made_by['onnxruntime']} of other versions. Begin it again with --anew.\n"
    )


def test_table_is_what_was_recorded() -> None:
    assert TABLE.read_text("utf-8") == table_of(RECORDED)


@pytest.mark.parametrize("label", RECORDED)
def test_every_function_is_recorded(label: str) -> None:
    measured = RECORDED[label]["sweeps"]
    assert {f"{function} float" for function in FUNCTIONS} <= set(measured)
    assert [name for name, entry in measured.items() if entry["done"] != entry["of"] + 1] == []
    numbers = {name: entry["of"] for name, entry in measured.items() if "double" not in name}
    assert numbers == {name: count_of(name.rsplit(" ", 1)[1]) for name in numbers}


def test_newest_version_computes_every_float() -> None:
    newest = max(RECORDED, key=lambda label: [int(part) for part in label.split(".")])
    measured = RECORDED[newest]["sweeps"]
    assert {entry["every"] for entry in measured.values()} == {1}


def test_part_of_the_floats_can_be_computed(tmp_path: Path) -> None:
    record, table = tmp_path / "record.json", tmp_path / "table.csv"
    files = ["--record", str(record), "--table", str(table)]
    assert run(["--only", "Reciprocal float", "--every", "8192", *files]) == 0
    (measured,) = json.loads(record.read_text("utf-8")).values()
    counts = {name: (entry["every"], entry["done"]) for name, entry in measured["sweeps"].items()}
    assert counts == {
        "Reciprocal float": (8192, 2**32 + 1),
        "Reciprocal float16": (1, 2**16 + 1),
    }
    found = measured["sweeps"]["Reciprocal float"]["found"]
    assert 2**32 / 8192 <= found["arguments"] < 2**32 / 8192 + 2**20
    assert (found["zeros"], found["infinities"]) == (["-inf", "inf"], [-0.0, 0.0])


def test_oldest_supported_version_is_recorded() -> None:
    pinned = (REPOSITORY / "requirements.lowest.lock").read_text("utf-8")
    (oldest,) = [line for line in pinned.splitlines() if line.startswith("onnxruntime==")]
    assert oldest.split("==")[1].split()[0] in RECORDED


def largest_error(function: str, element_type: str, scale: str) -> str:
    """The largest error of any version as the page tells it."""
    name = f"{function} {element_type}"
    found = [measured["sweeps"] for measured in RECORDED.values()]
    errors = [loaded(sweeps[name]["found"])[scale] for sweeps in found if name in sweeps]
    if not errors:
        return ""
    return f"{max(errors):.1f}" if max(errors) < 1000 else f"{max(errors):.0e}".replace("e+0", "e")


def rows_of_page() -> list[str]:
    """The rows of the page: errors of float relative to three numbers, of the others to one."""
    return [
        f"| {function} | "
        + " | ".join(
            [
                *(largest_error(function, "float", scale) for scale in SCALES),
                *(largest_error(function, kind, "one") for kind in ("float16", "double")),
            ]
        )
        + " |"
        for function in sorted(FUNCTIONS)
    ]


def test_page_tells_the_largest_errors() -> None:
    page = (REPOSITORY / "docs" / "campaigns.md").read_text("utf-8")
    told = re.findall(r"^\| (?:\w+|Gelu \w+)(?: \| [\d.e+]*){5} \|$", page, re.MULTILINE)
    assert told == rows_of_page()
