"""The files: ONNX's own folders, a manifest, the same bytes each time, and small."""

import hashlib
import json
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from sonnx_ort.errors import SonnxError
from sonnx_ort.meaning import Result
from sonnx_ort.meaning.results import Copies
from sonnx_ort.vectors.cases import cases
from sonnx_ort.vectors.documents import LEFT_OUT
from sonnx_ort.vectors.entries import origins_of
from sonnx_ort.vectors.suite import MANIFEST, vectors, write
from sonnx_ort.versions import VERSION
from support.child import run_python
from support.pages import REPOSITORY

MEBIBYTE = 1 << 20


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def entries(folder: Path) -> dict[str, dict[str, object]]:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for entry in manifest["cases"]:
        assert "model.onnx" in entry.pop("files")
    return {entry.pop("id"): entry for entry in manifest["cases"]}


def test_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("three", 4)):
        write(cases(["Gemm"], seed), tmp_path / name, seed)
    one, two, three = (content(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    inputs = [name for name in one if "input" in name]
    assert inputs == [name for name in three if "input" in name]
    assert [one[name] for name in inputs] != [three[name] for name in inputs]


def test_files_are_read_as_the_cases_that_were_written(suite: Path) -> None:
    made = [*cases(["Div", "MatMul", "Sigmoid", "Reshape", "LSTM"])]
    read = [*vectors(suite)]
    assert len(read) == len(made)
    for case, vector in zip(made, read, strict=True):
        onnx.checker.check_model(vector.model) if not case.refused else None
        assert vector.refused == case.refused
        assert vector.entry["operator"] == case.applied.operator
        for name, array in case.applied.feeds.items():
            assert vector.feeds[name].tobytes() == array.tobytes()
        if not case.refused:
            results = case.applied.meaning
            assert isinstance(results, tuple)
            assert [same(*pair) for pair in zip(results, vector.results, strict=True)]


def same(one: Result, other: Result) -> bool:
    """Whether two results admit the same elements, of those that they have themselves and of 1."""
    assert isinstance(one.admitted, Copies) is isinstance(other.admitted, Copies)
    ends = (getattr(one.admitted, name, one.nearest) for name in ("lowest", "highest"))
    for found in (one.nearest, *ends, np.ones_like(one.nearest)):
        np.testing.assert_array_equal(one.outside(found), other.outside(found))
        if found.dtype.kind == "f":
            of_other_signs = np.where(found == 0, -found, found)
            np.testing.assert_array_equal(
                one.outside(of_other_signs), other.outside(of_other_signs)
            )
    return True


def test_manifest_says_what_was_made(suite: Path) -> None:
    manifest = json.loads((suite / MANIFEST).read_text(encoding="utf-8"))
    assert (manifest["version"], manifest["seed"]) == (VERSION, 0)
    assert len(manifest["notes"]) == 4


def test_manifest_lists_the_examples_that_are_no_cases(suite: Path) -> None:
    manifest = json.loads((suite / MANIFEST).read_text(encoding="utf-8"))
    assert len(manifest["examples_without_cases"]) == len(LEFT_OUT)
    assert manifest["examples_without_cases"][-1] == {
        "document": "SONNX Sub, draft of the working group (August 2026)",
        "section": "int: Example 2 (1D int8 tensors)",
        "reason": "it prints -9 for -6 - (-3), which is -3 (S7)",
    }


def test_manifest_names_rule_document_and_section(suite: Path) -> None:
    found = entries(suite)
    assert found["refused/div_int_c1_broken/0"] == {
        "operator": "Div",
        "opset": 21,
        "edition": "typed",
        "type": "int32",
        "shapes": {"A": [2], "B": [2]},
        "attributes": {},
        "level": "e: negative",
        "class": "constraint broken",
        "guideline": "tests-part2.md, Domains and equivalence classes",
        "rule": "Div.int.C1",
        "basis": "stated",
        "document": "SONNX Div, draft of the working group (August 2026)",
        "section": "Inputs, B, Constraints",
        "tag": "E_DIV_INT_CONSTR_B_0030",
        "note": None,
        "printed": None,
        "expectation": {"kind": "refused", "rules": ["Div.int.C1"]},
    }
    ours = found["refused/div_int_c2_broken/0"]
    assert [ours[key] for key in ("basis", "document", "section")] == ["ours", None, None]
    assert found["computed/div_int32/0"]["expectation"] == {"kind": "exact", "compare": "values"}
    assert found["computed/reshape_float/0"]["expectation"] == {"kind": "exact", "compare": "bits"}
    signs = "decided: the draft has the sign by the rules of IEEE 754, 6.3"
    exact = {"kind": "exact", "compare": "values", "zeros": signs}
    assert found["computed/div_float/0"]["expectation"] == exact
    interval = found["computed/sigmoid_float/0"]["expectation"]
    assert isinstance(interval, dict)
    assert interval == {
        "kind": "interval",
        "bound": "the algorithm of the draft with an exponential off by 2 ulps (ours)",
        "origin": ["chosen", "proof"],
        "zeros": "decided: the draft refers to IEEE 754: a positive number that is too small "
        "rounds to +0",
    }
    assert found["computed/div_int32_vector/0"]["tag"] == "E_DIV_INT_FUNC_0010"
    of_class = [
        e for e in found.values() if (e["operator"], e["class"]) == ("Reshape", "attribute")
    ]
    assert {"allowzero": 1} in [entry["attributes"] for entry in of_class]


@pytest.mark.parametrize(("bound", "expected"), [
    ("3 units in the last place, measured of ONNX Runtime (ours)", ["measured"]),
    ("sums in any order (ours), and activations off by 1 ulp (the draft, Accuracy)",
     ["document", "proof"]),
    ("2 ulps (ours: the draft gives the nearest number and leaves errors open)", ["chosen"]),
    ("the algorithm max(X, 0) + log1p(exp(-abs(X))), its functions off by 2 ulps (ours)",
     ["chosen", "proof"]),
    ("sums in any order (ours), and activations off by 1 ulp (ours: as the draft of LSTM demands)",
     ["chosen", "proof"]),
])  # fmt: skip
def test_bound_says_where_it_comes_from(bound: str, expected: list[str]) -> None:
    assert origins_of(bound) == expected


def test_bound_of_no_known_origin_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^the bound 'about 1' has no known origin$"):
        origins_of("about 1")


def test_manifest_says_where_each_field_of_the_template_of_the_guidelines_is(suite: Path) -> None:
    manifest = json.loads((suite / MANIFEST).read_text(encoding="utf-8"))
    assert [*manifest["template"]] == [
        *("test id", "operator", "opset", "datatype(s)", "input shapes", "attributes"),
        *("input values", "oracle", "expected output", "comparison rule", "expected errors"),
        *("part of the specification covered", "notes"),
    ]


def test_case_of_an_operator_without_a_draft_names_the_document_of_onnx(tmp_path: Path) -> None:
    write(cases(["Transpose", "LessOrEqual"]), tmp_path / "vectors", 0)
    found = entries(tmp_path / "vectors")
    documents = {e["operator"]: e["document"] for e in found.values() if e["rule"] is None}
    assert documents["Transpose"] == "ONNX Transpose, version 21"


def test_runner_of_onnx_takes_the_cases_with_results(suite: Path) -> None:
    names = {test.name for test in load_model_tests(data_dir=str(suite), kind="computed")}
    assert names == {path.name for path in (suite / "computed").iterdir()}
    place = suite / "computed" / "div_float"
    read = {
        stem: [
            onnx.numpy_helper.to_array(onnx.load_tensor(path))
            for path in sorted((place / "test_data_set_0").glob(f"{stem}_*.pb"))
        ]
        for stem in ("input", "output")
    }
    a, b = read["input"]
    Runner.assert_similar_outputs(read["output"], [a / b], 1e-7, 0)


@pytest.mark.thorough
def test_whole_suite_is_small(tmp_path: Path) -> None:
    count = write(cases(), tmp_path / "whole", 0).cases
    page = (REPOSITORY / "docs" / "how-to" / "vectors.md").read_text("utf-8")
    assert f"these are {count:,} cases" in page
    assert sum(map(len, content(tmp_path / "whole").values())) < 20 * MEBIBYTE


def test_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SonnxError) as refused:
        write(cases(["Shape"]), tmp_path, 0)
    assert str(refused.value) == f"'{tmp_path}' is not empty; name a new folder"
    assert content(tmp_path) == {"mine.txt": b"mine"}


def test_folder_without_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SonnxError) as refused:
        next(vectors(tmp_path))
    place = tmp_path / MANIFEST
    assert str(refused.value) == (
        f"'{tmp_path}' has no suite: '{place}' is missing; `sonnx-ort suite -o FOLDER` writes one"
    )


