"""What is decided before runs of Conv, ConvInteger, MaxPool, Gemm and LSTM."""

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.requirements.attributes import HeldByRuntime
from sonnx_ort.profile.rule import Attributes, Judgement, Requirement, Status
from sonnx_ort.terms.operand import Operand
from support.decisions import judged

DECIDED = """
Conv.R2 ConvInteger.R2
  -> violated: the attribute auto_pad is left out
  auto_pad="NOTSET" -> proved: the attribute auto_pad is NOTSET
  auto_pad="VALID" -> violated: the attribute auto_pad is VALID
Conv.group ConvInteger.group
  -> proved: the attribute group is 1
  group=0 -> violated: the attribute group is 0
Conv.R3 ConvInteger.R3
  X (1, 4, 8, 8) -> proved: there is one group
  X (1, 4, 8, 8), group=4 -> proved: axis 1 of X (1, 4, 8, 8) is 4
  X (1, 4, 8, 8), group=2 -> violated: axis 1 of X (1, 4, 8, 8) is 4, not 2
Conv.strides ConvInteger.strides
  -> proved: the attribute strides is left out
  strides=[1, 2] -> proved: the attribute strides is [1, 2]
  strides=[1, 0] -> violated: the attribute strides is [1, 0]
  strides=[1] -> violated: the attribute strides is [1]
  strides=1 -> violated: the attribute strides is 1
  strides=None -> violated: the attribute strides is no number or text
Conv.dilations ConvInteger.dilations
  dilations=[0, 1] -> violated: the attribute dilations is [0, 1]
Conv.pads ConvInteger.pads
  pads=[0, 0, 0, 0] -> proved: the attribute pads is [0, 0, 0, 0]
  pads=[0, 0, 0, -1] -> violated: the attribute pads is [0, 0, 0, -1]
  pads=[0, 0] -> violated: the attribute pads is [0, 0]
  pads=[0.0, 0.0, 0.0, 0.0] -> violated: the attribute pads is [0.0, 0.0, 0.0, 0.0]
Conv.kernel ConvInteger.kernel
  W (6, 4, 0, 3) -> violated: axis 2 of W (6, 4, 0, 3) is 0, not at least 1
Conv.kernel_shape ConvInteger.kernel_shape
  W (6, 4, 3, 3) -> proved: the attribute kernel_shape is left out
  W (6, 4, 3, 3), kernel_shape=[3, 3] -> proved: axis 2 of W (6, 4, 3, 3) is 3 and axis 3 of W is 3
  W (6, 4, 3, 3), kernel_shape=[3, 2] -> violated: axis 3 of W (6, 4, 3, 3) is 3, not 2
  W (6, 4, 3, 3), kernel_shape=[3] -> violated: kernel_shape is no list of two numbers
  W ?, kernel_shape=[3, 3] -> held: the rank of W is unknown
Conv.channels ConvInteger.channels
  X (1, 4, 8, 8), W (6, 4, 3, 3) -> proved: axis 1 of W (6, 4, 3, 3) is axis 1 of X (1, 4, 8, 8)
  X (1, 4, 8, 8), W (6, 4, 3, 3), group=4 -> violated: 4 times axis 1 of W (6, 4, 3, 3) is 16, and
      axis 1 of X (1, 4, 8, 8) is 4
  X (1, 3, 8, 8), W (6, 1, 3, 3), group=2 -> violated: 2 times axis 1 of W (6, 1, 3, 3) is 2, and
      axis 1 of X (1, 3, 8, 8) is 3
  X (1, c, 8, 8), W (6, 4, 3, 3) -> runtime: whether axis 1 of W (6, 4, 3, 3) is axis 1 of X (1, c,
      8, 8) is unknown
  X (1, c, 8, 8), W (6, 4, 3, 3), group=2 -> runtime: whether 2 times axis 1 of W (6, 4, 3, 3) is
      axis 1 of X (1, c, 8, 8) is unknown
Conv.outputs ConvInteger.outputs
  W (6, 4, 3, 3) -> proved: the number of groups is 1
  W (6, 4, 3, 3), group=3 -> proved: axis 0 of W (6, 4, 3, 3) is a multiple of 3
  W (6, 4, 3, 3), group=4 -> violated: axis 0 of W (6, 4, 3, 3) is 6, no multiple of 4
  W (6, 4, 3, 3), group=0 -> violated: the number of groups is 0
Conv.fits ConvInteger.fits
  X (1, 4, 8, 8), W (6, 4, 3, 3) -> proved: the kernel fits into the padded X
  X (1, 4, 2, 8), W (6, 4, 3, 3) -> violated: axis 2 of X is 2, and the kernel needs 3
  X (1, 4, 2, 8), W (6, 4, 3, 3), pads=[1, 0, 0, 0] -> proved: the kernel fits into the padded X
  X (1, 4, 8, 8), W (6, 4, 3, 3), dilations=[1, 4] -> violated: axis 3 of X is 8, and the kernel
      needs 9
  X (1, 4, h, 2), W (6, 4, 3, 3) -> violated: axis 3 of X is 2, and the kernel needs 3
  X (1, 4, h, 8), W (6, 4, 3, 3) -> held: the sizes of X or W depend on the inputs
Conv.B
  W (6, 4, 3, 3), B (6,) -> proved: the shape of B (6,) is (axis 0 of W (6, 4, 3, 3),)
  W (6, 4, 3, 3), B (1,) -> violated: axis 0 of B (1,) is 1, and axis 0 of W (6, 4, 3, 3) is 6
ConvInteger.w_zero_point
  W (6, 4, 3, 3) -> proved: w_zero_point is left out
ConvInteger.C1
  -> proved: X is not padded
  pads=[0, 0, 0, 0] -> proved: X is not padded
  pads=[0, 0, 0, 1] -> proved: x_zero_point is left out
MaxPool.R2
  auto_pad="NOTSET" -> violated: kernel_shape and pads and strides are left out
MaxPool.R2.storage_order
  storage_order=0 -> proved: storage_order is given
MaxPool.R2.dilations
  dilations=[1, 1] -> violated: ceil_mode is left out
MaxPool.R3
  -> proved: the attribute auto_pad is NOTSET
MaxPool.R4
  ceil_mode=1 -> violated: the attribute ceil_mode is 1
MaxPool.R5
  storage_order=1 -> violated: the attribute storage_order is 1
MaxPool.kernel_shape
  kernel_shape=[2, 0] -> violated: the attribute kernel_shape is [2, 0]
MaxPool.padding
  kernel_shape=[2, 3], pads=[1, 0, 1, 2] -> proved: no padding is as long as the dilated kernel
  kernel_shape=[2, 3], pads=[0, 0, 2, 0], dilations=[2, 1] -> proved: no padding is as long as the
      dilated kernel
  kernel_shape=[2, 3], pads=[0, 0, 3, 0], dilations=[2, 1] -> violated: axis 2 is padded by 3, and
      the dilated kernel has size 3
  kernel_shape=[2, 3], pads=[0, 0, 2, 0] -> violated: axis 2 is padded by 2, and the dilated kernel
      has size 2
MaxPool.fits
  X (1, 2, h, w), kernel_shape=[2, 3] -> runtime: whether axis 2 of X (1, 2, h, w) is at least 2 is
      unknown
  X (1, 2, h, w), kernel_shape=[2, 3], pads=[1, 0, 1, 2] -> runtime: whether axis 3 of X (1, 2, h,
      w) is at least 1 is unknown
  X (1, 2, h, w), kernel_shape=[2, 2], pads=[1, 0, 1, 2] -> proved: nothing is demanded
MaxPool.C1
  X (1, 2, h, w), kernel_shape=[2, 3], pads=[1, 0, 1, 2] -> proved: nothing is demanded
  X (1, 2, 1, 1), kernel_shape=[2, 3], pads=[1, 0, 1, 2], dilations=[1, 2] -> violated: axis 3 of X
      (1, 2, 1, 1) is 1, not at least 2
  X (1, 2, h, w), dilations=[2, 2] -> proved: nothing is demanded
Gemm.R2.alpha
  -> proved: the attribute alpha is 1
Gemm.R2.beta
  beta=0.5 -> violated: the attribute beta is 0.5
Gemm.R2.transA
  transA=1 -> violated: the attribute transA is 1
Gemm.R2.transB
  transB=1 -> violated: the attribute transB is 1
Gemm.R4
  -> violated: C is left out
Gemm.shapes
  A (2, 3), B (3, 4) -> proved: axis 1 of A (2, 3) is axis 0 of B (3, 4)
  A (3, 2), B (4, 3), transA=1, transB=1 -> proved: axis 0 of A (3, 2) is axis 1 of B (4, 3)
  A (2, 3), B (4, 4) -> violated: axis 1 of A (2, 3) is 3, and axis 0 of B (4, 4) is 4
  A (2, n), B (4, 4) -> held: whether axis 1 of A (2, n) is axis 0 of B (4, 4) is unknown
LSTM.hidden_size
  -> violated: the attribute hidden_size is left out
  hidden_size=0 -> violated: the attribute hidden_size is 0
  hidden_size=3 -> proved: the attribute hidden_size is 3
LSTM.direction
  -> proved: the attribute direction is forward
  direction="Reverse" -> violated: the attribute direction is Reverse
  direction="reverse" -> proved: the attribute direction is reverse
LSTM.activations
  -> violated: the attribute activations is left out
  activations=["Sigmoid", "Tanh", "Tanh"] -> proved: the attribute activations is ['Sigmoid',
      'Tanh', 'Tanh']
  activations=["Relu", "Tanh", "Tanh"] -> proved: the attribute activations is ['Relu', 'Tanh',
      'Tanh']
  activations=["Sigmoid", "Tanh", "Tanh", "Relu", "Tanh", "Tanh"] -> proved: the attribute
      activations is ['Sigmoid', 'Tanh', 'Tanh', 'Relu', 'Tanh', 'Tanh']
  activations=["Tanh", "Tanh", "Tanh"] -> violated: the attribute activations is ['Tanh', 'Tanh',
      'Tanh']
  activations=["Sigmoid", "Tanh"] -> violated: the attribute activations is ['Sigmoid', 'Tanh']
LSTM.input_forget
  -> violated: the attribute input_forget is left out
LSTM.layout
  layout=1 -> violated: the attribute layout is 1
LSTM.clip
  -> proved: the attribute clip is left out
  clip=3.0 -> violated: the attribute clip is 3.0
LSTM.W
  X (5, 2, 4), W (1, 12, 4), hidden_size=3 -> proved: the shape of W (1, 12, 4) is (1, 12, axis 2 of
      X (5, 2, 4))
  X (5, 2, 4), W (1, 12, 4) -> proved: the attribute hidden_size is no number
  X (5, 2, 4), W (1, 12, 4), hidden_size=3, direction="bidirectional" -> violated: axis 0 of W (1,
      12, 4) is 1, not 2
  X (5, 2, 7), W (1, 12, 4), hidden_size=3 -> violated: axis 2 of W (1, 12, 4) is 4, and axis 2 of X
      (5, 2, 7) is 7
LSTM.R
  R (1, 9, 3), hidden_size=3 -> violated: axis 1 of R (1, 9, 3) is 9, not 12
LSTM.batch
  X (5, 0, 4) -> violated: axis 1 of X (5, 0, 4) is 0, not at least 1
LSTM.shapes
  X (5, 2, 4), hidden_size=3 -> proved: B is left out and sequence_lens is left out and initial_h is
      left out and initial_c is left out and P is left out
  X (5, 2, 4), B (1, 24), initial_h (1, 2, 3), hidden_size=3 -> proved: the shape of B (1, 24) is
      (1, 24) and sequence_lens is left out and the shape of initial_h (1, 2, 3) is (1, axis 1 of X
      (5, 2, 4), 3) and initial_c is left out and P is left out
  X (5, 2, 4), initial_h (1, 1, 3), hidden_size=3 -> violated: axis 1 of initial_h (1, 1, 3) is 1,
      and axis 1 of X (5, 2, 4) is 2
  X (5, b, 4), initial_h (1, 1, 3), P (1, 9), hidden_size=3 -> held: whether axis 1 of initial_h (1,
      1, 3) is axis 1 of X (5, b, 4) is unknown
  X (5, 2, 4), sequence_lens (2, 1), hidden_size=3 -> violated: the rank of sequence_lens (2, 1) is
      2, not 1
  X (5, 2, 4), P (1, 8), hidden_size=3 -> violated: axis 1 of P (1, 8) is 8, not 9
"""


