"""Conv and ConvInteger."""

from sonnx_ort.profile.common_rules import of_families
from sonnx_ort.profile.convolution_rules import convolution_rules
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import NotBoth, SameNumericType
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank
from sonnx_ort.profile.rule import Attributes, Illustration
from sonnx_ort.profile.source import Standing
from sonnx_ort.profile.windows import DraftRules, Window
from sonnx_ort.terms.elements import NumberSet
from sonnx_ort.terms.language import Decided, Either, IfGiven, Tensor

_CONV = DraftRules("Conv", 741, "E_CONV_REAL_CONSTR_")
_FLOATS = (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)
_CONV_OPERANDS = ("X", "W", "B")
_W, _B, _ZERO = Tensor("W"), Tensor("B"), Tensor("w_zero_point")
_SCALAR_OR_EACH = Either((_ZERO.rank == 0, _ZERO.is_of_shape(_W.size(0))))

_CONV_RULES = (
    _CONV.rule(
        "types",
        0,
        "Tensors X, W, B and Y have the same type: float16, float or double.",
        SameNumericType(None, _FLOATS),
        at="Inputs, X, Constraints [E_CONV_FLOAT_CONSTR_X_0020]",
        survived=False,
    ),
    _CONV.dense(1),
    *convolution_rules(
        _CONV,
        negative_pads="Negative pads end the process (SIGSEGV) if W is constant and all "
        "optimizations are on; otherwise they crop X.",
        empty="never returns from a run with an empty kernel whose sizes are not declared.",
        outputs="W_0050",
        channels="silently takes channels that X lacks for 0 if W is constant and the "
        "optimizations are on; otherwise it rejects them.",
    ),
    _CONV.rule(
        "B",
        15,
        "B is a vector of as many elements as W has outputs.",
        OnShapes(
            ("W", "B"),
            lambda _: IfGiven(_B, _B.is_of_shape(_W.size(0))),
            Illustration("W (6, 3, 3, 3), B (6,)", "W (6, 3, 3, 3), B (1,)", "repeat the element"),
        ),
        "W",
        "B",
        at=_CONV.constraint("Inputs, B", "B_0010"),
        unenforced="rejects a bias of another shape. Versions up to 1.29 accept any shape, and "
        "read beyond its elements.",
        survived=False,
    ),
)

CONV = Operator(
    name="Conv",
    description="""
        `Conv`: the convolution of a tensor of two spatial axes with a kernel, and a bias.

        Results: the sums of products in the operands' type, plus the bias; what is padded counts as
        0. The order of the sums and the number of roundings depend on the implementation. Axis
        denotations, which the draft mentions, are ignored: ONNX Runtime does not support them.

        ONNX Runtime 1.32.0 has kernels for float16 and float. Each rule says what it does with a
        violation.
    """,
    operands=_CONV_OPERANDS,
    versions=(1, 11, 22),
    contracts=of_families({Family.FLOAT: _CONV_RULES}),
    result="Y",
    rounds_once=False,
    oldest_kernels=1,
    optional=("B",),
    elementwise=False,
    by_shape=_CONV_OPERANDS,
)


_ONLY_ZERO = NumberSet("not 0", lambda _: (0, 0))


def _zero_where_padded(said: Attributes) -> NumberSet | Decided:
    if not any(Window.of(said).padding):
        return Decided(True, "X is not padded")
    return _ONLY_ZERO


_INTEGER = DraftRules("ConvInteger", 761, "E_CONVINTEGER_INT_CONSTR_")
_BYTES = (ElementType.INT8, ElementType.UINT8)
_INTEGER_OPERANDS = ("X", "W", "x_zero_point", "w_zero_point")

