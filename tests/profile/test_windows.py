"""What is decided before runs of Conv, ConvInteger, MaxPool, Gemm and LSTM."""

from collections.abc import Mapping, Sequence

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.attributes import HeldByRuntime
from sonnx_ort.profile.rule import AttributeValue, Judgement, Status
from sonnx_ort.terms.operand import Operand, Shape

Attributes = Mapping[str, AttributeValue]

REFUSES = "; ONNX Runtime rejects a violation"
UNKNOWN = f"the sizes of X or W are known only in a run{REFUSES}"


def operands(**shapes: Shape | None) -> list[Operand]:
    return [Operand(name, name.lower(), "input", "float", s) for name, s in shapes.items()]


X, W = (1, 4, 8, 8), (6, 4, 3, 3)
FITS = "the kernel fits into the padded X"
SMALL = "axis 2 of X is 2, and the kernel needs 3"

CONVOLUTION = [
    ("R2", [], {}, "violated", "the attribute auto_pad is left out"),
    ("R2", [], {"auto_pad": "NOTSET"}, "proved", "the attribute auto_pad is NOTSET"),
    ("R2", [], {"auto_pad": "VALID"}, "violated", "the attribute auto_pad is VALID"),
    ("group", [], {}, "proved", "the attribute group is 1"),
    ("group", [], {"group": 0}, "violated", "the attribute group is 0"),
    ("R3", operands(X=X), {}, "proved", "there is one group"),
    ("R3", operands(X=X), {"group": 4}, "proved", "axis 1 of X (1, 4, 8, 8) is 4"),
    ("R3", operands(X=X), {"group": 2}, "violated", "axis 1 of X (1, 4, 8, 8) is 4, not 2"),
    ("strides", [], {}, "proved", "the attribute strides is left out"),
    ("strides", [], {"strides": (1, 2)}, "proved", "the attribute strides is [1, 2]"),
    ("strides", [], {"strides": (1, 0)}, "violated", "the attribute strides is [1, 0]"),
    ("strides", [], {"strides": (1,)}, "violated", "the attribute strides is [1]"),
    ("strides", [], {"strides": 1}, "violated", "the attribute strides is 1"),
    ("strides", [], {"strides": None}, "violated", "the attribute strides is no number or text"),
    ("dilations", [], {"dilations": (0, 1)}, "violated", "the attribute dilations is [0, 1]"),
    ("pads", [], {"pads": (0, 0, 0, 0)}, "proved", "the attribute pads is [0, 0, 0, 0]"),
    ("pads", [], {"pads": (0, 0, 0, -1)}, "violated", "the attribute pads is [0, 0, 0, -1]"),
    ("pads", [], {"pads": (0, 0)}, "violated", "the attribute pads is [0, 0]"),
    ("pads", [], {"pads": (0.0,) * 4}, "violated", "the attribute pads is [0.0, 0.0, 0.0, 0.0]"),
    (
        "kernel",
        operands(W=(6, 4, 0, 3)),
        {},
        "violated",
        "axis 2 of W (6, 4, 0, 3) is 0, not at least 1",
    ),
    ("kernel_shape", operands(W=W), {}, "proved", "the attribute kernel_shape is left out"),
    (
        "kernel_shape",
        operands(W=W),
        {"kernel_shape": (3, 3)},
        "proved",
        "axis 2 of W (6, 4, 3, 3) is 3 and axis 3 of W is 3",
    ),
    (
        "kernel_shape",
        operands(W=W),
        {"kernel_shape": (3, 2)},
        "violated",
        "axis 3 of W (6, 4, 3, 3) is 3, not 2",
    ),
    (
        "kernel_shape",
        operands(W=W),
        {"kernel_shape": (3,)},
        "violated",
        "kernel_shape is no list of two numbers",
    ),
    (
        "kernel_shape",
        operands(W=None),
        {"kernel_shape": (3, 3)},
        "runtime",
        f"the rank of W is unknown{REFUSES}",
    ),
    (
        "channels",
        operands(X=X, W=W),
        {},
        "proved",
        "axis 1 of W (6, 4, 3, 3) is axis 1 of X (1, 4, 8, 8)",
    ),
    (
        "channels",
        operands(X=X, W=W),
        {"group": 4},
        "violated",
        "4 times axis 1 of W (6, 4, 3, 3) is 16, and axis 1 of X (1, 4, 8, 8) is 4",
    ),
    (
        "channels",
        operands(X=(1, 3, 8, 8), W=(6, 1, 3, 3)),
        {"group": 2},
        "violated",
        "2 times axis 1 of W (6, 1, 3, 3) is 2, and axis 1 of X (1, 3, 8, 8) is 3",
    ),
    (
        "channels",
        operands(X=(1, "c", 8, 8), W=W),
        {},
        "runtime",
        "whether axis 1 of W (6, 4, 3, 3) is axis 1 of X (1, c, 8, 8) is unknown",
    ),
    (
        "channels",
        operands(X=(1, "c", 8, 8), W=W),
        {"group": 2},
        "runtime",
        f"whether 2 times axis 1 of W {W} is axis 1 of X (1, c, 8, 8) is unknown",
    ),
    ("outputs", operands(W=W), {}, "proved", "the number of groups is 1"),
    (
        "outputs",
        operands(W=W),
        {"group": 3},
        "proved",
        "axis 0 of W (6, 4, 3, 3) is a multiple of 3",
    ),
    (
        "outputs",
        operands(W=W),
        {"group": 4},
        "violated",
        "axis 0 of W (6, 4, 3, 3) is 6, no multiple of 4",
    ),
    ("outputs", operands(W=W), {"group": 0}, "violated", "the number of groups is 0"),
    ("fits", operands(X=X, W=W), {}, "proved", FITS),
    ("fits", operands(X=(1, 4, 2, 8), W=W), {}, "violated", SMALL),
    ("fits", operands(X=(1, 4, 2, 8), W=W), {"pads": (1, 0, 0, 0)}, "proved", FITS),
    (
        "fits",
        operands(X=X, W=W),
        {"dilations": (1, 4)},
        "violated",
        "axis 3 of X is 8, and the kernel needs 9",
    ),
    ("fits", operands(X=(1, 4, "h", 2), W=W), {}, "violated", SMALL.replace("axis 2", "axis 3")),
    ("fits", operands(X=(1, 4, "h", 8), W=W), {}, "runtime", UNKNOWN),
]

