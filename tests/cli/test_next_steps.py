"""Each command ends with the next one, which can be pasted, until nothing is left to do."""

import shlex
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import onnx
import pytest

from sonnx_ort import models
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.reporting.next_steps import KEPT
from support.command import command
from support.graphs import parse

DIVIDED = "(int32[n] x, int32[n] y) => (int32[n] z) { [ratio] z = Div(x, y) }"
BROADCAST = "(float[2,3] x, float[3] y) => (float[2,3] z) { [ratio] z = Div(x, y) }"
UNTYPED = "(float[2] x) => (float[2] z) { y = Abs(x) [root] z = Sqrt(y) }"
MISFIT = "(float[2] x, float[3] y) => (float[?] z) { [ratio] z = Div(x, y) }"

DIVIDES_LATER = """(float[2] x, float[2] y) => (float[2] z) <float one = {1}> {
    a = Abs(x) c = Div(one, a) d = Mul(c, y) z = Neg(d) }"""
JOINED = """(float[64] x, float[64] y) => (float[64] z) <float one = {1}> {
    a = Abs(x) b = Exp(a) c = Div(one, b) d = Mul(c, y) e = Tanh(d) z = Neg(e) }"""
LOOPED = """(float[64] x, float[64] y, int64 n) => (float[64] z)
    <bool go = {1}, float one = {1}> { z = Loop(n, go, y) <body = b
        (int64 i, bool before, float[64] s) => (bool after, float[64] t) {
            after = Identity(before) a = Abs(x) b = Exp(a) c = Div(one, b) d = Mul(c, s)
            t = Tanh(d) }> }"""
MISFIT_AND_CUT = """(float[2] x, float[3] y, float[2, 3] q) => (float[?] z, float[2, 3] c)
    <int64[1] s = {0}, int64[1] e = {2}> { z = Div(x, y) c = Slice(q, s, e) }"""
BROADCAST_AND_MISFIT = """(float[2, 3] x, float[3] y, float[4] q) => (float[2, 3] z, float[?,?] w)
    { z = Div(x, y) w = Div(x, q) }"""
OPEN = "(int32[n] x, int32[m] y) => (int32[?] z) { z = Div(x, y) }"