CASE = {
    "id": "computed/x/0",
    "operator": "Neg",
    "edition": "typed",
    "expectation": {"kind": "exact"},
    "files": {"model.onnx": "0", "output_0.pb": "0"},
}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"cases": []}',
        '{"cases": [{}]}',
        '{"cases": {"0": 1}}',
        '{"cases": [{"id": "computed/x/0"}]}',
        *(
            json.dumps({"cases": [CASE | changed]})
            for changed in (
                {"id": "../x/0"},
                {"id": "computed/../x/0"},
                {"operator": 1},
                {"edition": "new"},
                {"expectation": {}},
                {"expectation": {"kind": "refused", "rules": [1]}},
                {"files": {"model.onnx": "0"}},
                {"files": {"output_0.pb": "0"}},
                {"files": CASE["files"] | {"../input_0.pb": "0"}},
                {"files": CASE["files"] | {"input_0.pb": 1}},
            )
        ),
    ],
)
def test_damaged_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    (tmp_path / "computed" / "x" / "test_data_set_0").mkdir(parents=True)
    (tmp_path / "computed" / "x" / "model.onnx").write_bytes(b"")
    with pytest.raises(
        SonnxError, match=r"^'.*manifest\.json' is damaged: .*; write the suite again, with `"
    ):
        next(vectors(tmp_path))


