"""The command: its help, what it prints, its exit status, and what it need not import."""

import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.api import rewriting
from sonnx_ort.backends import Backend
from sonnx_ort.cli import application
from sonnx_ort.cli import explaining as command_file
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.enforcing.metadata import OPTIMIZERS
from sonnx_ort.errors import BackendUnavailable
from sonnx_ort.errors.remedies import in_command
from sonnx_ort.reporting.explanation import explain
from support.command import command, output, refusal, without_next
from support.graphs import binary_model, parse

HEAVY = ("numpy", "onnx", "onnx_ir", "onnxruntime", "sympy")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_what_the_help_of_the_command_begins_with(name: str) -> None:
    assert load(name).help.startswith(COMMANDS[name])


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_plain_text(name: str, option: str) -> None:
    shown = output(*filter(None, [name]), option)
    assert shown.startswith("Usage: ")
    for unwanted in ("<bool>", "│", "[x>=0]"):
        assert unwanted not in shown


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=" ".join)
def test_what_needs_no_model_imports_no_analysis(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from sonnx_ort.cli import app\n"
        f"try: app({arguments})\n"
        "except SystemExit: pass\n"
        f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout
    assert done.stderr == "\n"


def test_misspelt_command_is_answered_with_a_similar_one() -> None:
    done = command("chek")
    assert done.returncode == 2
    assert "No such command 'chek'. Did you mean 'check'?" in done.stderr


LEAST = {
    "memory_limit": {1}, "jobs": {0}, "runs": {1}, "samples": {1}, "seed": {0}, "threads": {1, 2},
    "tolerance": {0}, "tries": {1}, "unroll": {0},
}  # fmt: skip
"""The least that an option may be, of any command."""


def test_numbers_have_the_least_one_that_makes_sense() -> None:
    found: dict[str, set[int]] = {}
    for name in COMMANDS:
        for each in load(name).params:
            if getattr(each, "min", None) is not None:
                found.setdefault(each.name, set()).add(each.min)
    assert found == LEAST
    assert "'--threads'" in refusal("diff", "a.onnx", "b.onnx", "--threads", "1")


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.onnx"
    onnx.save(binary_model("Div", "int32", ["n"], ["n"], c_shape=["n"], node="divide"), path)
    np.save(tmp_path / "a.npy", np.array([6, 9, 35], np.int32))
    np.save(tmp_path / "b.npy", np.array([3, 3, 5], np.int32))
    np.save(tmp_path / "zero.npy", np.array([3, 0, 5], np.int32))
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.onnx"
    onnx.save(binary_model("Div", "float", [3], [1]), path)
    return path


def test_rewrite_writes_the_enforced_model(good: Path, tmp_path: Path) -> None:
    target = tmp_path / "enforced.onnx"
    shown = output("rewrite", good, "-o", target)
    assert shown == (
        f"{target}: written; it enforces the profile in every run\n"
        "  a plain session needs `sonnx_ort.register(options)`, which adds custom operators\n"
        f"next: sonnx-ort run {target}\n"
    )
    assert [node.domain for node in onnx.load(target).graph.node] == ["sonnx", ""]


OF_OPERATORS = (
    "ReshapeFusion;QDQPropagationTransformer;DivMulFusion;NoopElimination;GeluFusionL1;GeluFusionL2;"
    "LayerNormFusionL1;LayerNormFusionL2;SimplifiedLayerNormFusion;MatMulScaleFusion;FuseReluClip;"
    "GemmTransposeFusion"
)
OPTION = "this value of the option optimization.disable_specified_optimizers\n"
LIBRARY = "the library `sonnx_ort.kernels_library()`, and "
WITH_NUMBERS = "[inputs.x]\nrange = [1, 2]\n"
WITHOUT = '[inputs.x]\nshape = ["?"]\n'


@pytest.mark.parametrize(("backend", "contract", "needs"), [
    ("native", WITHOUT, f"{OPTION}    {OF_OPERATORS}\n"),
    ("native", WITH_NUMBERS, f"{OPTION}    {OF_OPERATORS};AttentionFusion;"),
    ("compiled", WITHOUT, f"{LIBRARY}{OPTION}    {OF_OPERATORS}\n"),
    ("compiled", WITH_NUMBERS, f"{LIBRARY}{OPTION}    {OF_OPERATORS};AttentionFusion;"),
    ("python", WITH_NUMBERS, "`sonnx_ort.register(options)`, which adds custom operators"),
])  # fmt: skip
def test_rewrite_says_what_a_plain_session_needs(
    backend: str, contract: str, needs: str, tmp_path: Path
) -> None:
    """Where proofs rest on numbers, more optimizers have to be off."""
    source, target, given = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.toml"))
    text = """(float[2] x, int32[2] a) => (int32[2] z) {
        e = Exp(x)  b = Cast <to = 6> (e)  z = Div(a, b) }"""
    onnx.save(parse(text), source)
    given.write_text(contract, encoding="utf-8")
    chosen = ("--operators", "default", "--contract", given, "--backend", backend)
    shown = output("rewrite", source, "-o", target, *chosen)
    assert shown.partition("\n")[2].startswith(f"  a plain session needs {needs}")


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param("", id="none, where nothing is proved of numbers"),
        pytest.param('{"off": ["ConvMulFusion"], "may_act": []}', id="those of numbers alone"),
    ],
)
def test_rewrite_again_says_no_less_of_a_model_of_an_earlier_version(
    entry: str, tmp_path: Path
) -> None:
    """Earlier versions wrote fewer names into its metadata."""
    source, again = tmp_path / "e.onnx", tmp_path / "again.onnx"
    made = sonnx_ort.rewrite(
        binary_model("Div", "int32", ["n"], ["m"]), operators="Div", backend="native"
    )
    (named,) = (each for each in made.metadata_props if each.key == OPTIMIZERS)
    if entry:
        named.value = entry
    else:
        made.metadata_props.remove(named)
    onnx.save(made, source)
    shown = output("rewrite", source, "-o", again, "--operators", "Div", "--backend", "native")
    assert f"    {OF_OPERATORS}{';ConvMulFusion' if entry else ''}\n" in shown


