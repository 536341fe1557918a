import numpy as np
import onnxruntime as ort
import pytest
from model_builders import convolutional_network
from model_builders.convolutional_network import convolved, scores, train
from model_builders.digits import TRAINED, WHITE

from support.graphs import parse


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
