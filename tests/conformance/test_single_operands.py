"""Operators with rules about single operands: what keeps them runs, what breaks them is refused."""

import numpy as np
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from support.backends import BACKENDS
from support.sessions import enforced, on_one_thread
from support.window_tables import WINDOW_TABLES, Feeds, Table

LEVELS = pytest.mark.parametrize("level", ["none", "basic", "all"])

SQUARE = np.array([[1, 2], [3, 4]])
ROWS = np.arange(12).reshape(3, 4)


def places(*cuts: tuple[int, int, int, int], kind=np.int64) -> Feeds:
    """Starts, ends, axes and steps."""
    columns = zip(*cuts, strict=True) if cuts else ((),) * 4
    names = ("starts", "ends", "axes", "steps")
    return {n: np.array(c, kind) for n, c in zip(names, columns, strict=True)}


def sliced(*cuts: tuple[int, int, int, int], kind=np.int64) -> Feeds:
    return {"X": ROWS, **places(*cuts, kind=kind)}


def normalized(*variance: float) -> Feeds:
    ones = np.ones(2)
    return {"X": SQUARE, "s": ones, "b": ones, "m": ones, "v": np.array(variance)}


def quantized(x: object, scale: object, zero_point: object = 10) -> Feeds:
    return {"X": x, "s": np.array(scale, np.float32), "z": np.array(zero_point, np.uint8)}


def dequantized(x: object, zero_point: object, scale: object = 0.5) -> Feeds:
    return {"X": x, "s": np.array(scale, np.float32), "z": np.array(zero_point, np.int32)}


