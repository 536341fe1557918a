"""What a model says about external data is checked before anything is read or written."""

import os
import socket
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from sonnx_ort.loading.external_data import check_references, load_external_data
from support.command import command
from support.graphs import tensor

LONG = "x" * 5000
OUTSIDE = "lies outside the model's folder; external data must lie in that folder or below it"
EXPORT = "export the model again"
CUT = "the file is truncated"
HERE = ("location", "w.bin")

ENTRIES: dict[str, tuple[list[tuple[str, str]], str]] = {
    "no entry": ([], f"'' {OUTSIDE}"),
    "no location": ([("offset", "0")], f"'' {OUTSIDE}"),
    "above": ([("location", "../w.bin")], f"'../w.bin' {OUTSIDE}"),
    "above in the middle": ([("location", "a/../../w.bin")], f"'a/../../w.bin' {OUTSIDE}"),
    "absolute": ([("location", "/etc/passwd")], f"'/etc/passwd' {OUTSIDE}"),
    "of Windows": ([("location", "C:\\w.bin")], f"'C:\\w.bin' {OUTSIDE}"),
    "above in Windows": ([("location", "..\\w.bin")], f"'..\\w.bin' {OUTSIDE}"),
    "NUL": ([("location", "w.bin\0x")],
        "has the location 'w.bin\\x00x', which no file should have; rename it"),
    "escape sequence": ([("location", "\x1b[31m")],
        "has the location '\\x1b[31m', which no file should have; rename it"),
    "unknown": ([HERE, ("basepath", "/etc")],
        "has an unknown entry 'basepath'; write only location, offset, length, checksum"),
    "location twice": ([HERE, HERE], "has the entry 'location' twice; write it once"),
    "offset twice": ([HERE, ("offset", "4"), ("offset", "0")],
        "has the entry 'offset' twice; write it once"),
    **{
        f"{key} {number!r}": (
            [HERE, (key, number)],
            f"has the {key} {number!r}, which is no number of bytes; {EXPORT}",
        )
        for key in ("offset", "length")
        for number in ("", "many", "-4", "+4", " 4", "4.0", "0x4", "1_0", "\u0664", "9" * 30)
    },
    "length too small": ([HERE, ("length", "8")],
        f"has 8 bytes, but 16 are needed for the shape [4]; {EXPORT}"),
    "length too large": ([HERE, ("length", "17")],
        f"has 17 bytes, but 16 are needed for the shape [4]; {EXPORT}"),
    "length 0": ([HERE, ("length", "0")],
        f"has 0 bytes, but 16 are needed for the shape [4]; {EXPORT}"),
}  # fmt: skip

FILES: dict[str, tuple[list[tuple[str, str]], str]] = {
    "missing": ([("location", "none")], "'none' is missing; keep it beside the model"),
    "too long": ([("location", LONG)], f"'{'x' * 80}...' cannot be read: File name too long"),
    "folder": ([("location", "folder")], "'folder' is no file; put the file itself there"),
    "pipe": ([("location", "pipe")], "'pipe' is no file; put the file itself there"),
    "socket": ([("location", "socket")], "'socket' is no file; put the file itself there"),
    "link outside": ([("location", "outside")], (
        "'outside' is a link that leads outside the model's folder; put the file itself there, "
        "or make the model's file a link into the same folder")),
    "link to itself": ([("location", "itself")],
        "'itself' cannot be read: Too many levels of symbolic links"),
    "cut without a length": ([("location", "cut")],
        "'cut' ends at byte 8, but the tensor reaches to byte 16; the file is truncated"),
    "cut with a length": ([("location", "cut"), ("length", "16")],
        "'cut' ends at byte 8, but the tensor reaches to byte 16; the file is truncated"),
    "cut by an offset": ([HERE, ("offset", "20")],
        "'w.bin' ends at byte 32, but the tensor reaches to byte 36; the file is truncated"),
    "offset far beyond": ([HERE, ("offset", "9" * 18)],
        f"'w.bin' ends at byte 32, but the tensor reaches to byte {10**18 + 15}; {CUT}"),
}  # fmt: skip

