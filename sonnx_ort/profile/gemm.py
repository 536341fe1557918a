"""Gemm."""

from sonnx_ort.profile.common_rules import of_families
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    RequiredInput,
    SameNumericType,
)
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank
from sonnx_ort.profile.rule import Attributes, Illustration, Rule
from sonnx_ort.profile.source import Standing
from sonnx_ort.profile.windows import DraftRules
from sonnx_ort.terms.language import IfGiven, Tensor, Term

_RULES = DraftRules("Gemm", 801)
_OPERANDS = ("A", "B", "C")
_A, _B, _C = map(Tensor, _OPERANDS)
_TO_BE_CONFIRMED = 'The draft marks it "TBC".'


def _standing_at(offset: int, name: str, value: int, mended: str) -> Rule:
    example = Illustration(f"{name}={value}", f"{name}={value + 1}", mended)
    return _RULES.rule(
        f"R2.{name}",
        offset,
        f"The attribute {name} is {value}.",
        AdmittedAttribute((name,), value, lambda given: given == value, example),
        at="Restrictions [R2]",
        remark=f"{_TO_BE_CONFIRMED} It does not support the attribute, so its default is demanded, "
        "given or not.",
        unenforced="applies the attribute as ONNX defines it.",
    )


def _inner_sizes_agree(attributes: Attributes) -> Term:
    columns, rows = attributes.get("transA"), attributes.get("transB")
    return _A.size(0 if columns else 1) == _B.size(1 if rows else 0)


_CONTRACT = (
    _RULES.rule(
        "types",
        0,
        "Tensors A, B, C and Y have the same type: float16, float or double.",
        SameNumericType(None, (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)),
        remark="The draft has a section for real numbers only; other drafts name these types.",
        standing=Standing.OWN,
        survived=False,
    ),
    _RULES.dense(1),
    _RULES.rule(
        "R1",
        2,
        "A, B and C are of rank 2.",
        of_rank(
            2,
            Illustration(
                "A (2, 3), B (3, 4), C (2, 4)",
                "A (3,), B (3, 4), C (1, 4)",
                "insert an axis of size 1 with Unsqueeze",
            ),
        ),
        at="Restrictions [R1]",
        remark=_TO_BE_CONFIRMED,
        unenforced="silently accepts a vector for A if its rank is not declared.",
    ),
    _standing_at(3, "alpha", 1, "multiply A with Mul"),
    _standing_at(4, "beta", 1, "multiply C with Mul"),
    _standing_at(5, "transA", 0, "transpose A with Transpose"),
    _standing_at(6, "transB", 0, "transpose B with Transpose"),
    _RULES.rule(
        "R4",
        7,
        "The input C is given.",
        RequiredInput("C", Illustration("C given", "C left out", "use MatMul instead")),
        "C",
        at="Restrictions [R4]",
        remark=_TO_BE_CONFIRMED,
        unenforced="gives the product without C.",
    ),
    _RULES.rule(
        "R3",
        8,
        "C has as many rows as A and as many columns as B.",
        OnShapes(
            _OPERANDS,
            lambda _: IfGiven(_C, _C.is_of_shape(_A.size(0), _B.size(1))),
            Illustration(
                "A (2, 3), B (3, 4), C (2, 4)",
                "A (2, 3), B (3, 4), C (1, 4)",
                "broadcast C explicitly with Expand, or use MatMul and Add",
            ),
        ),
        at="Restrictions [R3]",
        remark=_TO_BE_CONFIRMED,
        unenforced="silently broadcasts C.",
    ),
    _RULES.rule(
        "shapes",
        9,
        "A has as many columns as B has rows.",
        OnShapes(
            ("A", "B"),
            _inner_sizes_agree,
            Illustration("A (2, 3), B (3, 4)", "A (2, 3), B (4, 4)", "correct the shapes"),
            ("transA", "transB"),
            held=True,
        ),
        "A",
        "B",
        at="Signature, Inputs and outputs, A",
        remark="The draft gives the shapes of the inputs.",
    ),
)

GEMM = Operator(
    name="Gemm",
    description="""
        `Gemm`: the product of two matrices, plus a third one.

        Results: the sums of products and the element of C, in the operands' type. The order of the
        sums and the number of roundings depend on the implementation.

        ONNX Runtime 1.32.0 has kernels for float16, float and double, of version 7 and newer ones.
        Each rule says what it does with a violation.
    """,
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 11, 13),
    contracts=of_families({Family.FLOAT: _CONTRACT}),
    result="Y",
    rounds_once=False,
    optional=("C",),
    elementwise=False,
    by_shape=_OPERANDS,
    unsupported=("alpha", "beta", "transA", "transB"),
)