def sizes(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def joined(*shapes: tuple[int, ...]) -> Feeds:
    """Tensors for a Concat, each as its elements and its shape."""
    feeds: Feeds = {}
    for name, shape in zip("xyz", shapes, strict=False):
        feeds |= {name: np.arange(np.prod(shape, dtype=int)), f"{name}s": sizes(*shape)}
    return feeds


CONCAT = (
    "(T[k] x, int64[p] xs, T[l] y, int64[q] ys) => (T[] Y) { [node] Y = Concat<axis = 1>(X0, X1) }"
)
SQUEEZED = np.arange(3).reshape(1, 3, 1)
NUMBERS = ("float", "float16", "double", "bool", "int8", "int16", "uint64")

INF, NAN, LARGEST = np.inf, np.nan, float(np.finfo(np.float32).max)
SMALLEST = -(2**31)
SOFTMAX = "(T[n, m] X) => (T[n, m] Y) { [node] Y = Softmax <axis = 1> (X) }"
OLD_SOFTMAX = "(T[n, m, k] X) => (T[n, m, k] Y) { [node] Y = Softmax <axis = 1> (X) }"
DEQUANTIZE = "(T[n] X, float s, int32 z) => (float[n] Y) { [node] Y = DequantizeLinear(X, s, z) }"
NOT_FROM_ZERO = [
    dequantized([-10, 0, 7], 100),
    dequantized([2**31 - 2], -1),
    dequantized([-1], SMALLEST),
]
"""What onnxruntime 1.23 refuses itself."""

FIRST = (0, 3, 0, 1)
INDICES = frozenset({"starts", "ends", "axes", "steps"})
VECTORS = ", ".join(f"T[c] {name}" for name in "sbmv")
CUTS = ", ".join(f"INDEX[k] {name}" for name in ("starts", "ends", "axes", "steps"))
SLICE = f"(T[n, m] X, {CUTS}) => (T[p, q] Y) {{ [node] Y = Slice(X, starts, ends, axes, steps) }}"

TABLES = {
    **WINDOW_TABLES,
    "MatMul": Table(
        "(T[n] e, int64[r] sizes, T[b, c] B) => (T[p, q] Y) "
        "{ A = Reshape(e, sizes) [node] Y = MatMul(A, B) }",
        ("float", "double", "float16", "int32", "int64", "uint32", "uint64"),
        [{"e": SQUARE.ravel(), "sizes": np.array([2, 2]), "B": SQUARE}],
        [
            ("C1", {"e": SQUARE.ravel(), "sizes": np.array([1, 2, 2]), "B": SQUARE}),
            ("C1", {"e": SQUARE[0], "sizes": np.array([2]), "B": SQUARE}),
        ],
        frozenset({"sizes"}),
    ),
    "BatchNormalization": Table(
        f"(T[n, c] X, {VECTORS}) => (T[n, c] Y) {{ [node] Y = BatchNormalization(X, s, b, m, v) }}",
        ("float", "double", "float16"),
        [normalized(1, 2), normalized(0.0, -0.0), normalized(np.inf, 1)],
        [
            ("C3", normalized(1, -0.5)),
            ("C3", normalized(np.nan, 1)),
            ("C3", normalized(-np.inf, 1)),
        ],
    ),
    "Clip": Table(
        "(T[n] X, T low, T high) => (T[n] Y) { [node] Y = Clip(X, low, high) }",
        ("float", "double", "float16", "int8", "int32", "int64", "uint8", "uint64"),
        [
            {"X": [0, 5, 9], "low": 2, "high": 7},
            {"X": [0, 5, 9], "low": 7, "high": 2},
            {"X": [], "low": 2, "high": 7},
        ],
        [
            ("C1", {"X": [0, 5, 9], "low": [2], "high": 7}),
            ("C1", {"X": [0, 5, 9], "low": 2, "high": [[7]]}),
        ],
    ),
    "Clip of NaN": Table(
        "(T[n] X, T low, T high) => (T[n] Y) { [node] Y = Clip(X, low, high) }",
        ("float", "double", "float16"),
        [
            {"X": [NAN, 5], "low": -INF, "high": INF},
            {"X": [NAN, INF], "low": NAN, "high": 7},
            {"X": [NAN, -INF], "low": 2, "high": NAN},
            {"X": [NAN, -INF, INF], "low": NAN, "high": NAN},
            {"X": [INF, -INF], "low": 7, "high": 2},
        ],
        [
            ("float.C3", {"X": [0, 5, NAN], "low": 7, "high": 2}),
            ("float.C3", {"X": [NAN], "low": INF, "high": -INF}),
            ("C1", {"X": [NAN], "low": [7], "high": [2]}),
            ("C1", {"X": [NAN], "low": [7, 7], "high": [2, 2, 2]}),
            ("C1", {"X": [NAN], "low": [], "high": 2}),
        ],
    ),
    "Clip without a lower bound": Table(
        "(T[n] X, T high) => (T[n] Y) { [node] Y = Clip(X, , high) }",
        ("float", "int64"),
        [{"X": [0, 5, 9], "high": 7}],
        [("C1", {"X": [0, 5, 9], "high": [7]})],
    ),
    "ArgMax": Table(
        "(T[n, m] X) => (int64[n, o] Y) { [node] Y = ArgMax <axis = 1> (X) }",
        ("float", "float16", "double"),
        [{"X": ROWS}, {"X": np.zeros((0, 4))}, {"X": [[-np.inf, np.inf]]}],
        [
            ("R5", {"X": np.zeros((4, 0))}),
            ("float.C1", {"X": [[1, np.nan, 3], [1, 2, 3]]}),
            ("float.C1", {"X": [[np.nan]]}),
        ],
    ),
    "ArgMax of any rank": Table(
        "(T[] X) => (int64[] Y) { [node] Y = ArgMax <axis = 1> (X) }",
        ("float", "int32"),
        [{"X": ROWS}],
        [("R5", {"X": [1, 2, 3]}), ("R5", {"X": 1})],
    ),
    "ArgMax of integers": Table(
        "(T[n, m] X) => (int64[n, o] Y) { [node] Y = ArgMax <axis = 1> (X) }",
        ("int32", "int8", "uint8"),
        [{"X": ROWS}, {"X": np.zeros((0, 4))}],
        [("R5", {"X": np.zeros((4, 0))}), ("R5", {"X": np.zeros((0, 0))})],
    ),
    **{
        f"Slice by {index}": Table(
            SLICE.replace("INDEX", index),
            ("float", "float16", "bool", "int8", "uint64"),
            [
                sliced(FIRST, (1, 4, 1, 2), kind=kind),
                sliced((2, -4, -2, -1), (-1, 0, -1, -2), kind=kind),
                sliced((1, 1, 0, 1), (0, 4, 1, 1), kind=kind),
            ],
            [
                ("R2", sliced((0, 4, 1, 1), kind=kind)),
                ("R2", sliced(kind=kind)),
                ("R8", sliced(FIRST, (4, 4, 1, 1), kind=kind)),
                ("R8", sliced((-4, 3, 0, 1), (0, 4, 1, 1), kind=kind)),
                ("R8", sliced(FIRST, (np.iinfo(kind).min, 4, 1, 1), kind=kind)),
                ("C2", sliced(FIRST, (0, 5, 1, 1), kind=kind)),
                ("C2", sliced(FIRST, (0, np.iinfo(kind).max, 1, 1), kind=kind)),
                ("C2", sliced(FIRST, (3, 4, 1, -1), kind=kind)),
                ("R6", sliced(FIRST, (2, 1, 1, 1), kind=kind)),
                ("R6", sliced(FIRST, (1, 2, 1, -1), kind=kind)),
            ],
            INDICES,
        )
        for index, kind in (("int64", np.int64), ("int32", np.int32))
    },
    "Slice of any rank": Table(
        SLICE.replace("INDEX", "int64").replace("T[n, m] X", "T[] X").replace("T[p, q]", "T[]"),
        ("float", "int8"),
        [sliced(FIRST, (-1, -4, -1, -2)), {"X": ROWS[0], **places((-1, -4, -1, -1))}],
        [
            ("R2", sliced(FIRST, (0, 4, 1, 1), (0, 1, 2, 1))),
            ("R2", sliced(FIRST, (0, 4, 1, 1), (0, 4, -1, 1))),
            ("R2", sliced((0, 1, 7, 1))),
            ("R2", {"X": ROWS[0], **places(FIRST, (0, 1, 1, 1))}),
            ("R2", {"X": ROWS[0, 0], **places((0, 1, 0, 1))}),
            ("R8", sliced(FIRST, (-5, 4, -1, 1))),
            ("C2", {"X": ROWS[0], **places((0, 5, -1, 1))}),
            ("R6", {"X": ROWS[0], **places((3, 1, -1, 1))}),
        ],
        INDICES,
    ),
    "Softmax": Table(
        SOFTMAX.replace("T[n, m] X", "T[e] e, int64[r] sizes").replace(
            "{", "{ X = Reshape(e, sizes)"
        ),
        ("float", "double", "float16"),
        [
            {"e": rows.ravel(), "sizes": np.array(rows.shape)}
            for rows in (
                ROWS,
                np.array([[-INF, 1], [NAN, -INF], [-INF, NAN], [NAN, NAN]]),
                np.array([[1, INF], [NAN, INF], [INF, NAN], [INF, -INF], [INF, INF]]),
                np.array([[65504, -65504]]),
                np.ones((1, 3)),
            )
        ],
        [
            ("C2", {"e": SQUARE.ravel(), "sizes": np.array([4])}),
            ("C2", {"e": np.array([-INF]), "sizes": np.array([1])}),
            ("float.C6", {"e": np.array([INF, -INF]), "sizes": np.array([2, 1])}),
            ("float.C6", {"e": np.array([1, 2, -INF, -INF]), "sizes": np.array([2, 2])}),
            ("float.C6", {"e": np.array([-INF, 1]), "sizes": np.array([2, 1])}),
        ],
        frozenset({"sizes"}),
    ),
    "Softmax of any rank": Table(
        SOFTMAX.replace("T[n, m]", "T[]"),
        ("float", "float16"),
        [{"X": np.zeros((2, 0))}, {"X": np.zeros((0, 2))}, {"X": np.ones((2, 3, 2))}],
        [
            ("C2", {"X": np.zeros(0)}),
            ("C2", {"X": np.array([INF])}),
            ("C2", {"X": np.array(-INF)}),
            ("float.C6", {"X": np.array([[[1, -INF], [1, -INF]]])}),
        ],
    ),
    **{
        f"Softmax of version {opset}": Table(
            OLD_SOFTMAX,
            kinds,
            [
                {"X": ROWS[:, :, None]},
                {"X": np.zeros((2, 3, 0))},
                {"X": np.zeros((0, 2, 1))},
                {"X": np.array([[[1], [INF]]])},
            ],
            [
                ("C4", {"X": np.ones((2, 3, 2))}),
                ("C4", {"X": np.ones((0, 3, 2))}),
                ("C4", {"X": np.full((1, 1, 2), -INF)}),
                ("float.C6", {"X": np.array([[[-INF], [-INF]]])}),
            ],
            opset=opset,
        )
        for opset, kinds in ((12, ("float", "double", "float16")), (10, ("float", "double")))
    },
    "QuantizeLinear": Table(
        "(T[n] X, float[] s, uint8[] z) => (uint8[n] Y) { [node] Y = QuantizeLinear(X, s, z) }",
        ("float",),
        [
            quantized([6.1, -3.5, 130.2], 2),
            quantized([300, -50], 1, 0),
            quantized([LARGEST, -LARGEST, 0.0, -0.0], -0.5),
            quantized([1, -1, 0], INF),
            quantized([1, -1, 0], 1e-45),
            quantized([], 1),
        ],
        [
            ("signature", quantized([1], [1])),
            ("signature", quantized([1], 1, [1])),
            ("signature", quantized([], [], [])),
            ("signature", quantized([NAN], [0], [[1]])),
            ("C1", quantized([1], 0)),
            ("C1", quantized([NAN], -0.0)),
            ("C1", quantized([], NAN)),
            ("C2", quantized([0, NAN], 1)),
            ("C2", quantized([INF], 1)),
            ("C2", quantized([0, 0, -INF], INF)),
        ],
        frozenset({"s", "z"}),
    ),
    "DequantizeLinear": Table(
        DEQUANTIZE.replace("float s, int32 z", "float[] s, int32[] z"),
        ("int32",),
        [
            dequantized([SMALLEST, 2**31 - 1], 0),
            dequantized([], 0, NAN),
            dequantized([5], 0, INF),
            *([] if ort.__version__.startswith("1.23.") else NOT_FROM_ZERO),
        ],
        [
            ("signature", dequantized([1], [0])),
            ("signature", dequantized([1], 0, [1])),
            ("signature", dequantized([SMALLEST], [[1]], [])),
            ("C1", dequantized([SMALLEST], 1)),
            ("C1", dequantized([0, 2**31 - 1], -1)),
            ("C1", dequantized([0], SMALLEST)),
        ],
        frozenset({"s", "z"}),
    ),
    "DequantizeLinear without a zero point": Table(
        DEQUANTIZE.replace("float s, int32 z", "float[] s").replace(", s, z", ", s"),
        ("int32",),
        [{"X": [SMALLEST, 2**31 - 1], "s": np.array(2, np.float32)}],
        [("signature", {"X": [1], "s": np.ones(1, np.float32)})],
        frozenset({"s"}),
    ),
}

_READ = "X0 = Reshape<allowzero = 1>(x, xs) X1 = Reshape<allowzero = 1>(y, ys)"
TABLES |= {
    "Concat": Table(
        CONCAT.replace("{ ", "{ " + _READ),
        NUMBERS,
        [joined((2, 3), (2, 1)), joined((2, 3), (2, 0)), joined((0, 3), (0, 2))],
        [
            ("C2", joined((2, 3), (0, 3))),
            ("C2", joined((2, 0), (0, 0))),
            ("C2", joined((3, 2), (2, 3))),
            ("C2", joined((2, 3), (2,))),
            ("C2", joined((2, 3), (0,))),
            ("C2", joined((0,), (2, 3))),
            ("C2", joined((2, 3), (2, 3, 1))),
            ("C2", joined((2, 3), (0, 3, 4))),
        ],
        frozenset({"xs", "ys"}),
    ),
    "Concat of known rank": Table(
        "(T[a, b] x, T[c, d] y, T[e, f] z) => (T[g, h] Y) { [node] Y = Concat<axis = 0>(x, y, z) }",
        ("float", "int32"),
        [{"x": ROWS, "y": ROWS[:0], "z": ROWS}],
        [
            ("C2", {"x": ROWS, "y": ROWS, "z": ROWS[:, :0]}),
            ("C2", {"x": ROWS[:0, :1], "y": ROWS, "z": ROWS}),
        ],
    ),
    "Reshape": Table(
        "(T[a, b] x, int64[c] s) => (T[] Y) { [node] Y = Reshape<allowzero = 0>(x, s) }",
        NUMBERS,
        [
            {"x": ROWS, "s": sizes(-1, 2)},
            {"x": ROWS, "s": sizes(0, 4)},
            {"x": ROWS[:0], "s": sizes(0, 4)},
            {"x": ROWS[:1, :1], "s": sizes()},
        ],
        [
            ("allowzero.C3", {"x": ROWS[:0], "s": sizes(-1, 4)}),
            ("allowzero.C3", {"x": ROWS[:, :0], "s": sizes(2, -1)}),
        ],
        frozenset({"s"}),
    ),
    "Reshape with zeros": Table(
        "(T[a, b] x, int64[c] s) => (T[] Y) { [node] Y = Reshape<allowzero = 1>(x, s) }",
        ("float", "int8"),
        [{"x": ROWS, "s": sizes(-1, 2)}, {"x": ROWS[:0], "s": sizes(-1, 2)}],
        [("allowzero.C3", {"x": ROWS[:0], "s": sizes(0, -1)})],
        frozenset({"s"}),
    ),
    "Squeeze": Table(
        "(T[a, b, c] x, int64[d] s) => (T[] Y) { [node] Y = Squeeze(x, s) }",
        NUMBERS,
        [
            {"x": SQUEEZED, "s": sizes(0, 2)},
            {"x": SQUEEZED, "s": sizes(-1, 0)},
            {"x": SQUEEZED, "s": sizes(-1)},
        ],
        [
            ("A.names", {"x": SQUEEZED, "s": sizes()}),
            ("A.C2", {"x": SQUEEZED, "s": sizes(0, 0)}),
            ("A.C2", {"x": SQUEEZED, "s": sizes(0, 2, -3)}),
        ],
        frozenset({"s"}),
    ),
    "Squeeze by an attribute": Table(
        "(T[] x) => (T[] Y) { [node] Y = Squeeze<axes = [0, -3]>(x) }",
        ("float", "int64"),
        [{"x": np.ones((1, 1, 1, 1))}],
        [("A.C2", {"x": np.ones((1, 1, 1))})],
        opset=11,
    ),
    "Unsqueeze": Table(
        "(T[a] x, int64[] s) => (T[] Y) { [node] Y = Unsqueeze(x, s) }",
        NUMBERS,
        [{"x": [1, 2], "s": sizes(0, -1)}, {"x": [1, 2], "s": sizes()}],
        [("A.rank", {"x": [1, 2], "s": np.array(0)})],
        frozenset({"s"}),
    ),
    "Range": Table(
        "(T[] s, T[] l, T[] d) => (T[a] Y) { [node] Y = Range(s, l, d) }",
        ("float", "double", "int16", "int32", "int64"),
        [{"s": 0, "l": 7, "d": 2}, {"s": 7, "l": 0, "d": -2}, {"s": 7, "l": 0, "d": 2}],
        [
            ("scalars", {"s": [0], "l": 7, "d": 2}),
            ("scalars", {"s": 0, "l": [7], "d": 2}),
            ("scalars", {"s": 0, "l": 7, "d": [2]}),
        ],
    ),
}

EACH = pytest.mark.parametrize(
    ("table", "kind"),
    [
        pytest.param(table, kind, id=f"{name} {kind}")
        for name, table in TABLES.items()
        for kind in table.types
    ],
)


@EACH
@BACKENDS
@LEVELS
def test_what_keeps_the_rules_runs_with_the_same_bits(table: Table, kind, backend, level) -> None:
    model = table.model(kind)
    session = enforced(model, backend, level)
    plain = sonnx_ort.InferenceSession(model, on_one_thread("none"), operators="Div")
    for feeds in table.kept:
        fed = table.feeds(feeds, kind)
        for found, expected in zip(session.run(None, fed), plain.run(None, fed), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.satisfies(
    "ArgMax.float.C1",
    "Clip.draft.float.crossed",
    "ConvInteger.C1",
    "LSTM.batch",
    "LSTM.sequences",
    "MaxPool.C1",
    "MaxPool.float.C2",
    "Softmax.C4",
    "Squeeze.A.C2",
    "Squeeze.A.names",
    "MatMul.draft.matrices",
    "BatchNormalization.draft.variance",
    "Clip.draft.scalars",
    "ArgMax.draft.not_empty",
    "ArgMax.draft.rank",
    "DequantizeLinear.draft.difference",
    "DequantizeLinear.draft.scale",
    "DequantizeLinear.draft.zero_point",
    "QuantizeLinear.draft.finite",
    "QuantizeLinear.draft.not_zero",
    "QuantizeLinear.draft.scale",
    "Slice.draft.R2",
    "Slice.draft.R6",
    "Slice.draft.R7",
    "Slice.draft.R8",
    "Slice.draft.ends",
    "Softmax.draft.float.masked",
    "Softmax.draft.rank",
    "Softmax.draft.float.rank",
    "Conv.draft.axes",
    "Conv.draft.kernel",
    "Conv.draft.bias",
    "Conv.draft.channels",
    "Conv.draft.depthwise",
    "ConvInteger.draft.axes",
    "ConvInteger.draft.channels",
    "ConvInteger.draft.depthwise",
    "ConvInteger.draft.kernel",
    "ConvInteger.draft.x_zero_point",
    "ConvInteger.draft.w_zero_point",
    "MaxPool.draft.axes",
    "MaxPool.draft.fits",
    "Gemm.draft.axes",
    "Gemm.draft.broadcasting",
    "LSTM.draft.x",
    "LSTM.draft.w",
    "Concat.draft.equal",
    "Reshape.draft.inferable",
    "Unsqueeze.draft.vector",
    "Range.draft.scalars",
)
@EACH
@BACKENDS
@LEVELS
def test_what_breaks_a_rule_is_refused(table: Table, kind, backend, level) -> None:
    session = enforced(table.model(kind), backend, level)
    for tag, feeds in table.broken:
        with pytest.raises(sonnx_ort.ContractViolation) as caught:
            session.run(None, table.feeds(feeds, kind))
        violation = caught.value
        assert (violation.rule, violation.node) == (f"{violation.operator}.{tag}", "node")


@EACH
@BACKENDS
def test_rewriting_twice_changes_nothing(table: Table, kind, backend) -> None:
    once = sonnx_ort.rewrite(table.model(kind), operators="all,-Graph", backend=backend)
    assert sonnx_ort.rewrite(once, operators="all,-Graph", backend=backend) == once


@pytest.mark.parametrize("name", [n for n, o in OPERATORS.items() if not o.elementwise])
def test_table_breaks_every_rule_that_runs_decide(name: str) -> None:
    tables = (table for label, table in TABLES.items() if label.split()[0] == name)
    broken = {f"{name}.{tag}" for table in tables for tag, _ in table.broken}
    # Constants break it before runs.
    broken |= {"LSTM.R"} if name == "LSTM" else set()
    assert broken == {rule.id for rule in OPERATORS[name].all_rules() if rule.in_run}
