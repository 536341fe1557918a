"""What is no usable model is refused with a sentence."""

import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sonnx_ort
from sonnx_ort.loading import source
from sonnx_ort.loading.external_data import check_elements
from support.child import run_python
from support.graphs import binary_model, parse


def valid() -> onnx.ModelProto:
    return binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])


def refusal(source: object) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(source)  # type: ignore[call-overload]
    return str(caught.value)


def test_missing_file() -> None:
    assert refusal("nowhere.onnx") == "there is no file 'nowhere.onnx'"


def test_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"'{tmp_path}' is a folder; give the model's file"


def test_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x0a\xff no model")
    message = refusal(path)
    assert message.startswith(f"'{path}' is not a complete ONNX model (11 bytes: ")
    assert message.endswith("); copy or export it again")


def test_file_that_is_too_large_for_a_model_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source.LARGEST == (1 << 31) - 1
    path = tmp_path / "model.onnx"
    path.write_bytes(valid().SerializeToString())
    monkeypatch.setattr(source, "LARGEST", path.stat().st_size - 1)
    assert refusal(path) == f"'{path}' is not an ONNX model: it is larger than 2 GiB"


@pytest.mark.parametrize("kept", [1, 20, 60, -1])
def test_truncated_file(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(valid().SerializeToString()[:kept])
    assert refusal(path).startswith(f"'{path}' is not a complete ONNX model (")


def test_empty_bytes() -> None:
    assert refusal(b"") == "the bytes are empty; copy or export the model again"


def test_bytes_that_are_no_model() -> None:
    assert refusal(b"\xff\xff").startswith("the bytes are not a complete ONNX model (2 bytes: ")


@pytest.mark.parametrize("version", [0, -1, 9999])
def test_unknown_opset(version: int) -> None:
    made = valid()
    made.opset_import[0].version = version
    newest = onnx.defs.onnx_opset_version()
    assert refusal(made) == (
        f"the model imports version {version} of the ONNX operators; this installation knows 1 to "
        f"{newest}: upgrade onnx, or export to one of these"
    )


@pytest.mark.parametrize("names", [("", ""), ("", "ai.onnx"), ("ai.onnx", ""), ("d", "d")])
def test_domain_that_is_imported_twice(names: tuple[str, str]) -> None:
    """ONNX Runtime takes the last version."""
    made = valid()
    del made.opset_import[:]
    made.opset_import.extend(helper.make_opsetid(name, 13 + k) for k, name in enumerate(names))
    if "d" in names:
        made.opset_import.add(domain="", version=13)
    name = "d" if "d" in names else "ai.onnx"
    assert refusal(made) == (
        f"the domain '{name}' is imported twice, in the versions 13 and 14; keep one of them"
    )


def test_version_that_is_imported_twice_is_imported_once() -> None:
    """As skl2onnx writes it."""
    made = valid()
    given = made.opset_import[0].version
    made.opset_import.extend(helper.make_opsetid(name, given) for name in ("", "ai.onnx"))
    imported = [(each.domain, each.version) for each in sonnx_ort.rewrite(made).opset_import]
    assert imported == [("", given), ("sonnx", 1)]


def test_domain_that_a_function_imports_twice() -> None:
    made = valid()
    node = helper.make_node("Neg", ["a"], ["b"])
    imports = [helper.make_opsetid("", version) for version in (13, 14)]
    made.functions.append(helper.make_function("d", "F", ["a"], ["b"], [node], imports))
    assert refusal(made) == (
        "the domain 'ai.onnx' is imported twice, in the versions 13 and 14; keep one of them"
    )


@pytest.mark.parametrize("names", [("value", "value_ints"), ("value_ints", "value")])
def test_constant_of_several_values(names: tuple[str, str]) -> None:
    """ONNX Runtime takes the first."""
    made = parse("(int64[2] x) => (int64[2] z) { [c] c = Constant() z = Div(x, c) }")
    values = {"value": numpy_helper.from_array(np.array([3, 3])), "value_ints": [0, 0]}
    for name in names:
        made.graph.node[0].attribute.append(helper.make_attribute(name, values[name]))
    assert refusal(made) == f"Constant 'c' has several values: {' and '.join(names)}; keep one"


def test_unknown_operator() -> None:
    made = valid()
    made.graph.node[0].op_type = "Quotient"
    assert refusal(made) == (
        "the model is not valid ONNX: No Op registered for Quotient with domain_version of 17 "
        "==> Context: Bad node spec for node. Name: the_node OpType: Quotient"
    )


@pytest.mark.parametrize(
    "name",
    ["given", "size", "result", "computed", "fixed", "the_node", "inner", "inner_node", "claimed"],
)
def test_name_that_is_no_text(name: str) -> None:
    made = parse("""(bool p, float[size] given) => (float[size] result) <float[1] fixed = {1}> {
        [the_node] computed = Neg(given)
        chosen = If (p) <
            then_branch = then () => (float[size] inner) { [inner_node] inner = Abs(computed) },
            else_branch = else () => (float[size] other) { other = Add(computed, fixed) }
        >
        result = Div(chosen, given)
    }""")
    made.graph.value_info.append(helper.make_tensor_value_info("claimed", 1, None))
    content = made.SerializeToString()
    broken = content.replace(name.encode(), b"\xff" * len(name))
    assert broken != content
    odd = bytes([0xFF]) * len(name)
    assert refusal(broken) == f"the name {odd!r} is not valid UTF-8; give it another"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("some_key", b"\xff\xff\xff\xff\xff\xff\xff\xff"), ("some_text", "some_key")],
)
def test_metadata_that_are_no_text(text: str, shown: str | bytes) -> None:
    made = valid()
    made.metadata_props.add(key="some_key", value="some_text")
    broken = made.SerializeToString().replace(text.encode(), b"\xff" * len(text))
    assert refusal(broken) == (
        f"the entry {shown!r} of its metadata is not valid UTF-8; write it in UTF-8"
    )


