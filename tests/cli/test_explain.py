"""`sonnx-ort explain` names the version of ONNX Runtime that runs, if others were measured."""

import pytest

from sonnx_ort.cli import explaining as command_file
from sonnx_ort.reporting.explanation import explain
from sonnx_ort.reporting.verdict import in_commands
from support.command import command

OTHER = (
    "\nThe behavior of ONNX Runtime was measured with the versions named above; 1.99.0 is "
    "installed here.\n"
)


@pytest.mark.parametrize(
    ("rule", "installed", "told"),
    [("Div.int.C1", "1.99.0", OTHER), ("Div.int.C1", "1.32.0", ""), ("GR4", "1.99.0", "")],
)
def test_installed_version_is_told_beside_the_measured_one(
    rule: str, installed: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_file, "version_of", lambda _: installed)
    done = command("explain", rule)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"{in_commands(explain(rule))}\n{told}",
        "",
    )
