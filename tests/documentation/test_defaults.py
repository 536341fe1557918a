"""The safety manual says for which operators commands and functions answer by default."""

import inspect
import re

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS, load
from support.package_copy import REPOSITORY

MANUAL = REPOSITORY / "docs" / "qualification" / "safety_manual.md"


def operators_of(name: str) -> str | None:
    """The operators that a public function takes without `operators`; None if it has none."""
    function = getattr(sonnx_ort, name)
    if inspect.isclass(function) and "operators" not in inspect.signature(function).parameters:
        return None
    parameters = inspect.signature(function).parameters if callable(function) else {}
    if "operators" in parameters:
        return parameters["operators"].default or "default"
    options = parameters.get("options")
    return "default" if options is not None and "RewriteOptions" in str(options) else None


def default_operators(name: str) -> str | None:
    return next((p.default for p in load(name).params if p.name == "operators"), None)


def test_commands_that_look_at_the_whole_profile_are_named_and_the_functions_that_do_not() -> None:
    text = " ".join(MANUAL.read_text("utf-8").split())
    sentences = re.search(
        r"Without `--operators`, ([^.]*) look at the whole profile\. In Python, ([^.]*) take only",
        text,
    )
    assert sentences is not None
    whole, some = ({*re.findall(r"`(\w+)`", named)} for named in sentences.groups())
    of_commands = {name: default_operators(name) for name in COMMANDS}
    assert whole == {name for name, default in of_commands.items() if default == "profile"}
    assert set(of_commands.values()) == {"profile", None}
    of_functions = {name: operators_of(name) for name in sonnx_ort.__all__}
    assert some == {name for name, default in of_functions.items() if default == "default"}
    assert set(of_functions.values()) == {"default", "profile", None}