def test_reference_to_the_parameter_of_no_function() -> None:
    made = parse("(float[2] x) => (float[2] y) { [scale] y = Elu<alpha = 2.0>(x) }")
    (alpha,) = made.graph.node[0].attribute
    alpha.ref_attr_name = "slope"
    assert refusal(made) == (
        "Elu 'scale': its alpha refers to a parameter 'slope' of a function, but the node is in "
        "no function; write the value"
    )


def test_function_with_a_graph_as_a_parameter() -> None:
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        agraph (bool c, float[2] x) => (float[2] y) {
            y = local.choose<body: graph = then () => (float[2] t) { t = Neg(x) }>(c, x)
        }
        <domain: "local", opset_import: ["" : 18]> choose <body> (c, x) => (y) {
            [branch] y = If(c) <
                then_branch: graph = @body, else_branch: graph = other () => (e) { e = Neg(x) }
            >
        }""")
    assert refusal(made) == (
        "If 'branch' in the model-local function 'choose': its then_branch is a graph that each "
        "call passes; inline the function"
    )


def test_unknown_element_type_of_an_initializer() -> None:
    made = valid()
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.float32), "w"))
    made.graph.initializer[0].data_type = 77
    assert refusal(made) == (
        "tensor 'w' has the element type 77, which this installation does not know; upgrade onnx "
        "and onnx-ir, or export the model again"
    )


UNPACK = "unpack it, and give the model that it contains"


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.onnx", "content")
    return file.getvalue()


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return file.getvalue()


def _array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.ones(3))
    return file.getvalue()


POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f"
    b"32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)
HTML = "is a page of HTML, such as a login or an error, and no model"
TEXT = "is text; give a model in the binary form of ONNX, or end the name of its text with .onnxtxt"
EMPTY = "is empty; copy or export the model again"

FILES = {
    "empty": (b"", EMPTY),
    "zeros": (bytes(100), "is filled with zeros, as after an interrupted copy"),
    "Git LFS": (POINTER, "is a pointer of Git LFS, and no model; get the model with `"),
    "gzip": (gzip.compress(b"model"), f"is compressed by gzip; {UNPACK}"),
    "bzip2": (bz2.compress(b"model"), f"is compressed by bzip2; {UNPACK}"),
    "xz": (lzma.compress(b"model"), f"is compressed by xz; {UNPACK}"),
    "zip": (_zip(), f"is a zip archive; {UNPACK}, or, if it is a file of PyTorch or Keras, export"),
    "tar": (_tar(), f"is an archive of tar; {UNPACK}"),
    ".ort": (b"\x18\0\0\0ORTM" + bytes(90), "is a model in the format of ONNX Runtime (.ort)"),
    ".tflite": (b"\x1c\0\0\0TFL3" + bytes(90), "is a model of TensorFlow Lite"),
    ".h5": (b"\x89HDF\r\n\x1a\n" + bytes(90), "is a file of HDF5, as Keras writes"),
    ".npy": (_array(), "is an array of numpy; give the model's file"),
    "pickle": (pickle.dumps({"weights": [1.0]}), "is a pickle, as PyTorch and scikit-learn write"),
    "safetensors": (b"\x40\0\0\0\0\0\0\0" + b'{"w": {}}', "is a file of safetensors"),
    "HTML": (b"\n<!DOCTYPE html>\n<html><head>", HTML),
    "html": (b"\xef\xbb\xbf<html lang='en'>", HTML),
    "text": (b"Not Found\n", TEXT),
    "JSON": (b'{"irVersion": "10"}', TEXT),
    "text of a model": (b'<ir_version: 10, opset_import: ["": 20]>', TEXT),
}


@pytest.mark.parametrize("name", FILES)
def test_file(tmp_path: Path, name: str) -> None:
    content, told = FILES[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(path, operators="default")
    assert str(caught.value).startswith(f"'{path}' {told}")
    assert "export it again" not in str(caught.value)


@pytest.mark.parametrize("name", FILES)
def test_bytes(name: str) -> None:
    content, told = FILES[name]
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.check(content, operators="default")
    assert str(caught.value).startswith(f"the bytes are {told.removeprefix('is ')}")


ONCE, TWICE = 1, 2

CHECK = """
import sonnx_ort
from support.graphs import parse

