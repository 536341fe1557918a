"""Windows along one axis, and padding that auto_pad asks for: fixed, with the same bits."""

from collections.abc import Iterator, Mapping

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from models.example import same_elements
from support.conformed import conformed, reasons, require_fixed, require_same_bits, violated
from support.graphs import parse
from support.sessions import LEVELS, quiet

TYPES = {"float": "float32", "float16": "float16", "uint8": "uint8", "int8": "int8"}


def random(rng: np.random.Generator, element_type: str, *shape: int) -> np.ndarray:
    if "int" in element_type:
        return rng.integers(0, 100, shape).astype(TYPES[element_type])
    return rng.standard_normal(shape).astype(TYPES[element_type])


def with_special_values(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    special = array.copy()
    for value in (np.nan, np.inf, -np.inf, -0.0, 1e-40):
        special.flat[rng.integers(special.size)] = value
    return special


def made_of(model: onnx.ModelProto, operator: str) -> onnx.NodeProto:
    (node,) = [node for node in model.graph.node if node.op_type == operator]
    return node


def attributes(node: onnx.NodeProto) -> dict[str, object]:
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


# Channels, outputs, groups, kernel, attributes, length.
CONVOLUTIONS = [
    (1, 1, 1, 1, "group=1", 1),
    (1, 5, 1, 3, "pads=[1,1]", 1),
    (4, 4, 4, 3, "group=4, pads=[0,2], strides=[2]", 17),
    (4, 8, 4, 5, "group=4, dilations=[2], pads=[3,1]", 64),
    (6, 9, 3, 2, "group=3, strides=[3]", 101),
    (16, 33, 1, 1, "kernel_shape=[1]", 40),
    (16, 33, 1, 1, "strides=[2]", 40),
    (64, 64, 64, 16, "group=64, kernel_shape=[16], pads=[7,8]", 333),
    (128, 17, 1, 3, "pads=[1,1], strides=[1], dilations=[1]", 1000),
    (3, 2, 1, 7, "auto_pad='NOTSET'", 7),
    (80, 96, 1, 3, "pads=[1,1]", 20),
    (1, 4, 1, 8, "group=1", 8),
]


def convolution(
    case: tuple[int, int, int, int, str, int], batch: int = 1, opset: int = 17
) -> onnx.ModelProto:
    channels, outputs, groups, kernel, given, length = case
    text = given.replace("'", '"')
    return parse(
        f"""(float[{batch},{channels},{length}] X, float[{outputs}] B) => (float[?,?,?] Y)
        {{ [convolve] Y = Conv <{text}> (X, W, B) }}""",
        constants={
            "W": random(np.random.default_rng(1), "float", outputs, channels // groups, kernel)
        },
        opset=opset,
    )


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize(("batch", "opset"), [(1, 11), (3, 17)])
def test_one_axis_gives_the_same_bits_as_two(
    case: tuple[int, int, int, int, str, int], batch: int, opset: int
) -> None:
    rng = np.random.default_rng(2)
    model = convolution(case, batch, opset)
    x = random(rng, "float", batch, case[0], case[-1])
    b = random(rng, "float", case[1])
    runs = [{"X": x, "B": b}, {"X": with_special_values(rng, x), "B": b}]
    require_same_bits(model, conformed(model), *runs)


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_one_axis_gives_the_same_bits_as_two_on_two_threads(
    case: tuple[int, int, int, int, str, int],
) -> None:
    rng = np.random.default_rng(3)
    model = convolution(case, batch=2)
    options = quiet()
    options.intra_op_num_threads = 2
    options.graph_optimization_level = LEVELS["none"]
    feeds = {"X": random(rng, "float", 2, case[0], case[-1]), "B": random(rng, "float", case[1])}
    one, two = (
        ort.InferenceSession(m.SerializeToString(), options).run(None, feeds)[0]
        for m in (model, conformed(model))
    )
    assert same_elements(one, two)


@pytest.mark.parametrize("opset", [1, 11, 13, 17, 22])
def test_convolution_along_one_axis_violates_nothing_afterwards(opset: int) -> None:
    model = convolution((4, 6, 1, 3, "strides=[2], pads=[1,0]", 9), opset=opset)
    assert {"Conv.R1", "Conv.strides", "Conv.pads", "Conv.kernel"} <= violated(model)
    assert violated(conformed(model)) == set()


def test_window_gets_a_size_of_one_in_front() -> None:
    given = "strides=[2], pads=[1,0], dilations=[3], kernel_shape=[2]"
    after = made_of(conformed(convolution((4, 6, 1, 2, given, 9))), "Conv")
    assert {
        "strides": [1, 2], "pads": [0, 1, 0, 0], "dilations": [1, 3], "kernel_shape": [1, 2],
    }.items() <= attributes(after).items()  # fmt: skip


def test_convolution_keeps_its_name() -> None:
    assert made_of(conformed(convolution(CONVOLUTIONS[1])), "Conv").name == "convolve"


def test_stored_kernel_is_stored_in_its_new_shape_alone() -> None:
    after = conformed(convolution((4, 6, 2, 3, "group=2", 9)))
    shapes = [tuple(t.dims) for t in after.graph.initializer if len(t.dims) > 1]
    assert shapes == [(6, 2, 1, 3)]


def test_kernel_of_a_run_gets_the_axis_in_the_run() -> None:
    rng = np.random.default_rng(4)
    model = parse(
        "(float[1,4,n] X, float[6,4,3] W) => (float[?,?,?] Y) { Y = Conv <pads=[1,1]> (X, W) }"
    )
    x, w = random(rng, "float", 1, 4, 30), random(rng, "float", 6, 4, 3)
    require_fixed(model, {"X": x, "W": w}, {"X": x[:, :, :1], "W": with_special_values(rng, w)})


def test_float16_keeps_its_bits() -> None:
    rng = np.random.default_rng(5)
    model = parse("(float16[2,4,n] X, float16[6,4,3] W) => (float16[?,?,?] Y) { Y = Conv(X, W) }")
    x, w = random(rng, "float16", 2, 4, 30), random(rng, "float16", 6, 4, 3)
    require_same_bits(model, conformed(model), {"X": x, "W": w})


@pytest.mark.parametrize("element_type", ["int8", "uint8"])
def test_convolution_of_integers_gives_the_same(element_type: str) -> None:
    rng = np.random.default_rng(6)
    model = parse(
        f"""({element_type}[2,3,n] X, {element_type} x, {element_type} w) => (int32[?,?,?] Y)
        {{ Y = ConvInteger <strides=[2], dilations=[2], pads=[1,2]> (X, W, x, w) }}""",
        constants={"W": random(rng, element_type, 4, 3, 3)},
    )
    assert "ConvInteger.R1" in violated(model)
    after = conformed(model, ignore=["ConvInteger.C1"])
    assert violated(after) <= {"ConvInteger.C1"}
    zero_points = {"x": np.array(3, element_type), "w": np.array(0, element_type)}
    runs = [{"X": random(rng, element_type, 2, 3, n), **zero_points} for n in (5, 6, 77)]
    require_same_bits(model, after, *runs)


def test_rank_of_x_is_that_of_w() -> None:
    rng = np.random.default_rng(7)
    model = parse(
        "(float[n] V, int64[k] S) => (float[?,?,?] Y) { X = Reshape(V, S) Y = Conv(X, W) }",
        constants={"W": random(rng, "float", 2, 1, 3)},
    )
    after = conformed(model)
    assert not {rule for rule in violated(after) if rule.startswith("Conv.")}
    require_same_bits(
        model, after, {"V": random(rng, "float", 12), "S": np.array([2, 1, 6], np.int64)}
    )


@pytest.mark.parametrize(("text", "rule", "reason"), [
    ("(float[1,2,3,4,5] X, float[1,2,1,1,1] W) => (float[?,?,?,?,?] Y) { Y = Conv(X, W) }",
     "Conv.R1", "'W' has 3 spatial axes"),
    ("""(float[1,2,9] X, float[1,2,3] W) => (float[?,?,?] Y) {
                Y = Conv <pads=[-1,0]> (X, W)
            }""", "Conv.pads",
     "its attribute pads is [-1, 0], for which the change was not verified"),
    ("(float[1,2,9] X, float[1,2,3] W) => (float[?,?,?] Y) { Y = Conv <strides=[2,1]> (X, W) }",
     "Conv.R1", "its attribute strides is [2, 1], which does not fit one axis"),
    ("(float[1,2,9] X, float[1,2,3] W) => (float[?,?,?] Y) { Y = Conv <pads=[1]> (X, W) }",
     "Conv.R1", "its attribute pads is [1], which does not fit one axis"),
    ("(float[n] V, int64[k] S) => (float[?,?,?] Y) { W = Reshape(V, S) Y = Conv(V, W) }",
     "Conv.R1", "the rank of 'W' is not known"),
    ("""(float[1,2,3,4,5] X) => (float[?,?,?,?,?] Y)
        { Y = MaxPool <kernel_shape=[1,1,1]> (X) }""", "MaxPool.R1", "'X' has 3 spatial axes"),
    ("""(float[1,2,9] X) => (float[?,?,?] Y, int64[?,?,?] I)
        { Y, I = MaxPool <kernel_shape=[2]> (X) }""", "MaxPool.R1",
     "its second output is used, and its indices would change with a second axis"),
])  # fmt: skip
def test_what_has_no_window_along_two_axes_says_why(text: str, rule: str, reason: str) -> None:
    assert reasons(parse(text), rounding=True, measure=False)[rule] == reason


POOLS = [
    ("kernel_shape=[1]", 2),
    ("kernel_shape=[2], strides=[2]", 8),
    ("kernel_shape=[3], pads=[1,1]", 101),
    ("kernel_shape=[3], pads=[2,0], strides=[3]", 64),
    ("kernel_shape=[7], strides=[2], dilations=[2]", 50),
    ("kernel_shape=[9], pads=[0,1]", 9),
    ("kernel_shape=[4], strides=[3], pads=[1,2]", 33),
]


@pytest.mark.parametrize("element_type", ["float", "float16", "int8", "uint8"])
@pytest.mark.parametrize(("given", "length"), POOLS)
def test_pool_along_one_axis_gives_the_same_bits(
    element_type: str, given: str, length: int
) -> None:
    rng = np.random.default_rng(8)
    model = parse(
        f"({element_type}[2,3,{length}] X) => ({element_type}[?,?,?] Y) "
        f"{{ Y = MaxPool <{given}> (X) }}"
    )
    assert "MaxPool.R1" in violated(model)
    runs = [{"X": random(rng, element_type, 2, 3, length)}]
    if "float" in element_type:
        mixed = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], TYPES[element_type])
        runs += [{"X": rng.choice(mixed, (2, 3, length))} for _ in range(4)]
    require_fixed(model, *runs)


