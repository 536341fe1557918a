"""The examples of Div and Sub that their drafts print: operator, type, operands and result."""

import math

import pytest

INF, NAN = math.inf, math.nan

PRINTED_IN_DRAFTS = [
    ("Div", "float", [[3, 4.5], [16, 1], [25.5, 24.25]], [[3, 2], [4, 0], [5, 4]],
     [[1, 2.25], [4, INF], [5.1, 6.0625]]),
    ("Div", "float", [[3.25, 4.5], [16, 0], [25.5, 24.25]], [[3, 2], [4, 0], [5, 4]],
     [[3.25 / 3, 2.25], [4, NAN], [5.1, 6.0625]]),
    ("Div", "int32", [6, 5, -35], [3, 3, 3], [2, 1, -11]),
    ("Div", "int32", [[10, 10], [21, 1], [30, 9]], [[3, 2], [4, 1], [5, 4]],
     [[3, 5], [5, 1], [6, 2]]),
    ("Sub", "float", [[3, 4.5], [16, 1], [25.5, 24.25]], [[3, 2], [4, 0], [5, 4]],
     [[0, 2.5], [12, 1], [20.5, 20.25]]),
    pytest.param("Sub", "uint8", [6, 100], [3, 200], [3, 156], id="printed as 44 for 156"),
    pytest.param(
        "Sub", "int8", [-6, 10, 10], [-3, 100, -120], [-3, -90, -126], id="printed as -9 for -3"
    ),
]  # fmt: skip
