"""`propose_contract` and `sonnx-ort contract`: from samples to a contract that a model keeps."""

import tomllib
from pathlib import Path

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort import (
    Contract,
    ShapeContract,
    SizeContract,
    SonnxError,
    StateContract,
    TypeContract,
    ValueContract,
)
from sonnx_ort.analysis.contracts import read_contract
from support.command import command
from support.graphs import parse

GRAPH = """(float[n, 2] x, int64[n] i, bool[n] b) => (float[n, 2] z, int64[n] j, bool[n] c) {
    y = Exp(x)
    z = Exp(y)
    j = Identity(i)
    c = Identity(b)
}"""


TYPES = (TypeContract("x", "float"), TypeContract("i", "int64"), TypeContract("b", "bool"))


def sample(*numbers):
    x = np.array([numbers], np.float32)
    return {"x": x, "i": np.array([7]), "b": np.array([True])}


@pytest.fixture
def samples(tmp_path):
    """A folder with two samples."""
    folder = tmp_path / "samples"
    folder.mkdir()
    for place, values in (("first", sample(0.5, 2.0)), ("second", sample(1.0, 1.0))):
        (folder / place).mkdir()
        for name, array in values.items():
            np.save(folder / place / f"{name}.npy", array)
    return folder


def test_ranges_are_those_that_were_seen_and_a_margin(samples):
    proposed = sonnx_ort.propose_contract(parse(GRAPH), data=samples, margin=0.5)
    assert proposed.samples == 2
    assert proposed.contract == Contract(
        (ValueContract("x", (0.0, 3.0)), ValueContract("i", (3, 11))),
        (),
        (SizeContract("n", 1, 1),),
        types=TYPES,
    )


def test_without_samples_floats_are_to_be_finite():
    proposed = sonnx_ort.propose_contract(parse(GRAPH))
    assert proposed.contract == Contract((ValueContract("x"),), types=TYPES)
    assert (proposed.finite, proposed.floats, proposed.open) == (0, 2, ("y",))


def test_each_index_of_an_axis_gets_its_range_where_asked(samples):
    proposed = sonnx_ort.propose_contract(parse(GRAPH), data=samples, margin=0, axes={"x": 1})
    (x, _) = proposed.contract.values
    assert (x.axis, x.ranges) == (1, ((0.5, 1.0), (1.0, 2.0)))
    assert "axis = 1\nrange = [[0.5, 1.0], [1.0, 2.0]]\n" in proposed.toml


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"y": 0}, "there is no input 'y'"),
        ({"x": 2}, "the input 'x' has no axis 2 in a sample"),
        ({"x": 0}, "axis 0 of the input 'x' has other sizes in other samples, or an index"),
    ],
)
def test_axis_that_samples_do_not_have_is_refused(samples, axes, message):
    (samples / "longer").mkdir()
    for name, array in sample(0.5, 2.0).items():
        np.save(samples / "longer" / f"{name}.npy", np.repeat(array, 2, axis=0))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.propose_contract(parse(GRAPH), data=samples, axes=axes)
    assert str(caught.value).startswith(message)


def test_state_gets_an_entry_from_samples(tmp_path):
    model = parse("(float[1, 2] h) => (float[1, 2] g) { g = Tanh(h) }")
    np.save(tmp_path / "h.npy", np.array([[-0.5, 0.5]], np.float32))
    states = (StateContract("h", "g"),)
    given = Contract(states=states)
    proposed = sonnx_ort.propose_contract(model, data=tmp_path, contract=given, margin=0)
    own = ValueContract("h", (-0.5, 0.5)), ValueContract("g", (-0.5, 0.5))
    assert proposed.contract == Contract(own, (), (), states, (TypeContract("h", "float"),))
    assert proposed.toml.endswith(
        '[inputs."h"]\ndtype = "float"\nrange = [-0.5, 0.5]\n\n[states]\n"h" = "g"\n'
    )


def test_given_entries_are_kept(samples):
    given = Contract((ValueContract("x", (-1, 1), "mine"),))
    proposed = sonnx_ort.propose_contract(parse(GRAPH), data=samples, contract=given, margin=0)
    assert proposed.contract.values == (*given.values, ValueContract("i", (7, 7)))


