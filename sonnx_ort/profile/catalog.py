"""Every operator and every rule of the profile, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from sonnx_ort.profile.abs import ABS
from sonnx_ort.profile.acos import ACOS
from sonnx_ort.profile.add import ADD
from sonnx_ort.profile.and_ import AND
from sonnx_ort.profile.arg_max import ARG_MAX
from sonnx_ort.profile.batch_normalization import BATCH_NORMALIZATION
from sonnx_ort.profile.bit_shift import BIT_SHIFT
from sonnx_ort.profile.bitwise_and import BITWISE_AND
from sonnx_ort.profile.bitwise_or import BITWISE_OR
from sonnx_ort.profile.bitwise_xor import BITWISE_XOR
from sonnx_ort.profile.broadcast import BROADCAST
from sonnx_ort.profile.cast import CAST
from sonnx_ort.profile.clip import CLIP
from sonnx_ort.profile.div import DIV
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.equal import EQUAL
from sonnx_ort.profile.general import GENERAL_RULES
from sonnx_ort.profile.greater import GREATER
from sonnx_ort.profile.greater_or_equal import GREATER_OR_EQUAL
from sonnx_ort.profile.less import LESS
from sonnx_ort.profile.less_or_equal import LESS_OR_EQUAL
from sonnx_ort.profile.log import LOG
from sonnx_ort.profile.mat_mul import MAT_MUL
from sonnx_ort.profile.max import MAX
from sonnx_ort.profile.min import MIN
from sonnx_ort.profile.mod import MOD
from sonnx_ort.profile.mul import MUL
from sonnx_ort.profile.neg import NEG
from sonnx_ort.profile.operator import Operator, require_distinct
from sonnx_ort.profile.or_ import OR
from sonnx_ort.profile.p_relu import P_RELU
from sonnx_ort.profile.pow import POW
from sonnx_ort.profile.reciprocal import RECIPROCAL
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.slice import SLICE
from sonnx_ort.profile.sqrt import SQRT
from sonnx_ort.profile.sub import SUB
from sonnx_ort.profile.where import WHERE
from sonnx_ort.profile.xor import XOR

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
"""The operators by name. A new one is one more line above."""

DEFAULT_OPERATORS = frozenset({DIV.name, SUB.name, BROADCAST.name})
"""The names of those that are enforced where nothing else is asked for."""

ELEMENTWISE_OPERATORS = frozenset(o.name for o in OPERATORS.values() if o.elementwise)
"""The names of those that compute element by element."""

STANDARD_OPERATORS = frozenset(o.name for o in OPERATORS.values() if o.domain == STANDARD_DOMAIN)
"""The names of those that ONNX itself has."""

_RULES = (
    *GENERAL_RULES,
    *(rule for operator in OPERATORS.values() for rule in operator.all_rules()),
)
require_distinct(_RULES)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _RULES})
"""The rules by id."""
