"""`MatMul`: the product of two matrices.

Results: the sums of products in the operands' type, modulo 2^n for integers. In which order floats
are summed up, and with how many roundings, depends on the implementation.

ONNX Runtime 1.32.0 takes tensors of any rank from 1 on: it broadcasts stacks of matrices to each
other, and takes a vector for a row or a column, without a word. That A has as many columns as B has
rows it holds to itself. Version 1.23 ends the process (SIGSEGV) at scalars whose rank is not
declared, which this one refuses. It has no kernel for bfloat16, and ONNX takes no integers of 8 and
16 bits.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.own_rank import OwnRank
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 641
_OPERANDS = ("A", "B")

_RULES = CommonRules(
    "MatMul",
    _FIRST_CODE,
    working_group("MatMul"),
    operands="A and B",
    result="Y",
    one_shape=False,
)

_MATRICES = Rule(
    "MatMul.C1",
    _FIRST_CODE + 9,
    "A and B are of rank 2.",
    working_group(
        "MatMul", "The draft states it as C1 of both inputs; ONNX takes stacks of matrices."
    ),
    OwnRank(
        2,
        Illustration(
            "A (2, 3), B (3, 4)",
            "A (5, 2, 3), B (3, 4)",
            "multiply each matrix of a stack by itself, or fold the stack into rows with Reshape",
        ),
    ),
)

MAT_MUL = Operator(
    name="MatMul",
    operands=_OPERANDS,
    versions=(1, 9, 13),
    contracts=_RULES.contracts(
        Family.FLOAT,
        Family.INTEGER,
        further={Family.FLOAT: (_MATRICES,), Family.INTEGER: (_MATRICES,)},
    ),
    result="Y",
    rounds_once=False,
    oldest_kernels=1,
    by_shape=_OPERANDS,
)