def test_sizes_are_those_that_were_seen(samples):
    for rows in (2, 5):
        (samples / f"of {rows}").mkdir()
        for name, array in sample(0.5, 2.0).items():
            np.save(samples / f"of {rows}" / f"{name}.npy", np.repeat(array, rows, axis=0))
    proposed = sonnx_ort.propose_contract(parse(GRAPH), data=samples)
    assert proposed.contract.sizes == (SizeContract("n", 1, 5),)
    given = Contract(
        shapes=(ShapeContract("x", ("rows", 2)),), sizes=(SizeContract("n", 0, 9, 1, "beds"),)
    )
    proposed = sonnx_ort.propose_contract(parse(GRAPH), data=samples, contract=given)
    assert proposed.contract.sizes == (*given.sizes, SizeContract("rows", 1, 5))
    assert proposed.toml.endswith(
        'shape = ["rows", 2]\n\n[inputs."i"]\ndtype = "int64"\nrange = [5, 9]\n\n'
        '[inputs."b"]\ndtype = "bool"\n\n[sizes]\n'
        'n = { range = [0, 9], message = "beds" }\nrows = [1, 5]\n'
    )


def test_name_whose_axes_differ_in_a_sample_is_left_out(samples):
    for place in ("first", "second"):
        np.save(samples / place / "i.npy", np.array([7, 7]))
    assert sonnx_ort.propose_contract(parse(GRAPH), data=samples).contract.sizes == ()


def test_run_draws_inputs_of_sizes_that_the_contract_allows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(GRAPH), "model.onnx")
    Path("envelope.toml").write_text("[sizes]\nn = [5, 9]\n")
    chosen = ("--contract", "envelope.toml", "--operators", "default")
    ran = command("run", "model.onnx", *chosen)
    assert "input x: float32 (5, 2)" in ran.stdout
    np.save("x.npy", np.zeros((7, 2), np.float32))
    ran = command("run", "model.onnx", *chosen, "--input", "x=x.npy")
    assert "input i: int64 (7,)" in ran.stdout


def test_checkpoint_keeps_what_follows_finite(samples):
    given = Contract((ValueContract("x", (-1, 60)),))
    made = parse(GRAPH)
    before = sonnx_ort.propose_contract(made, data=samples, contract=given)
    assert (before.finite, before.open) == (1, ("z",))
    proposed = sonnx_ort.propose_contract(made, data=samples, contract=given, checkpoints=True)
    assert (proposed.finite, proposed.open) == (2, ())
    assert dict(proposed.checkpoints) == {"y": 2}
    report = sonnx_ort.check(
        made, contract=proposed.contract, operators="Graph.finite_values", backend="native"
    )
    finite = [o for o in report.obligations if o.rule.id == "Graph.finite"]
    assert [str(o.status) for o in finite] == ["proved", "proved"]


def test_file_that_is_written_is_read_again(samples, tmp_path):
    made = parse(GRAPH.replace("y = Exp(x)", "y = Exp(x) odd = Neg(x)"))
    given = Contract((ValueContract("odd", (-1, 1), 'say "no"\\n'),))
    proposed = sonnx_ort.propose_contract(made, data=samples, contract=given)
    path = tmp_path / "envelope.toml"
    path.write_text(proposed.toml)
    assert read_contract(path) == proposed.contract
    assert set(tomllib.loads(proposed.toml)) == {"inputs", "sizes", "values"}


NAMES = ['größe "a"', "a.b", "x\ny\t", "\x7f\x01c", "'\\d", "[x]e", "#=f", "日本", " ", "true"]


def test_file_has_any_name_of_inputs_and_axes(tmp_path):
    """Names that TOML has to have in quotation marks; only names of sizes can be in [sizes]."""
    axes = ["größe", "日本", "a b", "n+1", "batch-size", "_x", "1n", "true", "N", "m"]
    made = [onnx.helper.make_tensor_value_info(n, 1, [a]) for n, a in zip(NAMES, axes, strict=True)]
    nodes = [onnx.helper.make_node("Abs", [n], [f"y{k}"]) for k, n in enumerate(NAMES)]
    results = [onnx.helper.make_tensor_value_info(node.output[0], 1, None) for node in nodes]
    graph = onnx.helper.make_graph(nodes, "g", made, results)
    opset = [onnx.helper.make_opsetid("", 20)]
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=opset)
    for number, name in enumerate(NAMES):
        tensor = onnx.numpy_helper.from_array(np.ones(2, np.float32), name)
        (tmp_path / f"input_{number}.pb").write_bytes(tensor.SerializeToString())
    proposed = sonnx_ort.propose_contract(model, data=tmp_path)
    path = tmp_path / "envelope.toml"
    path.write_text(proposed.toml, encoding="utf-8")
    assert read_contract(path) == proposed.contract
    assert [entry.value for entry in proposed.contract.values] == NAMES
    assert {size.name for size in proposed.contract.sizes} == {
        "größe",
        "日本",
        "_x",
        "true",
        "N",
        "m",
    }
    session = sonnx_ort.InferenceSession(model, contract=path)
    session.run(None, dict.fromkeys(NAMES, np.ones(2, np.float32)))


