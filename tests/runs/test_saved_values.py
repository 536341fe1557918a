"""Runs, samples and values in files and folders: what is read again is what was written."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.audit.verdicts import Verdict
from sonnx_ort.runs.diff.difference import EXACT, compared, same
from sonnx_ort.runs.pairs import Runs, keep, kept, run_both
from sonnx_ort.runs.value_files import (
    file_names,
    read_samples,
    read_value,
    write_value,
    write_values,
)
from support.graphs import parse

MODELS = ("a.onnx", "b.onnx")
TYPES = """(float[3] x, int32[1] i, string[2] t) => (b, h, s, u, l) {
    [narrow] b = Cast<to = 16>(x) h = Cast<to = 10>(x) [list] s = SequenceConstruct(x, x)
    u = Identity(t) f = Cast<to = 1>(h) l = Less(x, f) }"""
ENDS = "(int32[1] x, int32[1] y) => (int32[1] z) { a = Neg(x) [divide] z = Div(a, y) }"


def runs_of(text: str, given: dict[str, np.ndarray], seeds: int = 1) -> list[tuple[str, Runs]]:
    samples = [(given, seed) for seed in range(seeds)]
    models = parse(text), parse(text)
    return [(f"sample {at}", each) for at, each in enumerate(run_both(*models, samples))]


def test_values_of_every_type_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = runs_of(TYPES, {"t": np.array(["a", "\u00e9"], object)}, 2)
    assert [*keep(written, tmp_path / "runs", MODELS)] == written
    models, found = kept(tmp_path / "runs")
    read = dict(found)
    assert models == MODELS
    assert list(read) == ["sample 0", "sample 1"]
    for name, runs in written:
        again = read[name]
        assert again.pair == runs.pair
        assert again.inputs.origin("x") == runs.inputs.origin("x")
        for before, after in zip(runs.traces, again.traces, strict=True):
            assert (before.nodes, before.stop) == (after.nodes, after.stop)
            assert list(before.values) == list(after.values)
            assert all(same(array, after.values[key]) for key, array in before.values.items())
        assert again.traces[0].values["s"] is None
        assert again.traces[0].values["b"].dtype == ml_dtypes.bfloat16
        assert compared(again, EXACT).equal


@pytest.mark.upstream
def test_run_that_ended_the_process_is_read_as_such(tmp_path: Path) -> None:
    given = {"x": np.array([-(2**31)], np.int32), "y": np.array([-1], np.int32)}
    (before,) = keep(runs_of(ENDS, given), tmp_path / "runs", MODELS)
    (after,) = kept(tmp_path / "runs")[1]
    assert after[1].traces[0].stop == before[1].traces[0].stop
    assert "SIGFPE" in str(after[1].traces[0].stop)


def test_folder_with_files_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SonnxError) as caught:
        next(keep(runs_of("(float x) => (float y) { y = Neg(x) }", {}), tmp_path, MODELS))
    assert str(caught.value) == f"'{tmp_path}' is not empty; name a new folder"


@pytest.mark.parametrize(("content", "reason"), [
    ("{", "cannot be read: "),
    (json.dumps({"version": 0}), "is of another version of sonnx_ort; save the runs again"),
    (json.dumps({"version": 1}), "cannot be read: KeyError('models'); save the runs again"),
    ("[]", "cannot be read: TypeError("),
], ids=["damaged", "another version", "no models", "no object"])  # fmt: skip
def test_what_was_not_saved_so_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "0").mkdir()
    path = tmp_path / "0" / "run.json"
    path.write_text(content)
    with pytest.raises(SonnxError) as caught:
        kept(tmp_path)
    assert str(caught.value).startswith(f"'{path}' {reason}")


INPUTS = ("x", "y:0")


def array(number: int) -> np.ndarray:
    return np.array([number, 2], np.float32)


def save(path: Path, number: int) -> None:
    path.parent.mkdir(exist_ok=True)
    np.save(path, array(number))


def save_proto(path: Path, number: int, name: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(array(number), name).SerializeToString())


def test_files_have_the_names_of_inputs(tmp_path: Path) -> None:
    save(tmp_path / "one" / "x.npy", 1)
    save(tmp_path / "one" / "y_0.npy", 2)
    found = read_samples(tmp_path / "one", INPUTS)
    assert list(found) == ["one"]
    assert {name: a.tolist() for name, a in found["one"].items()} == {"x": [1, 2], "y:0": [2, 2]}


def test_folder_of_folders_has_a_sample_in_each(tmp_path: Path) -> None:
    for number in (2, 1):
        save(tmp_path / f"sample{number}" / "x.npy", number)
    found = read_samples(tmp_path, INPUTS)
    assert [(name, a["x"].tolist()) for name, a in found.items()] == [
        ("sample1", [1, 2]),
        ("sample2", [2, 2]),
    ]


@pytest.mark.parametrize(
    ("names", "read"), [(("", ""), ["x", "y:0"]), (("y:0", "x"), ["y:0", "x"])]
)
def test_protocol_buffers_have_names_or_numbers(
    tmp_path: Path, names: tuple[str, str], read: list[str]
) -> None:
    for number, name in enumerate(names):
        save_proto(tmp_path / "set" / f"input_{number}.pb", number, name)
    (tmp_path / "set" / "output_0.pb").write_bytes(b"")
    (found,) = read_samples(tmp_path / "set", INPUTS).values()
    assert [(name, a.tolist()) for name, a in found.items()] == [
        (read[0], [0, 2]),
        (read[1], [1, 2]),
    ]


@pytest.mark.parametrize(("make", "told"), [
    (lambda _: None, "'{}' cannot be read: No such file or directory"),
    (lambda folder: folder.mkdir(),
     "'{}' has no samples; put NAME.npy or input_0.pb for inputs into it, or into "),
    (lambda folder: save(folder / "z.npy", 1), "'{}/z.npy' is none of an input; the inputs"),
    (lambda folder: save_proto(folder / "input_2.pb", 1, ""),
     "'{}/input_2.pb' is none of an input; the inputs are x, y:0"),
    (lambda folder: (folder.mkdir(), (folder / "input_0.pb").write_bytes(b"\xff")),
     "'{}/input_0.pb' is not a tensor of ONNX: "),
], ids=["no folder", "empty", "other name", "other number", "damaged"])  # fmt: skip
def test_folder_that_has_none(tmp_path: Path, make: Callable[[Path], object], told: str) -> None:
    folder = tmp_path / "folder"
    make(folder)
    with pytest.raises(SonnxError) as caught:
        read_samples(folder, INPUTS)
    assert str(caught.value).startswith(told.format(folder))


F = np.float32
MODEL = parse(
    "(float[n] x, float[n] y) => (float[n] z) { [add] s = Add(x, y) [divide] z = Div(s, y) }"
)
X, Y = F([1, 2, 3]), F([7, 5, 3])
VALUES = {"x": X, "y": Y, "s": X + Y, "z": (X + Y) / Y}


def written(folder: Path, **values: Any) -> Path:
    for name, array in values.items():
        np.save(folder / f"{name}.npy", array)
    return folder


@pytest.mark.satisfies("Needs.AI-011", "Needs.BOSCH-003")
def test_saved_values_of_a_run_are_audited_alike(tmp_path: Path) -> None:
    run = sonnx_ort.audit(MODEL, {"x": X, "y": Y}, save_values=tmp_path / "values")
    assert sorted(path.name for path in (tmp_path / "values").iterdir()) == [
        "s.npy", "x.npy", "y.npy", "z.npy",
    ]  # fmt: skip
    given = sonnx_ort.audit(MODEL, values=tmp_path / "values")
    assert given.nodes == run.nodes
    assert given.source == f"the files in '{tmp_path / 'values'}'"


def test_value_without_a_file_counts_as_joined(tmp_path: Path) -> None:
    values = {name: array for name, array in VALUES.items() if name != "s"}
    audit = sonnx_ort.audit(MODEL, values=written(tmp_path, **values))
    assert [(node.node, str(node.verdict)) for node in audit.nodes] == [
        ("add", "exact"),
        ("divide", "exact"),
    ]
    assert audit.nodes[1].recomputed == ("s",)


def test_value_that_the_run_has_not_is_not_saved(tmp_path: Path) -> None:
    """An optimizer joins both nodes; what the audit computes between them is not of the run."""
    model = parse("(float[n] x, float[n] y) => (float[n] z) <float one = {1}> "
        "{ a = Div(one, x) z = Mul(a, y) }")  # fmt: skip
    folder = tmp_path / "values"
    x, y = np.random.default_rng(1).uniform(1, 2, (2, 50)).astype(F)
    audit = sonnx_ort.audit(model, {"x": x, "y": y}, level="all", save_values=folder)
    assert audit.nodes[1].recomputed == ("a",)
    assert {path.name for path in folder.iterdir()} == {"x.npy", "y.npy", "z.npy"}


def test_saved_text_is_audited_as_in_the_run(tmp_path: Path) -> None:
    model = parse("(string[2] t) => (string[2] u) { u = Identity(t) }")
    feeds = {"t": np.array(["one", "two"], object)}
    run = sonnx_ort.audit(model, feeds, save_values=tmp_path / "values")
    assert sonnx_ort.audit(model, values=tmp_path / "values").nodes == run.nodes


def test_input_that_differs_from_its_file_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, **VALUES)
    assert sonnx_ort.audit(MODEL, {"x": X}, values=folder).ok
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(MODEL, {"x": np.nextafter(X, F(9))}, values=folder)
    assert str(caught.value) == (
        f"the input 'x' that is given and '{folder / 'x.npy'}' differ; leave one of them out"
    )


def test_values_of_another_byte_order_are_read_as_their_numbers(tmp_path: Path) -> None:
    swapped = {name: array.astype(F().dtype.newbyteorder()) for name, array in VALUES.items()}
    audit = sonnx_ort.audit(MODEL, values=written(tmp_path, **swapped))
    assert audit.counts[Verdict.EXACT] == 2


def test_inputs_are_told_by_the_digest_of_their_elements_in_row_major_order() -> None:
    model = parse("(float[2, 3] x, string[1] t) => (float[2, 3] y, string[1] u) "
        "{ y = Neg(x) u = Identity(t) }")  # fmt: skip
    x = np.asfortranarray(np.arange(6, dtype=F).reshape(2, 3))
    one, other = (
        sonnx_ort.audit(model, {"x": x, "t": np.array([text], object)}).inputs for text in "ab"
    )
    assert one["x"] == other["x"] == hashlib.sha256(np.arange(6, dtype=F).tobytes()).hexdigest()
    assert one["t"] != other["t"]


def test_inputs_may_be_given_apart(tmp_path: Path) -> None:
    values = {name: VALUES[name] for name in ("s", "z")}
    audit = sonnx_ort.audit(MODEL, {"x": X, "y": Y}, values=written(tmp_path, **values))
    assert audit.counts[Verdict.EXACT] == 2


@pytest.mark.parametrize("dtype", [
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu, ml_dtypes.float4_e2m1fn, ml_dtypes.int4,
    ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.bfloat16,
])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
@pytest.mark.parametrize("mapped", [False, True], ids=["read", "mapped"])
def test_types_that_numpy_does_not_have_are_read_as_they_were_written(
    tmp_path: Path, dtype: type, shape: tuple[int, ...], mapped: bool
) -> None:
    before = np.ones(shape, np.float32).astype(dtype)
    write_value(before, tmp_path / "v.npy")
    after = read_value(tmp_path / "v.npy", mapped=mapped)
    typed = after.view(dtype) if dtype is ml_dtypes.bfloat16 else after
    assert (typed.dtype, typed.shape, typed.tobytes()) == (dtype, shape, before.tobytes())


def test_sequence_of_types_that_numpy_does_not_have_is_read_as_it_was_written(
    tmp_path: Path,
) -> None:
    write_value([X.astype(ml_dtypes.int4)], tmp_path / "v.npz")
    (after,) = read_value(tmp_path / "v.npz")
    assert after.dtype == ml_dtypes.int4


@pytest.mark.parametrize("to", [17, 19, 22])
def test_saved_values_of_small_types_are_audited_as_in_the_run(tmp_path: Path, to: int) -> None:
    text = f"(float[3] x) => (float[3] z) {{ s = Cast<to = {to}>(x) z = Cast<to = 1>(s) }}"
    model = parse(text, opset=21, ir_version=10)
    run = sonnx_ort.audit(model, {"x": X}, save_values=tmp_path / "values")
    assert sonnx_ort.audit(model, values=tmp_path / "values").nodes == run.nodes


@pytest.mark.parametrize("elements", [
    X.astype(ml_dtypes.float8_e4m3fn), np.zeros(3, [("one", "u1"), ("other", "u1")]),
], ids=["of one byte", "records of two"])  # fmt: skip
def test_file_without_the_type_of_its_elements_is_told(
    elements: np.ndarray[Any, Any], tmp_path: Path
) -> None:
    model = parse("(float[3] x) => (float[3] z) { s = Cast<to = 17>(x) z = Cast<to = 1>(s) }")
    written(tmp_path, x=X, s=elements, z=X)
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(model, values=tmp_path)
    assert str(caught.value) == (
        f"'{tmp_path / 's.npy'}' does not say the type of its elements; write the value 's' with "
        "numpy.save(file, array.view([(array.dtype.name, 'u1')]))"
    )


def test_values_of_bfloat16_are_read(tmp_path: Path) -> None:
    model = parse("(bfloat16[n] x, bfloat16[n] y) => (bfloat16[n] z) { [divide] z = Div(x, y) }")
    x, y = X.astype(ml_dtypes.bfloat16), Y.astype(ml_dtypes.bfloat16)
    audit = sonnx_ort.audit(model, values=written(tmp_path, x=x, y=y, z=x / y))
    assert audit.counts[Verdict.EXACT] == 1


@pytest.mark.parametrize(("values", "message"), [
    ({"x": X, "y": Y, "s": X},
     "there is no file for 'z'; write 'z.npy' with numpy.save, or give inputs with inputs="),
    ({"y": Y, "z": X},
     "there is no file for 'x'; write 'x.npy' with numpy.save, or give inputs with inputs="),
    ({**VALUES, "q": X},
     ("'q.npy' in 'FOLDER' has the name of no value of the model; remove it, or give it the name "
      "of its value")),
    ({**VALUES, "x": X.astype(np.float64)},
     ("the input 'x' is float64 of shape (3,), but the model needs float32 of shape (n,); convert "
      "it, for example with astype('float32')")),
])  # fmt: skip
def test_unusable_values_are_told(values: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(MODEL, values=written(tmp_path, **values))
    assert str(caught.value).replace(str(tmp_path), "FOLDER") == message


def test_file_that_is_no_array_is_told(tmp_path: Path) -> None:
    written(tmp_path, **VALUES)
    (tmp_path / "s.npy").write_bytes(b"no array")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(MODEL, values=tmp_path)
    assert str(caught.value) == (
        f"'{tmp_path / 's.npy'}' is not a complete .npy file of numbers or text; write it with "
        "numpy.save"
    )


def test_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SonnxError, match=r"^there is no folder '.*nowhere'$"):
        sonnx_ort.audit(MODEL, values=tmp_path / "nowhere")


def test_values_are_saved_to_an_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("other")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(MODEL, {"x": X, "y": Y}, save_values=tmp_path)
    assert str(caught.value) == f"'{tmp_path}' is not empty; name a new folder"


def test_values_are_saved_to_no_file(tmp_path: Path) -> None:
    (tmp_path / "values").write_bytes(b"kept")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(MODEL, {"x": X, "y": Y}, save_values=tmp_path / "values")
    assert str(caught.value) == f"'{tmp_path / 'values'}' is a file; name a new folder"
    assert (tmp_path / "values").read_bytes() == b"kept"


def test_two_values_of_one_file_are_told(tmp_path: Path) -> None:
    model = parse("(float[n] x) => (float[n] z) { a = Abs(x) z = Neg(a) }")
    for node in model.graph.node:
        node.input[:] = ["a/b" if name == "a" else name for name in node.input]
        node.output[:] = ["a/b" if name == "a" else "a:b" for name in node.output]
    model.graph.output[0].name = "a:b"
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(model, values=tmp_path)
    assert str(caught.value) == (
        "the values 'a:b' and 'a/b' would have the same file 'a_b.npy'; rename one of them in the "
        "model"
    )


def test_names_that_windows_reserves_are_changed() -> None:
    names = file_names(["con", "LPT1.weight", "contrast"])
    assert list(names.values()) == ["_con", "_LPT1.weight", "contrast"]


def test_long_names_that_differ_at_their_ends_alone_have_two_files() -> None:
    names = file_names(["n" * 300 + end for end in "ab"]).values()
    assert len(set(names)) == 2
    assert max(map(len, names)) <= 200


def test_values_whose_names_differ_in_capitals_alone_have_one_file() -> None:
    with pytest.raises(SonnxError) as caught:
        file_names(["gain", "Gain"])
    assert str(caught.value) == (
        "the values 'gain' and 'Gain' would have the same file 'Gain.npy'; rename one of them in "
        "the model"
    )


def test_file_that_is_read_is_not_written(tmp_path: Path) -> None:
    read = tmp_path / "x.npy"
    np.save(read, array(1))
    with pytest.raises(SonnxError) as caught:
        write_values({"w": array(2), "x": array(3)}, tmp_path, [read])
    assert str(read) in str(caught.value)
    assert np.load(read).tolist() == array(1).tolist()
    assert not (tmp_path / "w.npy").exists()


def test_text_that_a_file_would_lose_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SonnxError) as caught:
        write_value(np.array(["a", "b\0"], object), tmp_path / "t.npy")
    assert str(caught.value) == "text that ends in NUL cannot be written: .npy files lose that end"
    assert [*tmp_path.iterdir()] == []


def test_records_that_only_share_a_name_with_a_type_stay_records(tmp_path: Path) -> None:
    given = np.array([(1,), (2,)], [("int4", np.int16)])
    np.save(tmp_path / "r.npy", given)
    found = read_value(tmp_path / "r.npy")
    assert isinstance(found, np.ndarray)
    assert found.dtype == given.dtype
