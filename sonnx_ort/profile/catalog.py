"""All operators and rules of the profile by name."""

from collections.abc import Mapping
from types import MappingProxyType

from sonnx_ort.profile.arithmetic import ADD, MAX, MIN, MOD, MUL, P_RELU
from sonnx_ort.profile.batch_normalization import BATCH_NORMALIZATION
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.comparisons import EQUAL, GREATER, GREATER_OR_EQUAL, LESS, LESS_OR_EQUAL
from sonnx_ort.profile.div import DIV
from sonnx_ort.profile.functions import ABS, ACOS, CLIP, LOG, NEG, POW, RECIPROCAL, SQRT
from sonnx_ort.profile.general import GENERAL_RULES
from sonnx_ort.profile.logic import AND, BIT_SHIFT, BITWISE_AND, BITWISE_OR, BITWISE_XOR, OR, XOR
from sonnx_ort.profile.operator import STANDARD_DOMAIN, Operator, require_distinct
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.slice import SLICE
from sonnx_ort.profile.sub import SUB
from sonnx_ort.profile.tensors import ARG_MAX, CAST, MAT_MUL, WHERE

_OPERATORS = (
    DIV,
    SUB,
    ADD,
    MUL,
    MAX,
    MIN,
    P_RELU,
    AND,
    OR,
    XOR,
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    EQUAL,
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
    WHERE,
    MOD,
    POW,
    BIT_SHIFT,
    ABS,
    NEG,
    RECIPROCAL,
    SQRT,
    LOG,
    ACOS,
    CAST,
    MAT_MUL,
    BATCH_NORMALIZATION,
    CLIP,
    SLICE,
    ARG_MAX,
    BROADCAST,
)

OPERATORS: Mapping[str, Operator] = MappingProxyType({o.name: o for o in _OPERATORS})
"""The operators by name. A new operator needs one more line above."""

DEFAULT_OPERATORS = frozenset({DIV.name, SUB.name, BROADCAST.name})
"""The operators that are enforced by default."""

ELEMENTWISE_OPERATORS = frozenset(o.name for o in OPERATORS.values() if o.elementwise)
"""The element-wise operators."""

STANDARD_OPERATORS = frozenset(o.name for o in OPERATORS.values() if o.domain == STANDARD_DOMAIN)
"""The operators that are part of ONNX."""

_RULES = (
    *GENERAL_RULES,
    *(rule for operator in OPERATORS.values() for rule in operator.all_rules()),
)
require_distinct(_RULES)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _RULES})
"""The rules by id."""
