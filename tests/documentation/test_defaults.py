"""The safety manual says for which operators each command answers by default."""

import re

from sonnx_ort.cli.application import COMMANDS, load
from support.package_copy import REPOSITORY

MANUAL = REPOSITORY / "docs" / "qualification" / "safety_manual.md"


def default_operators(name: str) -> str | None:
    return next((p.default for p in load(name).params if p.name == "operators"), None)


def test_commands_that_look_at_the_whole_profile_are_named_and_the_others() -> None:
    text = " ".join(MANUAL.read_text("utf-8").split())
    sentences = re.search(r"By default ([^.]*) look at .*?profile\. ([^.]*) take only Div", text)
    assert sentences is not None
    whole, some = ({*re.findall(r"`([a-z]+)`", named)} for named in sentences.groups())
    of_commands = {name: default_operators(name) for name in COMMANDS}
    assert whole == {name for name, default in of_commands.items() if default == "profile"}
    assert some == {name for name, default in of_commands.items() if default == "default"}
