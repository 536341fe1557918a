"""The report as a person reads it: line by line, and within its width whatever the names."""

import datetime as dt
import re

import onnx
import pytest

import sonnx_ort
from sonnx_ort.reporting.terminal import WIDTH
from sonnx_ort.reporting.text_report import _as_much_as_fits, overview, text_report
from support.checks import mendable
from support.graphs import model, parse, tensor

ON_OPERATORS = "profile,-Graph"

MADE = """
    (float[n, 3] x, float[3] y, int32[2] i, int32[2] j, float[k] w)
        => (float[?, ?] z, int32[2] q, float[k] d) {
        [relu] r = Softplus(x)
        [ratio] z = Div(r, y)
        [quotient] q = Div(i, j)
        [difference] d = Sub(w, w)
        [soft] s = LogSoftmax(x)
    }"""

TEXT = """\
edition typed, broadcast reject, backend python: 11 checks: 8 proved, 2 runtime, 1 violated; 6
  findings; 2 nodes not looked at
model {digest}
operands: the rank is known for 6 of 6, all sizes for 3

violated: these fail in every run that reaches the node (1)
  Div.float.R1 at Div 'ratio' [*]
      rank 2 is not rank 1
      A 'r' float (n, 3) [Softplus 'relu']
      B 'y' float (3,) [input]
      to fix it: rewrite with --broadcast explicit, which expands B from (3,) to (n, 3)

checked in each run, by the rewritten model or by ONNX Runtime (2)
  Div.int.C1 at Div 'quotient'
      the elements of B depend on the inputs
      A 'i' int32 (2,) [input]
      B 'j' int32 (2,) [input]
  Div.int.C2 at Div 'quotient'
      the elements depend on the inputs

proved: these hold in every run (8)
  Div.float.R2 at Div 'ratio'
      all are float
  Div.float.RG1 at Div 'ratio'
      all operands are dense
  Div.int.R2 at Div 'quotient'
      all are int32
  Div.int.RG1 at Div 'quotient'
      all operands are dense
  Div.int.R1 at Div 'quotient'
      both shapes are (2,)
  Sub.float.R2 at Sub 'difference'
      all are float
  Sub.float.RG1 at Sub 'difference'
      all operands are dense
  Sub.float.R1 at Sub 'difference'
      both shapes are (k,)

findings: they change no result
  Graph.dead_node (1): Every node contributes to an output.
      LogSoftmax 'soft': none of its outputs contributes to an output of the graph
  GR4 (1): No attribute is left to its default value.
      LogSoftmax 'soft': 'axis' is left out; ONNX assumes -1
  GR2 (2): The type of every value stands in the file and is not left to inference.
      value 'r': the file gives no type
      value 's': the file gives no type
  Graph.implicit_shape (2): The shape of every tensor stands in the file and is not left to
    inference.
      value 'r': the file gives no shape
      value 's': the file gives no shape

operators of the model, with their numbers of nodes
  Of 5 nodes, 3 are bound by a draft, 1 is bound by general restrictions alone (Softplus), 1 is
    outside the profile (LogSoftmax).
  Div         2  bound by a draft
  Sub         1  bound by a draft
  Softplus    1  bound by general restrictions alone
  LogSoftmax  1  outside the profile

[*] `sonnx-ort conform` fixes 1 of 1 violation"""


def test_whole_text() -> None:
    report = sonnx_ort.check(parse(MADE), operators="default")
    assert text_report(report) == TEXT.format(digest=report.identity.sha256)


