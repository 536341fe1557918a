"""Whatever rewrites does it in the same way where nothing is asked for."""

import inspect

from sonnx_ort.options import Choices

DEFAULTS = {
    "edition": "typed",
    "broadcast": "reject",
    "operators": "default",
    "backend": None,
    "make_explicit": False,
    "waivers": (),
    "conform": False,
}


def test_defaults() -> None:
    parameters = inspect.signature(Choices.of).parameters
    assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
