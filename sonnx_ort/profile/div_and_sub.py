"""Div and Sub: the rules of both editions, and of the drafts where the typed one has none."""

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator, Optimizer
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.quotients import (
    INFINITY_FOR_ZERO_DIVISOR,
    NONZERO_DIVISOR,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.same_shape import NoBroadcasting, SameShape
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule

_div = RulesOf("Div", 11)
_FLOAT_RULES = (
    _div("float.R2", 1).states(SameNumericType()),
    _div("float.RG1", 2).states(Dense()),
    _div("float.R1", 0).states(SameShape()),
)
_REPRESENTABLE = _div("int.C2", 14).states(RepresentableQuotient())
_INTEGER_RULES = (
    _div("int.R2", 11).states(SameNumericType(family=Family.INTEGER)),
    _div("int.RG1", 12).states(Dense()),
    _div("int.R1", 10).states(SameShape()),
    _div("int.C1", 13).states(NONZERO_DIVISOR),
    _REPRESENTABLE,
)
_PRELIMINARY_RULES = (
    _div("R3", 22).states(SameNumericType()),
    _div("R2", 21).states(Dense()),
    _div("R1", 20).states(SameShape()),
    _div("R4", 23).states(NoBroadcasting()),
    _div("R5", 24).states(INFINITY_FOR_ZERO_DIVISOR),
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
    added = (ElementType.BFLOAT16,) if family is Family.FLOAT else ()
    return (
        _sub(f"{family}.R2", offset + 1).states(SameNumericType(family=family, added=added)),
        _sub(f"{family}.RG1", offset + 2).states(Dense()),
        _sub(f"{family}.R1", offset).states(SameShape()),
    )


_SUB_PRELIMINARY_RULES = (
    _sub("R3", 22).states(SameNumericType()),
    _sub("R2", 21).states(Dense()),
    _sub("R1", 20).states(SameShape()),
)

SUB = Operator(
    name="Sub",
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