def of_samples(folder, *arrays):
    for number, array in enumerate(arrays):
        (folder / str(number)).mkdir()
        np.save(folder / str(number) / "x.npy", array)
    return folder


def test_samples_with_nan_get_no_entry_and_the_file_says_it(tmp_path):
    model = parse("(float[n] x) => (float[n] y) { y = Abs(x) }")
    arrays = np.float32([1, 2]), np.float32([np.nan, 50])
    for given in (arrays, arrays[::-1]):
        folder = tmp_path / str(given[0][0])
        folder.mkdir()
        proposed = sonnx_ort.propose_contract(model, data=of_samples(folder, *given))
        assert proposed.contract.values == ()
        remark = "NaN in 1 of 2 samples: no range, and not finite = true, for both refuse NaN"
        assert proposed.remarks == {"x": remark}
        assert f'[inputs."x"]\ndtype = "float"\n# {remark}\n' in proposed.toml
        session = sonnx_ort.InferenceSession(model, contract=proposed.contract)
        for array in given:
            session.run(None, {"x": array})


def test_samples_with_infinity_get_a_range_that_has_it_and_the_file_says_it(tmp_path):
    model = parse("(float[n] x) => (float[n] y) { y = Abs(x) }")
    arrays = np.float32([1, np.inf]), np.float32([2, 3])
    proposed = sonnx_ort.propose_contract(model, data=of_samples(tmp_path, *arrays), margin=0)
    assert proposed.contract.values == (ValueContract("x", (1.0, np.inf)),)
    assert "range = [1.0, inf]\n# infinite in 1 of 2 samples: the range" in proposed.toml


def test_given_entry_that_samples_break_is_named(tmp_path):
    model = parse("(float[n] x) => (float[n] y) { y = Abs(x) }")
    folder = of_samples(tmp_path, np.float32([1, 2]), np.float32([5]))
    given = Contract((ValueContract("x", (0, 4)),))
    proposed = sonnx_ort.propose_contract(model, data=folder, contract=given)
    assert proposed.remarks == {"x": "the given entry refuses 1 of 2 samples"}


def test_range_of_a_state_holds_what_samples_gave(tmp_path):
    model = parse("(float[1] x) => (float[1] y) { y = Add(x, x) }")
    given = Contract(states=(StateContract("x", "y"),))
    folder = of_samples(tmp_path, np.float32([3]))
    proposed = sonnx_ort.propose_contract(model, data=folder, contract=given, margin=0)
    assert proposed.contract.of("x") == ValueContract("x", (3.0, 6.0))
    session = sonnx_ort.InferenceSession(model, contract=proposed.contract)
    assert session.run(None, {"x": np.float32([3])})[0] == 6


def test_what_is_no_tensor_of_numbers_gets_no_range():
    model = parse("""(seq(float[n]) s, string[k] t, bool[k] b, float8e4m3fn[k] f, int64[k] i)
        => (int64[k] j) { j = Identity(i) }""")
    proposed = sonnx_ort.propose_contract(model)
    assert proposed.contract.values == ()
    assert proposed.remarks == {"s": "no tensor; a contract has no entry for it"}
    assert '# "s": no tensor; a contract has no entry for it\n' in proposed.toml
    assert [entry.input for entry in proposed.contract.types] == ["t", "b", "f", "i"]


def test_folder_without_samples_is_refused(tmp_path):
    with pytest.raises(SonnxError, match=r"has no samples; put NAME\.npy or input_0\.pb"):
        sonnx_ort.propose_contract(parse(GRAPH), data=tmp_path)


@pytest.mark.parametrize("margin", [-1, float("nan"), float("inf"), 10**400])
def test_margin_is_a_share(margin):
    with pytest.raises(SonnxError, match="is no share; give a number of 0 or more"):
        sonnx_ort.propose_contract(parse(GRAPH), margin=margin)


