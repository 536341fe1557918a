"""`Div`: the rules of the typed and the preliminary edition, and of the draft for integers."""

from sonnx_ort.profile.common_rules import own, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator, Optimizer
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.arithmetic import (
    INFINITY_FOR_ZERO_DIVISOR,
    NONZERO_DIVISOR,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.attributes import Dense, SameNumericType
from sonnx_ort.profile.requirements.shapes import NoBroadcasting, SameShape
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Source, Words

_TYPED = "SONNX Div, typed edition"
_PRELIMINARY = "SONNX Div, preliminary edition"
_FLOAT_SECTION = "section FP16, FP32, FP64, BFLOAT16"
_INTEGERS = "The typed edition leaves its section on integers to be completed. "


_FLOAT_R1 = Rule(
    "Div.float.R1",
    11,
    "Tensors A, B and C must have the same shape.",
    Source(_TYPED, _FLOAT_SECTION, "R1", later_tag="E_DIV_FLOAT_CONSTR_A_0010"),
    SameShape(),
)
_FLOAT_R2 = Rule(
    "Div.float.R2",
    12,
    "Tensors A, B and C shall have the same numerical type.",
    Source(_TYPED, _FLOAT_SECTION, "R2", later_tag="E_DIV_FLOAT_CONSTR_A_0020"),
    SameNumericType(),
)
_FLOAT_RG1 = Rule(
    "Div.float.RG1",
    13,
    "Sparse tensors are not supported.",
    Source(_TYPED, _FLOAT_SECTION, "RG1", later_tag="GR1"),
    Dense(),
)
_INT_R1 = Rule(
    "Div.int.R1",
    21,
    "Tensors A, B and C must have the same shape.",
    working_group(
        "Div",
        _INTEGERS.strip(),
        at="Inputs, A, Constraints [E_DIV_INT_CONSTR_A_0010]",
        words=Words.AS_WRITTEN,
    ),
    SameShape(),
)
_INT_R2 = Rule(
    "Div.int.R2",
    22,
    "Tensors A, B and C shall have the same numerical type.",
    working_group(
        "Div",
        f'{_INTEGERS}The draft says "must have the same type", one of the eight integer types.',
        at="Inputs, A, Constraints [E_DIV_INT_CONSTR_A_0020]",
        words=Words.CHANGED,
    ),
    SameNumericType(family=Family.INTEGER),
)
_INT_RG1 = Rule(
    "Div.int.RG1",
    23,
    "Sparse tensors are not supported.",
    working_group(
        "Div",
        f"{_INTEGERS}The draft applies the general restrictions.",
        at="Restrictions",
        later_tag="GR1",
    ),
    Dense(),
)
_INT_C1 = Rule(
    "Div.int.C1",
    24,
    "No element of B is zero.",
    working_group(
        "Div",
        f"{_INTEGERS}The draft states it as a formula. Its error conditions call the result of a "
        "zero divisor dependent on the implementation.",
        at="Inputs, B, Constraints [E_DIV_INT_CONSTR_B_0030]",
    ),
    NONZERO_DIVISOR,
)
_INT_C2 = Rule(
    "Div.int.C2",
    25,
    "Every quotient is representable: the smallest value is not divided by -1.",
    own("Div", "Neither the typed edition nor the draft says what that quotient is."),
    RepresentableQuotient(),
)
_R1 = Rule(
    "Div.R1",
    31,
    "The tensors A and B must have the same shape.",
    Source(_PRELIMINARY, "Restrictions", "R1"),
    SameShape(),
)
_R2 = Rule(
    "Div.R2",
    32,
    "The operator does not support sparse tensors.",
    Source(_PRELIMINARY, "Restrictions", "R2"),
    Dense(),
)
_R3 = Rule(
    "Div.R3",
    33,
    "All input elements A and B shall have numerical types.",
    Source(_PRELIMINARY, "Restrictions", "R3"),
    SameNumericType(),
)
_R4 = Rule(
    "Div.R4",
    34,
    "No broadcasting, even if A and B are broadcastable to a common shape.",
    Source(
        _PRELIMINARY,
        "Restrictions",
        "R4",
        words=Words.CHANGED,
        remark="The document's sentence also gives the reason: that computation time would depend "
        "on the shapes.",
    ),
    NoBroadcasting(),
)
_R5 = Rule(
    "Div.R5",
    35,
    "Where B is zero the result is the representation of infinity.",
    Source(
        _PRELIMINARY,
        "Restrictions",
        "R5",
        words=Words.CHANGED,
        remark="The document's formula gives inf wherever B is zero, whatever A is; its constraint "
        "C2 and its Why3 contract (`B.data[i] <> 0`) exclude zeros. The formula is followed. "
        "Integers have no infinity, so a zero divisor of theirs is a violation.",
    ),
    INFINITY_FOR_ZERO_DIVISOR,
)


def _gelu(opset: int) -> str:
    """`x * (erf(x / sqrt(2)) + 1) / 2`, with a product for the last quotient."""
    return f"""<ir_version: 9, opset_import: ["": {opset}]>
    canary (float[1] x) => (float[] z)
    <float[1] root = {{1.4142135}}, float one = {{1}}, float half = {{0.5}}> {{
        [divide] scaled = Div(x, root)
        e = Erf(scaled)
        f = Add(e, one)
        g = Mul(x, f)
        z = Mul(g, half)
    }}"""


def _layer_normalization(opset: int) -> str:
    """`(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * w + b`, of one element per row.

    The Div has no name, because SimplifiedLayerNormFusion, which keeps the Sub, also removes it.
    """
    return f"""<ir_version: 9, opset_import: ["": {opset}]>
    canary (float[2,1] x) => (float[] z)
    <float two = {{2}}, float epsilon = {{1e-5}}, float[1] w = {{3}}, float[1] b = {{5}}> {{
        mean = ReduceMean <axes = [-1]> (x)
        [centre] centred = Sub(x, mean)
        square = Pow(centred, two)
        variance = ReduceMean <axes = [-1]> (square)
        sum = Add(variance, epsilon)
        deviation = Sqrt(sum)
        normal = Div(centred, deviation)
        scaled = Mul(normal, w)
        z = Add(scaled, b)
    }}"""


_OPTIMIZERS = (
    Optimizer(
        "DivMulFusion",
        "replaces (1 / x) * y by y / x",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x, float[1] y) => (float[] z) <float[1] one = {1}> {
            [divide] r = Div(one, x)
            [multiply] z = Mul(r, y)
        }""",
    ),
    Optimizer(
        "NoopElimination",
        "removes x / 1",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1] x) => (float[] z) <float[1] one = {1}> {
            a = Abs(x)
            [divide] q = Div(a, one)
            z = Neg(q)
        }""",
    ),
    Optimizer(
        "GeluFusionL1",
        "fuses Div, Erf, Add and Mul into a Gelu",
        _gelu(20),
    ),
    Optimizer(
        "GeluFusionL2",
        "fuses Div, Erf, Add and Mul into a Gelu after providers are chosen",
        _gelu(17),
    ),
    Optimizer(
        "LayerNormFusionL1",
        "fuses Sub, Div and others into a LayerNormalization",
        _layer_normalization(17),
    ),
    Optimizer(
        "LayerNormFusionL2",
        "fuses Sub, Div and others into a LayerNormalization after providers are chosen",
        _layer_normalization(16),
    ),
    Optimizer(
        "SimplifiedLayerNormFusion",
        "fuses Div and others into a SimplifiedLayerNormalization",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[2,1] x) => (float[] z)
        <float two = {2}, float epsilon = {1e-5}, float[1] w = {3}> {
            square = Pow(x, two)
            mean = ReduceMean <axes = [-1]> (square)
            sum = Add(mean, epsilon)
            root = Sqrt(sum)
            [divide] normal = Div(x, root)
            z = Mul(normal, w)
        }""",
    ),
    Optimizer(
        "MatMulScaleFusion",
        "merges a Div by one constant into a MatMul beside it",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[1,8] x, float[8,1] y) => (float[] z) <float[1,1] three = {3}> {
            product = MatMul(x, y)
            [divide] z = Div(product, three)
        }""",
    ),
)

