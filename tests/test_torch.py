"""The export of a module of PyTorch, which another exporter stands for where there is none."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
import sonnx_ort.torch as exporting
from support.exported_models import WRITTEN, exported


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Callable[[onnx.ModelProto], list[Any]]:
    """Let PyTorch export a given model; the calls are listed."""
    calls: list[Any] = []

    def of(model: onnx.ModelProto) -> list[Any]:
        def export(*args: Any, **options: Any) -> SimpleNamespace:
            calls.append((args, options))
            return SimpleNamespace(model=ir.from_proto(model))

        monkeypatch.setattr(exporting, "_onnx_of_torch", lambda: SimpleNamespace(export=export))
        return calls

    return of


def test_program_has_the_conformed_model(exporter) -> None:
    exporter(exported(second="float[3] scale"))
    program = exporting.export("module", ["rows", "scale"])
    assert [node.op_type for node in program.model.graph] == ["Shape", "Expand", "Div"]
    assert sonnx_ort.check(program.model).ok


def test_options_are_those_of_the_exporter(exporter) -> None:
    calls = exporter(exported())
    exporting.export("module", ["rows"], input_names=["rows"], verbose=True)
    exporting.export("module")
    assert calls == [
        (("module", ("rows",)), {"dynamo": True, "verbose": True, "input_names": ["rows"]}),
        (("module", ()), {"dynamo": True, "verbose": False}),
    ]


def test_model_that_does_not_keep_the_profile_is_rejected_with_the_line(exporter) -> None:
    model = exported(second="float[m,3] scale")
    model.graph.node[0].op_type = "RandomNormalLike"
    del model.graph.node[0].input[1]
    exporter(model)
    with pytest.raises(sonnx_ort.ModelRejected) as raised:
        exporting.export("module")
    assert "RandomNormalLike 'node_div': Graph.deterministic violated" in str(raised.value)
    assert WRITTEN in str(raised.value)


@pytest.mark.parametrize("name", ["f", "dynamo"])
def test_arguments_that_it_chooses_itself_are_refused(exporter, name: str) -> None:
    exporter(exported())
    with pytest.raises(sonnx_ort.SonnxError) as raised:
        exporting.export("module", **{name: False})
    assert str(raised.value) == (
        f"export takes no argument '{name}': it exports with dynamo=True and gives a program, "
        "whose method `save` writes a file"
    )


@pytest.mark.parametrize("missing", ["torch", "onnxscript"])
def test_missing_package_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(sonnx_ort.SonnxError, match=r"pip install torch onnxscript$"):
        exporting.export("module")


def test_real_exporter_names_the_line_of_this_file() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")

    class Noise(torch.nn.Module):
        def forward(self, rows: Any) -> Any:
            return rows + torch.rand_like(rows)

    with pytest.raises(sonnx_ort.ModelRejected) as raised:
        exporting.export(Noise(), (torch.ones(2, 3),))
    assert "test_torch.py" in str(raised.value)
    assert "in Noise.forward" in str(raised.value)
