"""No certificate is written that the checker rejects, and no file beside it."""

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort import certificates
from sonnx_ort.checker import Rejected, check, read_certificate
from sonnx_ort.errors import SonnxError
from support.command import command
from support.graphs import parse

MODEL = "(float[n] x, float[m] y) => (float[k] z) { z = Div(x, y) }"


def of_alias(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "ai.onnx"


def of_alias_alone(model: onnx.ModelProto) -> None:
    model.opset_import[0].domain = "ai.onnx"


def annotated(model: onnx.ModelProto) -> None:
    model.graph.quantization_annotation.add(tensor_name="x")


def saved(path: Path, *changes: Callable[[onnx.ModelProto], object]) -> Path:
    model = parse(MODEL)
    for change in changes:
        change(model)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    "changes", [(), (of_alias,), (of_alias_alone,), (of_alias, of_alias_alone)]
)
def test_written_certificate_is_accepted(
    changes: tuple[Callable[[onnx.ModelProto], object], ...], tmp_path: Path
) -> None:
    model, enforced, certificate = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.json"))
    saved(model, *changes)
    sonnx_ort.rewrite_file(model, enforced, backend="native", certificate=certificate)
    made = read_certificate(certificate.read_bytes())
    assert check(model.read_bytes(), made, enforced.read_bytes()) == (
        "3 obligations hold in every run: 2 by proof, 1 by guards"
    )


@pytest.mark.parametrize(("change", "reason"), [
    (annotated, "a GraphProto has a quantization_annotation"),
    (lambda m: m.graph.node[0].MergeFromString(bytes.fromhex("c2b802026162")),
     "a NodeProto has a field that is not known"),
])  # fmt: skip
def test_nothing_is_written_that_is_rejected(
    change: Callable[[onnx.ModelProto], object], reason: str, tmp_path: Path
) -> None:
    model = saved(tmp_path / "m.onnx", change)
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.rewrite_file(
            model, tmp_path / "e.onnx", backend="native", certificate=tmp_path / "c.json"
        )
    assert reason in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_written_certificate_is_checked_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object) -> str:
        raise Rejected("it proves less than it says")

    model = saved(tmp_path / "m.onnx")
    monkeypatch.setattr(certificates, "check", reject)
    with pytest.raises(SonnxError, match=r"^the model cannot be certified: it proves less than it"):
        sonnx_ort.certify(model)
    with pytest.raises(SonnxError, match=r"^the model cannot be certified: it proves less than it"):
        sonnx_ort.rewrite_file(
            model, tmp_path / "e.onnx", backend="native", certificate=tmp_path / "c.json"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_single_operand_of_no_certified_shape_is_compared_with_none(tmp_path: Path) -> None:
    graph = "(int64[n] x) => (int64[] z) { u = Unique(x) z = Max(u) }"
    onnx.save(parse(graph), tmp_path / "m.onnx")
    made = sonnx_ort.rewrite_file(
        tmp_path / "m.onnx",
        tmp_path / "e.onnx",
        backend="native",
        operators=["Max"],
        certificate=tmp_path / "c.json",
    )
    assert made is not None
    assert made.content["guarded"] == [["z", "Max.int.R1"], ["z", "Max.int.C1"]]


def test_model_that_the_checker_does_not_read_is_unusable(tmp_path: Path) -> None:
    model = saved(tmp_path / "m.onnx", annotated)
    done = command("certify", model, "-o", tmp_path / "c.json")
    assert (done.returncode, done.stderr) == (
        2,
        "sonnx-ort: the model cannot be certified: a GraphProto has a quantization_annotation\n",
    )
    assert not (tmp_path / "c.json").exists()