def test_command_writes_a_contract_that_the_others_take(samples, tmp_path):
    model, envelope = tmp_path / "model.onnx", tmp_path / "envelope.toml"
    enforced, far = tmp_path / "enforced.onnx", tmp_path / "far.npy"
    onnx.save(parse(GRAPH), model)
    made = command("contract", model, "--data", samples, "-o", envelope)
    assert made.stdout.splitlines()[1:] == [
        "samples run: 2",
        "proved free of NaN and infinity for every input within it: 2 of 2 float values",
        f"next: sonnx-ort check {model} --contract {envelope}",
    ]
    checked = command("check", model, "--contract", envelope, "-v")
    assert "Contract.range" in checked.stdout
    chosen = ("--contract", envelope, "--operators", "default")
    assert command("rewrite", model, *chosen, "-o", enforced).returncode == 0
    # Random inputs are drawn from the contract of the model.
    assert command("run", enforced).returncode == 0
    np.save(far, np.full((1, 2), 9, np.float32))
    refused = command("run", model, *chosen, "--input", f"x={far}")
    assert refused.returncode == 1
    assert "Input 'x' breaks Contract.range: x is outside of 0 to 2.5: x[0, 0]" in refused.stderr


def test_command_asks_for_samples_and_names_what_may_overflow(tmp_path):
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Exp(x) }"), tmp_path / "model.onnx")
    made = command("contract", tmp_path / "model.onnx", "-o", tmp_path / "envelope.toml")
    assert made.stdout.splitlines()[1:] == [
        "without samples it only says that floats are finite; --data FOLDER gives samples",
        "proved free of NaN and infinity for every input within it: 0 of 1 float values",
        "may be NaN or infinite: 'y'",
        f"next: sonnx-ort check {tmp_path}/model.onnx --contract {tmp_path}/envelope.toml",
    ]


@pytest.mark.parametrize(("count", "more"), [(5, []), (6, ["and 1 more"]), (8, ["and 3 more"])])
def test_command_names_five_values_that_may_overflow_and_counts_the_others(
    tmp_path: Path, count: int, more: list[str]
) -> None:
    names = [f"y{number}" for number in range(count)]
    outputs = ", ".join(f"float[2] {name}" for name in names)
    nodes = " ".join(f"{name} = Exp(x)" for name in names)
    onnx.save(parse(f"(float[2] x) => ({outputs}) {{ {nodes} }}"), tmp_path / "model.onnx")
    shown = command("contract", tmp_path / "model.onnx", "-o", tmp_path / "c.toml").stdout
    lines = shown.splitlines()[3:-1]
    assert lines == [*(f"may be NaN or infinite: 'y{number}'" for number in range(5)), *more]


def test_command_counts_checkpoints_and_their_elements(tmp_path: Path) -> None:
    text = "(float[2] x) => (float[2] y, float[2] z) { y = Exp(x) z = Exp(x) }"
    onnx.save(parse(text), tmp_path / "model.onnx")
    options = ("--checkpoints", "-o", tmp_path / "c.toml")
    shown = command("contract", tmp_path / "model.onnx", *options).stdout
    assert shown.splitlines()[2:4] == [
        "proved free of NaN and infinity for every input within it: 2 of 2 float values",
        "values checked inside: 2, with 4 elements a run",
    ]


def test_command_says_which_input_gets_no_range(tmp_path: Path) -> None:
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path / "model.onnx")
    (tmp_path / "samples").mkdir()
    np.save(tmp_path / "samples" / "x.npy", np.array([1, np.nan], np.float32))
    options = ("--data", tmp_path / "samples", "-o", tmp_path / "c.toml")
    shown = command("contract", tmp_path / "model.onnx", *options).stdout
    remark = "'x': NaN in 1 of 1 samples: no range, and not finite = true, for both refuse NaN"
    assert remark in shown.splitlines()


def test_quiet_command_writes_the_contract_alone(tmp_path: Path) -> None:
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path / "model.onnx")
    envelope = tmp_path / "c.toml"
    assert command("contract", tmp_path / "model.onnx", "-o", envelope, "-q").stdout == ""
    shown = command("contract", tmp_path / "model.onnx", "--quiet")
    assert (shown.stdout, shown.stderr) == (f"{envelope.read_text('utf-8')}\n", "")


def test_command_adds_to_a_given_contract_that_floats_are_finite(tmp_path: Path) -> None:
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Neg(x) }"), tmp_path / "model.onnx")
    (tmp_path / "given.toml").write_text("[inputs.x]\nrange = [0, 1]\n", encoding="utf-8")
    options = ("--contract", tmp_path / "given.toml", "-o", tmp_path / "c.toml")
    assert command("contract", tmp_path / "model.onnx", *options).stdout.splitlines()[1] == (
        "without samples it only adds that floats are finite; --data FOLDER gives samples"
    )
