"""Values that another implementation computed are read from files."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sonnx_ort
from sonnx_ort import SonnxError
from sonnx_ort.comparing.verdicts import Verdict
from support.graphs import parse

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


def test_inputs_may_be_given_apart(tmp_path: Path) -> None:
    values = {name: VALUES[name] for name in ("s", "z")}
    audit = sonnx_ort.audit(MODEL, {"x": X, "y": Y}, values=written(tmp_path, **values))
    assert audit.counts[Verdict.EXACT] == 2


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
