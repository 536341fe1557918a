"""Random chains of nodes in float16: what `conform` calls safe leaves every bit as it is.

ONNX Runtime computes most nodes in float and rounds where a node with a kernel for float16 reads
or gives a value, so that a node which only moves elements changes bits if a change inserts it.

`SONNX_ORT_GRAPHS=20000 pytest tests/soundness/test_sixteen_bit_chains.py` tries as many.
"""

import os
import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import sonnx_ort
from sonnx_ort.conforming.sixteen_bit_floats import SixteenBitFloats
from support.chosen_cases import trials
from support.sessions import on_one_thread

_FLOAT16, _FLOAT = TensorProto.FLOAT16, TensorProto.FLOAT
_ROWS, _COLUMNS = 3, 4

GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", "200"))


class _Graph:
    """A graph of random nodes; every value has three rows and four columns, or one row."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)  # noqa: S311 - no cryptography
        self.opset = self.random.choice((11, 13, 15, 17, 18, 20, 21))
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.matrices, self.rows = ["x"], ["r"]

    def model(self) -> onnx.ModelProto:
        for _ in range(self.random.randint(2, 8)):
            self.random.choice(_KINDS)(self)
        computed = {name for node in self.nodes for name in node.output}
        ends = [name for name in (*self.matrices, *self.rows) if name in computed]
        outputs = {ends[-1], *self.random.sample(ends, self.random.randint(0, min(1, len(ends))))}
        rows = self.random.choice((_ROWS, "n"))
        inputs = [
            helper.make_tensor_value_info("x", _FLOAT16, [rows, _COLUMNS]),
            helper.make_tensor_value_info("r", _FLOAT16, [_COLUMNS]),
            helper.make_tensor_value_info("f", _FLOAT, [_COLUMNS]),
        ]
        results = [helper.make_tensor_value_info(name, _FLOAT16, None) for name in sorted(outputs)]
        graph = helper.make_graph(self.nodes, "g", inputs, results, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8
        return model

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        names = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0]

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def integers(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def numbers(self, *shape: int) -> str:
        numbers = [self.random.uniform(0.1, 2) for _ in range(int(np.prod(shape)))]
        return self.constant(np.array(numbers, np.float16).reshape(shape))

    def matrix(self) -> str:
        return self.random.choice(self.matrices[-3:])

    def row(self) -> str:
        return self.random.choice(self.rows[-2:])


def _unary(g: _Graph) -> None:
    operator = g.random.choice(("Exp", "Sqrt", "Sigmoid", "Relu", "Identity", "HardSigmoid", "Abs"))
    values, operand = (g.matrices, g.matrix()) if g.random.random() < 0.5 else (g.rows, g.row())
    values.append(g.node(operator, operand))


def _row_of_floats(g: _Graph) -> None:
    g.rows.append(g.node("Cast", g.node("Exp", "f"), to=_FLOAT16))


def _pair(g: _Graph) -> None:
    operator = g.random.choice(("Mul", "Add", "Div", "Sub", "Max", "Sum", "Mean"))
    other = g.random.choice((g.row(), g.matrix(), g.numbers(1), g.numbers(_COLUMNS)))
    operands = [g.matrix(), other]
    g.random.shuffle(operands)
    g.matrices.append(g.node(operator, *operands))


def _pair_of_rows(g: _Graph) -> None:
    g.rows.append(g.node("Mul", g.row(), g.random.choice((g.row(), g.numbers(1)))))


def _softmax(g: _Graph) -> None:
    operator = g.random.choice(("Softmax", "LogSoftmax"))
    g.matrices.append(g.node(operator, g.matrix(), axis=-1))


def _product(g: _Graph) -> None:
    if g.random.random() < 0.5:
        g.matrices.append(g.node("MatMul", g.matrix(), g.numbers(_COLUMNS, _COLUMNS)))
    else:
        stacked = g.node("Reshape", g.matrix(), g.integers(1, _ROWS, _COLUMNS))
        product = g.node("MatMul", stacked, g.numbers(1, _COLUMNS, _COLUMNS))
        g.matrices.append(g.node("Reshape", product, g.integers(_ROWS, _COLUMNS)))


def _gemm(g: _Graph) -> None:
    operands = g.matrix(), g.numbers(_COLUMNS, _COLUMNS), g.row()
    g.matrices.append(g.node("Gemm", *operands, transB=g.random.randint(0, 1), beta=0.5))


def _moved(g: _Graph) -> None:
    operand = g.matrix()
    match g.random.randint(0, 4):
        case 0:
            once = g.node("Transpose", operand, perm=[1, 0])
            g.matrices.append(g.node("Transpose", once, perm=[1, 0]))
        case 1:
            parts = [g.integers(0), g.integers(1 << 62), g.integers(-1), g.integers(1)]
            g.matrices.append(g.node("Slice", operand, *parts))
        case 2:
            g.matrices.append(g.node("Reshape", operand, g.integers(-1, _COLUMNS)))
        case 3:
            parts = [g.integers(0), g.integers(1), g.integers(-2)]
            cut = g.node("Slice", operand, *parts)
            g.rows.append(g.node("Reshape", cut, g.integers(-1)))
        case _:
            joined = g.node("Concat", operand, g.matrix(), axis=-2)
            indices = g.integers(*range(_ROWS))
            g.matrices.append(g.node("Gather", joined, indices, axis=0))


def _dropout(g: _Graph) -> None:
    values, operand = (g.matrices, g.matrix()) if g.random.random() < 0.5 else (g.rows, g.row())
    values.append(g.node("Dropout", operand))


def _split(g: _Graph) -> None:
    """A part of a value; nothing reads the other part."""
    sizes = {"split": [1, 2]} if g.opset < 13 else {}
    inputs = [g.matrix()] if sizes else [g.matrix(), g.integers(1, 2)]
    part = g.node("Split", *inputs, outputs=2, axis=0, **sizes)
    g.rows.append(part)


def _sized(g: _Graph) -> None:
    """A value in the shape of another one, which only asks for its size."""
    g.matrices.append(g.node("Reshape", g.matrix(), g.node("Shape", g.matrix())))


def _flattened(g: _Graph) -> None:
    g.matrices.append(g.node("Flatten", g.matrix(), axis=-1 if g.opset >= 11 else 1))


def _branch(g: _Graph) -> None:
    """The branch of a condition that is the same in every run."""
    operand, name = g.matrix(), f"b{len(g.nodes)}"
    result = helper.make_tensor_value_info(name, _FLOAT16, None)
    branches = [
        helper.make_graph([helper.make_node(operator, [operand], [name])], name, [], [result])
        for operator in ("Exp", "Neg")
    ]
    condition = g.constant(np.array(g.random.random() < 0.5))
    g.matrices.append(g.node("If", condition, then_branch=branches[0], else_branch=branches[1]))


_KINDS: tuple[Callable[[_Graph], None], ...] = (
    *(_unary, _unary, _pair, _pair, _pair, _pair_of_rows, _row_of_floats),
    *(_moved, _moved, _softmax, _product, _gemm, _dropout, _split, _sized, _flattened, _branch),
)


def _feeds(number: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(number)
    shapes = {"x": (_ROWS, _COLUMNS), "r": (_COLUMNS,), "f": (_COLUMNS,)}
    kinds = {"f": np.float32}
    return {
        name: numbers.uniform(0.1, 2, shape).astype(kinds.get(name, np.float16))
        for name, shape in shapes.items()
    }


def _difference(number: int, tally: Counter[str]) -> str:
    """How the conformed graph of a number differs from the original, if it does."""
    model = _Graph(number).model()
    made = sonnx_ort.conform(model, name_outputs=bool(number % 2))
    tally["graphs"] += 1
    tally["with new nodes"] += any(change.added for change in made.changes)
    tally["that round"] += any("16-bit" in reason for _, reason in made.remaining)
    titles = [f"{change.operator}: {change.title}" for change in made.changes if change.values]
    feeds = _feeds(number)
    original, conformed = (
        ort.InferenceSession(each.SerializeToString(), on_one_thread("none")).run(None, feeds)
        for each in (model, made.model)
    )
    if all(a.tobytes() == b.tobytes() for a, b in zip(original, conformed, strict=False)):
        return ""
    return f"graph {number}: {titles}"


@pytest.fixture(scope="module")
def tried(part_of_trials: int) -> tuple[list[str], Counter[str]]:
    tally: Counter[str] = Counter()
    found = [_difference(number, tally) for number in trials(part_of_trials, GRAPHS)]
    return [each for each in found if each], tally


def test_safe_changes_keep_the_bits_of_chains_of_16_bit_floats(tried):
    assert tried[0] == []


@pytest.mark.usefixtures("first_part")
def test_the_chains_are_worth_looking_at(tried):
    tally = tried[1]
    assert tally["with new nodes"] > GRAPHS // 10
    assert tally["that round"] > GRAPHS // 10


def test_a_search_without_the_rule_finds_changes_that_round(monkeypatch):
    monkeypatch.setattr(SixteenBitFloats, "moved_by", lambda *_: False)
    tally: Counter[str] = Counter()
    assert any(_difference(number, tally) for number in range(GRAPHS))
