"""Add, Mul, Mod, Max, Min and PRelu."""

from collections.abc import Sequence

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, own
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import WRITE_BROADCASTS
from sonnx_ort.profile.requirements.arithmetic import NONZERO_DIVISOR, RepresentableQuotient
from sonnx_ort.profile.requirements.attributes import held
from sonnx_ort.profile.requirements.elements import WITHIN_INT32
from sonnx_ort.profile.rule import Attributes, Judgement, at_run_time, judged
from sonnx_ort.remedies import Advice
from sonnx_ort.terms.operand import Operand


def _sum_or_product(name: str, first_code: int, what: str, operation: str) -> Operator:
    """Add or Mul, whose drafts say the same."""
    constraint = f"Inputs, A, Constraints [E_{name.upper()}_{{}}_CONSTR_A"
    return CommonRules(
        name,
        first_code,
        remark=Advice(
            "The draft of October 2026 admits shapes that can be broadcast to a common one; ",
            WRITE_BROADCASTS,
            " writes that out, and satisfies both.",
        ),
        shape_at=f"{constraint}_0010]",
        type_at=f"{constraint}_0020]",
    ).operator(
        description=f"""
            `{name}`: the {what} of two tensors of one shape and type.

            Results: IEEE 754 {operation} for floats, rounded to nearest even; modulo 2^n for
            integers.

            ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
            symbol. It has no kernel for bfloat16.
        """,
        versions=(1, 6, 7, 13, 14),
    )


ADD = _sum_or_product("Add", 101, "sum", "addition")
MUL = _sum_or_product("Mul", 121, "product", "multiplication")


def _has_fmod(operands: Sequence[Operand], attributes: Attributes) -> Judgement:
    if operands[0].element_type is None:
        return at_run_time("the type of A is unknown")
    fmod = attributes.get("fmod", 0)
    return judged(fmod == 1, f"the attribute fmod is {fmod}")


_mod = CommonRules("Mod", 441, by_analogy("Mod"))

MOD = _mod.operator(
    rules=[
        _mod("int.C1", 9).states(
            "No element of B is zero.", NONZERO_DIVISOR, source=by_analogy("Mod")
        ),
        _mod("int.C2", 10).states(
            "The smallest value of int32 or int64 is not taken modulo -1.",
            RepresentableQuotient(
                deed="take the smallest value modulo -1",
                finding="the smallest value modulo -1",
                bits=32,
            ),
            remark="The remainder is 0, but the quotient does not fit the type. Versions of ONNX "
            "Runtime up to 1.31.1 end the process at int32 and int64.",
            needed_before="1.32.0",
        ),
        _mod("float.fmod", 11).states(
            "The attribute fmod is 1.",
            held(
                _has_fmod,
                *(
                    "A float, fmod=1",
                    "A float, fmod=0",
                    "write fmod=1, for which the result has the dividend's sign",
                ),
                attributes=("fmod",),
            ),
            "A",
            remark="ONNX demands it of floats before version 28.",
            until=27,
        ),
    ],
    description="""
        `Mod`: the remainder of a division of two tensors of one shape and type.

        Results: without `fmod=1`, the remainder with the sign of the divisor; with it, the one with
        the sign of the dividend, as C has it. For floats, a zero divisor, an infinite dividend and
        NaN give NaN. Version 28 allows floats without `fmod=1`: an infinite divisor then gives
        itself if the signs differ.

        ONNX Runtime 1.32.0 broadcasts silently. It has no kernel for bfloat16. It rejects zero
        divisors of all integer types, and gives 0 for the smallest value modulo -1. Versions up to
        1.31.1 end the process there at int32 and int64. With `fmod=1` they compute int64 and uint64
        in double, which is wrong if an operand is beyond 2^53; no rule prevents that. Version 1.23
        ends the process at a zero divisor too, or gives a number.
    """,
    versions=(10, 13, 28),
    broadcasting_since=10,
    rounds_once=False,
    oldest_kernels=10,
)


def _of_many(rules: CommonRules, most: str, compared_wrongly: str) -> Operator:
    """Max or Min: `compared_wrongly` is an example of what versions up to 1.31.1 give."""
    name = rules.name
    narrow = rules("int.C1", 9).states(
        "No element of type int64 is beyond what int32 can hold.",
        WITHIN_INT32,
        remark="ONNX Runtime compares such numbers wrongly in versions up to 1.31.1.",
        survived=True,
        needed_before="1.32.0",
    )
    return rules.operator(
        Family.FLOAT,
        Family.INTEGER,
        rules=[narrow],
        description=f"""
        `{name}`: the {most} of the elements at each index of any number of tensors.

        Results: NaN where an operand is NaN, else the {most} element.

        The draft of the working group demands that 0 is larger than -0, and REQ-OP-010 one result
        for one element. ONNX Runtime gives either zero, by the index of the element and the length
        of the tensor. The python backend computes by the draft, and so does the compiled backend
        for two operands of floats. The native backend leaves it to ONNX Runtime.

        ONNX Runtime 1.32.0 broadcasts silently. It has no kernels for bfloat16 and 16-bit integers.
        For int64, versions up to 1.31.1 compare the lower halves as signed numbers if the upper
        halves are equal: {compared_wrongly} there. The last of an odd number of elements is right.
        `{name}.int.C1` excludes such numbers, because these versions are supported. All other
        integers, uint64 too, compare correctly.
        """,
        operands=(),
        versions=(1, 6, 8, 12, 13),
        repeated_operand="data_",
        broadcasting_since=8,
        rounds_once=False,
        oldest_kernels=6,
    )


MAX = _of_many(
    CommonRules(
        "Max",
        141,
        remark="The signature has one type for all tensors.",
        operands="data_0 to data_n",
        result="max",
        shape_source=own(
            "Max",
            Advice(
                "The draft demands operands that can be broadcast to each other, and broadcasts "
                "them; ",
                WRITE_BROADCASTS,
                " writes that out. ONNX Runtime broadcasts silently.",
            ),
        ),
        type_at="Max ({family}, ..., {family})",
    ),
    "largest",
    "Max(3000000000, 0) is 0",
)

MIN = _of_many(
    CommonRules(
        "Min",
        161,
        by_analogy("Min", "The draft of the working group covers Max, but not Min."),
        operands="data_0 to data_n",
        result="min",
    ),
    "smallest",
    "Min(3000000000, 0) is 3000000000",
)


P_RELU = CommonRules(
    "PRelu", 181, by_analogy("PRelu"), operands="X and slope", result="Y"
).operator(
    description="""
        `PRelu`: the elements of a tensor, those below zero times a slope.

        Results: x where x is at least 0, slope * x where it is less, in the tensor's type.

        In ONNX the slope can be broadcast to X; ONNX Runtime 1.32.0 silently broadcasts X to the
        slope as well. It has kernels for float16 and float. In versions 16 to 18 it replaces PRelu
        by Less, Mul and Where in all types except float, and they lose the sign of zeros.
    """,
    versions=(1, 6, 7, 9, 16),
    rounds_once=False,
)