def test_missing_file_of_a_case_is_named(suite: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(suite, tmp_path / "copy"))
    first = next(vectors(suite)).entry["id"].rpartition("/")[0]
    (folder / first / "model.onnx").unlink()
    with pytest.raises(SonnxError) as refused:
        next(vectors(folder))
    assert str(refused.value) == (
        f"'{folder / first / 'model.onnx'}' is missing; write the suite again, with "
        "`sonnx-ort suite -o FOLDER`"
    )


@pytest.mark.parametrize("damage", [
    lambda content: content[: len(content) // 2],
    lambda content: content[:0],
    lambda content: content[:-1] + bytes([content[-1] ^ 1]),
])  # fmt: skip
@pytest.mark.parametrize("name", ["input_0.pb", "output_0.pb"])
def test_damaged_file_of_a_case_is_named(
    suite: Path, tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    folder = Path(shutil.copytree(suite, tmp_path / "copy"))
    path = folder / "computed" / "div_float" / "test_data_set_0" / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SonnxError) as refused:
        next(vectors(folder))
    assert str(refused.value) == (
        f"'{path}' is damaged: it is not what the manifest names; write the suite again, with "
        "`sonnx-ort suite -o FOLDER`"
    )


def external() -> bytes:
    tensor = onnx.TensorProto(name="A", data_type=1, dims=[2])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return tensor.SerializeToString()


@pytest.mark.parametrize(("content", "message"), [
    (external(), "' has its elements in another file; "),
    (b"\xff", "' is no tensor: Error parsing message"),
    (onnx.TensorProto(data_type=1, dims=[1 << 40], raw_data=b"1234").SerializeToString(),
     "' is no tensor: cannot reshape array of size 1 into shape (1099511627776,); "),
    (onnx.TensorProto(data_type=77).SerializeToString(), "' is no tensor: 77; "),
])  # fmt: skip
def test_file_that_has_no_elements_is_named_though_the_manifest_has_its_digest(
    suite: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (entry,) = (each for each in listed(suite) if each["id"] == "computed/div_int32/0")
    place = tmp_path / "computed" / "div_int32"
    shutil.copytree(suite / "computed" / "div_int32", place)
    (place / "test_data_set_0" / "input_0.pb").write_bytes(content)
    entry["files"]["input_0.pb"] = hashlib.sha256(content).hexdigest()
    (tmp_path / MANIFEST).write_text(json.dumps({"cases": [entry]}))
    with pytest.raises(SonnxError) as refused:
        next(vectors(tmp_path))
    assert str(refused.value).startswith(f"'{place / 'test_data_set_0' / 'input_0.pb'}{message}")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "vectors.zip"
    write(cases(["Neg"]), path, 0)
    return path


def test_archive_has_the_files_of_the_folder_and_the_same_bytes_each_time(
    archive: Path, tmp_path: Path
) -> None:
    write(cases(["Neg"]), tmp_path / "folder", 0)
    write(cases(["Neg"]), tmp_path / "again.zip", 0)
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        assert {n: opened.read(n) for n in opened.namelist()} == content(tmp_path / "folder")
    whole, part = ([*vectors(each)] for each in (archive, tmp_path / "folder"))
    assert [each.entry for each in whole] == [each.entry for each in part]
    assert [each.model for each in whole] == [each.model for each in part]


def damaged(archive: Path, place: Path, change: Callable[[bytes], bytes]) -> Path:
    path = place / "damaged.zip"
    path.write_bytes(change(archive.read_bytes()))
    return path


def test_file_that_is_no_archive_is_refused(archive: Path, tmp_path: Path) -> None:
    path = damaged(archive, tmp_path, lambda content: content[: len(content) // 2])
    with pytest.raises(SonnxError) as refused:
        next(vectors(path))
    assert str(refused.value) == (
        f"'{path}' is neither a folder nor a ZIP archive that can be read: File is not a zip file; "
        "write the suite again, with `sonnx-ort suite -o FOLDER`"
    )


def test_damaged_file_of_an_archive_is_named(archive: Path, tmp_path: Path) -> None:
    path = damaged(archive, tmp_path, lambda content: content[:45] + b"!!!!" + content[49:])
    with pytest.raises(SonnxError, match=r"damaged\.zip/computed/.*/model\.onnx' is damaged: .*; "):
        next(vectors(path))


def test_file_that_an_archive_lacks_is_named(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "less.zip"
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(path, "w") as less:
        for name in whole.namelist():
            if name != "computed/neg_float/model.onnx":
                less.writestr(name, whole.read(name))
    with pytest.raises(SonnxError) as refused:
        next(vectors(path))
    assert str(refused.value) == (
        f"'{path}/computed/neg_float/model.onnx' is missing; write the suite again, with "
        "`sonnx-ort suite -o FOLDER`"
    )


def test_archive_without_a_manifest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.zip"
    zipfile.ZipFile(path, "w").close()
    with pytest.raises(SonnxError) as refused:
        next(vectors(path))
    assert str(refused.value) == (
        f"'{path}' has no suite: '{path}/manifest.json' is missing; `sonnx-ort suite -o FOLDER` "
        "writes one"
    )


WITHOUT_FLINT = """
    import sys
    from pathlib import Path
    sys.modules["flint"] = None
    from sonnx_ort.vectors.cases import cases
    from sonnx_ort.vectors.suite import write
    print(write(cases(%r), Path(%r), 0).left_out == %r)"""


def test_without_python_flint_what_needs_it_is_left_out_and_the_rest_is_the_same(
    tmp_path: Path,
) -> None:
    operators, place = ["Exp", "Neg", "Pow", "Graph"], tmp_path / "without"
    write(cases(operators), tmp_path / "with", 0)
    expected = {"Pow": 33, "Exp": 46, "Graph": 2}
    shown = run_python(WITHOUT_FLINT % (operators, str(place), expected)).stdout
    assert shown == "True\n"
    whole, part = ({e["id"]: e for e in listed(tmp_path / n)} for n in ("with", "without"))
    assert Counter(whole[each]["operator"] for each in whole.keys() - part.keys()) == expected
    assert {e["operator"] for e in part.values()} == {*operators}
    assert part == {each: whole[each] for each in part}


def listed(folder: Path) -> list[dict[str, Any]]:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return list(manifest["cases"])