POOL = {"kernel_shape": (2, 3), "pads": (1, 0, 1, 2)}
OPEN = (1, 2, "h", "w")

OTHERS = [
    (
        "Conv.B",
        operands(W=W, B=(6,)),
        {},
        "proved",
        "the shape of B (6,) is (axis 0 of W (6, 4, 3, 3),)",
    ),
    (
        "Conv.B",
        operands(W=W, B=(1,)),
        {},
        "violated",
        "axis 0 of B (1,) is 1, and axis 0 of W (6, 4, 3, 3) is 6",
    ),
    ("ConvInteger.w_zero_point", operands(W=W), {}, "proved", "w_zero_point is left out"),
    ("ConvInteger.C1", [], {}, "proved", "X is not padded"),
    ("ConvInteger.C1", [], {"pads": (0, 0, 0, 0)}, "proved", "X is not padded"),
    ("ConvInteger.C1", [], {"pads": (0, 0, 0, 1)}, "proved", "x_zero_point is left out"),
    (
        "MaxPool.R2",
        [],
        {"auto_pad": "NOTSET"},
        "violated",
        "kernel_shape and pads and strides are left out",
    ),
    ("MaxPool.R2.storage_order", [], {"storage_order": 0}, "proved", "storage_order is given"),
    ("MaxPool.R2.dilations", [], {"dilations": (1, 1)}, "violated", "ceil_mode is left out"),
    ("MaxPool.R3", [], {}, "proved", "the attribute auto_pad is NOTSET"),
    ("MaxPool.R4", [], {"ceil_mode": 1}, "violated", "the attribute ceil_mode is 1"),
    ("MaxPool.R5", [], {"storage_order": 1}, "violated", "the attribute storage_order is 1"),
    (
        "MaxPool.kernel_shape",
        [],
        {"kernel_shape": (2, 0)},
        "violated",
        "the attribute kernel_shape is [2, 0]",
    ),
    ("MaxPool.padding", [], POOL, "proved", "no padding is as long as the dilated kernel"),
    (
        "MaxPool.padding",
        [],
        {**POOL, "pads": (0, 0, 2, 0), "dilations": (2, 1)},
        "proved",
        "no padding is as long as the dilated kernel",
    ),
    (
        "MaxPool.padding",
        [],
        {**POOL, "pads": (0, 0, 3, 0), "dilations": (2, 1)},
        "violated",
        "axis 2 is padded by 3, and the dilated kernel has size 3",
    ),
    (
        "MaxPool.padding",
        [],
        {**POOL, "pads": (0, 0, 2, 0)},
        "violated",
        "axis 2 is padded by 2, and the dilated kernel has size 2",
    ),
    (
        "MaxPool.fits",
        operands(X=OPEN),
        {"kernel_shape": (2, 3)},
        "runtime",
        "whether axis 2 of X (1, 2, h, w) is at least 2 is unknown",
    ),
    (
        "MaxPool.fits",
        operands(X=OPEN),
        POOL,
        "runtime",
        "whether axis 3 of X (1, 2, h, w) is at least 1 is unknown",
    ),
    (
        "MaxPool.fits",
        operands(X=OPEN),
        {**POOL, "kernel_shape": (2, 2)},
        "proved",
        "nothing is demanded",
    ),
    ("MaxPool.C1", operands(X=OPEN), POOL, "proved", "nothing is demanded"),
    (
        "MaxPool.C1",
        operands(X=(1, 2, 1, 1)),
        {**POOL, "dilations": (1, 2)},
        "violated",
        "axis 3 of X (1, 2, 1, 1) is 1, not at least 2",
    ),
    (
        "MaxPool.C1",
        operands(X=OPEN),
        {"dilations": (2, 2)},
        "proved",
        "nothing is demanded",
    ),
    ("Gemm.R2.alpha", [], {}, "proved", "the attribute alpha is 1"),
    ("Gemm.R2.beta", [], {"beta": 0.5}, "violated", "the attribute beta is 0.5"),
    ("Gemm.R2.transB", [], {"transB": 1}, "violated", "the attribute transB is 1"),
    ("Gemm.R4", [], {}, "violated", "C is left out"),
    (
        "Gemm.shapes",
        operands(A=(2, 3), B=(3, 4)),
        {},
        "proved",
        "axis 1 of A (2, 3) is axis 0 of B (3, 4)",
    ),
    (
        "Gemm.shapes",
        operands(A=(3, 2), B=(4, 3)),
        {"transA": 1, "transB": 1},
        "proved",
        "axis 0 of A (3, 2) is axis 1 of B (4, 3)",
    ),
    (
        "Gemm.shapes",
        operands(A=(2, 3), B=(4, 4)),
        {},
        "violated",
        "axis 1 of A (2, 3) is 3, and axis 0 of B (4, 4) is 4",
    ),
    (
        "Gemm.shapes",
        operands(A=(2, "n"), B=(4, 4)),
        {},
        "runtime",
        (
            "whether axis 1 of A (2, n) is axis 0 of B (4, 4) is unknown; ONNX "
            "Runtime rejects a violation"
        ),
    ),
]