@pytest.mark.satisfies(
    "Conv.draft.padding Conv.draft.groups Conv.draft.depthwise Conv.draft.strides",
    "Conv.draft.dilations Conv.draft.pads Conv.draft.kernel Conv.draft.kernel_shape",
    "Conv.draft.channels Conv.draft.outputs Conv.draft.fits Conv.draft.bias",
    "ConvInteger.draft.padding ConvInteger.draft.groups ConvInteger.draft.depthwise",
    "ConvInteger.draft.strides ConvInteger.draft.dilations ConvInteger.draft.pads",
    "ConvInteger.draft.kernel ConvInteger.draft.kernel_shape ConvInteger.draft.channels",
    "ConvInteger.draft.outputs ConvInteger.draft.fits MaxPool.draft.given MaxPool.draft.auto_pad",
    "MaxPool.draft.ceil_mode MaxPool.draft.storage_order MaxPool.draft.kernel_shape",
    "MaxPool.draft.padding MaxPool.draft.fits Gemm.draft.attributes Gemm.draft.bias",
    "Gemm.draft.shapes LSTM.draft.input_forget LSTM.draft.hidden_size LSTM.draft.direction",
    "LSTM.draft.layout LSTM.draft.activations LSTM.draft.w LSTM.draft.r LSTM.draft.shapes",
)
@pytest.mark.parametrize(("requirement", "operands", "judgement"), judged(DECIDED))
def test_judgement(requirement: Requirement, operands: list[Operand], judgement: Judgement) -> None:
    assert requirement.judge(operands) == judgement


@pytest.mark.satisfies(
    "LSTM.draft.weights LSTM.draft.states LSTM.draft.bias LSTM.draft.lengths LSTM.draft.peepholes"
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


@pytest.mark.parametrize(
    ("rule", "attributes", "remedy"),
    [
        (
            "LSTM.activations",
            {},
            (
                "write the attribute activations into the file: without it ONNX computes Sigmoid, "
                "Tanh, Tanh, which the rule admits"
            ),
        ),
        (
            "LSTM.activations",
            {"activations": ("Tanh", "Tanh", "Tanh")},
            "train the network with these activations",
        ),
        ("LSTM.layout", {}, "write the attribute layout=0 into the file"),
        ("LSTM.hidden_size", {}, "write the attribute hidden_size into the file"),
    ],
)
def test_attribute_that_is_left_out_is_written_and_no_network_is_trained_anew(
    rule: str, attributes: Attributes, remedy: str
) -> None:
    of_node = RULES[rule].of_node(attributes)
    assert of_node.requirement.judge([]).status is Status.VIOLATED
    assert of_node.hint() == remedy