WHERE = ["initializer", "Constant", "branch", "function", "sparse"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(32))
    monkeypatch.chdir(tmp_path / "model")
    Path("w.bin").write_bytes(np.arange(8, dtype=np.float32).tobytes())
    Path("cut").write_bytes(bytes(8))
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("outside").symlink_to("../w.bin")
    Path("itself").symlink_to("itself")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")


def referring(entries: list[tuple[str, str]], kind: int = 1, size: int = 4) -> TensorProto:
    made = TensorProto(name="w", data_type=kind, dims=[size], data_location=TensorProto.EXTERNAL)
    for key, value in entries:
        made.external_data.add(key=key, value=value)
    return made


def model(weights: TensorProto, where: str = "initializer") -> onnx.ModelProto:
    """A model that has these weights in a certain place."""
    nodes = [helper.make_node("Div", ["a", "w"], ["c"], name="div")]
    constant = helper.make_node("Constant", [], ["w"], value=weights)
    initializers, sparse, functions = [], [], []
    domains = [helper.make_opsetid("", 20)]
    match where:
        case "initializer":
            initializers = [weights]
        case "Constant":
            nodes = [constant, *nodes]
        case "branch":
            body = helper.make_graph([constant], "body", [], [tensor("w", "float", [4])])
            choose = helper.make_node("If", ["p"], ["w"], then_branch=body, else_branch=body)
            nodes = [choose, *nodes]
        case "function":
            functions = [helper.make_function("local", "weights", [], ["w"], [constant], domains)]
            nodes = [helper.make_node("weights", [], ["w"], domain="local"), *nodes]
            domains = [*domains, helper.make_opsetid("local", 1)]
        case "sparse":
            indices = helper.make_tensor("i", TensorProto.INT64, [4], range(4))
            sparse = [helper.make_sparse_tensor(weights, indices, [4])]
    graph = helper.make_graph(
        nodes,
        "g",
        [tensor("a", "float", [4]), tensor("p", "bool", [])],
        [tensor("c", "float", [4])],
        initializers,
        sparse_initializer=sparse,
    )
    return helper.make_model(graph, opset_imports=domains, functions=functions, ir_version=10)


