"""The table of accuracies of the package, made from the record of the campaign."""

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from environment import ROOT

from accuracy.findings import Finding

TABLE = ROOT / "sonnx_ort" / "facts" / "accuracy.csv"
"""The table of the package."""

_DIGITS = 4
_UPWARDS = 1 + 10.0 ** (1 - _DIGITS)


def stored(finding: Any) -> Any:
    """What a record holds of a finding: JSON knows neither infinities nor NaN."""
    match finding:
        case dict():
            return {name: stored(value) for name, value in finding.items()}
        case list():
            return [stored(value) for value in finding]
        case float() if not math.isfinite(finding):
            return str(finding)
        case _:
            return finding


def loaded(record: Any) -> Any:
    """The finding that a record holds."""
    match record:
        case dict():
            return {name: loaded(value) for name, value in record.items()}
        case list():
            return [loaded(value) for value in record]
        case str():
            return float(record)
        case _:
            return record


COLUMNS = (
    *("function", "type", "version", "arguments", "undefined"),
    *("result", "result_near_zero", "argument", "argument_near_zero", "one", "fall"),
    *("below_least", "below_largest", "above_least", "above_largest"),
    *("minus_zero", "zero", "minus_infinity", "infinity", "nan_least", "nan_largest"),
)
"""The columns of the table."""


def table_of(record: Mapping[str, Any]) -> str:
    """The table: a row for each sweep that is complete, by its function, type and version."""
    rows = [
        [*name.rsplit(" ", 1), version, *columns_of(loaded(entry["found"]))]
        for version, measured in record.items()
        for name, entry in measured["sweeps"].items()
        if entry["done"] > entry["of"]
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(sorted(rows))
    return text.getvalue()


def columns_of(finding: Finding) -> list[str]:
    """The columns of a finding; errors are rounded upwards."""
    errors = ("result", "result_near_zero", "argument", "argument_near_zero", "one", "fall")
    numbers = [finding[name] for name in ("below", "above", "zeros", "infinities")]
    least, largest = finding["of_nan"]
    of_nan = ["", ""] if least > largest else [repr(least), repr(largest)]
    return [
        *(str(finding["arguments"]), str(finding["nan"] + finding["outside"])),
        *("" if finding[name] is None else _upwards(finding[name]) for name in errors),
        *(repr(number) for pair in numbers for number in pair),
        *of_nan,
    ]


def _upwards(error: float) -> str:
    """An error with few digits, not smaller than it is."""
    return "0" if error == 0 else f"{error * _UPWARDS:.{_DIGITS}g}"
