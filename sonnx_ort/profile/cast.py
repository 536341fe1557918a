"""`Cast`: each element of a tensor in another type, which the attribute `to` names.

Results: of floats to integers the number without its fraction; of integers to narrower ones the
number modulo 2^n; to floats the nearest one; to conditions whether it is not zero. Version 28
takes floats of six bits too, which are none of the profile's types: X is of none of them.

ONNX leaves undefined what a float gives that the integer type cannot hold. ONNX Runtime 1.32.0
gives a number, without a word, and another one by type and machine. On x86-64, of float and double:
for NaN and for infinity the smallest value of int32 and int64, and 0 in the types of 8 and 16 bits;
in uint64 9223372036854775808 for NaN, and 0 for infinity; in uint32 0 for infinity, and for NaN 0
or 2147483648, by its place in the tensor. Of a number that int32 holds it keeps the lower bits: 44
in uint8 for 300. It reads numbers from strings too. Wider types it converts to float16 by way of
float, rounding twice: 2049.0000001 in double becomes 2048.
"""

from types import MappingProxyType

from sonnx_ort.profile.common_rules import by_analogy, own
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Contract, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.castable import HeldByTheIntegerType
from sonnx_ort.profile.requirements.dense import Dense
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule

_FIRST_CODE = 621

_TYPES = Rule(
    "Cast.R2",
    _FIRST_CODE,
    "X is of one of the numeric types, or of conditions.",
    by_analogy("Cast"),
    SameNumericType(OF_THE_NODE, tuple(ElementType)),
)

_DENSE = Rule(
    "Cast.RG1",
    _FIRST_CODE + 1,
    "Sparse tensors are not supported.",
    by_analogy("Cast"),
    Dense(),
)

_HELD = Rule(
    "Cast.float.C1",
    _FIRST_CODE + 9,
    "Where X is converted to integers, no element is NaN or beyond their type.",
    own(
        "Cast",
        "ONNX leaves the result undefined, and it differs from machine to machine.",
    ),
    HeldByTheIntegerType(),
    survived=True,
)

_CONTRACT: Contract = MappingProxyType(
    {
        Family.FLOAT: (_TYPES, _DENSE, _HELD),
        Family.INTEGER: (_TYPES, _DENSE),
        Family.BOOLEAN: (_TYPES, _DENSE),
    }
)

CAST = Operator(
    name="Cast",
    operands=("X",),
    versions=(1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    contracts=dict.fromkeys(Edition, _CONTRACT),
    result="Y",
    result_type=OF_THE_NODE,
    oldest_kernels=6,
)
