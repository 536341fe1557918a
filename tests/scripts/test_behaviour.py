"""What the product says and makes is written down, and each difference is shown."""

import sys
from pathlib import Path

import behaviour
import pytest

from support.graphs import binary_model

SAID = {"check": ["a", "b"], "rewrite": ["c"]}
MANY = ("m, rewrite:", "@@ -1,0 +2,30 @@", *(f"+{n}" for n in range(19)), "... 11 lines more")


@pytest.mark.parametrize(
    ("after", "shown"),
    [
        ({"m": SAID}, []),
        ({}, ["m: only before"]),
        ({"m": SAID, "n": SAID}, ["n: only after"]),
        ({"m": SAID | {"check": ["a", "x"]}}, ["m, check:\n  @@ -2 +2 @@\n  -b\n  +x"]),
        ({"m": SAID | {"rewrite": []}}, ["m, rewrite:\n  @@ -1 +0,0 @@\n  -c"]),
        ({"m": SAID | {"conform": ["d"]}}, ["m, conform:\n  @@ -0,0 +1 @@\n  +d"]),
        ({"m": SAID | {"rewrite": ["c", *map(str, range(30))]}}, ["\n  ".join(MANY)]),
    ],
)
def test_differences_are_shown(after, shown):
    assert list(behaviour.compare({"m": SAID}, after)) == shown


def test_model_is_described_with_every_choice():
    said = behaviour.describe(binary_model("Div", "float", [3], [1]).SerializeToString())
    assert len(said) == 29
    (violation,) = (line for line in said["check, typed, reject"] if "violated" in line)
    assert violation == (
        "Div 'the_node' | Div.float.R1 | violated | axis 0 has size 3 in A and 1 in B | "
        'rewrite with broadcast="explicit", which expands B from (1,) to (3,) | '
        "make the broadcast of the operands explicit"
    )
    assert said["rewrite, typed, reject, default, python"][0] == "ModelRejected"
    digest, *nodes = said["rewrite, typed, explicit, default, compiled"]
    assert len(digest) == 64
    assert nodes == [
        "sonnx.compiled::the_node CheckedDiv A B -> C edition expanded node operand_0 operand_1"
    ]
    assert said["conform"][0] == "make the broadcast of the operands explicit at Div 'the_node'"


def test_record_is_compared_with_what_is_said_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "record.gz"

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["behaviour.py", *arguments])
        return behaviour.main(), capsys.readouterr().out

    only = ("--only", "bundled/div_example_1_*")
    assert run("write", str(file), *only)[0] == 0
    status, out = run("compare", str(file), *only)
    assert (status, out.splitlines()[-1].split(", ")[1]) == (0, "0 differences")
    status, out = run("compare", str(file), "--only", "bundled/sub_example_1_int32")
    assert (status, out.splitlines()[0]) == (1, "bundled/sub_example_1_int32: only after")


def test_pattern_without_a_model_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["behaviour.py", "compare", "record.gz", "--only", "bundled/nothing"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert behaviour.main() == 2
    assert capsys.readouterr().err == "No model has a name like bundled/nothing.\n"
