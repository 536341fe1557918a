"""Whatever rewrites does it in the same way where nothing is asked for."""

import inspect
from collections.abc import Callable

import pytest

import sonnx_ort
from sonnx_ort.options import Choices
from support.graphs import parse

DEFAULTS = {
    "edition": "typed",
    "broadcast": "reject",
    "operators": "default",
    "backend": "python",
    "make_explicit": False,
    "waivers": (),
    "conform": False,
}


def test_defaults() -> None:
    parameters = inspect.signature(Choices.of).parameters
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("function", [sonnx_ort.rewrite, sonnx_ort.conform])
def test_unknown_option_is_refused(function: Callable[..., object]) -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Neg(x) }")
    with pytest.raises(TypeError, match="unexpected keyword argument 'operator'"):
        function(model, operator="Div")
