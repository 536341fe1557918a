"""`sonnx-ort conform`: output, files and exit status."""

import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import sonnx_ort
from support.command import command, output, refusal
from support.graphs import parse

CUT = """(float[2,3] x) => (float[2,3] y) <int64[1] s = {0}, int64[1] e = {2}>
    { [cut] c = Slice(x, s, e) [share] y = Softmax <axis = -1> (c) }"""
CHOSEN = ("--operators", "Slice,Softmax")
FIXED = """fixed
  Slice.R1    1  name every axis and every step
  Slice.R3    1  name every axis and every step
  Softmax.R4  1  count the axis from the front
"""
COUNTED = "3 violations before, 0 now; 2 changes, all of them safe, with 0 new nodes\n"
WRITTEN = (
    "conforming.onnx: written\nnext: sonnx-ort check conforming.onnx --operators Slice,Softmax\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(parse(CUT), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_model_is_written_and_the_changes_are_counted() -> None:
    shown = output("conform", "model.onnx", "-o", "conforming.onnx", *CHOSEN)
    assert shown == f"{FIXED}\n{COUNTED}{WRITTEN}"
    assert sonnx_ort.check("conforming.onnx", operators="Slice,Softmax").ok


def test_diff_lists_every_change_and_writes_nothing(folder: Path) -> None:
    assert output("conform", "model.onnx", "--diff", *CHOSEN) == (
        f"{FIXED}\nchanges\n"
        "  Slice 'cut': name every axis and every step\n"
        "  Softmax 'share': count the axis from the front\n"
        f"\n{COUNTED}"
        "next: sonnx-ort conform model.onnx -o model.conforming.onnx --operators Slice,Softmax\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["model.onnx", "x.npy"]


def test_what_is_violated_still_is_told_with_its_reason() -> None:
    options = (*CHOSEN, "--select", "Softmax")
    done = command("conform", "model.onnx", "-o", "conforming.onnx", *options)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "fixed\n"
        "  Softmax.R4  1  count the axis from the front\n"
        "\nstill violated\n"
        "  Slice.R1  1  its rule is not selected\n"
        "    Slice 'cut'\n"
        "  Slice.R3  1  its rule is not selected\n"
        "    Slice 'cut'\n"
        "\n3 violations before, 2 now; 1 change, safe, with 0 new nodes\n"
        "conforming.onnx: written; 2 violations are left: Slice.R1, Slice.R3\n"
    )


def test_violations_that_are_left_are_counted_and_their_rules_named_once() -> None:
    onnx.save(
        parse("(float[2,2] x) => (float[2,2] y) { a = Softsign(x) y = Softsign(a) }"), "m.onnx"
    )
    done = command("conform", "m.onnx", "-o", "conforming.onnx", "--no-forecast")
    assert done.stdout.splitlines()[-1] == (
        "conforming.onnx: written; 2 violations are left: Graph.operator_set"
    )


def test_nothing_is_written_strictly_if_something_is_left(folder: Path) -> None:
    options = (*CHOSEN, "--select", "Softmax", "--strict")
    done = command("conform", "model.onnx", "-o", "conforming.onnx", *options)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith(
        "conforming.onnx: not written; 2 violations are left: Slice.R1, Slice.R3\n"
    )
    assert not (folder / "conforming.onnx").exists()
    done = command("conform", "model.onnx", "-o", "conforming.onnx", *CHOSEN, "--strict")
    assert (done.returncode, done.stdout.endswith(f"\n{WRITTEN}")) == (0, True)


def test_verified_changes_are_kept() -> None:
    options = (*CHOSEN, "--verify", "--input", "x=x.npy")
    done = command("conform", "model.onnx", "-o", "conforming.onnx", *options)
    assert (done.returncode, done.stdout) == (0, f"{FIXED}\n{COUNTED}{WRITTEN}")


def test_conformed_model_needs_no_change() -> None:
    command("conform", "model.onnx", "-o", "conforming.onnx", *CHOSEN)
    done = command("conform", "conforming.onnx", "--diff", *CHOSEN)
    assert (done.returncode, done.stdout) == (0, "nothing to change; nothing is violated\n")


def test_quiet_writes_the_file_alone() -> None:
    done = command("conform", "model.onnx", "-o", "conforming.onnx", "--quiet", *CHOSEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert Path("conforming.onnx").exists()


@pytest.mark.parametrize(("line", "message"), [
    ("model.onnx", "give either -o FILE or --diff"),
    ("none.onnx --diff", "there is no file 'none.onnx'"),
    ("model.onnx -o none/c.onnx", "'none/c.onnx' cannot be written: there is no folder 'none'"),
    ("model.onnx --diff --select Slicing",
     "there is no rule 'Slicing' (did you mean 'Slice'?); choose from"),
    ("model.onnx --diff --verify --input x", "--input x: the form is NAME=FILE.npy"),
    ("model.onnx --diff --verify --input z=x.npy",
     "there is no input 'z'; the model's inputs are x"),
    ("rated.onnx --diff --assume rate", "--assume rate: the form is NAME=NUMBER or NAME=FILE.npy"),
    ("rated.onnx --diff --assume rate=x",
     "--assume rate=x: the form is NAME=NUMBER or NAME=FILE.npy"),
    ("rated.onnx --diff --assume speed=1",
     "the assumption does not fit: there is no input 'speed'"),
])  # fmt: skip
def test_wrong_argument_is_told_in_a_sentence(line: str, message: str, folder: Path) -> None:
    onnx.save(parse(ASSUMED), "rated.onnx")
    assert refusal("conform", *line.split()).startswith(f"sonnx-ort: {message}")
    assert {path.name for path in folder.iterdir()} == {"model.onnx", "rated.onnx", "x.npy"}


ASSUMED = """(float[n] x, int64 rate) => (float[n] y) <int64 fast = {16000}> {
    [known] c = Equal(rate, fast)
    [choose] y = If (c) <
        then_branch = same () => (float[n] t) { [up] t = Abs(x) },
        else_branch = other () => (float[n] e) { [down] e = Neg(x) }>
}"""


@pytest.mark.parametrize("value", ["16000", "rate.npy"])
def test_assumed_inputs_are_told_and_decide(value: str) -> None:
    onnx.save(parse(ASSUMED), "rated.onnx")
    np.save("rate.npy", np.int64(16000))
    given = ("--assume", f"rate={value}", "--assume-shape", "x=3", "--select", "Graph.operator_set")
    assert output("conform", "rated.onnx", "-o", "conforming.onnx", *given).startswith(
        "assumed: x is of shape (3,) in every run\n"
        "assumed: rate is 16000 in every run\n\n"
        "fixed\n"
        "  Graph.operator_set  1  take the branch that every run takes\n"
    )
    made = onnx.load("conforming.onnx")
    assert [value.name for value in made.graph.input] == ["x"]
    assert [node.op_type for node in made.graph.node if node.op_type != "Equal"] == ["Abs"]


def test_scalar_is_assumed_by_no_sizes() -> None:
    onnx.save(parse("(float[n] x, float t) => (float[n] y) { y = Mul(x, t) }"), "scaled.onnx")
    said = output("conform", "scaled.onnx", "-o", "conforming.onnx", "--assume-shape", "t=")
    assert said.startswith("assumed: t is of shape () in every run\n")
    assert "0 now" in said


POOLED = """(float[n,3,4] a, float[n,4,5] b, float[1,1,4,4] x)
    => (float[n,3,5] y, float[1,1,2,2] p) {
    [product] y = MatMul(a, b)
    [pool] p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"""
PROPOSED = """
0 violations left with the command below, which
  states that a is of shape (1, 3, 4) in every run
  states that b is of shape (1, 4, 5) in every run
  adds outputs to the model
Open sizes are taken as 1. If yours are others, give a sample by --data or a contract.
"""


def proposed(*given: str) -> tuple[str, list[str]]:
    """What a command that leaves violations says, and the words of the one that it proposes."""
    done = command("conform", "pooled.onnx", *given)
    assert (done.returncode, done.stderr) == (1, "")
    told, _, line = done.stdout.rpartition("next: ")
    return told, shlex.split(line)


@pytest.mark.parametrize(("given", "repeated"), [
    (["-o", "made.onnx"], "pooled.onnx -o made.onnx"),
    (["--diff"], "pooled.onnx -o pooled.conforming.onnx"),
    (["-o", "made.onnx", "--seed", "3", "--assume-shape", "x=1,1,4,4", "--unroll", "4"],
     "pooled.onnx -o made.onnx --unroll 4 --assume-shape x=1,1,4,4 --seed 3"),
])  # fmt: skip
def test_proposed_command_keeps_the_options_and_leaves_nothing(
    given: list[str], repeated: str
) -> None:
    onnx.save(parse(POOLED), "pooled.onnx")
    told, line = proposed(*given)
    assert told.endswith(PROPOSED)
    options = "--assume-shape a=1,3,4 --assume-shape b=1,4,5 --name-outputs"
    again = ["sonnx-ort", "conform", *f"{repeated} {options}".split()]
    assert sorted(line) == sorted(again)
    done = command(*line[1:])
    (target,) = {"made.onnx", "pooled.conforming.onnx"} & set(line)
    *_, written, following = done.stdout.splitlines()
    assert (done.returncode, written) == (0, f"{target}: written")
    assert following.startswith(f"next: sonnx-ort check {target}")
    assert sonnx_ort.check(target).ok
    metadata = {entry.key: entry.value for entry in onnx.load(target).metadata_props}
    assert metadata["sonnx_ort.assumed.b"] == "of shape (1, 4, 5)"


@pytest.mark.parametrize(("options", "last"), [
    (["--no-forecast"], "made.onnx: written; 2 violations are left: Graph.edges, MatMul.C1"),
    (["--select", "MaxPool", "--operators", "MaxPool,MatMul"],
     "made.onnx: written; 1 violation is left: MatMul.C1"),
])  # fmt: skip
def test_nothing_is_proposed_that_is_not_asked_for_or_fixes_nothing(
    options: list[str], last: str
) -> None:
    onnx.save(parse(POOLED), "pooled.onnx")
    done = command("conform", "pooled.onnx", "-o", "made.onnx", *options)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, last)


def test_sizes_of_samples_are_proposed(folder: Path) -> None:
    onnx.save(parse(POOLED), "pooled.onnx")
    (folder / "samples").mkdir()
    shapes = {"a": (2, 3, 4), "b": (2, 4, 5), "x": (1, 1, 4, 4)}
    for name, shape in shapes.items():
        np.save(folder / "samples" / f"{name}.npy", np.ones(shape, np.float32))
    told, line = proposed("-o", "made.onnx", "--data", "samples")
    assert "--assume-shape a=2,3,4 --assume-shape b=2,4,5 --name-outputs" in " ".join(line)
    assert "taken as 1" not in told


LOOPED = """(float[2] x, int64 trips) => (float[2] y) <bool on = {1}> {
    [steps] y = Loop (trips, on, x) <body = b (int64 i, bool c, float[2] s)
        => (bool d, float[2] t) { d = Identity(c) t = Neg(s) }> }"""
AND_MORE = """(float[2] x, int64 trips, float[1,1,4,4] i, float[m] v)
    => (float[2] y, float[1,1,2,2] p, int64[1, n] w) <bool on = {1}> {
    [pool] p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (i)
    [places] w = NonZero(v)
    [steps] y = Loop (trips, on, x) <body = b (int64 i, bool c, float[2] s)
        => (bool d, float[2] t) { d = Identity(c) t = Neg(s) }> }"""


CHOSEN_BY_YOU = "with a value that you choose.\n"
LEFT_OPEN = f"\n--assume trips=VALUE may fix what is left, {CHOSEN_BY_YOU}"
OPEN_IN_PART = (
    "  adds outputs to the model\n"
    f"--assume trips=VALUE may fix 1 of the 2 violations left, {CHOSEN_BY_YOU}"
)
INSTEAD = (
    "  computes both branches where the input decides\n"
    f"--assume rate=VALUE may do instead of --both-branches, {CHOSEN_BY_YOU}"
)


@pytest.mark.parametrize(("text", "end", "options"), [
    (LOOPED, LEFT_OPEN, None),
    (AND_MORE, OPEN_IN_PART, ["--name-outputs"]),
    (ASSUMED.replace("[n]", "[2]"), INSTEAD, ["--both-branches"]),
])  # fmt: skip
def test_value_that_a_person_has_to_choose_is_said_and_not_in_the_line_to_paste(
    text: str, end: str, options: list[str] | None
) -> None:
    onnx.save(parse(text), "open.onnx")
    done = command("conform", "open.onnx", "-o", "made.onnx")
    assert (done.returncode, done.stderr) == (1, "")
    told, follows, line = done.stdout.partition("next: ")
    assert told.endswith(end)
    assert [*line.split()[5:]] == (options or [])
    assert bool(follows) is (options is not None)


OF_SOME_HEIGHT = """(float[n,3,h,4] x, float[1,1,4,4] i) => (float[?,?] y, float[1,1,2,2] p)
    <int64[2] rows = {7, -1}> {
    d = MatMul(x, x)
    y = Reshape <allowzero = 1> (d, rows)
    [pool] p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (i) }"""
NO_SIZES = (
    "No sizes that were tried fix what is left. Give yours by --assume-shape x=SIZES, by --data "
    "or by a\n  contract.\n"
)


def test_of_sizes_of_which_none_helped_it_is_said_that_a_person_has_to_give_them() -> None:
    onnx.save(parse(OF_SOME_HEIGHT), "open.onnx")
    done = command("conform", "open.onnx", "-o", "made.onnx")
    assert (done.returncode, done.stderr) == (1, "")
    told, _, line = done.stdout.partition("next: ")
    assert told.endswith(f"  adds outputs to the model\n{NO_SIZES}")
    assert "--assume-shape" not in line


@pytest.mark.parametrize(("options", "told"), [((), f"\n{NO_SIZES}"), (("--no-forecast",), "")])
def test_where_nothing_is_proposed_sizes_are_asked_for_if_some_were_tried(
    options: tuple[str, ...], told: str
) -> None:
    alone = OF_SOME_HEIGHT.replace(", float[1,1,4,4] i)", ")").replace(", float[1,1,2,2] p)", ")")
    onnx.save(parse(f"{alone.partition('[pool]')[0]} }}"), "open.onnx")
    shown = command("conform", "open.onnx", "-o", "made.onnx", *options).stdout
    written, _, after = shown.partition("made.onnx: written; ")[2].partition("\n")
    assert (written[0].isdigit(), after) == (True, told)


def test_rewrite_conforms_on_request() -> None:
    assert command("rewrite", "model.onnx", "-o", "enforced.onnx", *CHOSEN).returncode == 1
    output("rewrite", "model.onnx", "-o", "enforced.onnx", "--conform", *CHOSEN)


@pytest.mark.parametrize("verb", ["conform", "rewrite"])
@pytest.mark.parametrize(("transfer", "same"), [("copy", False), ("link", True)])
def test_external_data_is_copied_or_linked_beside_the_model(
    folder: Path, verb: str, transfer: str, *, same: bool
) -> None:
    there = apart(folder)
    chosen = ("--operators", "default", "--external-data", transfer)
    output(verb, "there/m.onnx", "-o", "o.onnx", *chosen)
    assert (folder / "w").read_bytes() == there.read_bytes()
    assert (folder / "w").samefile(there) is same


@pytest.mark.parametrize("verb", ["conform", "rewrite"])
def test_external_data_that_stays_where_it_is_cannot_lie_elsewhere(folder: Path, verb: str) -> None:
    apart(folder)
    chosen = ("--operators", "default", "--external-data", "reference")
    said = refusal(verb, "there/m.onnx", "-o", "o.onnx", *chosen)
    assert "'there', which lies outside its folder; copy or link it" in said
    assert not (folder / "o.onnx").exists()


def apart(folder: Path) -> Path:
    """Save a model in a folder of its own, and give the file of its external data."""
    model = parse("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(x) y = Add(a, w) }")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    (folder / "there").mkdir()
    onnx.save(model, "there/m.onnx", save_as_external_data=True, location="w", size_threshold=0)
    return folder / "there" / "w"


SOFTSIGN = "(float[2,3] x) => (float[2,3] y) { [soft] y = Softsign(x) }"
ROUNDED = """fixed
  Graph.operator_set  1  write Softsign by operators of the profile (rounds)
  Add.float.R1        1  make the broadcast of the operands explicit

what rounds, and how far from the kernels of ONNX Runtime at most
  write Softsign by operators of the profile
    within 4 units in the last place of each result, for every input
"""


def test_what_rounds_has_its_bound_and_what_was_measured(folder: Path) -> None:
    onnx.save(parse(SOFTSIGN), folder / "soft.onnx")
    (folder / "samples").mkdir()
    np.save(folder / "samples" / "x.npy", np.zeros((2, 3), np.float32))
    shown = output("conform", "soft.onnx", "-o", "o.onnx", "--rounding", "--data", "samples")
    start = f"{ROUNDED}\nmeasured over 9 runs: 1 from samples, 4 random, 2 random times 100"
    assert shown.startswith(start)
    assert "\n  'y' deviates by up to " in shown


def test_every_sample_of_a_folder_is_run(folder: Path) -> None:
    onnx.save(parse(SOFTSIGN), folder / "soft.onnx")
    for name in ("one", "two"):
        (folder / "samples" / name).mkdir(parents=True)
        np.save(folder / "samples" / name / "x.npy", np.zeros((2, 3), np.float32))
    shown = output("conform", "soft.onnx", "-o", "o.onnx", "--rounding", "--data", "samples")
    assert "\nmeasured over 10 runs: 2 from samples, 4 random," in shown


def test_of_zeros_nothing_deviates() -> None:
    onnx.save(parse(SOFTSIGN), "soft.onnx")
    np.save("x.npy", np.zeros((2, 3), np.float32))
    options = ("-o", "o.onnx", "--rounding", "--input", "x=x.npy")
    assert output("conform", "soft.onnx", *options) == (
        f"{ROUNDED}\nmeasured over 1 run: 1 given\n  'y' is the same\n"
        "\n1 violation before, 0 now; 2 changes, 1 of them rounding, with 4 new nodes\n"
        "o.onnx: written\nnext: sonnx-ort check o.onnx\n"
    )


def test_no_model_runs_without_measuring() -> None:
    onnx.save(parse(SOFTSIGN), "soft.onnx")
    shown = output("conform", "soft.onnx", "-o", "o.onnx", "--rounding", "--no-measure")
    assert "measured" not in shown
    assert not [e for e in onnx.load("o.onnx").metadata_props if "measured" in e.key]


def test_outputs_that_are_added_are_labelled_so() -> None:
    onnx.save(
        parse("(float[1,1,8,8] x) => (float[1,1,3,3] y) { [pool] y = MaxPool"
              " <kernel_shape = [3,3], strides = [2,2]> (x) }"),
        "pool.onnx",
    )  # fmt: skip
    shown = output("conform", "pool.onnx", "-o", "o.onnx", "--name-outputs")
    assert "make outputs that are left out or unread outputs of the graph (adds\n" in shown
    assert "2 changes, 1 of them adding outputs, with 0 new nodes" in shown
    assert "rounds" not in shown
