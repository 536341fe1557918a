"""What is decided before runs, and in runs, of the shapes, sizes and axes of layout operators."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from sonnx_ort.kernel.sizes import Bounds
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.broadcasting import SCALAR_INPUTS
from sonnx_ort.profile.rule import AttributeValue, Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand, Shape

HELD = "; ONNX Runtime rejects a violation"
IN_A_RUN = "the elements of {} are known only in a run"
NO_RANK = "the rank of {} is unknown"


def of_shape(shape: Shape | None, name: str = "X", **known) -> Operand:
    return Operand(name, name.lower(), "input", "float", shape, **known)


def listing(
    name: str, *numbers: int, shape: Shape | None = None, bounds: Bounds | None = None
) -> Operand:
    """An operand of int64, constant if it has numbers."""
    constant = np.array(numbers, np.int64) if numbers or shape is None else None
    own = (len(numbers),) if shape is None else shape
    return Operand(name, name.lower(), "input", "int64", own, constant=constant, bounds=bounds)


def joined(*shapes: Shape | None, **known) -> list[Operand]:
    return [of_shape(shape, f"X{index}", **known) for index, shape in enumerate(shapes)]


def sized(shape: Shape | None, *sizes: int, **known) -> list[Operand]:
    return [of_shape(shape, **known), listing("S", *sizes)]


def named(shape: Shape | None, *axes: int, **known) -> list[Operand]:
    return [of_shape(shape, **known), listing("A", *axes)]


SCALAR = {"scalar_inputs": True}
SHARED = {"shared_symbols": frozenset("n")}
OPEN_S, OPEN_A = listing("S", shape=("k",)), listing("A", shape=("k",))
POSITIVE = listing("S", shape=("k",), bounds=Bounds(1, 9))
NO_INTEGERS = of_shape((2,), "S", constant=np.array([np.inf, np.nan], np.float32))
NO_AXIS_TWICE = "no axis is named twice"

CASES = [
    (
        "Concat.C3",
        joined((2,), ("n",)),
        {},
        "proved",
        "the rank of X0 (2,) is at least 1 and the rank of X1 (n,) is at least 1",
    ),
    ("Concat.C3", joined((2,), ()), {}, "violated", "the rank of X1 () is 0, not at least 1"),
    ("Concat.C3", joined((2,), None), {}, "runtime", NO_RANK.format("X1") + HELD),
    ("Concat.C3", joined((2,), **SCALAR), {}, "runtime", SCALAR_INPUTS + HELD),
    (
        "Concat.axis.C1",
        joined((2, 3), (2, 3)),
        {"axis": 1},
        "proved",
        "X0 (2, 3) has axis 1 and X1 (2, 3) has axis 1",
    ),
    ("Concat.axis.C1", joined((2, 3)), {"axis": -2}, "proved", "X0 (2, 3) has axis -2"),
    ("Concat.axis.C1", joined((2, 3)), {"axis": 2}, "violated", "X0 (2, 3) has no axis 2"),
    ("Concat.axis.C1", joined(None, (2,)), {"axis": -2}, "violated", "X1 (2,) has no axis -2"),
    ("Concat.axis.C1", joined((2,), None), {"axis": 0}, "runtime", NO_RANK.format("X1") + HELD),
    ("Concat.axis.C1", joined((2,)), {"axis": "0"}, "violated", "the attribute axis is left out"),
    ("Concat.C2", joined((2, 3)), {"axis": 0}, "proved", "there is one operand alone"),
    ("Concat.C2", joined(None), {"axis": 0}, "proved", "there is one operand alone"),
    ("Concat.C2", joined((2,), **SCALAR), {"axis": 0}, "proved", "there is one operand alone"),
    (
        "Concat.C2",
        joined((2, 3), (0, 3)),
        {"axis": 0},
        "proved",
        "the shapes differ on axis 0 at most",
    ),
    (
        "Concat.C2",
        joined((3, 2), (3, 0)),
        {"axis": -1},
        "proved",
        "the shapes differ on axis -1 at most",
    ),
    (
        "Concat.C2",
        joined(("n", 3), ("n", 4)),
        {"axis": 1},
        "proved",
        "the shapes differ on axis 1 at most",
    ),
    ("Concat.C2", joined(("n", 3), ("n", 4), **SHARED), {"axis": 1}, "runtime", "axis 0 is n"),
    ("Concat.C2", joined(("n", 3), ("m", 4)), {"axis": 1}, "runtime", "axis 0 is n and m"),
    ("Concat.C2", joined(("n", 3), (None, 4)), {"axis": 1}, "runtime", "axis 0 is n and unknown"),
    (
        "Concat.C2",
        joined((2, 3), (2, 5)),
        {"axis": 0},
        "violated",
        "axis 1 has size 3 in X0 and 5 in X1",
    ),
    (
        "Concat.C2",
        joined((2, "n"), (2, 4), (2, 5), None),
        {"axis": 0},
        "violated",
        "axis 1 has size 4 in X1 and 5 in X2",
    ),
    (
        "Concat.C2",
        joined((2,), None, (2, 3)),
        {"axis": 0},
        "violated",
        "rank 1 of X0 is not rank 2 of X2",
    ),
    ("Concat.C2", joined((2,), None), {"axis": 0}, "runtime", NO_RANK.format("X1")),
    ("Concat.C2", joined((2,), (3,), **SCALAR), {"axis": 0}, "runtime", SCALAR_INPUTS),
    (
        "Concat.C2",
        joined((2,), (3,)),
        {"axis": 4},
        "violated",
        "axis 0 has size 2 in X0 and 3 in X1",
    ),
    (
        "Concat.C2",
        joined((2,), (3,)),
        {"axis": -4},
        "violated",
        "axis 0 has size 2 in X0 and 3 in X1",
    ),
    ("Reshape.S.rank", [OPEN_S], {}, "proved", "the rank of S (k,) is 1"),
    ("Reshape.S.rank", [listing("S", shape=())], {}, "violated", "the rank of S () is 0, not 1"),
    ("Reshape.S.rank", [of_shape(None, "S")], {}, "runtime", NO_RANK.format("S") + HELD),
    ("Reshape.S.C3", [listing("S", -1, 0, 4)], {}, "proved", "no size is below -1"),
    ("Reshape.S.C3", [listing("S", 4, -2)], {}, "violated", "a size is -2"),
    ("Reshape.S.C3", [NO_INTEGERS], {}, "runtime", IN_A_RUN.format("S") + HELD),
    ("Reshape.S.C1", [NO_INTEGERS], {}, "runtime", IN_A_RUN.format("S") + HELD),
    ("Reshape.S.C3", [OPEN_S], {}, "runtime", IN_A_RUN.format("S") + HELD),
    ("Reshape.S.C3", [POSITIVE], {}, "proved", "no size is below -1"),
    ("Reshape.S.C1", [listing("S", -1, 4)], {}, "proved", "one size is -1"),
    ("Reshape.S.C1", [listing("S", 4)], {}, "proved", "no sizes are -1"),
    ("Reshape.S.C1", [listing("S", -1, 4, -1)], {}, "violated", "2 sizes are -1"),
    ("Reshape.S.C1", [POSITIVE], {}, "proved", "no size is negative"),
    ("Reshape.S.C1", [listing("S", shape=(1,))], {}, "proved", "there is one size at most"),
    ("Reshape.S.C1", [listing("S", shape=(2,))], {}, "runtime", IN_A_RUN.format("S") + HELD),
    ("Reshape.allowzero.C2", sized(None, 2, 3), {}, "proved", "no size is 0"),
    ("Reshape.allowzero.C2", [of_shape(None), POSITIVE], {}, "proved", "no size is 0"),
    (
        "Reshape.allowzero.C2",
        [of_shape(None), OPEN_S],
        {"allowzero": 1},
        "proved",
        "a 0 copies nothing",
    ),
    ("Reshape.allowzero.C2", [of_shape(None), OPEN_S], {}, "runtime", IN_A_RUN.format("S") + HELD),
    ("Reshape.allowzero.C2", sized(("n", 3), 0, 0), {}, "proved", "each 0 copies a size"),
    ("Reshape.allowzero.C2", sized((2,), 2, 0), {}, "violated", "entry 1 is 0, and X has 1 axes"),
    ("Reshape.allowzero.C2", sized(None, 0), {}, "runtime", NO_RANK.format("X") + HELD),
    ("Reshape.allowzero.C2", sized((2,), 0, **SCALAR), {}, "runtime", SCALAR_INPUTS + HELD),
    ("Reshape.X.C1", sized((2, 3), 3, 2), {}, "proved", "X (2, 3) has the elements of [3, 2]"),
    ("Reshape.X.C1", sized((2, 3), 3, -1), {}, "proved", "X (2, 3) has the elements of [3, -1]"),
    (
        "Reshape.X.C1",
        sized(("n", 3, 4), 0, 12),
        {},
        "proved",
        "X (n, 3, 4) has the elements of [0, 12]",
    ),
    (
        "Reshape.X.C1",
        sized(("n", 3, 4), 0, -1),
        {},
        "proved",
        "X (n, 3, 4) has the elements of [0, -1]",
    ),
    ("Reshape.X.C1", sized((), 1), {}, "proved", "X () has the elements of [1]"),
    ("Reshape.X.C1", sized((0, 3), 0, 7), {}, "proved", "X (0, 3) has the elements of [0, 7]"),
    ("Reshape.X.C1", sized((0, 3), 0, -1), {}, "proved", "X (0, 3) has the elements of [0, -1]"),
    (
        "Reshape.X.C1",
        sized((2, 3), 4, 2),
        {},
        "violated",
        "X (2, 3) does not have the elements of [4, 2]",
    ),
    (
        "Reshape.X.C1",
        sized((2, 3), 4, -1),
        {},
        "violated",
        "X (2, 3) does not have the elements of [4, -1]",
    ),
    (
        "Reshape.X.C1",
        sized((2, 3), 0, 3),
        {"allowzero": 1},
        "violated",
        "X (2, 3) does not have the elements of [0, 3]",
    ),
    (
        "Reshape.X.C1",
        sized(("n", 3), 6),
        {},
        "runtime",
        "the sizes of X are known only in a run" + HELD,
    ),
    (
        "Reshape.X.C1",
        sized((None, 3), 0, 3),
        {},
        "runtime",
        "the sizes of X are known only in a run" + HELD,
    ),
    ("Reshape.X.C1", sized(None, 6), {}, "runtime", NO_RANK.format("X") + HELD),
    ("Reshape.X.C1", [of_shape((6,)), OPEN_S], {}, "runtime", IN_A_RUN.format("S") + HELD),
    ("Reshape.X.C1", sized((6,), 6, **SCALAR), {}, "runtime", SCALAR_INPUTS + HELD),
    ("Reshape.allowzero.C3", sized(("n",), 0, 3), {}, "proved", "no size is -1"),
    ("Reshape.allowzero.C3", [of_shape(("n",)), POSITIVE], {}, "proved", "no size is -1"),
    ("Reshape.allowzero.C3", sized((2, 3), -1), {}, "proved", "X (2, 3) is not empty"),
    ("Reshape.allowzero.C3", [of_shape((2,)), OPEN_S], {}, "proved", "X (2,) is not empty"),
    ("Reshape.allowzero.C3", sized((2,), -1, **SCALAR), {}, "runtime", SCALAR_INPUTS),
    (
        "Reshape.allowzero.C3",
        sized((0, "n"), -1),
        {},
        "violated",
        "a size is -1, and X (0, n) is empty",
    ),
    ("Reshape.allowzero.C3", [of_shape((0,)), OPEN_S], {}, "runtime", IN_A_RUN.format("S")),
    (
        "Reshape.allowzero.C3",
        sized(("n",), -1),
        {},
        "runtime",
        "the sizes of X are known only in a run",
    ),
    (
        "Reshape.allowzero.C3",
        sized(None, -1),
        {},
        "runtime",
        "the sizes of X are known only in a run",
    ),
    ("Reshape.allowzero.C3", sized(("n",), -1), {"allowzero": 1}, "proved", "no size is 0"),
    (
        "Reshape.allowzero.C3",
        sized((2,), 0, -1),
        {"allowzero": 1},
        "violated",
        "a size is 0, and one is -1",
    ),
    (
        "Reshape.allowzero.C3",
        [of_shape((2,)), OPEN_S],
        {"allowzero": 1},
        "runtime",
        IN_A_RUN.format("S"),
    ),
    ("Flatten.axis.C1", [of_shape((2, "n"))], {"axis": 2}, "proved", "X (2, n) has axis 2"),
    ("Flatten.axis.C1", [of_shape((2, "n"))], {"axis": -2}, "proved", "X (2, n) has axis -2"),
    ("Flatten.axis.C1", [of_shape(())], {}, "violated", "X () has no axis 1"),
    ("Flatten.axis.C1", [of_shape((2,))], {"axis": -2}, "violated", "X (2,) has no axis -2"),
    ("Flatten.axis.C1", [of_shape(None)], {"axis": 0}, "runtime", NO_RANK.format("X") + HELD),
    (
        "Squeeze.A.names",
        [listing("A", shape=(0,))],
        {},
        "violated",
        "axis 0 of A (0,) is 0, not at least 1",
    ),
    ("Squeeze.A.names", [], {}, "proved", "A is left out"),
    ("Squeeze.A.rank", [], {}, "proved", "no such operand is given"),
    ("Squeeze.axes.names", [], {"axes": ()}, "violated", "the attribute axes is []"),
    ("Squeeze.axes.names", [], {"axes": (0,)}, "proved", "the attribute axes is [0]"),
    ("Squeeze.A.C1", named((1, 3), 0, -2), {}, "proved", "all named axes are among 2 axes"),
    ("Squeeze.A.C1", [of_shape((1, 3))], {"axes": (0, 2)}, "violated", "axis 2 is none of 2 axes"),
    ("Squeeze.A.C1", named((1, 3), -3), {}, "violated", "axis -3 is none of 2 axes"),
    ("Squeeze.A.C1", [of_shape(None)], {}, "proved", "no axis is named"),
    ("Squeeze.A.C1", named(None, 0), {}, "runtime", NO_RANK.format("X") + HELD),
    ("Squeeze.A.C1", [of_shape((1,)), OPEN_A], {}, "runtime", IN_A_RUN.format("A") + HELD),
    ("Squeeze.A.C1", named((1,), 0, **SCALAR), {}, "runtime", SCALAR_INPUTS + HELD),
    ("Squeeze.size", named((1, 3, 1), 0, -1), {}, "proved", "all named axes have the size 1"),
    ("Squeeze.size", named((1, 3, 1), -2), {}, "violated", "axis -2 of X (1, 3, 1) is 3"),
    ("Squeeze.size", [of_shape((1, 0))], {"axes": (1,)}, "violated", "axis 1 of X (1, 0) is 0"),
    (
        "Squeeze.size",
        named((1, "n"), 1),
        {},
        "runtime",
        "the sizes of X are known only in a run" + HELD,
    ),
    ("Squeeze.size", named((1, "n"), 7), {}, "proved", "all named axes have the size 1"),
    ("Squeeze.size", named(None, 0), {}, "runtime", NO_RANK.format("X") + HELD),
    ("Squeeze.size", [of_shape((1,)), OPEN_A], {}, "runtime", IN_A_RUN.format("A") + HELD),
    ("Squeeze.A.C2", named(None, 0, 2), {}, "proved", NO_AXIS_TWICE),
    ("Squeeze.A.C2", named(None, -1, -3), {}, "proved", NO_AXIS_TWICE),
    ("Squeeze.A.C2", named(None, 0, 0), {}, "violated", "0 and 0 name one axis"),
    ("Squeeze.A.C2", named((1, 3, 1), 0, -3), {}, "violated", "0 and -3 name one axis"),
    ("Squeeze.A.C2", named((1, 3, 1), 0, -1), {}, "proved", NO_AXIS_TWICE),
    ("Squeeze.A.C2", named((1, 3, 1), 0, -1, **SCALAR), {}, "runtime", SCALAR_INPUTS),
    ("Squeeze.A.C2", named(None, 0, -1), {}, "runtime", NO_RANK.format("X")),
    (
        "Squeeze.A.C2",
        [of_shape((1, 3, 1))],
        {"axes": (2, -1)},
        "violated",
        "2 and -1 name one axis",
    ),
    ("Squeeze.A.C2", [of_shape(None)], {}, "proved", NO_AXIS_TWICE),
    ("Squeeze.A.C2", [of_shape(None), OPEN_A], {}, "runtime", IN_A_RUN.format("A")),
    (
        "Squeeze.A.C2",
        [of_shape(None), listing("A", shape=(1,))],
        {},
        "proved",
        "one axis is named at most",
    ),
    (
        "Unsqueeze.A.rank",
        [listing("A", shape=())],
        {},
        "violated",
        "the rank of A () is 0, not 1",
    ),
    ("Unsqueeze.A.C1", named((3,), 0, -2), {}, "proved", "all named axes are among 3 axes"),
    ("Unsqueeze.A.C1", named((3,), 0, 3), {}, "violated", "axis 3 is none of 3 axes"),
    ("Unsqueeze.A.C2", named((3,), 0, -2), {}, "proved", NO_AXIS_TWICE),
    ("Unsqueeze.A.C2", named((3,), 0, -3), {}, "violated", "0 and -3 name one axis"),
    ("Unsqueeze.A.C2", [of_shape((3,))], {"axes": (1, 1)}, "violated", "1 and 1 name one axis"),
    ("Unsqueeze.A.C2", named(None, 0, -1), {}, "runtime", NO_RANK.format("X") + HELD),
    ("Unsqueeze.A.C2", [of_shape((3,)), OPEN_A], {}, "runtime", IN_A_RUN.format("A") + HELD),
    ("Constant.R1", [], {"value": None}, "proved", "value is given"),
    ("Constant.R1", [], {"value_float": 1.5}, "violated", "value is left out"),
    (
        "Range.scalars",
        [of_shape((), "S"), of_shape((1,), "L")],
        {},
        "violated",
        "the rank of L (1,) is 1, not 0",
    ),
    (
        "Range.D.C1",
        [Operand("D", "d", "input", "float", (), constant=np.float32(-0.0))],
        {},
        "violated",
        "D is -0.0",
    ),
    (
        "Range.D.C1",
        [Operand("D", "d", "input", "float", (), constant=np.float32(0.5))],
        {},
        "proved",
        "D is 0.5",
    ),
    (
        "Range.D.C1",
        [Operand("D", "d", "input", "int64", (), bounds=Bounds(1, 7))],
        {},
        "proved",
        "D is between 1 to 7",
    ),
    (
        "Range.D.C1",
        [Operand("D", "d", "input", "int64", (), bounds=Bounds(0, 7))],
        {},
        "runtime",
        "the elements of D are known only in a run" + HELD,
    ),
]


PARAMETERS = ("scale", "B", "input_mean", "input_var")
INDICES = ("starts", "ends", "axes", "steps")


def normalized(shape: Shape | None, *sizes: Shape) -> list[Operand]:
    """X, and its parameters, of which the first one's size is that of those left out."""
    others = [*sizes, *[sizes[0]] * (len(PARAMETERS) - len(sizes))]
    return [of_shape(shape), *map(of_shape, others, PARAMETERS)]