@pytest.mark.parametrize(("operators", "demanded"), [
    ("profile", "the profile"),
    ("default", "the rules of Div and Sub"),
    ("Div", "the rules of Div"),
    ("Broadcast", "the rules of the operators Broadcast"),
    ("Add,Div,Mul", "the rules of Add, Div and Mul"),
    ("Add,Div,Mul,Abs", "the rules of the operators Abs,Add,Div,Mul"),
])  # fmt: skip
def test_rewrite_names_what_is_enforced(
    good: Path, tmp_path: Path, operators: str, demanded: str
) -> None:
    target = tmp_path / "enforced.onnx"
    first = output("rewrite", good, "-o", target, "--operators", operators).splitlines()[0]
    assert first == f"{target}: written; it enforces {demanded} in every run"


@pytest.mark.parametrize("action", ["error", "ignore"])
def test_rewrite_warns_whatever_python_does_with_warnings(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: Literal["error", "ignore"]
) -> None:
    def missing(_: Backend) -> None:
        raise BackendUnavailable("there is no such backend")

    monkeypatch.setattr(rewriting, "require_runnable", missing)
    with warnings.catch_warnings():
        warnings.simplefilter(action)
        done = command("rewrite", good, "-o", tmp_path / "enforced.onnx")
    assert (done.returncode, done.stderr) == (0, "sonnx-ort: there is no such backend\n")


def test_rewrite_enforces_the_operators_that_are_asked_for(good: Path, tmp_path: Path) -> None:
    target = tmp_path / "enforced.onnx"
    assert command("rewrite", good, "-o", target, "--operators", "Add,Mul").returncode == 0
    assert [node.op_type for node in onnx.load(target).graph.node] == ["Div"]
    said = refusal("rewrite", good, "-o", target, "--operators", "Foo")
    assert said.startswith("sonnx-ort: operators: the profile has no operator 'Foo'; ")


def test_rewrite_of_a_model_that_breaks_the_profile(bad: Path, tmp_path: Path) -> None:
    done = command("rewrite", bad, "-o", tmp_path / "enforced.onnx")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "sonnx-ort: the model breaks the SONNX profile (edition typed): 1 violation at 1 node\n"
        "1. Div 'the_node': Div.float.R1 violated: axis 0 has size 3 in A and 1 in B\n"
    )
    assert not (tmp_path / "enforced.onnx").exists()


def test_run_shows_the_outputs(good: Path, tmp_path: Path) -> None:
    shown = output("run", good, "--input", f"A={tmp_path}/a.npy", "--input", f"B={tmp_path}/b.npy")
    assert shown == (
        "C: int32 (3,) [2, 3, 7]\n"
        f"next: sonnx-ort audit {good} --input A={tmp_path}/a.npy --input B={tmp_path}/b.npy\n"
    )