HIDDEN = {"hidden_size": 3}
BOTH = {"hidden_size": 3, "direction": "bidirectional"}
STATE = "initial_h is of another shape than [1, 2, 3]"
SIGMOID, RELU = ("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh")

RECURRENT = [
    ("hidden_size", [], {}, "violated", "the attribute hidden_size is left out"),
    ("hidden_size", [], {"hidden_size": 0}, "violated", "the attribute hidden_size is 0"),
    ("hidden_size", [], {"hidden_size": 3}, "proved", "the attribute hidden_size is 3"),
    ("direction", [], {}, "proved", "the attribute direction is forward"),
    ("direction", [], {"direction": "Reverse"}, "violated", "the attribute direction is Reverse"),
    ("direction", [], {"direction": "reverse"}, "proved", "the attribute direction is reverse"),
    ("activations", [], {}, "violated", "the attribute activations is left out"),
    *(
        (
            "activations",
            [],
            {"activations": said},
            "proved",
            f"the attribute activations is {[*said]}",
        )
        for said in (SIGMOID, RELU, (*SIGMOID, *RELU))
    ),
    (
        "activations",
        [],
        {"activations": ("Tanh",) * 3},
        "violated",
        "the attribute activations is ['Tanh', 'Tanh', 'Tanh']",
    ),
    (
        "activations",
        [],
        {"activations": SIGMOID[:2]},
        "violated",
        "the attribute activations is ['Sigmoid', 'Tanh']",
    ),
    ("input_forget", [], {}, "violated", "the attribute input_forget is left out"),
    ("layout", [], {"layout": 1}, "violated", "the attribute layout is 1"),
    ("clip", [], {}, "proved", "the attribute clip is left out"),
    ("clip", [], {"clip": 3.0}, "violated", "the attribute clip is 3.0"),
    (
        "W",
        operands(X=(5, 2, 4), W=(1, 12, 4)),
        HIDDEN,
        "proved",
        "the shape of W (1, 12, 4) is (1, 12, axis 2 of X (5, 2, 4))",
    ),
    (
        "W",
        operands(X=(5, 2, 4), W=(1, 12, 4)),
        {},
        "proved",
        "the attribute hidden_size is no number",
    ),
    (
        "W",
        operands(X=(5, 2, 4), W=(1, 12, 4)),
        BOTH,
        "violated",
        "axis 0 of W (1, 12, 4) is 1, not 2",
    ),
    (
        "W",
        operands(X=(5, 2, 7), W=(1, 12, 4)),
        HIDDEN,
        "violated",
        "axis 2 of W (1, 12, 4) is 4, and axis 2 of X (5, 2, 7) is 7",
    ),
    ("R", operands(R=(1, 9, 3)), HIDDEN, "violated", "axis 1 of R (1, 9, 3) is 9, not 12"),
    (
        "batch",
        operands(X=(5, 0, 4)),
        {},
        "violated",
        "axis 1 of X (5, 0, 4) is 0, not at least 1",
    ),
    (
        "shapes",
        operands(X=(5, 2, 4)),
        HIDDEN,
        "proved",
        (
            "B is left out and sequence_lens is left out and initial_h is left out "
            "and initial_c is left out and P is left out"
        ),
    ),
    (
        "shapes",
        operands(X=(5, 2, 4), B=(1, 24), initial_h=(1, 2, 3)),
        HIDDEN,
        "proved",
        (
            "the shape of B (1, 24) is (1, 24) and sequence_lens is left out and the shape "
            "of initial_h (1, 2, 3) is (1, axis 1 of X (5, 2, 4), 3) and initial_c is left out and "
            "P is left out"
        ),
    ),
    (
        "shapes",
        operands(X=(5, 2, 4), initial_h=(1, 1, 3)),
        HIDDEN,
        "violated",
        "axis 1 of initial_h (1, 1, 3) is 1, and axis 1 of X (5, 2, 4) is 2",
    ),
    (
        "shapes",
        operands(X=(5, "b", 4), initial_h=(1, 1, 3), P=(1, 9)),
        HIDDEN,
        "runtime",
        (
            "whether axis 1 of initial_h (1, 1, 3) is axis 1 of X (5, b, 4) is "
            "unknown; ONNX Runtime rejects a violation"
        ),
    ),
    (
        "shapes",
        operands(X=(5, 2, 4), sequence_lens=(2, 1)),
        HIDDEN,
        "violated",
        "the rank of sequence_lens (2, 1) is 2, not 1",
    ),
    (
        "shapes",
        operands(X=(5, 2, 4), P=(1, 8)),
        HIDDEN,
        "violated",
        "axis 1 of P (1, 8) is 8, not 9",
    ),
]