def indices(*shapes: Shape | None) -> list[Operand]:
    return [listing(name, shape=shape) for name, shape in zip(INDICES, shapes, strict=False)]


def multiplied(a: Shape | None, b: Shape | None) -> list[Operand]:
    return [of_shape(a, "A"), of_shape(b, "B")]


def cut(shape: Shape | None, *axes: int) -> list[Operand]:
    return [of_shape(shape), listing("axes", *axes)]


INNER = "axis -1 of A {} is 3, and axis -2 of B {} is 4, and the rank of B is 2, not 1"
CASES += [
    (
        "MatMul.C2",
        multiplied((2, "n"), ("n", 4)),
        {},
        "proved",
        "axis -1 of A (2, n) is axis -2 of B (n, 4)",
    ),
    ("MatMul.C2", multiplied((2, 3), (4, 4)), {}, "violated", INNER.format("(2, 3)", "(4, 4)")),
    (
        "MatMul.C2",
        multiplied((5, 2, 3), (3, 4)),
        {},
        "proved",
        "axis -1 of A (5, 2, 3) is axis -2 of B (3, 4)",
    ),
    ("MatMul.C2", multiplied(None, (3, 4)), {}, "runtime", NO_RANK.format("A") + HELD),
    (
        "BatchNormalization.X.C3",
        [of_shape(())],
        {},
        "violated",
        "the rank of X () is 0, not at least 1",
    ),
    ("BatchNormalization.X.C3", [of_shape((2,))], {}, "proved", "the rank of X (2,) is at least 1"),
    (
        "BatchNormalization.scale.C1",
        normalized((2, 3, 4), (2,)),
        {},
        "violated",
        "axis 0 of scale (2,) is 2, and axis 1 of X (2, 3, 4) is 3, and the rank of X is 3, not 1",
    ),
    (
        "BatchNormalization.scale.C1",
        normalized((2, 3), (3,), (3,), (3,), (1, 3)),
        {},
        "violated",
        "the rank of input_var (1, 3) is 2, not 1",
    ),
    (
        "BatchNormalization.scale.C1",
        normalized(None, (3,), (3,), (4,)),
        {},
        "violated",
        "axis 0 of input_mean (4,) is 4, and axis 0 of scale (3,) is 3",
    ),
    (
        "BatchNormalization.scale.C1",
        normalized((4,), (4,)),
        {},
        "violated",
        "X (4,) has no axis 1, and axis 0 of scale (4,) is 4, not 1",
    ),
    (
        "BatchNormalization.scale.C1",
        normalized((2, "c"), (3,)),
        {},
        "runtime",
        "whether axis 0 of scale (3,) is axis 1 of X (2, c) is unknown" + HELD,
    ),
    (
        "BatchNormalization.scale.C1",
        normalized(None, (3,)),
        {},
        "runtime",
        NO_RANK.format("X") + HELD,
    ),
    (
        "Slice.C1",
        indices((2,), (1,), (2,), (2,)),
        {},
        "violated",
        "axis 0 of ends (1,) is 1, and axis 0 of starts (2,) is 2",
    ),
    (
        "Slice.C1",
        indices((2,), (2,), (2,), (1, 2)),
        {},
        "violated",
        "the rank of steps (1, 2) is 2, not 1",
    ),
    (
        "Slice.C1",
        indices((2,), (2,), ("k",), (2,)),
        {},
        "runtime",
        "whether axis 0 of axes (k,) is axis 0 of starts (2,) is unknown" + HELD,
    ),
    (
        "Slice.C1",
        indices((2,), (2,)),
        {},
        "proved",
        (
            "the rank of starts (2,) is 1 and the rank of ends (2,) is 1 and axis 0 of ends is "
            "axis 0 of starts and axes is left out and steps is left out"
        ),
    ),
    ("Slice.C3", [of_shape(())], {}, "violated", "the rank of X () is 0, not at least 1"),
    ("Slice.C3", [of_shape(("n",))], {}, "proved", "the rank of X (n,) is at least 1"),
    ("Slice.A.C2", cut((2, 3), 0, -2), {}, "proved", "all named axes are among 2 axes"),
    ("Slice.A.C2", cut((2, 3), 0, 2), {}, "violated", "axis 2 is none of 2 axes"),
    ("Slice.A.C2", cut((2, 3), 0, -3), {}, "violated", "axis -3 is none of 2 axes"),
    ("Slice.A.C3", cut((2, 3), 0, 1), {}, "proved", NO_AXIS_TWICE),
    ("Slice.A.C3", cut((2, 3), 0, -2), {}, "violated", "0 and -2 name one axis"),
    ("Slice.A.C3", cut((2, 3), 1, 1), {}, "violated", "1 and 1 name one axis"),
    ("Slice.A.C3", cut(None, 0, -1), {}, "runtime", NO_RANK.format("X") + HELD),
    ("Slice.K.C2", [listing("steps", 1, -1)], {}, "proved", "steps is [1, -1]"),
    ("Slice.K.C2", [listing("steps", 1, 0)], {}, "violated", "steps is [1, 0]"),
    (
        "Slice.K.C2",
        [listing("steps", shape=("k",))],
        {},
        "runtime",
        IN_A_RUN.format("steps") + HELD,
    ),
    ("Slice.K.C2", [], {}, "proved", "no steps are given"),
]