def test_run_makes_up_inputs_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sub.onnx"
    onnx.save(binary_model("Sub", "int32", ["n"], ["n"]), path)
    np.save(tmp_path / "a.npy", np.array([6, 9], np.int32))
    shown = output("run", path, "--input", f"A={tmp_path}/a.npy", "--seed", "7")
    first, second, result, following = shown.splitlines()
    assert first == "input A: int32 (2,) [6, 9]"
    assert re.fullmatch(r"input B: int32 \(2,\) \[.*\] \(random, seed 7\)", second)
    assert result.startswith("C: int32 (2,) [")
    assert following == f"next: sonnx-ort audit {path} --input A={tmp_path}/a.npy --seed 7"
    again = command("run", path, "--input", f"A={tmp_path}/a.npy", "--seed", "7")
    assert again.stdout == shown


@pytest.mark.parametrize("sizes", [("--size", "n=5"), ("--input-shape", "B=5")], ids=str)
def test_run_takes_sizes_by_name_and_by_input(tmp_path: Path, sizes: tuple[str, str]) -> None:
    path = tmp_path / "sub.onnx"
    onnx.save(binary_model("Sub", "float", ["n"], ["n"]), path)
    lines = without_next(command("run", path, *sizes).stdout).splitlines()
    assert [line.split(" [")[0] for line in lines] == [
        "input A: float32 (5,)",
        "input B: float32 (5,)",
        "C: float32 (5,)",
    ]
    lines = command("run", path).stdout.splitlines()
    assert lines[2] == (
        "open sizes: n = 3 (the model runs with these; --size and --input-shape set others)"
    )


