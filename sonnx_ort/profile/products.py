"""MatMul and Gemm."""

from sonnx_ort.profile.common_rules import CommonRules, RulesOf
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.requirements.attributes import SameNumericType, attribute_is, required
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.rule import Attributes, Rule
from sonnx_ort.terms.language import Either, IfGiven, Tensor, Term

_OPERANDS = ("A", "B", "C")
_A, _B, _C = map(Tensor, _OPERANDS)
_CORRECTED = ("A (2, 3), B (3, 4)", "A (2, 3), B (4, 4)", "correct the shapes")

_mat_mul = CommonRules("MatMul", 641, result="Y", one_shape=False, type_at="Signature")

MAT_MUL = _mat_mul.operator(
    rules=[
        _mat_mul("C1", 9, "Inputs, A, Constraints [C1]").states(
            "A and B are of rank 2.",
            of_rank(
                2,
                "A (2, 3), B (3, 4)",
                "A (5, 2, 3), B (3, 4)",
                "multiply each matrix of a stack separately, or fold the stack into rows with "
                "Reshape",
            ),
            remark="The draft states it of both inputs, also as R1; ONNX takes stacks of matrices.",
        ),
        _mat_mul("C2", 10, "Inputs, A, Constraints [C2]").states(
            "A has as many columns as B has rows.",
            on_shapes(
                ("A", "B"),
                lambda _: Either((_A.size(-1) == _B.size(-2), _B.rank == 1)),
                *_CORRECTED,
                held=True,
            ),
            remark="The draft states it of both inputs.",
        ),
    ],
    description="""
        `MatMul`: the product of two matrices.

        Results: the sums of products in the operands' type, modulo 2^n for integers. The order in
        which floats are summed and the number of roundings depend on the implementation.

        ONNX Runtime 1.32.0 accepts tensors of any rank from 1 on: it silently broadcasts stacks of
        matrices to each other, and takes a vector for a row or a column. It checks that A has as
        many columns as B has rows. Version 1.23 ends the process (SIGSEGV) at scalars whose rank is
        not declared, which this one rejects. It has no kernel for bfloat16, and ONNX allows no
        integers of 8 and 16 bits.
    """,
    versions=(1, 9, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
    by_shape=("A", "B"),
)


_gemm = RulesOf("Gemm", 801, survived=True)
_TO_BE_CONFIRMED = 'The draft marks it "TBC".'


def _constant(offset: int, name: str, value: int, remedy: str) -> Rule:
    return _gemm(f"R2.{name}", offset, "Restrictions [R2]").states(
        f"The attribute {name} is {value}.",
        attribute_is(name, value, remedy),
        remark=f"{_TO_BE_CONFIRMED} It does not support the attribute, so its default is demanded, "
        "given or not.",
        unenforced="applies the attribute as ONNX defines it.",
    )


def _inner_sizes_agree(attributes: Attributes) -> Term:
    columns, rows = attributes.get("transA"), attributes.get("transB")
    return _A.size(0 if columns else 1) == _B.size(1 if rows else 0)


GEMM = _gemm.operator(
    Family.FLOAT,
    rules=[
        _gemm("types", 0).states(
            "Tensors A, B, C and Y have the same type: float16, float or double.",
            SameNumericType(None, (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)),
            remark="The draft has a section for real numbers only; other drafts name these types.",
            survived=False,
        ),
        _gemm.dense(1),
        _gemm("R1", 2, "Restrictions [R1]").states(
            "A, B and C are of rank 2.",
            of_rank(
                2,
                "A (2, 3), B (3, 4), C (2, 4)",
                "A (3,), B (3, 4), C (1, 4)",
                "insert an axis of size 1 with Unsqueeze",
            ),
            remark=_TO_BE_CONFIRMED,
            unenforced="silently accepts a vector for A if its rank is not declared.",
        ),
        _constant(3, "alpha", 1, "multiply A with Mul"),
        _constant(4, "beta", 1, "multiply C with Mul"),
        _constant(5, "transA", 0, "transpose A with Transpose"),
        _constant(6, "transB", 0, "transpose B with Transpose"),
        _gemm("R4", 7, "Restrictions [R4]").states(
            "The input C is given.",
            required("C", "C given", "C left out", "use MatMul instead"),
            remark=_TO_BE_CONFIRMED,
            unenforced="gives the product without C.",
        ),
        _gemm("R3", 8, "Restrictions [R3]").states(
            "C has as many rows as A and as many columns as B.",
            on_shapes(
                _OPERANDS,
                lambda _: IfGiven(_C, _C.is_of_shape(_A.size(0), _B.size(1))),
                "A (2, 3), B (3, 4), C (2, 4)",
                "A (2, 3), B (3, 4), C (1, 4)",
                "broadcast C explicitly with Expand, or use MatMul and Add",
            ),
            remark=_TO_BE_CONFIRMED,
            unenforced="silently broadcasts C.",
        ),
        _gemm("shapes", 9, "Signature, Inputs and outputs, A").states(
            "A has as many columns as B has rows.",
            on_shapes(
                ("A", "B"),
                _inner_sizes_agree,
                *_CORRECTED,
                attributes=("transA", "transB"),
                held=True,
            ),
            remark="The draft gives the shapes of the inputs.",
        ),
    ],
    description="""
        `Gemm`: the product of two matrices, plus a third one.

        Results: the sums of products and the element of C, in the operands' type. The order of the
        sums and the number of roundings depend on the implementation.

        ONNX Runtime 1.32.0 has kernels for float16, float and double, of version 7 and newer ones.
        Each rule says what it does with a violation.
    """,
    operands=_OPERANDS,
    versions=(1, 6, 7, 9, 11, 13),
    optional=("C",),
    by_shape=_OPERANDS,
    unsupported=("alpha", "beta", "transA", "transB"),
)
