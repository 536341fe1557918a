"""The bundled files, and the numbers that the documents print."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from model_builders import convolutional_network
from model_builders.convolutional_network import convolved, scores, train
from model_builders.digits import TRAINED, WHITE

from sonnx_ort import models
from sonnx_ort.errors import SonnxError
from support.graphs import parse


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


INF, NAN = np.inf, np.nan
DIGITS_PRINTED_BY_NUMPY = 8

PRINTED = [
    ("div_example_1", [6, 9, 35], [3, 3, 5], {"both": [2, 3, 7]}),
    ("div_example_2", [[3, 4], [16, 0], [25, 24]], [[3, 2], [4, 1], [5, 4]],
     {"both": [[1, 2], [4, 0], [5, 6]]}),
    ("div_numpy_example", [[1, 3], [5, 7], [9, 12]], [[11, 22], [33, -44], [-55, 66]],
     {"both": [[0.09090909, 0.13636364], [0.15151515, -0.15909091], [-0.16363636, 0.18181818]]}),
    ("div_numpy_zero_divisor", [[6, 9, 35]], [[3, 3, 0]], {"both": [[2, 3, INF]]}),
    ("div_zero_divisor", [[3, 4], [16, 1], [25, 24]], [[3, 2], [4, 0], [5, 4]],
     {"both": [[1, 2], [4, INF], [5, 6]]}),
    ("div_zero_by_zero", [[3, 4], [16, 0], [25, 24]], [[3, 2], [4, 0], [5, 4]],
     {"typed": [[1, 2], [4, NAN], [5, 6]], "preliminary": [[1, 2], [4, INF], [5, 6]]}),
    ("onnx_div_example", [3, 4], [1, 2], {"both": [3, 2]}),
    ("sub_example_1", [4, 7, 10], [1, 5, 3], {"both": [3, 2, 7]}),
    ("sub_example_2", [[9, 5], [3, 8], [6, 2]], [[3, 2], [4, 1], [5, 1]],
     {"both": [[6, 3], [-1, 7], [1, 1]]}),
    ("sub_numpy_example", [[1, 2], [3, 4], [5, 6]], [[11, 22], [33, -44], [-55, 0]],
     {"both": [[-10, -20], [-30, 48], [60, 6]]}),
]  # fmt: skip
EXAMPLES = [
    pytest.param(
        name, a, b, printed.get("both", printed.get(edition)), edition, id=f"{name}-{edition}"
    )
    for prefix, a, b, printed in PRINTED
    for name in models.names()
    if name in (prefix, f"{prefix}_float32", f"{prefix}_int32")
    for edition in ("typed", "preliminary")
]


@pytest.mark.satisfies(
    "Div.typed.real.examples Div.typed.float.examples Div.preliminary.examples",
    "Div.preliminary.numpy Sub.preliminary.examples Sub.preliminary.numpy Div.onnx.examples",
)
@pytest.mark.parametrize(("name", "a", "b", "c", "edition"), EXAMPLES)
def test_example_has_the_numbers_of_its_document(name, a, b, c, edition):
    [case] = [case for case in models.example(name).cases if case.name == edition]
    assert np.array_equal(case.inputs["A"], a)
    assert np.array_equal(case.inputs["B"], b)
    rounded = np.round(case.expected.values["C"], DIGITS_PRINTED_BY_NUMPY)
    assert np.array_equal(rounded, c, equal_nan=True)


def test_every_example_of_the_documents_is_bundled():
    assert len(EXAMPLES) == 2 * (len(PRINTED) + 4)


@pytest.mark.satisfies("Div.onnx.legacy.examples")
def test_legacy_models_have_every_shape_that_the_onnx_page_lists():
    listed = {(): None, (1, 1): None, (5,): None, (4, 5): None, (3, 4): 1, (2,): 0}
    for opset in (1, 6):
        graph = models.load(f"div_opset_{opset}_broadcast").graph
        shapes = {
            value.name: tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
            for value in graph.input
        }
        assert shapes["A"] == (2, 3, 4, 5)
        found = {}
        for node in graph.node:
            attributes = {attribute.name: attribute.i for attribute in node.attribute}
            assert attributes.pop("broadcast") == 1
            found[shapes[node.input[1]]] = attributes.get("axis")
        assert found == listed


@pytest.fixture(scope="module")
def digits():
    """Forty images with their labels."""
    with np.load(TRAINED) as arrays:
        images = arrays["pixels"][:40].reshape(-1, 1, 8, 8) / WHITE
        return images, arrays["labels"][:40]


@pytest.mark.parametrize("size", [1, 3])
def test_convolution_is_that_of_onnxruntime(size):
    draw = np.random.RandomState(0)
    images, kernels, bias = (
        draw.normal(size=shape).astype(np.float32)
        for shape in [(2, 3, 5, 4), (6, 3, size, size), (6,)]
    )
    pad = size // 2
    model = parse(
        f"""(float[2,3,5,4] x, float[6,3,{size},{size}] w, float[6] b) => (float[2,6,5,4] y) {{
            y = Conv <pads = [{pad}, {pad}, {pad}, {pad}]> (x, w, b)
        }}"""
    )
    session = ort.InferenceSession(model.SerializeToString())
    [expected] = session.run(None, {"x": images, "w": kernels, "b": bias})
    np.testing.assert_allclose(convolved(images, kernels, bias), expected, rtol=1e-4, atol=1e-5)


def test_gradients_are_those_of_small_differences(digits):
    images, labels = digits
    # Biases other than 0 keep every sum off the kink of Relu.
    draw = np.random.RandomState(0)
    parameters = {
        name: array + draw.normal(scale=0.1, size=array.shape)
        for name, array in train(images, labels, epochs=1).items()
    }

    def loss(name, index, change):
        changed = {n: array.copy() for n, array in parameters.items()}
        changed[name][index] += change
        scored = scores(changed, images)
        picked = scored[np.arange(len(labels)), labels]
        return np.mean(np.log(np.exp(scored).sum(axis=1)) - picked)

    for name, gradient in convolutional_network._gradients(parameters, images, labels).items():
        index = tuple(draw.randint(size) for size in gradient.shape)
        slope = (loss(name, index, 1e-6) - loss(name, index, -1e-6)) / 2e-6
        assert slope == pytest.approx(gradient[index], rel=1e-4, abs=1e-8)


def test_training_learns_what_it_is_shown(digits):
    images, labels = digits
    assert np.array_equal(scores(train(images, labels), images).argmax(axis=1), labels)


def test_training_gives_the_same_each_time(digits):
    first, second = (train(*digits, epochs=1) for _ in range(2))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