@pytest.mark.satisfies(
    "Concat.draft.equal",
    "Concat.draft.axis",
    "Reshape.draft.vector",
    "Reshape.draft.copied",
    "Reshape.draft.smallest",
    "Reshape.draft.inferable",
    "Reshape.draft.one",
    "Reshape.draft.count",
    "Flatten.draft.axis",
    "Unsqueeze.draft.vector",
    "Unsqueeze.draft.axes",
    "Unsqueeze.draft.once",
    "Constant.draft.value",
    "Range.draft.scalars",
    "Range.draft.step",
    "Slice.draft.numbers",
    "Slice.draft.rank",
    "Slice.draft.axes",
    "Slice.draft.once",
    "Slice.draft.steps",
    "MatMul.draft.inner",
    "BatchNormalization.draft.rank",
    "BatchNormalization.draft.sizes",
)
@pytest.mark.parametrize(("rule", "operands", "attributes", "status", "evidence"), CASES)
def test_judgement(
    rule: str,
    operands: Sequence[Operand],
    attributes: Mapping[str, AttributeValue],
    status: str,
    evidence: str,
) -> None:
    judgement = RULES[rule].of_node(attributes).requirement.judge(operands)
    assert judgement == Judgement(Status(status), evidence)


def empty(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.zeros(shape) for shape in shapes]