@pytest.mark.parametrize(("given", "stride"), [("", 1), (", strides=[2]", 2)])
def test_pool_gets_a_window_of_one_behind_and_steps_of_three_with_strides_or_without(
    given: str, stride: int
) -> None:
    """ONNX Runtime compares zeros and NaN in the same order at steps of three alone."""
    text = f"(float[2,3,9] X) => (float[?,?,?] Y) {{ Y = MaxPool <kernel_shape=[2]{given}> (X) }}"
    after = made_of(conformed(parse(text)), "MaxPool")
    assert {"strides": [stride, 3], "kernel_shape": [2, 1]}.items() <= attributes(after).items()


def test_pool_of_integers_along_a_whole_axis_gives_the_same() -> None:
    rng = np.random.default_rng(12)
    model = parse("(int8[2,3,n] X) => (int8[?,?,?] Y) { Y = MaxPool <kernel_shape=[9]> (X) }")
    after = conformed(model)
    require_same_bits(model, after, *({"X": random(rng, "int8", 2, 3, n)} for n in (9, 20)))


@pytest.mark.parametrize("length", ["9", "n"])
def test_pool_of_floats_along_a_whole_axis_rounds(length: str) -> None:
    rng = np.random.default_rng(13)
    model = parse(
        f"(float[2,3,{length}] X) => (float[?,?,?] Y) {{ Y = MaxPool <kernel_shape=[9]> (X) }}"
    )
    title = "append an axis of size 1, after which NaN may be met in another order"
    assert reasons(model)["MaxPool.R1"] == (
        f"a window of the whole axis meets NaN in another order; rounding=True may fix it: {title}"
    )
    after = conformed(model, rounding=True, measure=False)
    assert violated(after) == set()
    require_same_bits(model, after, {"X": random(rng, "float", 2, 3, 9)})