DIV = Operator(
    name="Div",
    description="""
        `Div`: the rules of the typed and of the preliminary document. The typed one leaves integers
        to be completed; their rules are those of the working group's draft.

        Results (both editions, integers): the quotient truncated towards zero. Results (typed,
        floats): IEEE 754 division, rounded to nearest even; x/0 is an infinity with the IEEE sign
        and 0/0 is NaN. Results (preliminary, floats): the same, but +inf wherever B is zero,
        whatever A is.

        ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
        symbol, in every numeric type except bfloat16, for which it has no kernel. The smallest
        int32 or int64 divided by -1 ends the process (SIGFPE); for int8 and int16 the result wraps.
        A zero divisor of any integer type fails in the run; a constant one fails before all runs,
        with an error that does not name the node.
    """,
    operands=("A", "B"),
    versions=(1, 6, 7, 13, 14),
    irreplaceable=True,
    optimizers=_OPTIMIZERS,
    contracts={
        Edition.TYPED: {
            Family.FLOAT: (_FLOAT_R2, _FLOAT_RG1, _FLOAT_R1),
            Family.INTEGER: (_INT_R2, _INT_RG1, _INT_R1, _INT_C1, _INT_C2),
        },
        Edition.PRELIMINARY: {
            Family.FLOAT: (_R3, _R2, _R1, _R4, _R5),
            # R5 does not cover the smallest value divided by -1.
            Family.INTEGER: (_R3, _R2, _R1, _R4, _R5, _INT_C2),
        },
    },
)
