"""Values of every type: shown, written, read again, and compared; and the names of their files."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.value_files import file_names, read_value, write_value
from support.command import command, output, without_next

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
ONES = np.ones((2, 2), np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", ONES)
    return tmp_path


def save(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    name: str = "model.onnx",
) -> None:
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), name)


def tensor(name: str, element_type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element_type, None)


def zip_map(**labels: object) -> onnx.NodeProto:
    return helper.make_node("ZipMap", ["x"], ["out"], domain="ai.onnx.ml", **labels)


def map_of(key: int) -> onnx.TypeProto:
    return helper.make_sequence_type_proto(helper.make_map_type_proto(key, FLOATS))


NO_TENSORS = {
    "maps": (zip_map(classlabels_int64s=[3, 4]), map_of(TensorProto.INT64),
        [{3: 1.0, 4: 1.0}, {3: 1.0, 4: 1.0}],
        "out: sequence of 2\n  out[0]: map {3: 1.0, 4: 1.0}\n  out[1]: map {3: 1.0, 4: 1.0}\n"),
    "maps of text": (
        zip_map(classlabels_strings=["a", "b"]), map_of(TensorProto.STRING),
        [{"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0}],
        ("out: sequence of 2\n  out[0]: map {'a': 1.0, 'b': 1.0}\n"
         "  out[1]: map {'a': 1.0, 'b': 1.0}\n")),
    "sequence": (
        helper.make_node("SequenceConstruct", ["x", "x"], ["out"]),
        helper.make_sequence_type_proto(FLOATS), [ONES, ONES],
        ("out: sequence of 2\n  out[0]: float32 (2, 2) [1., 1., 1., 1.]\n"
         "  out[1]: float32 (2, 2) [1., 1., 1., 1.]\n")),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_TENSORS)
def test_what_is_no_tensor_is_shown_and_written(case: str) -> None:
    node, kind, expected, shown = NO_TENSORS[case]
    save([node], [tensor("x")], [helper.make_value_info("out", kind)])
    done = command(
        "run", "model.onnx", "--operators", "default", "--input", "x=x.npy", "--output-dir", "made"
    )
    written = f"written: {Path('made', 'out.npz')}\n"
    assert (done.returncode, without_next(done.stdout), done.stderr) == (0, shown + written, "")
    assert str(read_value(Path("made", "out.npz"))) == str(expected)


@pytest.mark.parametrize("case", NO_TENSORS)
@pytest.mark.parametrize("verb", ["audit", "diff"])
def test_what_is_no_tensor_is_left_out_of_comparisons(verb: str, case: str) -> None:
    node, kind, *_ = NO_TENSORS[case]
    divide = helper.make_node("Div", ["x", "x"], ["z"])
    save([divide, node], [tensor("x")], [tensor("z"), helper.make_value_info("out", kind)])
    models = ["model.onnx"] * (2 if verb == "diff" else 1)
    output(verb, *models, "--input", "x=x.npy")


def test_absent_output_is_shown_and_not_written() -> None:
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    node = helper.make_node("Optional", [], ["out"], type=kind)
    declared = helper.make_value_info("out", helper.make_optional_type_proto(kind))
    divide = helper.make_node("Div", ["x", "x"], ["z"])
    save([divide, node], [tensor("x")], [tensor("z"), declared])
    shown = output(
        "run", "model.onnx", "--operators", "default", "--input", "x=x.npy", "--output-dir", "made"
    )
    assert "\nout: absent\n" in shown
    assert [path.name for path in Path("made").iterdir()] == ["z.npy"]


def test_sequence_that_was_written_is_an_input() -> None:
    write_value([ONES, 2 * ONES], Path("s.npz"))
    position = onnx.numpy_helper.from_array(np.array(1), "one")
    at = helper.make_node("SequenceAt", ["s", "i"], ["out"])
    constant = helper.make_node("Constant", [], ["i"], value=position)
    declared = helper.make_value_info("s", helper.make_sequence_type_proto(FLOATS))
    save([constant, at], [declared], [tensor("out")])
    done = command("run", "model.onnx", "--operators", "default", "--input", "s=s.npz")
    shown = without_next(done.stdout)
    assert (shown, done.stderr) == ("out: float32 (2, 2) [2., 2., 2., 2.]\n", "")
    refused = command("diff", "model.onnx", "model.onnx", "--input", "s=s.npz")
    assert (refused.returncode, refused.stderr) == (
        2,
        "sonnx-ort: the input 's' is no array; this command takes only arrays\n",
    )


def test_text_goes_through_every_command() -> None:
    np.save("s.npy", np.array(["é", "b"]))
    same = helper.make_node("Identity", ["s"], ["t"])
    divide = helper.make_node("Div", ["x", "x"], ["z"])
    text = TensorProto.STRING
    save([same, divide], [tensor("s", text), tensor("x")], [tensor("t", text), tensor("z")])
    given = ["--input", "s=s.npy", "--input", "x=x.npy"]
    shown = output("run", "model.onnx", "--operators", "default", *given, "--output-dir", "made")
    assert shown.startswith("t: string (2,) ['é', 'b']\n")
    assert np.load("made/t.npy").tolist() == ["é", "b"]
    for arguments in (
        ["audit", "model.onnx", *given, "--save-values", "values"],
        ["audit", "model.onnx", "--values", "values"],
        ["diff", "model.onnx", "model.onnx", *given],
    ):
        output(*arguments)


@pytest.mark.parametrize("element_type", [TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN])
def test_types_that_numpy_has_not_are_written_and_read(element_type: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(element_type)
    np.save("x.npy", ONES.astype(dtype))
    node = helper.make_node("Identity", ["x"], ["out"])
    graph = helper.make_graph(
        [node], "g", [tensor("x", element_type)], [tensor("out", element_type)]
    )
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), "model.onnx")
    shown = output(
        "run", "model.onnx", "--operators", "default", "--input", "x=x.npy", "--output-dir", "made"
    )
    assert shown.startswith(f"out: {dtype.name} (2, 2) [1, 1, 1, 1]\n")
    assert np.load("made/out.npy").view(dtype).astype(np.float32).tolist() == ONES.tolist()
    assert command("diff", "model.onnx", "model.onnx", "--input", "x=x.npy").returncode == 0


@pytest.mark.parametrize("verb", ["run", "audit", "diff"])
def test_order_of_bytes_in_a_file_changes_nothing(verb: str) -> None:
    np.save("x.npy", np.array([[1, 3]], ">f4"))
    np.save("y.npy", np.array([[2, 2]], "<f4"))
    save([helper.make_node("Div", ["x", "y"], ["z"])], [tensor("x"), tensor("y")], [tensor("z")])
    models = ["model.onnx"] * (2 if verb == "diff" else 1)
    chosen = [] if verb == "diff" else ["--operators", "default"]
    shown = output(verb, *models, "--input", "x=x.npy", "--input", "y=y.npy", *chosen)
    if verb == "run":
        assert without_next(shown) == "z: float32 (1, 2) [0.5, 1.5]\n"
    if verb == "diff":
        assert "input x: float32 (1, 2) [1., 3.]\n" in shown


LONG = "StatefulPartitionedCall/" * 40


@pytest.mark.parametrize(
    ("one", "other"), [("a/b", "a_b"), ("A", "a"), ("x y", "x_y"), ("nul", "_nul")]
)
def test_values_with_one_file_are_refused_at_once(one: str, other: str) -> None:
    nodes = [helper.make_node(kind, ["x", "x"], [y]) for kind, y in (("Div", one), ("Sub", other))]
    save(nodes, [tensor("x")], [tensor(one), tensor(other)])
    for arguments in (
        ["run", "--operators", "default", "--output-dir", "made"],
        ["audit", "--save-values", "made"],
    ):
        done = command(arguments[0], "model.onnx", "--input", "x=x.npy", *arguments[1:])
        assert done.returncode == 2
        assert done.stderr.startswith(
            f"sonnx-ort: the values '{one}' and '{other}' would have the same file '"
        )
        assert not Path("made").exists()


def test_long_names_are_cut_and_stay_different(folder: Path) -> None:
    save([helper.make_node("Div", ["x", "x"], [LONG])], [tensor("x")], [tensor(LONG)])
    for arguments in (
        ["run", "--operators", "default", "--output-dir", "made", "--input", "x=x.npy"],
        ["audit", "--save-values", "values", "--input", "x=x.npy"],
        ["audit", "--values", "values"],
    ):
        assert command(arguments[0], "model.onnx", *arguments[1:]).returncode == 0
    (made,) = (folder / "made").iterdir()
    assert (folder / "values" / made.name).is_file()
    one, other = file_names([LONG, f"{LONG}x"]).values()
    assert one != other
    assert len(one) == 200


def test_text_that_a_file_would_cut_is_refused() -> None:
    with pytest.raises(SonnxError, match="text that ends in NUL cannot be written"):
        write_value(np.array(["a\0"], object), Path("t.npy"))
    assert not Path("t.npy").exists()


def test_input_that_contradicts_the_folder_is_refused() -> None:
    save([helper.make_node("Div", ["x", "x"], ["z"])], [tensor("x")], [tensor("z")])
    command("audit", "model.onnx", "--input", "x=x.npy", "--save-values", "values")
    np.save("x.npy", 2 * ONES)
    done = command("audit", "model.onnx", "--input", "x=x.npy", "--values", "values")
    place = Path("values", "x.npy")
    assert (done.returncode, done.stderr) == (
        2,
        f"sonnx-ort: the input 'x' that is given and '{place}' differ; leave one of them out\n",
    )


def test_wrong_type_of_a_given_value_is_shown_with_its_shape() -> None:
    save([helper.make_node("Div", ["x", "x"], ["z"])], [tensor("x")], [tensor("z")])
    command("audit", "model.onnx", "--input", "x=x.npy", "--save-values", "values")
    np.save("values/z.npy", ONES.astype(np.float64))
    done = command("audit", "model.onnx", "--values", "values")
    assert done.returncode == 1
    assert "  'z' is float64 (2, 2), and should be float32 (2, 2)\n" in done.stdout


def test_random_operators_draw_the_same_in_both_models() -> None:
    nodes = [
        helper.make_node("RandomUniform", [], ["r"], "draw", shape=[4], low=1.0),
        helper.make_node("Div", ["r", "r"], ["q"]),
        helper.make_node("Div", ["r", "q"], ["z"]),
    ]
    save(nodes, [], [tensor("z")])
    chosen = ("--operators", "default")
    assert command("rewrite", "model.onnx", "-o", "made.onnx", *chosen).returncode == 0
    for other in ("model.onnx", "made.onnx"):
        shown = output("diff", "model.onnx", other)
        assert "random operators without a seed drew as with one: RandomUniform 'draw'" in (shown)
    output("audit", "model.onnx")