made = parse(
    "(float[2, 2] x, float[2, 2] y) => (float[] z)"
    ' { z = Einsum<equation = "ij,jk->ik">(x, y) }'
)
made.graph.node[0].attribute[0].s = EQUATION
try:
    sonnx_ort.check(made)
    print("checked")
except sonnx_ort.InvalidModel as error:
    print(str(error).partition(", or")[0])
"""


def calling(levels: int, calls: int) -> onnx.ModelProto:
    """Functions of which each calls the one before."""
    made = parse(f"(float[2] x) => (float[] y) {{ y = local.f{levels}(x) }}", domains={"local": 1})
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    first = [helper.make_node("Div", ["a", "a"], ["b"])]
    made.functions.append(helper.make_function("local", "f0", ["a"], ["b"], first, imports))
    for level in range(1, levels + 1):
        names = ["a", *(f"t{n}" for n in range(calls - 1)), "b"]
        nodes = [
            helper.make_node(f"f{level - 1}", [names[n]], [names[n + 1]], domain="local")
            for n in range(calls)
        ]
        made.functions.append(
            helper.make_function("local", f"f{level}", ["a"], ["b"], nodes, imports)
        )
    return made


@pytest.mark.parametrize("operators", ["default", "profile"])
@pytest.mark.parametrize("levels", [14, 18, 60])
def test_functions_that_call_each_other_twice_are_refused(levels: int, operators: str) -> None:
    with pytest.raises(sonnx_ort.InvalidModel, match="replacing each call by its"):
        sonnx_ort.check(calling(levels, TWICE), operators=operators)


@pytest.mark.parametrize(("levels", "calls", "nodes"), [(3, TWICE, 8), (30, ONCE, 1)])
def test_functions_that_give_few_nodes_are_examined(levels: int, calls: int, nodes: int) -> None:
    report = sonnx_ort.check(calling(levels, calls), operators="Div")
    assert len({each.node for each in report.obligations}) == nodes


@pytest.mark.parametrize(
    "equation", ["i.j->ij", "ij,jk.", "é", "..", "ij....", "i...j...", "ij->", "i j, j k -> i k"]
)
def test_einsum_whose_equation_is_read_for_ever_is_refused(equation: str) -> None:
    child = run_python(f"EQUATION = {equation.encode()!r}{CHECK}", timeout=60)
    refused = (
        f"Einsum '': its equation is {equation!r}; it must have terms of letters and at most one "
        "'...' each, as in 'ij,jk->ik'\n"
    )
    fits = equation in ("ij->", "i j, j k -> i k")
    assert (child.exit_status, child.stdout) == (0, "checked\n" if fits else refused), child


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.INT64])
def test_tensor_of_more_axes_than_an_array_has_is_refused(kind: int) -> None:
    made = parse("(float[2] x) => (float[] y) { y = Add(x, c) }")
    made.graph.initializer.append(TensorProto(name="c", data_type=kind, dims=[1] * 100))
    made.graph.initializer[0].raw_data = bytes(4 if kind == TensorProto.FLOAT else 8)
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        sonnx_ort.check(made, operators="default")
    assert str(refused.value) == (
        "tensor 'c' has 100 axes, and arrays have at most 64; take axes of size 1 away"
    )


TYPES = sorted(
    set(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING}
)


def with_tensor(tensor: onnx.TensorProto) -> onnx.ModelProto:
    made = parse("(float[2] x) => (float[2] y) { y = Div(x, x) }")
    made.graph.initializer.append(tensor)
    return made


def refusal_of_elements(tensor: onnx.TensorProto) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        check_elements(with_tensor(tensor))
    return str(caught.value)


def test_model_with_too_many_elements_is_refused() -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.INT64, dims=[2])
    tensor.int64_data.extend(range(4))
    with pytest.raises(sonnx_ort.InvalidModel, match="needs 2 entries, and the file has 4"):
        sonnx_ort.check(with_tensor(tensor), operators="default")


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("size", [0, 1, 3, 4])
@pytest.mark.parametrize("element_type", TYPES, ids=onnx.TensorProto.DataType.Name)
def test_what_onnx_writes_is_complete(element_type: int, size: int, *, raw: bool) -> None:
    tensor = helper.make_tensor("t", element_type, [size], np.ones(size, np.float32))
    if raw:
        tensor = numpy_helper.from_array(numpy_helper.to_array(tensor), "t")
    check_elements(with_tensor(tensor))


def test_strings_are_complete() -> None:
    check_elements(with_tensor(helper.make_tensor("t", onnx.TensorProto.STRING, [2], ["a", "b"])))


@pytest.mark.parametrize(
    ("sizes", "stored", "needed"), [([2], 4, 2), ([], 2, 1), ([3], 2, 3), ([2, 0], 1, 0)]
)
def test_list_of_another_length(sizes: list[int], stored: int, needed: int) -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.INT64, dims=sizes)
    tensor.int64_data.extend(range(stored))
    assert refusal_of_elements(tensor) == (
        f"tensor 't' of shape {sizes} needs {needed} entries, and the file has {stored}; export "
        "the model again"
    )


def test_bytes_of_another_length() -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.FLOAT, dims=[2], raw_data=b"123")
    assert refusal_of_elements(tensor).startswith(
        "tensor 't' of shape [2] needs 8 bytes, and the file has 3"
    )


def test_negative_size() -> None:
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.FLOAT, dims=[-1, -1])
    tensor.float_data.append(1)
    assert refusal_of_elements(tensor) == "tensor 't' has a negative size: [-1, -1]"


def test_tensor_of_an_attribute() -> None:
    made = parse("(float[2] x) => (float[2] y) { y = Div(x, x) }")
    tensor = onnx.TensorProto(name="t", data_type=onnx.TensorProto.INT64, dims=[5])
    tensor.int64_data.append(1)
    made.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))
    with pytest.raises(sonnx_ort.InvalidModel, match=r"shape \[5\] needs 5 entries"):
        check_elements(made)


def test_tensor_of_an_attribute_of_an_unknown_type() -> None:
    made = parse("(float[2] x) => (float[2] y) { y = Div(x, x) }")
    tensor = onnx.TensorProto(name="t", data_type=77, dims=[5])
    made.graph.node.insert(0, helper.make_node("Constant", [], ["c"], value=tensor))
    with pytest.raises(sonnx_ort.InvalidModel, match="tensor 't' has the element type 77"):
        check_elements(made)
