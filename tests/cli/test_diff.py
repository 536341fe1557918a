"""`sonnx-ort diff`: output and exit status."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from support.command import command, output, refusal
from support.graphs import binary_model, parse


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for operator in ("Div", "Sub"):
        onnx.save(binary_model(operator, "int32", [2], [2]), tmp_path / f"{operator}.onnx")
    onnx.save(binary_model("Div", "float", [2], [2]), tmp_path / "float.onnx")
    np.save(tmp_path / "a.npy", np.array([6, 9], np.int32))
    np.save(tmp_path / "b.npy", np.array([3, 2], np.int32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_rewritten_model_has_no_difference(folder: Path) -> None:
    del folder
    assert command("rewrite", "Div.onnx", "-o", "enforced.onnx").returncode == 0
    inputs = ("--input", "A=a.npy", "--input", "B=b.npy")
    shown = output("diff", "Div.onnx", "enforced.onnx", *inputs)
    assert shown == (
        "A: Div.onnx\nB: enforced.onnx\n"
        "input A: int32 (2,) [6, 9]\ninput B: int32 (2,) [3, 2]\n\nno difference\n\n"
        "values with the same name in both: 1 equal, 0 different; 0 only in A, 2 only in B\n"
    )


def test_difference_is_the_exit_status(folder: Path) -> None:
    del folder
    arguments = ("Div.onnx", "Sub.onnx", "--input", "A=a.npy", "--seed", "5", "--input", "B=b.npy")
    done = command("diff", *arguments)
    assert (done.returncode, done.stderr) == (1, "")
    assert (
        "first difference: value 'C' of Div 'the_node'\n    A[0] = 2\n    B[0] = 3\n"
        "    2 of 2 elements differ\n"
    ) in done.stdout
    quiet = command("diff", *arguments, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")


NUMBER_OF_MODELS = "name two models, one with --why, or none with --from"
FOR_WHY = "--level, --threads and --providers are for --why"
NO_INPUTS = "--from has the inputs; give no --input, --data or --samples"
UNUSABLE = {
    "Div.onnx none.onnx": "there is no file 'none.onnx'",
    "Div.onnx a.npy": "'a.npy' is an array of numpy; give the model's file",
    "Div.onnx float.onnx": "the two models have other inputs: int32 'A', int32 'B'; float 'A', "
    "float 'B'",
    "Div.onnx Sub.onnx --input A": "--input A: the form is NAME=FILE.npy",
    "Div.onnx Sub.onnx --tolerance 2": "--tolerance 2: bits are the same or not; name another "
    "--measure",
    "Div.onnx Sub.onnx --data . --samples 2": "'.' has the samples; give --data or --samples, "
    "not both",
    "Div.onnx Sub.onnx --samples 1000001": "--samples 1000001: give at most 1,000,000",
    "Div.onnx Sub.onnx --threads 2": FOR_WHY,
    "Div.onnx Sub.onnx --level none": FOR_WHY,
    "Div.onnx Sub.onnx --providers Abacus": FOR_WHY,
    "Div.onnx": NUMBER_OF_MODELS,
    "Div.onnx --from .": NUMBER_OF_MODELS,
    "Div.onnx Sub.onnx --why": NUMBER_OF_MODELS,
    "--from none": "'none' has no runs that `diff --save` has written",
    "--from . --why": NUMBER_OF_MODELS,
    "--from . --samples 2": NO_INPUTS,
    "--from . --input A=a.npy": NO_INPUTS,
    "--from . --data .": NO_INPUTS,
    "Div.onnx --why --save runs": "--save is for two models; give --save or --why, not both",
    "Div.onnx --why --samples 2": "one model is run on one sample; give no --samples",
    "Div.onnx --why --providers Abacus": "ONNX Runtime has no execution provider 'Abacus' here; "
    "choose from ",
    "Div.onnx Sub.onnx --input D=a.npy": "there is no input 'D'; the model's inputs are A, B",
}


@pytest.mark.parametrize("line", UNUSABLE)
def test_unusable_arguments(folder: Path, line: str) -> None:
    del folder
    assert refusal("diff", *line.split()).startswith(f"sonnx-ort: {UNUSABLE[line]}")


def test_every_value_of_the_first_model_is_listed_on_request(folder: Path) -> None:
    del folder
    command("rewrite", "Div.onnx", "-o", "enforced.onnx")
    arguments = ("diff", "Div.onnx", "enforced.onnx", "--input", "B=b.npy")
    listed = ["same         'C' of Div 'the_node'"]
    assert [each for each in output(*arguments, "--all").splitlines() if "'C'" in each] == listed
    assert "'C'" not in output(*arguments)


def test_violation_in_both_runs_is_told_once(folder: Path) -> None:
    np.save(folder / "zero.npy", np.array([3, 0], np.int32))
    command("rewrite", "Div.onnx", "-o", "enforced.onnx")
    inputs = ("--input", "A=a.npy", "--input", "B=zero.npy")
    done = command("diff", "enforced.onnx", "enforced.onnx", *inputs)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "A: enforced.onnx\nB: enforced.onnx\n"
        "input A: int32 (2,) [6, 9]\ninput B: int32 (2,) [3, 0]\n\n"
        "no difference before both runs end\n"
        "both break a rule:\n"
        "    Div 'the_node' breaks Div.int.C1: a zero divisor: A[1] = 9, B[1] = 0; shapes A (2,), "
        "B (2,). The\n      rule: No element of B is zero.\n\n"
        "values with the same name in both: 2 equal, 0 different; 0 only in A, 0 only in B\n"
        "next: sonnx-ort check enforced.onnx\n"
    )


def test_sizes_are_set_by_name_and_by_input(folder: Path) -> None:
    onnx.save(binary_model("Sub", "float", ["n"], ["n"]), folder / "open.onnx")
    same = ("diff", "open.onnx", "open.onnx", "--seed", "5")
    for sizes in (("--size", "n=2"), ("--input-shape", "A=2")):
        lines = command(*same, *sizes).stdout.splitlines()
        assert [line.split(" [")[0] for line in lines[2:4]] == [
            "input A: float32 (2,)",
            "input B: float32 (2,)",
        ]
        assert all(line.endswith("(random, seed 5)") for line in lines[2:4])
    assert command(*same).stdout.splitlines()[4] == (
        "open sizes: n = 3 (the model runs with these; --size and --input-shape set others)"
    )


def test_optimizer_that_changes_outputs_is_named_with_its_nodes(folder: Path) -> None:
    model = parse(
        """(float[2] x, float[2] y) => (float[2] z) <float one = {1}> {
        [invert] r = Div(one, x) [scale] z = Mul(r, y) }"""
    )
    onnx.save(model, folder / "model.onnx")
    np.save(folder / "x.npy", np.array([3, 2], np.float32))
    np.save(folder / "y.npy", np.array([5, 2], np.float32))
    arguments = ("diff", "model.onnx", "--why", "--input", "x=x.npy", "--input", "y=y.npy")
    done = command(*arguments)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "A: model.onnx, without optimizations\nB: model.onnx, level all\n"
        "input x: float32 (2,) [3., 2.]\ninput y: float32 (2,) [5., 2.]\n\n"
        "first difference: value 'z' of Mul 'scale'\n"
        "    A[0] = 1.6666667461395264 (0x3fd55556)\n    B[0] = 1.6666666269302368 (0x3fd55555)\n"
        "    1 of 2 elements differ\n\n"
        "made by DivMulFusion: without it, B is as A\n"
        "nodes gone:\n    Div 'invert': x -> r\n    Mul 'scale': r, y -> z\n"
        "nodes new:\n    Div 'invert': y, x -> z\n"
    )
    for more in ("--level none --threads 2", "--measure ulp --tolerance 1"):
        quiet = command(*arguments, *more.split(), "--quiet")
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


NORMALIZED = """(float[4, 64] x) => (float[4, 64] y)
    <float two = {2}, float small = {0.00001}, float three = {3}> {
    m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes = [-1]>(p)
    e = Add(v, small) r = Sqrt(e) n = Div(d, r) w = Mul(n, scale) y = Add(w, scale) }"""


@pytest.mark.upstream
def test_eight_nodes_that_are_gone_are_listed_or_all(folder: Path) -> None:
    model = parse(NORMALIZED)
    scale = np.linspace(-1, 1, 64, dtype=np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(scale, "scale"))
    onnx.save(model, folder / "model.onnx")
    done = command("diff", "model.onnx", "--why")
    assert (done.returncode, done.stderr) == (1, "")
    gone = done.stdout.partition("nodes gone:\n")[2].partition("nodes new:\n")[0].splitlines()
    assert len(gone) == 9
    assert gone[-1] == "    and 1 more; --all shows them"
    every = command("diff", "model.onnx", "--why", "--all").stdout
    assert "Add '(output y)'" in every
    assert "more; --all" not in every


@pytest.mark.upstream
def test_what_other_threads_change_is_not_said_to_be_made_by_optimizers(folder: Path) -> None:
    onnx.save(parse("(float[n] x) => (float[n] y) { y = Log(x) }"), folder / "model.onnx")
    np.save(folder / "x.npy", np.linspace(0.1, 9, 1_000_003, dtype=np.float32))
    done = command("diff", "model.onnx", "--why", "--threads", "2", "--input", "x=x.npy")
    assert (done.returncode, done.stderr) == (1, "")
    assert "A: model.onnx, without optimizations, 1 thread\n" in done.stdout
    assert "B: model.onnx, level all, 2 threads\n" in done.stdout
    assert "first difference: value 'y' of Log '(output y)'\n" in done.stdout
    assert done.stdout.endswith("\nnot made by optimizers: it is there without them too\n")


def test_samples_of_a_folder_are_shown_by_their_names(folder: Path) -> None:
    for name, b in {"one": [3, 2], "two": [1, 1]}.items():
        (folder / "samples" / name).mkdir(parents=True)
        np.save(folder / "samples" / name / "A.npy", np.array([6, 9], np.int32))
        np.save(folder / "samples" / name / "B.npy", np.array(b, np.int32))
    arguments = ("diff", "Div.onnx", "Sub.onnx", "--data", "samples", "--measure", "absolute")
    done = command(*arguments)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(
        "A: Div.onnx\nB: Sub.onnx\nsamples: 2, of which 2 differ\n\n"
        "    least     median    largest  in sample  value (absolute)\n"
        "        1          1          3  one        'C' of Div 'the_node'\n\n"
        "sample one:\ninput A: int32 (2,) [6, 9]\n"
    )
    assert command(*arguments, "--tolerance", "3").returncode == 0


def test_line_gives_inputs_and_the_seed_of_what_the_samples_of_a_folder_lack(folder: Path) -> None:
    (folder / "samples").mkdir()
    np.save(folder / "samples" / "B.npy", np.array([3, 2], np.int32))
    np.save(folder / "ones.npy", np.array([1, 1], np.int32))
    arguments = ("diff", "Sub.onnx", "Sub.onnx", "--data", "samples", "--seed", "4")
    assert [line.partition(" [")[2] for line in output(*arguments).splitlines()[2:4]] == [
        output("diff", "Sub.onnx", "Sub.onnx", "--seed", "4").splitlines()[2].partition(" [")[2],
        "3, 2]",
    ]
    assert "\ninput B: int32 (2,) [1, 1]\n" in output(*arguments, "--input", "B=ones.npy")


def test_samples_are_made_up_with_seeds_that_follow_each_other(folder: Path) -> None:
    del folder
    shown = output("diff", "Sub.onnx", "Sub.onnx", "--samples", "3", "--seed", "4")
    assert "samples: 3, of which 0 differ\n\nsample 4:\n" in shown
    assert "(random, seed 4)" in shown


def test_saved_runs_are_compared_again_without_the_models(folder: Path) -> None:
    arguments = ("Div.onnx", "Sub.onnx", "--samples", "3", "--input", "B=b.npy")
    done = command("diff", *arguments, "--save", "runs")
    for name in ("Div.onnx", "Sub.onnx"):
        (folder / name).unlink()
    again = command("diff", "--from", "runs")
    assert (again.returncode, again.stderr, again.stdout) == (1, "", done.stdout)
    loose = ("--measure", "absolute", "--tolerance", "100")
    assert command("diff", "--from", "runs", *loose).returncode == 0


def test_values_that_are_matched_by_position_are_told(folder: Path) -> None:
    model = onnx.load(folder / "Div.onnx")
    model.graph.node[0].output[0] = model.graph.output[0].name = "quotient"
    onnx.save(model, folder / "renamed.onnx")
    shown = output("diff", "Div.onnx", "renamed.onnx", "--input", "B=b.npy")
    assert shown.endswith(
        "values with the same name in both: 1 equal, 0 different; 0 only in A, 0 only in B\n"
        "of these, computed alike with another name in B: 'C' with 'quotient'\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "Div.onnx Div.onnx --contract envelope.toml",
        "Div.onnx enforced.onnx",
        "enforced.onnx Div.onnx",
    ],
)
def test_random_samples_keep_a_contract_that_is_given_or_that_a_model_carries(
    folder: Path, line: str
) -> None:
    (folder / "envelope.toml").write_text("[inputs.B]\nrange = [2, 2]\n")
    options = ("--contract", "envelope.toml", "--backend", "native", "-o", "enforced.onnx")
    command("rewrite", "Div.onnx", *options)
    shown = output("diff", *line.split(), "--samples", "3")
    assert "input B: int32 (2,) [2, 2] (random, seed 0)\n" in shown


def test_input_that_breaks_a_contract_is_refused(folder: Path) -> None:
    (folder / "envelope.toml").write_text("[inputs.B]\nrange = [3, 9]\n")
    arguments = ("--contract", "envelope.toml", "--input", "B=b.npy")
    said = refusal("diff", "Div.onnx", "Div.onnx", *arguments)
    assert said.splitlines()[0] == (
        "sonnx-ort: the input 'B' breaks Contract.range: B is outside of 3 to 9: B[1] = 2"
    )
