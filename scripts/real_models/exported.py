"""Exports small networks with made-up weights: `python scripts/real_models/exported.py jax FOLDER`.

The first argument is the framework, `jax` (needs jax, flax and jax2onnx) or `keras` (tensorflow and
tf2onnx). It runs in any Python that has it, without this project; `benchmark.py conform FOLDER`
measures what becomes of the models.
"""

# ruff: noqa: PLC0415 - one framework is enough

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS = 2
IMAGE, SEQUENCE, FEATURES = (ROWS, 28, 28, 3), (ROWS, 8, 16), (ROWS, 32)


def export_jax(folder: Path) -> None:
    """A convolutional network, a perceptron, an LSTM and a block with a normalization."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from flax import nnx
    from jax2onnx import to_onnx

    rng = np.random.default_rng(0)

    def weights(*shape: int) -> Any:
        return jnp.asarray(rng.standard_normal(shape) * 0.1, jnp.float32)

    kernel, last = weights(3, 3, 3, 8), weights(14 * 14 * 8, 10)
    first, second = weights(32, 64), weights(64, 10)
    inner, outer, shift = weights(16, 96), weights(24, 96), weights(96)
    scale, offset, wide, narrow = weights(16), weights(16), weights(16, 64), weights(64, 16)

    def convolutional(x: Any) -> Any:
        given = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
        found = jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", **given))
        # Of `jax.lax.reduce_window` jax2onnx makes a MaxPool that ONNX Runtime has no kernel for.
        pooled = nnx.max_pool(found, window_shape=(2, 2), strides=(2, 2))
        return jax.nn.softmax(pooled.reshape(ROWS, -1) @ last)

    def perceptron(x: Any) -> Any:
        return jax.nn.gelu(x @ first) @ second

    def recurrent(x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            hidden, cell = state
            gates = jnp.split(row @ inner + hidden @ outer + shift, 4, axis=-1)
            entry, forget, exit_, new = gates
            cell = jax.nn.sigmoid(forget) * cell + jax.nn.sigmoid(entry) * jnp.tanh(new)
            hidden = jax.nn.sigmoid(exit_) * jnp.tanh(cell)
            return (hidden, cell), hidden

        start = jnp.zeros((ROWS, 24), jnp.float32)
        return jax.lax.scan(step, (start, start), jnp.swapaxes(x, 0, 1))[1]

    def normalized(x: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        rows = (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + offset
        return x + jax.nn.silu(rows @ wide) @ narrow

    made = {convolutional: IMAGE, perceptron: FEATURES, recurrent: SEQUENCE, normalized: SEQUENCE}
    for network, shape in made.items():
        target = str(folder / f"{network.__name__}.onnx")
        to_onnx(network, [shape], return_mode="file", output_path=target)


def export_keras(folder: Path) -> None:
    """The same kinds of networks, by the layers of Keras."""
    import tensorflow as tf
    import tf2onnx

    layers, keras = tf.keras.layers, tf.keras
    keras.utils.set_random_seed(0)
    block = keras.Input(SEQUENCE[1:], ROWS)
    inside = layers.Dense(16)(layers.Dense(64, "silu")(layers.LayerNormalization()(block)))
    networks = {
        "convolutional": keras.Sequential(
            [
                keras.Input(IMAGE[1:], ROWS),
                layers.Conv2D(8, 3, padding="same", activation="relu"),
                layers.BatchNormalization(),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dense(10, activation="softmax"),
            ]
        ),
        "perceptron": keras.Sequential(
            [keras.Input(FEATURES[1:], ROWS), layers.Dense(64, "elu"), layers.Dense(10)]
        ),
        "recurrent": keras.Sequential([keras.Input(SEQUENCE[1:], ROWS), layers.LSTM(24)]),
        "normalized": keras.Model(block, layers.add([block, inside])),
    }
    for name, network in networks.items():
        given = [tf.TensorSpec(network.input_shape, tf.float32, "x")]
        target = str(folder / f"{name}.onnx")
        tf2onnx.convert.from_function(
            tf.function(network), input_signature=given, opset=18, output_path=target
        )


EXPORTS: dict[str, Callable[[Path], None]] = {"jax": export_jax, "keras": export_keras}

if __name__ == "__main__":
    framework, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    EXPORTS[framework](folder)