@pytest.mark.satisfies(
    "Conv.draft.padding",
    "Conv.draft.groups",
    "Conv.draft.depthwise",
    "Conv.draft.strides",
    "Conv.draft.dilations",
    "Conv.draft.pads",
    "Conv.draft.kernel",
    "Conv.draft.kernel_shape",
    "Conv.draft.channels",
    "Conv.draft.outputs",
    "Conv.draft.fits",
    "Conv.draft.bias",
    "ConvInteger.draft.padding",
    "ConvInteger.draft.groups",
    "ConvInteger.draft.depthwise",
    "ConvInteger.draft.strides",
    "ConvInteger.draft.dilations",
    "ConvInteger.draft.pads",
    "ConvInteger.draft.kernel",
    "ConvInteger.draft.kernel_shape",
    "ConvInteger.draft.channels",
    "ConvInteger.draft.outputs",
    "ConvInteger.draft.fits",
    "MaxPool.draft.given",
    "MaxPool.draft.auto_pad",
    "MaxPool.draft.ceil_mode",
    "MaxPool.draft.storage_order",
    "MaxPool.draft.kernel_shape",
    "MaxPool.draft.padding",
    "MaxPool.draft.fits",
    "Gemm.draft.attributes",
    "Gemm.draft.bias",
    "Gemm.draft.shapes",
    "LSTM.draft.input_forget",
    "LSTM.draft.hidden_size",
    "LSTM.draft.direction",
    "LSTM.draft.layout",
    "LSTM.draft.activations",
    "LSTM.draft.w",
    "LSTM.draft.r",
    "LSTM.draft.shapes",
)
@pytest.mark.parametrize(
    ("rule", "given", "attributes", "status", "evidence"),
    [
        *(
            (f"{name}.{tag}", *rest)
            for name in ("Conv", "ConvInteger")
            for tag, *rest in CONVOLUTION
        ),
        *OTHERS,
        *((f"LSTM.{tag}", *rest) for tag, *rest in RECURRENT),
    ],
)
def test_judgement(
    rule: str, given: Sequence[Operand], attributes: Attributes, status: str, evidence: str
) -> None:
    judgement = RULES[rule].of_node(attributes).requirement.judge(given)
    assert judgement == Judgement(Status(status), evidence)