@pytest.mark.parametrize("opset", [8, 10, 11, 12, 17, 22])
def test_pool_along_one_axis_is_mended_in_every_version(opset: int) -> None:
    model = parse(
        "(float[2,3,5] X) => (float[?,?,?] Y) { Y = MaxPool <kernel_shape=[2]> (X) }", opset=opset
    )
    assert violated(conformed(model)) == set()


MODES = ["VALID", "SAME_UPPER", "SAME_LOWER"]


def padded(operator: str, mode: str, given: str, sizes: str, opset: int = 17) -> onnx.ModelProto:
    if operator == "MaxPool":
        operands, inputs = f"(float[1,2,{sizes}] X)", "X"
    elif operator == "Conv":
        operands, inputs = f"(float[1,2,{sizes}] X, float[3,2,2,3] W)", "X, W"
    else:
        operands, inputs = f"(uint8[1,2,{sizes}] X, uint8[3,2,2,3] W)", "X, W"
    result = "int32" if operator == "ConvInteger" else "float"
    attribute = ", ".join(filter(None, [f'auto_pad="{mode}"', given]))
    return parse(
        f"{operands} => ({result}[?,?,?,?] Y) {{ Y = {operator} <{attribute}> ({inputs}) }}",
        opset=opset,
    )


def feeds(operator: str, height: int, width: int) -> Mapping[str, np.ndarray]:
    rng = np.random.default_rng(9)
    element_type = "uint8" if operator == "ConvInteger" else "float"
    x = random(rng, element_type, 1, 2, height, width)
    return (
        {"X": x} if operator == "MaxPool" else {"X": x, "W": random(rng, element_type, 3, 2, 2, 3)}
    )