RUNS = [
    ("Concat.C2", empty((2, 3), (1, 3)), {"axis": 0}, None),
    ("Concat.C2", empty((2, 3), (2, 0)), {"axis": 1}, None),
    ("Concat.C2", empty((2, 3), (2, 0)), {"axis": -1}, None),
    ("Concat.C2", empty((), (3,)), {"axis": 0}, None),
    ("Concat.C2", empty((2, 3)), {"axis": 5}, None),
    (
        "Concat.C2",
        empty((2, 3), (0, 5)),
        {"axis": 0},
        "the shapes (2, 3) and (0, 5) differ beside axis 0",
    ),
    (
        "Concat.C2",
        empty((2, 3), (0, 5)),
        {"axis": -2},
        "the shapes (2, 3) and (0, 5) differ beside axis -2",
    ),
    (
        "Concat.C2",
        empty((0,), (2, 3)),
        {"axis": 0},
        "the shapes (0,) and (2, 3) differ beside axis 0",
    ),
    (
        "Concat.C2",
        empty((2, 3), (2, 3), (2, 3, 1)),
        {"axis": 0},
        "the shapes (2, 3) and (2, 3, 1) differ beside axis 0",
    ),
    ("Concat.C2", empty((3,), (2,)), {"axis": 5}, "the shapes (3,) and (2,) differ beside axis 5"),
    ("Reshape.allowzero.C3", [np.zeros((2, 3)), np.array([-1, 2])], {}, None),
    ("Reshape.allowzero.C3", [np.zeros((0, 3)), np.array([3, 0])], {}, None),
    (
        "Reshape.allowzero.C3",
        [np.zeros((0, 3)), np.array([-1, 3])],
        {},
        "a size is -1, and (0, 3) is empty",
    ),
    ("Reshape.allowzero.C3", [np.zeros((0, 3)), np.array([-1, 3])], {"allowzero": 1}, None),
    (
        "Reshape.allowzero.C3",
        [np.zeros((2, 3)), np.array([0, -1])],
        {"allowzero": 1},
        "a size is 0, and one is -1",
    ),
    ("Squeeze.A.C2", [np.zeros((1, 3, 1)), np.array([0, 2])], {}, None),
    ("Squeeze.A.C2", [np.zeros((1, 3, 1)), np.array([2, -1])], {}, "2 and -1 name one axis"),
    ("Squeeze.A.C2", [np.zeros((1, 3, 1))], {"axes": (0, -3)}, "0 and -3 name one axis"),
    ("Squeeze.A.C2", [np.zeros((1, 3, 1))], {}, None),
    ("Squeeze.A.names", [], {}, None),
    ("Flatten.axis.C1", [np.zeros((2, 3))], {"axis": 3}, "operand 0 (2, 3) has no axis 3"),
    ("Range.D.C1", [np.array(0)], {}, "operand 0 is 0"),
]


