"""Whatever rewrites does it in the same way where nothing is asked for."""

import inspect
from collections.abc import Callable

import pytest

import sonnx_ort

DEFAULTS = {
    "edition": "typed",
    "broadcast": "reject",
    "operators": "default",
    "backend": "python",
    "make_explicit": False,
    "waivers": (),
}


@pytest.mark.parametrize("function", [sonnx_ort.rewrite, sonnx_ort.rewrite_file])
def test_defaults(function: Callable[..., object]) -> None:
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
