import onnx
import pytest

from sonnx_ort import models
from sonnx_ort.errors import SonnxError


def test_names_are_those_of_the_files():
    folder = models.path("digits").parent
    assert sorted(models.names()) == sorted(file.stem for file in folder.glob("*.onnx"))


def test_path_is_the_file_of_the_model():
    path = models.path("digits")
    assert path.name == "digits.onnx"
    assert path.is_file()


def test_load_reads_the_file():
    assert models.load("digits") == onnx.load_model(models.path("digits"))


def test_load_gives_a_model_that_belongs_to_the_caller():
    models.load("digits").graph.Clear()
    assert models.load("digits").graph.node


@pytest.mark.parametrize("access", [models.path, models.load, models.example])
def test_unknown_name_raises_and_lists_what_exists(access):
    with pytest.raises(SonnxError) as caught:
        access("digit")
    existing = ", ".join(models.names())
    assert str(caught.value) == f"there is no bundled model 'digit'; choose from {existing}"


@pytest.mark.parametrize("name", models.names())
def test_model_is_valid_onnx(name):
    onnx.checker.check_model(models.load(name))


@pytest.mark.parametrize("name", models.names())
def test_model_is_of_versions_that_the_oldest_supported_onnxruntime_loads(name):
    model = models.load(name)
    [opset] = [entry.version for entry in model.opset_import if entry.domain == ""]
    assert opset in (1, 6) or 17 <= opset <= 22
    assert model.ir_version <= 10


@pytest.mark.parametrize("name", models.names())
def test_every_node_that_the_profile_constrains_has_a_name(name):
    graph = models.load(name).graph
    assert all(node.name for node in graph.node if node.op_type in ("Div", "Sub"))
