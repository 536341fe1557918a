"""What a shell proposes for names of rules and operators."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from sonnx_ort.cli import completion
from sonnx_ort.profile.catalog import RULES
from support.pages import REPOSITORY

INTEGERS = ["Div.int.R2", "Div.int.RG1", "Div.int.R1", "Div.int.C1", "Div.int.C2"]
GRAPH = ["profile,-Graph.finite", "profile,-Graph.finite_values", "profile,-Graph"]


@pytest.mark.parametrize(
    ("complete", "typed", "proposed"),
    [
        (completion.rule, "div.int.", INTEGERS),
        (completion.rule, "Nothing", []),
        (completion.rule, "", list(RULES)),
        (completion.rule_or_operator, "Div.int", ["Div.int", *INTEGERS]),
        (completion.rule_or_operator, "broadc", ["Broadcast", "Broadcast.E1", "Broadcast.C1"]),
        (completion.RULES, "GR4,Div.int.C", ["GR4,Div.int.C1", "GR4,Div.int.C2"]),
        (completion.OPERATORS, "prof", ["profile"]),
        (completion.OPERATORS, "profile,-grap", GRAPH),
    ],
)
def test_names_are_completed(
    complete: Callable[[str], list[str]], typed: str, proposed: list[str]
) -> None:
    assert complete(typed) == proposed


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("explain Div.int.C", ["Div.int.C1", "Div.int.C2"]),
        ("check m.onnx --select GR4,Div.int.C", ["GR4,Div.int.C1", "GR4,Div.int.C2"]),
        ("rewrite m.onnx --operators Sub,Divi", []),
        ("rewrite m.onnx --operators Sub,ArgM", ["Sub,ArgMax"]),
        ("reduce m.onnx --violates Div.int.C", ["Div.int.C1", "Div.int.C2"]),
    ],
)
def test_shell_is_answered(line: str, proposed: list[str]) -> None:
    asked = {
        "_SONNX_ORT_COMPLETE": "complete_bash",
        "COMP_WORDS": f"sonnx-ort {line}",
        "COMP_CWORD": str(len(line.split())),
    }
    done = subprocess.run(
        [sys.executable, "-m", "sonnx_ort"],
        cwd=REPOSITORY,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (proposed, "")


def test_script_for_the_shell_completes_the_command_however_it_was_called() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sonnx_ort", "--show-completion", "bash"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_SONNX_ORT_COMPLETE=complete_bash" in done.stdout
    assert done.stdout.rstrip().endswith("_sonnx_ort_completion sonnx-ort")