def test_run_writes_the_outputs(good: Path, tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    done = command(
        "run", good, "--input", f"A={tmp_path}/a.npy", "--input", f"B={tmp_path}/b.npy",
        "--output-dir", folder,
    )  # fmt: skip
    assert done.returncode == 0
    assert without_next(done.stdout).endswith(f"written: {folder / 'C.npy'}\n")
    np.testing.assert_array_equal(np.load(folder / "C.npy"), [2, 3, 7])


RECURRENT = """(float[s,b,1] x) => (float[?,?,?,?] y)
    <float[1,4,1] w = {1, 1, 1, 1}, float[1,4,1] r = {1, 1, 1, 1}> {
        y = LSTM<hidden_size = 1>(x, w, r) }"""


def test_run_that_ends_its_process_is_an_error(tmp_path: Path) -> None:
    onnx.save(parse(RECURRENT), tmp_path / "lstm.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 0, 1), np.float32))
    done = command(
        "run", tmp_path / "lstm.onnx", "--input", f"x={tmp_path}/x.npy", "--operators", "default"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        "sonnx-ort: the model does not run: the process is killed by SIGABRT; "
        "`sonnx-ort reduce --dies` finds the node that ends it"
    )


LIMITED = [
    "run m.onnx --operators default", "audit m.onnx", "repeat m.onnx --runs 1 --threads 1",
    "diff m.onnx m.onnx", "diff m.onnx --why", "conform m.onnx --diff --verify",
    "reduce m.onnx -o o.onnx --dies", "contract m.onnx --data data", "suite --run vectors",
]  # fmt: skip


def test_every_command_that_runs_models_has_limits_which_are_tried() -> None:
    limits = {"time_limit", "memory_limit"}
    parameters = {name: {each.name for each in load(name).params} for name in COMMANDS}
    having = {name for name, there in parameters.items() if there & limits}
    assert having == {line.split()[0] for line in LIMITED}
    assert all(parameters[name] >= limits for name in having)


@pytest.mark.parametrize("line", LIMITED)
@pytest.mark.parametrize(("limit", "said"), [
    ("--time-limit 1e-9", "longer than 1e-09 s; --time-limit 1 allows more"),
    pytest.param(
        "--memory-limit 1", "more than 1 MB of memory; --memory-limit 2 allows more",
        marks=pytest.mark.skipif(
            sys.platform != "linux", reason="Linux alone tells the memory of a process"
        ),
    ),
])  # fmt: skip
def test_run_ends_at_the_limit_of_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, limit: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse("(float[2] x) => (float[2] z) { y = Abs(x) [root] z = Sqrt(y) }"), "m.onnx")
    Path("data").mkdir()
    np.save("data/x.npy", np.ones(2, np.float32))
    if line.startswith("suite"):
        output("suite", "-o", "vectors", "--operators", "Shape")
    told = f"sonnx-ort: a run of the model takes {said}\n"
    assert refusal(*line.split(), *limit.split()) == told


def test_run_that_breaks_a_rule(good: Path, tmp_path: Path) -> None:
    done = command(
        "run", good, "--input", f"A={tmp_path}/a.npy", "--input", f"B={tmp_path}/zero.npy"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sonnx-ort: Div 'divide' breaks Div.int.C1: a zero divisor: A[1] = 9, B[1] = 0; shapes A "
        "(3,), B (3,). The rule: No element of B is zero.\n"
    )


@pytest.mark.parametrize(("line", "message"), [
    ("--input A", "--input A: the form is NAME=FILE.npy"),
    ("--input =a.npy", "--input =a.npy: the form is NAME=FILE.npy"),
    ("--input A=", "--input A=: the form is NAME=FILE.npy"),
    ("--input A=none.npy", "there is no file 'none.npy'"),
    ("--input A=B=a.npy", "there is no input 'A=B'; the model's inputs are A, B"),
    ("--input A=a.npy --input A=a.npy", "--input A=a.npy: 'A' is given twice"),
    ("--input A=a.npy --input B=b.npy --input D=b.npy",
     "there is no input 'D'; the model's inputs are A, B"),
    ("--size m=5", ("size m=5: the model has no open size 'm'; those that it names are n; "
     "--input-shape sets all of an input")),
])  # fmt: skip
def test_unusable_inputs(
    good: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(good.parent)
    assert refusal("run", good, *line.split()) == f"sonnx-ort: {message}\n"


def test_no_arguments_show_the_help() -> None:
    done = command()
    assert done.returncode == 2
    assert "Check ONNX models against SONNX" in done.stdout + done.stderr


def test_version() -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (
        0,
        f"sonnx-ort {sonnx_ort.__version__}\nbackend: python\n",
    )


@pytest.mark.parametrize(
    "name",
    ["bad", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("good", "missing"))],
)
def test_process_of_its_own_writes_and_ends_just_so(
    good: Path, bad: Path, tmp_path: Path, name: str
) -> None:
    del good, bad
    arguments = ["check", tmp_path / f"{name}.onnx", "--format", "json"]
    within = command(*arguments)
    done = subprocess.run(
        [sys.executable, "-m", "sonnx_ort", *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    ended = (done.returncode, done.stdout, done.stderr)
    assert ended == (within.returncode, within.stdout, within.stderr)
    assert done.returncode == {"good": 0, "bad": 1, "missing": 2}[name]


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
        f"{in_command(explain(rule))}\n{told}",
        "",
    )


def fail(prog_name: str) -> None:
    del prog_name
    raise IndexError("tuple index\nout of range")


@pytest.mark.parametrize("shown", [False, True])
def test_unforeseen_error_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, shown: bool
) -> None:
    monkeypatch.setattr(application, "app", fail)
    if shown:
        monkeypatch.setenv(application.TRACEBACK, "1")
    with pytest.raises(SystemExit) as ended:
        application.main()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert ("Traceback" in error) is shown
    assert error.splitlines()[-1] == (
        "sonnx-ort: internal error, IndexError: tuple index out of range; this is a fault of "
        "sonnx_ort: please report it, with what SONNX_ORT_TRACEBACK=1 in the environment shows"
    )


def unreadable(prog_name: str) -> None:
    del prog_name
    raise sonnx_ort.SonnxError("settings in 'x' cannot be read")


def test_error_of_this_package_is_no_fault_of_it_outside_a_subcommand_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(application, "app", unreadable)
    with pytest.raises(SystemExit) as ended:
        application.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "sonnx-ort: settings in 'x' cannot be read\n"


@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_rule_that_is_defined_wrongly_is_named(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def defined(_: str) -> None:
        raise error("the rules Div.R1 and Mine.C1 have one code, 11")

    monkeypatch.setattr(application, "load", defined)
    assert refusal("check", "model.onnx") == (
        "sonnx-ort: an operator or a rule of this installation is defined wrongly: the rules "
        "Div.R1 and Mine.C1 have one code, 11\n"
    )


def test_lack_of_memory_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_nothing(_: str) -> None:
        raise MemoryError

    monkeypatch.setattr(application, "load", load_nothing)
    assert refusal("check", "model.onnx") == "sonnx-ort: the memory does not suffice\n"


def test_run_checks_what_check_leaves_to_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = "size.onnx"
    onnx.save(parse("(int32[2] x) => (int32[2] z) { [size] z = Abs(x) }"), path)
    np.save("x.npy", np.int32([4, -(2**31)]))
    said = output("check", path)
    assert said.startswith("size.onnx: kept, with 1 check in each run\n")
    done = command("run", path, "--input", "x=x.npy")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sonnx-ort: Abs 'size' breaks Abs.int.C1: ")
    chosen = ("--operators", "default")
    plain = without_next(output("run", path, "--input", "x=x.npy", *chosen))
    assert plain == "z: int32 (2,) [          4, -2147483648]\n"