@pytest.mark.satisfies(
    "LSTM.draft.weights",
    "LSTM.draft.states",
    "LSTM.draft.bias",
    "LSTM.draft.lengths",
    "LSTM.draft.peepholes",
)
def test_constant_is_an_initializer_or_a_constant_node() -> None:
    stored = Operand("W", "w", "initializer")
    computed = Operand("R", "r", "Add 'a'")
    requirement = RULES["LSTM.constant"].requirement
    proved = Judgement(Status.PROVED, "W: constant")
    assert requirement.judge([stored]) == proved
    broken = Judgement(Status.VIOLATED, "R is computed by Add 'a' and P is an input")
    given = [stored, computed, Operand("P", "p", "input")]
    assert requirement.judge(given) == broken


@pytest.mark.parametrize("attribute", ["ceil_mode", "dilations", "storage_order", "layout"])
def test_attribute_binds_from_the_version_that_has_it(attribute: str) -> None:
    """The padding is held against the kernel in all versions; before 10 no kernel is dilated."""
    since = {"ceil_mode": 10, "dilations": 10, "storage_order": 8, "layout": 14}[attribute]
    binding = [
        rule
        for rule in RULES.values()
        if rule.id.startswith(("MaxPool.", "LSTM."))
        and attribute in rule.attributes
        and not rule.in_run
        and not isinstance(rule.requirement, HeldByRuntime)
    ]
    assert binding
    assert {rule.since for rule in binding} == {since}
