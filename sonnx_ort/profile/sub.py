"""`Sub`: the rules of the preliminary edition, and of the draft as those of the typed one."""

from sonnx_ort.profile.common_rules import working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator, Optimizer
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense, SameNumericType
from sonnx_ort.profile.requirements.shapes import SameShape
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Source, Words

_PRELIMINARY = "SONNX Sub, preliminary edition"


def _typed(family: Family, first_code: int) -> tuple[Rule, ...]:
    """The rules of the working group's draft, which are those of `Div`'s typed edition."""
    place, constraint = "Inputs, A, Constraints", f"E_SUB_{family.upper()}_CONSTR_A"
    type_remark = 'The draft says "must have the same type", one of those that it lists.'
    one_type = working_group(
        "Sub", type_remark, at=f"{place} [{constraint}_0020]", words=Words.CHANGED
    )
    dense = working_group(
        "Sub", "The draft applies the general restrictions.", at="Restrictions", later_tag="GR1"
    )
    one_shape = working_group(
        "Sub",
        'For floats, the draft says "shall".' if family is Family.FLOAT else "",
        at=f"{place} [{constraint}_0010]",
        words=Words.CHANGED if family is Family.FLOAT else Words.AS_WRITTEN,
    )
    return (
        Rule(
            f"Sub.{family}.R2",
            first_code + 1,
            "Tensors A, B and C shall have the same numerical type.",
            one_type,
            SameNumericType(family=family),
        ),
        Rule(
            f"Sub.{family}.RG1",
            first_code + 2,
            "Sparse tensors are not supported.",
            dense,
            Dense(),
        ),
        Rule(
            f"Sub.{family}.R1",
            first_code,
            "Tensors A, B and C must have the same shape.",
            one_shape,
            SameShape(),
        ),
    )


_PRELIMINARY_RULES = (
    Rule(
        "Sub.R3",
        63,
        "All input elements A and B shall have explicit subtractive types.",
        Source(_PRELIMINARY, "Restrictions", "R3"),
        SameNumericType(),
    ),
    Rule(
        "Sub.R2",
        62,
        "The operator does not support sparse tensors.",
        Source(_PRELIMINARY, "Restrictions", "R2"),
        Dense(),
    ),
    Rule(
        "Sub.R1",
        61,
        "The tensors A and B must have the same shape.",
        Source(
            _PRELIMINARY,
            "Restrictions and formal specification",
            "R1",
            words=Words.CHANGED,
            remark="The document's sentence also admits shapes that are broadcastable to a common "
            "one; its own Why3 contract, which requires same_dimensions, does not. The contract is "
            'followed, unless broadcast="explicit" writes the broadcast out.',
        ),
        SameShape(),
    ),
)

SUB = Operator(
    name="Sub",
    description="""
        `Sub`: the rules of the preliminary document; those of the typed edition are the working
        group's draft, for there is no typed document of Sub.

        Results: IEEE 754 subtraction for floats, rounded to nearest even; modulo 2^n for integers.

        ONNX Runtime 1.32.0 silently broadcasts, even two inputs that are declared with the same
        symbol, in every numeric type except bfloat16, for which it has no kernel.
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
            Family.FLOAT: _typed(Family.FLOAT, 41),
            Family.INTEGER: _typed(Family.INTEGER, 51),
        },
        Edition.PRELIMINARY: {
            Family.FLOAT: _PRELIMINARY_RULES,
            Family.INTEGER: _PRELIMINARY_RULES,
        },
    },
)
