"""Nodes of operators that multiply: matrices, windows, recurrent layers, spectra."""

from collections.abc import Callable, Mapping

import numpy as np

from support.soundness.nodes.maker import Array, Attributes, Made, Maker


def matrices(make: Maker) -> Made:
    inner = make.rng.choice([0, 1, 2, 3])
    batch = make.shape(most=2)
    a = [*make.expandable(batch), make.rng.randint(0, 3), inner]
    b = [*make.expandable(batch), inner, make.rng.randint(0, 3)]
    a = a[-1:] if make.maybe(0.1) else a
    b = b[-2:-1] if make.maybe(0.1) else b
    if make.operator == "MatMul":
        return [make.array(a, "float32"), make.array(b, "float32")], {}, 1
    x, y = make.array(a, "uint8"), make.array(b, "uint8")
    if make.operator == "MatMulInteger":
        return [x, y], {}, 1
    scale, zero = np.array(0.5, np.float32), np.array(1, np.uint8)
    return [x, scale, zero, y, scale, zero, scale, zero], {}, 1


def general_product(make: Maker) -> Made:
    rows, inner, columns = (make.rng.choice([0, 1, 2, 3]) for _ in range(3))
    turned = [make.rng.choice([0, 1]) for _ in range(2)]
    a = [inner, rows] if turned[0] else [rows, inner]
    b = [columns, inner] if turned[1] else [inner, columns]
    c = make.rng.choice([[columns], [rows, columns], [1], [rows, 1]])
    bias = [] if make.version >= 11 and make.maybe() else [make.array(c, "float32")]
    attributes = {"transA": turned[0], "transB": turned[1], "alpha": 0.5}
    return [make.array(a, "float32"), make.array(b, "float32"), *bias], attributes, 1


def windows(make: Maker) -> Made:
    rank = make.rng.randint(1, 3)
    kernel = [make.rng.choice([1, 2, 3]) for _ in range(rank)]
    attributes: Attributes = {"kernel_shape": kernel}
    if make.maybe():
        attributes["strides"] = [make.rng.choice([1, 2, 3]) for _ in range(rank)]
    if make.maybe(0.4):
        attributes["dilations"] = [make.rng.choice([1, 2]) for _ in range(rank)]
    if make.maybe(0.4):
        attributes["pads"] = [make.rng.choice([0, 1]) for _ in range(2 * rank)]
    elif make.maybe(0.4):
        modes = ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]
        attributes["auto_pad"] = make.rng.choice(modes)
    if make.maybe(0.3):
        attributes["ceil_mode"] = make.rng.choice([0, 1])
    size = [0, 1, 2, 3, 4, 5, 6, 7] if make.maybe(0.3) else [4, 5, 6, 7]
    spatial = [make.rng.choice(size) for _ in range(rank)]
    batch = make.rng.choice([1, 2, 0])
    if not make.operator.startswith("Conv"):
        x = make.array([batch, make.rng.choice([1, 2]), *spatial], "float32")
        return [x], attributes, 2 if make.operator == "MaxPool" and make.maybe(0.3) else 1
    group = make.rng.choice([1, 1, 2])
    inside, outside = (group * make.rng.choice([1, 2]) for _ in range(2))
    if make.operator != "ConvTranspose":
        filters = [outside, inside // group, *kernel]
    else:
        filters = [inside, outside // group, *kernel]
        if make.maybe(0.3):
            attributes["output_padding"] = [make.rng.choice([0, 1]) for _ in range(rank)]
    if make.maybe(0.3):
        del attributes["kernel_shape"]
    bias = [make.array([outside], "float32")] if make.maybe(0.3) else []
    x = make.array([batch, inside, *spatial], "float32")
    return [x, make.array(filters, "float32"), *bias], attributes | {"group": group}, 1


def integer_windows(make: Maker) -> Made:
    (image, filters, *_), attributes, _ = windows(make)
    inputs = [make.array(x.shape, "uint8") for x in (image, filters) if x is not None]
    return inputs, attributes, 1


def recurrent(make: Maker) -> Made:
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[make.operator]
    steps, batch, features, hidden = (make.rng.choice([1, 2, 3]) for _ in range(4))
    direction = make.rng.choice(["forward", "reverse", "bidirectional"])
    count = 2 if direction == "bidirectional" else 1
    inputs: list[Array | None] = [
        make.array([steps if make.maybe(0.9) else 0, batch, features], "float32"),
        make.array([count, gates * hidden, features], "float32"),
        make.array([count, gates * hidden, hidden], "float32"),
    ]
    if make.maybe(0.3):
        bias = make.array([count, 2 * gates * hidden], "float32") if make.maybe() else None
        inputs += [bias, None, make.array([count, batch, hidden], "float32")]
    attributes = {"hidden_size": hidden, "direction": direction}
    if make.maybe(0.1):
        attributes["layout"] = 1
    return inputs, attributes, make.rng.randint(1, 3 if make.operator == "LSTM" else 2)


def spectrum(make: Maker) -> Made:
    steps = make.rng.randint(4, 8)
    if make.operator == "STFT":
        inputs = [make.array([2, steps, 1], "float32"), np.array(2, np.int64)]
        rest = [None, np.array(4, np.int64)]
        return [*inputs, *rest], {"onesided": make.rng.choice([0, 1])}, 1
    attributes = {"axis": 1, "onesided": make.rng.choice([0, 1])}
    return [make.array([2, steps, make.rng.choice([1, 2])], "float32")], attributes, 1


MAKERS: Mapping[str, Callable[[Maker], Made]] = {
    **dict.fromkeys(("AveragePool", "Conv", "ConvTranspose", "LpPool", "MaxPool"), windows),
    "ConvInteger": integer_windows,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), recurrent),
    **dict.fromkeys(("MatMul", "MatMulInteger", "QLinearMatMul"), matrices),
    **dict.fromkeys(("DFT", "STFT"), spectrum),
    "Gemm": general_product,
}