_INTEGER_RULES = (
    _INTEGER.rule(
        "X",
        0,
        "Tensors X and x_zero_point have the same type, int8 or uint8, and Y is int32.",
        SameNumericType("int32", _BYTES),
        "X",
        "x_zero_point",
        at=_INTEGER.constraint("Inputs, X", "X_0040"),
        survived=False,
    ),
    _INTEGER.rule(
        "W",
        1,
        "Tensors W and w_zero_point have the same type, int8 or uint8.",
        SameNumericType("int32", _BYTES),
        "W",
        "w_zero_point",
        at=_INTEGER.constraint("Inputs, W", "W_0050"),
        survived=False,
    ),
    _INTEGER.rule(
        "signs",
        18,
        "X is not int8 while W is uint8.",
        NotBoth(
            (ElementType.INT8, ElementType.UINT8),
            Illustration(
                "X int8, W int8", "X int8, W uint8", "store W as int8, and its zero point"
            ),
        ),
        "X",
        "W",
        remark="The draft and ONNX admit it.",
        unenforced="silently cuts the sum of two products to 16 bits on processors with AVX2 and "
        "without VNNI. Version 1.23 has no kernel for it.",
        standing=Standing.OWN,
    ),
    _INTEGER.dense(2),
    *convolution_rules(
        _INTEGER,
        negative_pads="Negative pads crop X.",
        empty="silently gives 0 for an empty kernel whose sizes are not declared.",
        outputs="W_0040",
        channels="rejects others with an error.",
    ),
    _INTEGER.rule(
        "x_zero_point",
        15,
        "The operand x_zero_point is a scalar.",
        of_rank(
            0,
            Illustration(
                "X (1, 3, 8, 8), x_zero_point ()",
                "X (1, 3, 8, 8), x_zero_point (1,)",
                "reshape it to a scalar, with Squeeze",
            ),
        ),
        "x_zero_point",
        at=_INTEGER.constraint("Inputs, x_zero_point", "XZEROPOINT_0010"),
        unenforced="accepts one element with one axis as a scalar, and rejects other shapes.",
    ),
    _INTEGER.rule(
        "w_zero_point",
        16,
        "The operand w_zero_point is a scalar, or has one element for each output.",
        OnShapes(
            ("W", "w_zero_point"),
            lambda _: IfGiven(_ZERO, _SCALAR_OR_EACH),
            Illustration(
                "W (6, 3, 3, 3), w_zero_point ()",
                "W (6, 3, 3, 3), w_zero_point (1,)",
                "reshape it to a scalar, with Squeeze",
            ),
        ),
        "W",
        "w_zero_point",
        remark="ONNX Runtime rejects one for each output if there are several outputs.",
        at=_INTEGER.constraint("Inputs, w_zero_point", "WZEROPOINT_0010"),
        unenforced="accepts one element with one axis as a scalar, and rejects other shapes.",
    ),
    _INTEGER.rule(
        "C1",
        17,
        "Where X is padded, its zero point is 0.",
        OnElements(
            ("x_zero_point",),
            "x_zero_point",
            _zero_where_padded,
            Illustration(
                "x_zero_point 0, pads=[1, 1, 1, 1]",
                "x_zero_point 128, pads=[1, 1, 1, 1]",
                "pad X before the node, with Pad",
            ),
            ("pads",),
        ),
        "x_zero_point",
        remark="The draft pads with 0 and subtracts the zero point from it. ONNX does not say it.",
        unenforced="pads with the zero point, which contributes nothing to the result.",
        standing=Standing.OWN,
    ),
)

CONV_INTEGER = Operator(
    name="ConvInteger",
    description="""
        `ConvInteger`: the convolution of a tensor of bytes with a kernel of bytes.

        Results: the sums of products of the elements minus their zero points, in int32, modulo
        2^32.

        ONNX Runtime 1.32.0 has kernels for each pair of types; version 1.23 for uint8 alone. It
        rejects one zero point for each of several outputs, which the draft allows.
    """,
    operands=_INTEGER_OPERANDS,
    versions=(10,),
    contracts=of_families({Family.INTEGER: _INTEGER_RULES}),
    result="Y",
    result_type="int32",
    rounds_once=False,
    oldest_kernels=10,
    optional=("x_zero_point", "w_zero_point"),
    elementwise=False,
    by_shape=("X", "W", "w_zero_point"),
)