def refusal(made: onnx.ModelProto) -> str:
    Path("m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check("m.onnx", operators="default")
    return str(caught.value)


def test_tensor_without_elements_has_no_bytes() -> None:
    check_references(model(referring([HERE, ("length", "0")], size=0)))


def test_bytes_of_an_unknown_element_type_are_not_known() -> None:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        check_references(model(referring([HERE], kind=77)))
    assert str(caught.value) == (
        "tensor 'w': its external data is for the element type 77, which this installation does "
        "not know; upgrade onnx and onnx-ir, or export the model again"
    )


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("name", [*ENTRIES, *FILES])
def test_unusable_reference(name: str, where: str) -> None:
    entries, told = (ENTRIES | FILES)[name]
    assert refusal(model(referring(entries), where)) == f"tensor 'w': its external data {told}"


@pytest.mark.parametrize("name", ENTRIES)
def test_unusable_reference_without_a_folder(name: str) -> None:
    entries, told = ENTRIES[name]
    made = model(referring(entries))
    for source in (made, made.SerializeToString()):
        with pytest.raises(sonnx_ort.InvalidModel) as caught:
            sonnx_ort.rewrite(source)
        assert str(caught.value) == f"tensor 'w': its external data {told}"


COMMANDS = [
    "check m.onnx",
    "check m.onnx --record {}",
    "check m.onnx -o {}",
    "rewrite m.onnx -o {}",
    "rewrite m.onnx -o {} --backend native --record r.json",
    "rewrite m.onnx -o {} --backend native --certificate c.json",
    "conform m.onnx -o {}",
    "certify m.onnx -o {}",
    "audit m.onnx -o {}",
    "audit m.onnx --save-values {}",
    "run m.onnx --output-dir {}",
    "diff m.onnx m.onnx",
    "reduce m.onnx --differs -o {}",
]


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("name", ["NUL", "too long", "cut without a length", "length 0", "pipe"])
def test_commands_write_nothing(line: str, name: str) -> None:
    entries, told = (ENTRIES | FILES)[name]
    Path("m.onnx").write_bytes(model(referring(entries)).SerializeToString())
    before = sorted(Path().iterdir())
    done = command(*line.format("made").split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"sonnx-ort: tensor 'w': its external data {told}\n"
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("field", ["raw_data", "float_data", "int64_data"])
def test_elements_beside_external_data(field: str) -> None:
    weights = referring([HERE])
    if field == "raw_data":
        weights.raw_data = bytes(16)
    else:
        getattr(weights, field).append(1)
    assert refusal(model(weights)) == (
        "tensor 'w': its external data stands beside elements in the model; keep one of them"
    )


@pytest.mark.parametrize("name", ["above", *FILES])
def test_elements_are_not_loaded_from_an_unusable_reference(name: str) -> None:
    """Also where nothing looked at it before, as in a model that was given in memory."""
    entries, told = (ENTRIES | FILES)[name]
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        load_external_data([referring(entries)], Path())
    assert str(caught.value) == f"tensor 'w': its external data {told}"


def test_elements_in_the_model_are_no_more_than_the_shape_says() -> None:
    weights = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], raw_data=bytes(20))
    assert refusal(model(weights)) == (
        f"tensor 'w' of shape [4] needs 16 bytes, and the file has 20; {EXPORT}"
    )
    entries = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], float_data=[0] * 5)
    assert refusal(model(entries)) == (
        f"tensor 'w' of shape [4] needs 4 entries, and the file has 5; {EXPORT}"
    )


def test_reference_that_is_not_in_use() -> None:
    weights = referring([("location", "/none")])
    weights.data_location = TensorProto.DEFAULT
    weights.raw_data = np.ones(4, np.float32).tobytes()
    assert sonnx_ort.check(model(weights), operators="default").ok


def test_negative_size() -> None:
    assert refusal(model(referring([HERE], size=-1))) == (
        "tensor 'w': its external data is for a negative size: [-1]"
    )


@pytest.mark.parametrize(
    ("kind", "size", "needed"),
    [
        ("INT4", 65, 33),
        ("UINT4", 65, 33),
        ("FLOAT4E2M1", 65, 33),
        ("DOUBLE", 5, 40),
        ("BOOL", 33, 33),
    ],
)
def test_size_in_bytes_follows_the_type(kind: str, size: int, needed: int) -> None:
    made = model(referring([HERE], getattr(TensorProto, kind), size))
    assert refusal(made) == (
        f"tensor 'w': its external data 'w.bin' ends at byte 32, but the tensor reaches to byte "
        f"{needed}; the file is truncated"
    )


@pytest.mark.parametrize(
    "entries",
    [
        [HERE],
        [HERE, ("offset", "16")],
        [HERE, ("offset", "0"), ("length", "16"), ("checksum", "unknown")],
        [("location", "./w.bin")],
    ],
)
def test_usable_reference(entries: list[tuple[str, str]]) -> None:
    Path("m.onnx").write_bytes(model(referring(entries)).SerializeToString())
    (weights,) = sonnx_ort.rewrite("m.onnx").graph.initializer
    feeds = {"a": np.ones(4, np.float32), "p": np.array(True)}
    for backend in ("python", "native"):
        session = sonnx_ort.InferenceSession("m.onnx", backend=backend)
        assert session.run(None, feeds)[0].shape == (4,)
    start = 4 if ("offset", "16") in entries else 0
    assert onnx.numpy_helper.to_array(weights).tolist() == [start, start + 1, start + 2, start + 3]