SAVED = {
    "t.onnx": BROADCAST_AND_MISFIT,
    "v.onnx": OPEN,
    "s.onnx": MISFIT_AND_CUT,
    "o.onnx": DIVIDES_LATER,
    "j.onnx": JOINED,
    "m.onnx": DIVIDED,
    "my model's.onnx": DIVIDED,
    "-m.onnx": DIVIDED,
    "b.onnx": BROADCAST,
    "u.onnx": UNTYPED,
    "x.onnx": MISFIT,
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, graph in SAVED.items():
        onnx.save(parse(graph), name)
    Path("c.toml").write_text("[inputs.y]\nrange = [1, 9]\n", encoding="utf-8")
    Path("c0.toml").write_text("[inputs.y]\nrange = [0, 0]\n", encoding="utf-8")
    Path("c2.toml").write_text("[sizes]\nn = [2, 2]\nm = [3, 3]\n", encoding="utf-8")
    Path("w.toml").write_text(
        '[[waiver]]\nrule = "Div.float.R1"\nnode = "ratio"\nreason = "meant"\nwho = "a board"\n'
        "until = 9999-12-31\n",
        encoding="utf-8",
    )
    np.save("y.npy", np.array([3, 5], np.int32))
    np.save("ox.npy", np.array([3, 41], np.float32))
    np.save("oy.npy", np.array([1, 41], np.float32))
    onnx.save(parse(JOINED.replace("Tanh(d)", "Sin(d)")), "k.onnx")


def steps(line: str) -> Iterator[tuple[str, str]]:
    """Each command in turn, without `sonnx-ort`, and what it shows; none of them is unusable."""
    seen = set[str]()
    while line:
        assert line not in seen
        seen.add(line)
        done = command(*shlex.split(line))
        assert done.returncode != 2, f"{line}\n{done.stderr}"
        yield line, done.stdout
        shown = (done.stdout or done.stderr).splitlines()
        following = shown[-1] if shown else ""
        line = following.partition("next: sonnx-ort ")[2]


CHAINS: dict[str, Sequence[str]] = {
    "kept": (
        "check m.onnx",
        "rewrite m.onnx -o m.enforced.onnx --record m.record.json",
        "verify m.enforced.onnx m.record.json",
        "run m.enforced.onnx",
        "audit m.enforced.onnx",
    ),
    "options": (
        "check m.onnx --operators Div --backend native --contract c.toml --ignore GR4",
        (
            "rewrite m.onnx -o m.enforced.onnx --record m.record.json --operators Div "
            "--backend native --contract c.toml"
        ),
        "verify m.enforced.onnx m.record.json",
        "run m.enforced.onnx",
        "audit m.enforced.onnx",
    ),
    "edition": (
        "check m.onnx --edition preliminary --operators Div",
        (
            "rewrite m.onnx -o m.enforced.onnx --record m.record.json --edition preliminary "
            "--operators Div"
        ),
        "verify m.enforced.onnx m.record.json",
        "run m.enforced.onnx --edition preliminary",
        "audit m.enforced.onnx --edition preliminary",
    ),
    "mended": (
        "check u.onnx",
        "conform u.onnx -o u.conforming.onnx",
        "check u.conforming.onnx",
        "rewrite u.conforming.onnx -o u.conforming.enforced.onnx --record u.conforming.record.json",
        "verify u.conforming.enforced.onnx u.conforming.record.json",
        "run u.conforming.enforced.onnx",
        "audit u.conforming.enforced.onnx",
    ),
    "broadcast": (
        "check b.onnx",
        ("rewrite b.onnx -o b.enforced.onnx --record b.record.json --broadcast explicit"),
        "verify b.enforced.onnx b.record.json",
        "run b.enforced.onnx",
        "audit b.enforced.onnx",
    ),
    "inputs": (
        "run m.onnx --input y=y.npy --seed 7 --contract c.toml",
        "audit m.onnx --contract c.toml --input y=y.npy --seed 7",
    ),
    "without a record": (
        "rewrite b.onnx -o e.onnx --waivers w.toml --operators Div",
        "run e.onnx --waivers w.toml",
        "audit e.onnx",
    ),
    "contract": (
        "contract m.onnx -o envelope.toml",
        "check m.onnx --contract envelope.toml",
        ("rewrite m.onnx -o m.enforced.onnx --record m.record.json --contract envelope.toml"),
        "verify m.enforced.onnx m.record.json",
        "run m.enforced.onnx",
        "audit m.enforced.onnx",
    ),
    "certificate": (
        "certify m.onnx -o proofs.json --operators Div --contract c.toml",
        "certify m.onnx --check proofs.json --operators Div --contract c.toml",
        (
            "rewrite m.onnx -o m.enforced.onnx --backend native --certificate m.enforced.json "
            "--operators Div --contract c.toml"
        ),
        "certify m.onnx --check m.enforced.json --enforced m.enforced.onnx",
    ),
    "result outside": (
        "audit o.onnx --level all --input x=ox.npy --input y=oy.npy",
        ("reduce o.onnx -o o.reduced.onnx --outside --level all --input x=ox.npy --input y=oy.npy"),
        "audit o.reduced.onnx --level all",
    ),
    "bits of optimizers": (
        "repeat j.onnx --runs 1 --threads 2 --seed 3",
        "diff j.onnx --why --threads 2 --seed 3",
    ),
    "cause": (
        "diff j.onnx --why --seed 3",
        "reduce j.onnx -o j.reduced.onnx --differs --seed 3",
        "diff j.reduced.onnx --why --level all",
    ),
    "difference": (
        "diff j.onnx k.onnx --seed 3 --time-limit 50",
        "audit k.onnx --seed 3 --time-limit 50",
    ),
    "violation": (
        "reduce m.onnx -o m.reduced.onnx --violates Div.int.C1 --contract c0.toml",
        "run m.reduced.onnx --input y=m.reduced.inputs/y.npy",
    ),
    "nothing fixes it": ("conform x.onnx -o x.conforming.onnx",),
    "changes that are shown": (
        "conform u.onnx --diff --ignore GR4 --no-measure",
        "conform u.onnx -o u.conforming.onnx --no-measure --ignore GR4",
        "check u.conforming.onnx --ignore GR4",
        "rewrite u.conforming.onnx -o u.conforming.enforced.onnx --record u.conforming.record.json",
        "verify u.conforming.enforced.onnx u.conforming.record.json",
        "run u.conforming.enforced.onnx",
        "audit u.conforming.enforced.onnx",
    ),
    "record of a check": (
        "check u.onnx --record u.json --annotate u.annotated.onnx",
        "verify u.onnx u.json",
    ),
    "unmendable": ("check x.onnx --backend compiled", "explain Div.float.R1"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_each_command_says_what_is_next(name: str) -> None:
    first, *_ = CHAINS[name]
    assert tuple(line for line, _ in steps(first)) == CHAINS[name]


@pytest.mark.parametrize(("line", "following"), [
    ("rewrite u.onnx -o e.onnx --backend native --quiet", "conform u.onnx -o u.conforming.onnx"),
    ("rewrite b.onnx -o e.onnx --backend native",
     ("rewrite b.onnx -o b.enforced.onnx --record b.record.json --broadcast explicit --backend "
      "native")),
    ("rewrite x.onnx -o e.onnx --edition preliminary --operators Div", "explain Div.R1"),
    ("run u.onnx --operators Abs,Graph --input x=y.npy",
     "conform u.onnx -o u.conforming.onnx --operators Abs,Graph --input x=y.npy"),
    ("rewrite s.onnx -o e.onnx", "conform s.onnx -o s.conforming.onnx"),
    ("rewrite s.onnx -o e.onnx --conform", "explain Div.float.R1"),
    ("run s.onnx --conform", "explain Div.float.R1"),
    ("rewrite t.onnx -o e.onnx", "conform t.onnx -o t.conforming.onnx"),
    ("rewrite t.onnx -o e.onnx --broadcast explicit", "explain Broadcast.E1"),
    ("rewrite v.onnx -o e.onnx --contract c2.toml", "explain Div.int.R1"),
])  # fmt: skip
def test_rejection_says_what_is_next(line: str, following: str) -> None:
    done = command(*shlex.split(line))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == f"next: sonnx-ort {following}"


OUTSIDE = "audit o.onnx --level all --input x=ox.npy --input y=oy.npy"
REDUCED = (
    "next: sonnx-ort reduce o.onnx -o o.reduced.onnx --outside --level all --input x=ox.npy "
    "--input y=oy.npy"
)


@pytest.mark.parametrize(("options", "last"), [
    ("-o a.txt", REDUCED),
    ("--format html -o a.html", REDUCED),
    ("--format html", "</html>"),
    ("--format json", "}"),
])  # fmt: skip
def test_next_step_of_an_audit_is_beside_its_report(options: str, last: str) -> None:
    done = command(*OUTSIDE.split(), *options.split())
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.rstrip().splitlines()[-1] == last
    quiet = command(*OUTSIDE.split(), *options.split(), "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")


def test_page_of_an_audit_has_its_next_step() -> None:
    command(*OUTSIDE.split(), "--format", "html", "-o", "a.html")
    assert REDUCED.removeprefix("next: ") in Path("a.html").read_text(encoding="utf-8")


def test_nodes_of_inner_graphs_count_for_what_is_reduced() -> None:
    """Three nodes are not reduced; this model has one of its own, and more in its body."""
    onnx.save(parse(LOOPED), "l.onnx")
    np.save("n.npy", np.int64(2))
    shown = command("diff", "l.onnx", "--why", "--input", "n=n.npy").stdout
    following = "reduce l.onnx -o l.reduced.onnx --differs --input n=n.npy"
    assert shown.splitlines()[-1] == f"next: sonnx-ort {following}"


RECORDED = ["u.annotated.onnx: written", "u.json: written", "next: sonnx-ort verify u.onnx u.json"]


@pytest.mark.parametrize(("options", "stream"), [
    ("", "stdout"),
    ("--format json", "stderr"),
    ("--format json -o report.json", "stdout"),
])  # fmt: skip
def test_files_beside_a_report_for_a_program_are_told_beside_it(options: str, stream: str) -> None:
    line = f"check u.onnx --record u.json --annotate u.annotated.onnx {options}"
    assert getattr(command(*line.split()), stream).splitlines()[-3:] == RECORDED


def test_record_that_cannot_be_read_again_is_not_verified() -> None:
    done = command("check", "u.onnx", "--record", "/dev/null")
    assert done.stdout.splitlines()[-1] == "/dev/null: written"


def test_check_of_nothing_leads_to_that_of_all_operators() -> None:
    lines = [line for line, _ in islice(steps("check m.onnx --operators Add --backend native"), 2)]
    assert lines[1] == "check m.onnx --backend native"


@pytest.mark.parametrize("name", ["my model's.onnx", "-m.onnx"])
def test_names_of_files_are_quoted(name: str) -> None:
    given = name if name[0] != "-" else f"./{name}"
    lines = dict(islice(steps(shlex.join(["check", given])), 2))
    assert [line.split()[0] for line in lines] == ["check", "rewrite"]
    assert Path(f"{name.removesuffix('.onnx')}.enforced.onnx").is_file()


@pytest.mark.parametrize(("name", "last"), [
    ("div_int32", "audit model.enforced.onnx"),
    ("normalization_broadcast", "audit model.conforming.enforced.onnx"),
    ("sub_in_scan", "audit model.conforming.enforced.onnx"),
    ("digits_convolutional", "audit model.conforming.enforced.onnx"),
    ("bit_shift_uint8", "explain Graph.operator_set"),
])  # fmt: skip
def test_bundled_model_comes_to_a_record_or_to_what_its_author_has_to_do(
    name: str, last: str
) -> None:
    shutil.copy(models.path(name), "model.onnx")
    shown = dict(steps("check model.onnx"))
    assert [*shown][-1] == last
    records = [text for line, text in shown.items() if line.startswith("verify ")]
    kept = [text for line, text in shown.items() if text.startswith(f"{line[6:]}: kept")]
    assert (len(records), len(kept)) == ((1, 1) if last.startswith("audit") else (0, 0))
    assert all("no difference\n" in text for text in records)


def test_name_that_begins_as_an_option_stays_a_file_of_the_next_command() -> None:
    done = command("run", "./-m.onnx", "--input", "y=y.npy")
    assert done.stdout.splitlines()[-1] == "next: sonnx-ort audit ./-m.onnx --input y=y.npy"


def test_quiet_command_says_nothing_of_it() -> None:
    for line in ("rewrite m.onnx -o e.onnx", "verify e.onnx r.json", "run m.onnx", "audit m.onnx"):
        if line.startswith("verify"):
            command("rewrite", "m.onnx", "-o", "e.onnx", "--record", "r.json")
        assert command(*line.split(), "--quiet").stdout == ""


def test_what_is_written_to_standard_output_is_the_model_alone() -> None:
    done = command("rewrite", "m.onnx", "-o", "-")
    assert "next:" not in done.stdout + done.stderr


@pytest.mark.parametrize("verb", KEPT)
def test_each_option_that_is_kept_is_one_of_the_command(verb: str) -> None:
    assert verb in COMMANDS
    assert {*KEPT[verb]} <= {parameter.name for parameter in load(verb).params}