def test_colours_change_nothing_but_colours() -> None:
    report = sonnx_ort.check(parse(MADE), operators="default")
    coloured = text_report(report, coloured=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text_report(report)
    painted = {line[: line.index("m") + 1] for line in coloured.splitlines() if "\x1b" in line}
    assert painted == {"\x1b[1;31m", "\x1b[33m", "\x1b[32m"}


def test_nothing_is_said_of_what_there_is_not() -> None:
    made = parse("(float[k] w) => (float[k] z) { [difference] z = Sub(w, w) }")
    report = sonnx_ort.check(made, operators="default")
    assert text_report(report) == (
        "edition typed, broadcast reject, backend python: "
        "3 checks: 3 proved, 0 runtime, 0 violated; 0\n"
        "  findings\n"
        f"model {report.identity.sha256}\n"
        "operands: the rank is known for 2 of 2, all sizes for 0\n"
        "\n"
        "proved: these hold in every run (3)\n"
        "  Sub.float.R2 at Sub 'difference'\n"
        "      all are float\n"
        "  Sub.float.RG1 at Sub 'difference'\n"
        "      all operands are dense\n"
        "  Sub.float.R1 at Sub 'difference'\n"
        "      both shapes are (k,)\n"
        "\n"
        "operators of the model, with their numbers of nodes\n"
        "  Of 1 node, 1 is bound by a draft.\n"
        "  Sub  1  bound by a draft"
    )


def test_many_findings_of_one_kind_are_cut_short() -> None:
    nodes = "".join(f"s{number} = LogSoftmax<axis = 0>(x)\n" for number in range(7))
    made = parse(f"(float[k] x) => (float[k] z) {{ {nodes} z = Softplus(x) }}")
    lines = text_report(sonnx_ort.check(made, operators="default")).splitlines()
    assert "  Graph.dead_node (7): Every node contributes to an output." in lines
    assert lines.count("      and 2 more; --format json shows all") == 3


@pytest.mark.parametrize("name", [
    "x" * 300,
    "a/very/long/path/" * 20,
    "jax2tf_get_logits_/pjit_get_logits_/MagikaV2/LayerNorm_0/" * 3 + "Sub_1",
    "with blanks " * 30,
    "with-hyphens-" * 30,
    "ümläut" * 40,
    "two\nlines",
], ids=lambda name: name[:20])  # fmt: skip
@pytest.mark.parametrize("shapes", [([3], [1]), (["n"], ["m"]), (["n"], ["n" * 150])], ids=str)
def test_lines_stay_within_the_width_whatever_the_names(
    name: str, shapes: tuple[list[int | str], list[int | str]]
) -> None:
    a, b = shapes
    node = onnx.helper.make_node("Div", [f"{name}A", f"{name}B"], [f"{name}C"], name=name)
    inputs = [tensor(f"{name}A", "float", a), tensor(f"{name}B", "float", b)]
    made = model([node], inputs, [tensor(f"{name}C", "float", [None])])
    for edition in ("typed", "preliminary"):
        lines = text_report(
            sonnx_ort.check(made, operators="default", edition=edition)
        ).splitlines()
        assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ab " * 33 + "c", "ab " * 33 + "c"),
        ("ab " * 33 + "cd", "ab " * 31 + "ab ..."),
        ("ab " * 31 + "abcdefgh", "ab " * 30 + "ab ..."),
    ],
    ids=["as wide", "one column more", "word that does not fit"],
)
def test_line_is_cut_where_it_is_wider_than_all_may_be(line: str, shown: str) -> None:
    assert WIDTH == 100
    assert _as_much_as_fits(line) == shown


def test_what_can_be_mended_is_marked_and_counted() -> None:
    lines = text_report(sonnx_ort.check(mendable(), operators=ON_OPERATORS)).splitlines()
    assert "  Concat.R1 at Concat 'join' [*]" in lines
    assert "  Softmax.C2 at Softmax 'soft'" in lines
    assert lines[-1] == "[*] `sonnx-ort conform` fixes 1 of 2 violations"


def test_what_can_be_mended_by_rounding_alone_is_marked_and_counted() -> None:
    made = parse("(float[2, 3] x) => (float[2, 3] y) { [soft] y = LogSoftmax<axis = -1>(x) }")
    lines = text_report(sonnx_ort.check(made)).splitlines()
    assert "  Graph.operator_set at LogSoftmax 'soft' [~]" in lines
    assert lines[-1] == "[~] `sonnx-ort conform --rounding` fixes 1 of 1 violation"
    assert overview(sonnx_ort.check(made), "x.onnx").splitlines()[-1] == (
        "next: sonnx-ort conform x.onnx -o x.conforming.onnx --rounding"
    )


def test_only_violations_that_are_shown_are_counted_as_mendable() -> None:
    report = sonnx_ort.check(mendable(), operators=ON_OPERATORS)
    shown = text_report(report.selected("Concat")).splitlines()
    assert shown[-1] == "[*] `sonnx-ort conform` fixes 1 of 1 violation"


def test_nothing_is_said_of_mending_where_nothing_can_be_mended() -> None:
    report = sonnx_ort.check(mendable(), operators=ON_OPERATORS)
    assert "[*]" not in text_report(report.selected("Softmax"))


def test_waived_violation_is_marked_and_not_counted() -> None:
    waiver = sonnx_ort.Waiver("Concat.R1", "join", "looked at", "a board", dt.date.max)
    report = sonnx_ort.check(mendable(), operators=ON_OPERATORS, waivers=[waiver])
    lines = text_report(report).splitlines()
    assert "  Concat.R1 at Concat 'join' [*]" in lines
    assert "can be mended" not in lines[-1]
