"""Div and Sub: the rules of both editions, and of the drafts where the typed one has none."""

from sonnx_ort.profile.common_rules import ADDED, SPARSE, STATED, RulesOf, working_group
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator, Optimizer
from sonnx_ort.profile.options import WRITE_BROADCASTS, Edition
from sonnx_ort.profile.requirements.arithmetic import (
    INFINITY_FOR_ZERO_DIVISOR,
    NONZERO_DIVISOR,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.attributes import Dense, SameNumericType
from sonnx_ort.profile.requirements.shapes import NoBroadcasting, SameShape
from sonnx_ort.profile.rule import Requirement, Rule
from sonnx_ort.profile.source import Source, Words
from sonnx_ort.remedies import Advice

_div = RulesOf("Div", 11)
_FLOAT_SECTION = "section FP16, FP32, FP64, BFLOAT16"
_INTEGERS = "The typed edition leaves its section on integers to be completed. "
_SAME_SHAPE = "Tensors A, B and C must have the same shape."
_SAME_TYPE = "Tensors A, B and C shall have the same numerical type."


def _of_typed(
    tag: str, offset: int, sentence: str, requirement: Requirement, later_tag: str
) -> Rule:
    """A rule on floats in the typed document of Div."""
    source = Source("SONNX Div, typed edition", _FLOAT_SECTION, tag, later_tag=later_tag)
    return _div(f"float.{tag}", offset).states(sentence, requirement, source=source)


def _of_preliminary(  # noqa: PLR0913, PLR0917 - a row of a table
    rules: RulesOf,
    tag: str,
    code: int,
    sentence: str,
    requirement: Requirement,
    remark: str = "",
    section: str = "Restrictions",
    *,
    contradicted: bool = False,
) -> Rule:
    """A rule of the preliminary document of Div or Sub, whose sentence is changed for a reason."""
    words = Words.CHANGED if remark else Words.AS_WRITTEN
    document = f"SONNX {rules.name}, preliminary edition"
    source = Source(document, section, tag, words=words, remark=remark, contradicted=contradicted)
    return rules(tag, code - rules.first_code).states(sentence, requirement, source=source)


_FLOAT_RULES = (
    _of_typed("R2", 1, _SAME_TYPE, SameNumericType(), "E_DIV_FLOAT_CONSTR_A_0020"),
    _of_typed("RG1", 2, SPARSE, Dense(), "GR1"),
    _of_typed("R1", 0, _SAME_SHAPE, SameShape(), "E_DIV_FLOAT_CONSTR_A_0010"),
)
_REPRESENTABLE = _div("int.C2", 14).states(
    "Every quotient is representable: the smallest value is not divided by -1.",
    RepresentableQuotient(),
    remark="Neither the typed edition nor the draft says what that quotient is.",
)
_INTEGER_RULES = (
    _div("int.R2", 11, "Inputs, A, Constraints [E_DIV_INT_CONSTR_A_0020]").states(
        _SAME_TYPE,
        SameNumericType(family=Family.INTEGER),
        remark=f'{_INTEGERS}The draft says "must have the same type", one of the eight integer '
        "types.",
        words=Words.CHANGED,
    ),
    _div("int.RG1", 12).states(
        SPARSE,
        Dense(),
        source=working_group(
            "Div",
            f"{_INTEGERS}The draft applies the general restrictions.",
            at="Restrictions",
            later_tag="GR1",
        ),
    ),
    _div("int.R1", 10, "Inputs, A, Constraints [E_DIV_INT_CONSTR_A_0010]").states(
        _SAME_SHAPE, SameShape(), remark=_INTEGERS.strip(), words=Words.AS_WRITTEN
    ),
    _div("int.C1", 13, "Inputs, B, Constraints [E_DIV_INT_CONSTR_B_0030]").states(
        "No element of B is zero.",
        NONZERO_DIVISOR,
        remark=f"{_INTEGERS}The draft states it as a formula. Its error conditions call the result "
        "of a zero divisor dependent on the implementation.",
    ),
    _REPRESENTABLE,
)
_PRELIMINARY_RULES = (
    _of_preliminary(
        _div, "R3", 33, "All input elements A and B shall have numerical types.", SameNumericType()
    ),
    _of_preliminary(_div, "R2", 32, "The operator does not support sparse tensors.", Dense()),
    _of_preliminary(_div, "R1", 31, "The tensors A and B must have the same shape.", SameShape()),
    _of_preliminary(
        _div,
        "R4",
        34,
        "No broadcasting, even if A and B are broadcastable to a common shape.",
        NoBroadcasting(),
        "The document's sentence also gives the reason: that computation time would depend on the "
        "shapes.",
    ),
    _of_preliminary(
        _div,
        "R5",
        35,
        "Where B is zero the result is the representation of infinity.",
        INFINITY_FOR_ZERO_DIVISOR,
        "The document's formula gives inf wherever B is zero, whatever A is; its constraint C2 and "
        "its Why3 contract (`B.data[i] <> 0`) exclude zeros. The formula is followed. Integers "
        "have no infinity, so a zero divisor of theirs is a violation.",
        contradicted=True,
    ),
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
    Optimizer("GeluFusionL1", "fuses Div, Erf, Add and Mul into a Gelu", _gelu(20)),
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
        symbol. It has no kernel for bfloat16. The smallest int32 or int64 divided by -1 ends the
        process (SIGFPE); for int8 and int16 the result wraps. A zero divisor of any integer type
        fails in the run. A constant one fails when the session starts, with an error that does not
        name the node.
    """,
    operands=("A", "B"),
    versions=(1, 6, 7, 13, 14),
    irreplaceable=True,
    optimizers=_OPTIMIZERS,
    contracts={
        Edition.TYPED: {Family.FLOAT: _FLOAT_RULES, Family.INTEGER: _INTEGER_RULES},
        Edition.PRELIMINARY: {
            Family.FLOAT: _PRELIMINARY_RULES,
            # R5 does not cover the smallest value divided by -1.
            Family.INTEGER: (*_PRELIMINARY_RULES, _REPRESENTABLE),
        },
    },
)


_sub = RulesOf("Sub", 41)


def _of_draft(family: Family, offset: int) -> tuple[Rule, ...]:
    """The rules of the working group's draft, which are those of `Div`'s typed edition."""
    at = f"Inputs, A, Constraints [E_SUB_{family.upper()}_CONSTR_A"
    floats = family is Family.FLOAT
    same_type = _sub(f"{family}.R2", offset + 1, f"{at}_0020]").states(
        _SAME_TYPE,
        SameNumericType(family=family, added=(ElementType.BFLOAT16,) if floats else ()),
        remark='The draft says "must have the same type", one of those that it lists.'
        + (f" {ADDED}" if floats else ""),
        words=Words.CHANGED,
    )
    restricted = "The draft applies the general restrictions."
    general = working_group("Sub", restricted, at="Restrictions", later_tag="GR1")
    same_shape = _sub(f"{family}.R1", offset, f"{at}_0010]").states(
        _SAME_SHAPE,
        SameShape(),
        remark='For floats, the draft says "shall".' if floats else STATED,
        words=Words.CHANGED if floats else Words.AS_WRITTEN,
    )
    return (
        same_type,
        _sub(f"{family}.RG1", offset + 2).states(SPARSE, Dense(), source=general),
        same_shape,
    )


_SUB_PRELIMINARY_RULES = (
    _of_preliminary(
        _sub,
        "R3",
        63,
        "All input elements A and B shall have explicit subtractive types.",
        SameNumericType(),
    ),
    _of_preliminary(_sub, "R2", 62, "The operator does not support sparse tensors.", Dense()),
    _of_preliminary(
        _sub,
        "R1",
        61,
        "The tensors A and B must have the same shape.",
        SameShape(),
        Advice(
            "The document's sentence also admits shapes that are broadcastable to a common one; "
            "its own Why3 contract, which requires same_dimensions, does not. The contract is "
            "followed, unless ",
            WRITE_BROADCASTS,
            " writes the broadcast out.",
        ),
        "Restrictions and formal specification",
        contradicted=True,
    ),
)

SUB = Operator(
    name="Sub",
    description="""
        `Sub`: the rules of the preliminary document; those of the typed edition are the working
        group's draft, for there is no typed document of Sub.

        Results: IEEE 754 subtraction for floats, rounded to nearest even; modulo 2^n for integers.

        ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
        symbol. It has no kernel for bfloat16.
    """,
    operands=("A", "B"),
    versions=(1, 6, 7, 13, 14),
    irreplaceable=True,
    optimizers=(
        Optimizer(
            "NoopElimination",
            "removes x - 0",
            """<ir_version: 9, opset_import: ["": 17]>
            canary (float[1] x) => (float[] z) <float[1] zero = {0}> {
                a = Abs(x)
                [subtract] d = Sub(a, zero)
                z = Neg(d)
            }""",
        ),
    ),
    contracts={
        Edition.TYPED: {
            Family.FLOAT: _of_draft(Family.FLOAT, 0),
            Family.INTEGER: _of_draft(Family.INTEGER, 10),
        },
        Edition.PRELIMINARY: dict.fromkeys((Family.FLOAT, Family.INTEGER), _SUB_PRELIMINARY_RULES),
    },
)