def padded_cases() -> Iterator[tuple[str, str, str, tuple[int, int], int]]:
    for operator in ("Conv", "ConvInteger", "MaxPool"):
        kernel = "kernel_shape=[2,3], " if operator == "MaxPool" else ""
        for mode in MODES:
            for strides in ("strides=[1,1]", "strides=[2,1]", "strides=[2,3]"):
                for opset in (11, 17):
                    yield operator, mode, kernel + strides, (6, 7), opset
            yield operator, mode, f"{kernel}strides=[1,2]", (5, 8), 13


@pytest.mark.parametrize(("operator", "mode", "given", "sizes", "opset"), list(padded_cases()))
def test_padding_that_is_written_down_gives_the_same_bits(
    operator: str, mode: str, given: str, sizes: tuple[int, int], opset: int
) -> None:
    height, width = sizes
    model = padded(operator, mode, given, f"{height},{width}", opset)
    assert f"{operator}.{'R3' if operator == 'MaxPool' else 'R2'}" in violated(model)
    require_fixed(model, feeds(operator, height, width))


@pytest.mark.parametrize(
    ("mode", "pads"),
    [("VALID", [0, 0, 0, 0]), ("SAME_UPPER", [0, 1, 1, 1]), ("SAME_LOWER", [1, 1, 0, 1])],
)
def test_an_odd_element_of_padding_lies_where_the_mode_says(mode: str, pads: list[int]) -> None:
    after = made_of(conformed(padded("Conv", mode, "", "5,7")), "Conv")
    assert attributes(after)["pads"] == pads


def test_padding_at_strides_of_one_needs_no_sizes() -> None:
    model = padded("Conv", "SAME_UPPER", "", "h,w")
    require_fixed(model, *(feeds("Conv", h, w) for h, w in ((1, 1), (4, 9))))


def test_last_element_that_a_stride_leaves_out_needs_no_padding() -> None:
    rng = np.random.default_rng(10)
    for mode in MODES:
        model = parse(
            f"""(float[1,2,8,8] X, float[3,2,1,1] W) => (float[?,?,?,?] Y)
            {{ Y = Conv <auto_pad="{mode}", strides=[2,2]> (X, W) }}"""
        )
        after = conformed(model)
        assert attributes(made_of(after, "Conv"))["pads"] == [0, 0, 0, 0]
        require_same_bits(
            model,
            after,
            {"X": random(rng, "float", 1, 2, 8, 8), "W": random(rng, "float", 3, 2, 1, 1)},
        )


@pytest.mark.parametrize("mode", MODES)
def test_one_padded_axis_becomes_two_without_auto_pad(mode: str) -> None:
    rng = np.random.default_rng(11)
    model = parse(
        f"""(float[1,2,9] X) => (float[?,?,?] Y)
        {{ Y = Conv <auto_pad="{mode}", strides=[2]> (X, W) }}""",
        constants={"W": random(rng, "float", 3, 2, 4)},
    )
    require_fixed(model, {"X": random(rng, "float", 1, 2, 9)})


OPEN = (
    "the padding depends on the sizes of 'X', which are open; "
    "fix it: assume_shapes={'X': (1, 2, 1, 8)}"
)


@pytest.mark.parametrize(("model", "rule", "reason"), [
    (padded("Conv", "SAME_UPPER", "strides=[2,2]", "h,8"), "Conv.R2",
     OPEN),
    (padded("MaxPool", "SAME_LOWER", "kernel_shape=[2,2], strides=[2,1]", "h,8"), "MaxPool.R3",
     OPEN),
    (padded("MaxPool", "SAME_LOWER", "kernel_shape=[2,2], dilations=[1,2]", "8,8"),
     "MaxPool.R3", "ONNX Runtime pads a dilated window differently than ONNX says"),
    (padded("MaxPool", "SAME_UPPER", "kernel_shape=[2,2], ceil_mode=1", "8,8"), "MaxPool.R3",
     "ceil_mode adds windows of its own to the padding"),
    (padded("Conv", "SAME_UPPER", "strides=[5,6]", "10,12"), "Conv.R2",
     "its strides skip elements, where auto_pad shifts the windows"),
    (padded("MaxPool", "SAME_UPPER", "kernel_shape=[1,1], strides=[2,2]", "8,8"), "MaxPool.R3",
     "its strides skip elements, where auto_pad shifts the windows"),
])  # fmt: skip
def test_padding_that_cannot_be_written_down_says_why(
    model: onnx.ModelProto, rule: str, reason: str
) -> None:
    assert reasons(model)[rule] == reason


def test_pads_beside_auto_pad_are_kept() -> None:
    model = padded("Conv", "SAME_UPPER", "pads=[0,0,0,0]", "8,8")
    assert reasons(model)["Conv.R2"] == ("it has both pads and auto_pad, which ONNX does not allow")