@pytest.mark.parametrize(("rule", "arrays", "attributes", "reason"), RUNS)
def test_violation(
    rule: str,
    arrays: Sequence[np.ndarray],
    attributes: Mapping[str, AttributeValue],
    reason: str | None,
) -> None:
    violation = RULES[rule].of_node(attributes).requirement.violation(arrays)
    assert violation == (None if reason is None else Violation(reason))


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("Concat.C2", "give all inputs the same sizes on the other axes, empty ones too"),
        ("Reshape.allowzero.C3", "name every size, or keep empty tensors out"),
        ("Squeeze.A.C2", "name each axis once"),
        ("Unsqueeze.A.rank", "give the axes as a vector"),
        ("Reshape.S", "give S as an input"),
    ],
)
def test_hint(rule: str, hint: str) -> None:
    assert RULES[rule].requirement.hint([]) == hint


@pytest.mark.parametrize(
    ("rule", "version", "binds"),
    [
        ("Reshape.allowzero.C1", 13, False),
        ("Reshape.allowzero.C1", 14, True),
        ("Reshape.S", 1, True),
        ("Reshape.S.C1", 4, False),
        ("Squeeze.A", 12, False),
        ("Squeeze.A", 13, True),
        ("Squeeze.axes", 12, True),
        ("Squeeze.axes", 13, False),
        ("Squeeze.A.C2", 1, True),
    ],
)
def test_versions_that_a_rule_binds(rule: str, version: int, binds: bool) -> None:
    assert RULES[rule].binds_version(version) is binds
