"""All operators and rules of the profile by name, and the operators that the profile has."""

import copyreg
import enum
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sonnx_ort.profile.contract_rules import CONTRACT_RULES
from sonnx_ort.profile.div_and_sub import DIV, SUB
from sonnx_ort.profile.graph import FINITE, GENERAL_RULES, GRAPH
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import STANDARD_DOMAIN, require_distinct
from sonnx_ort.profile.operators import OPERATORS
from sonnx_ort.profile.rule import AttributeValue, Rule, release_numbers

__all__ = [
    "DEFAULT_OPERATORS",
    "ELEMENTWISE_OPERATORS",
    "OPERATORS",
    "OPERATOR_SET",
    "RULES",
    "STANDARD_OPERATORS",
    "WHOLE_PROFILE",
    "OperatorStanding",
    "defined_outputs",
    "kernels_since",
    "standing_of",
    "unsupported_attributes",
]

WHOLE_PROFILE = frozenset({GRAPH, *OPERATORS})
"""The whole profile: all operators, and the rules on graphs."""

DEFAULT_OPERATORS = frozenset({DIV.name, SUB.name, BROADCAST.name})
"""The operators that `rewrite` enforces by default."""

ELEMENTWISE_OPERATORS = frozenset(o.name for o in OPERATORS.values() if o.elementwise)
"""The element-wise operators."""

STANDARD_OPERATORS = frozenset(o.name for o in OPERATORS.values() if o.domain == STANDARD_DOMAIN)
"""The operators that are part of ONNX."""

_IN_THE_SET = """
    Abs Add Cast Clip Concat Constant ConstantOfShape Conv ConvTranspose Div Equal Erf Exp
    Expand Flatten Gather Gemm GlobalAveragePool GRU HardSwish Identity LeakyRelu Less Log LSTM
    MatMul Max MaxPool Min Mod Mul Neg Not Pad Pow Range ReduceMean ReduceSum Relu Reshape
    Resize ScatterND Shape Sigmoid Slice Softmax Softplus Split Sqrt Squeeze Sub Tanh Transpose
    Unsqueeze Where
"""

OPERATOR_SET = frozenset(_IN_THE_SET.split())
"""The operators of the profile.

Source: SONNX requirements, REQ OP 000, which lists Dense, FullyConnected, Padding and
ConvTransposeDeconvolution as well: no operator of ONNX has such a name.
"""


class OperatorStanding(enum.StrEnum):
    """What the profile says of an operator."""

    DRAFT = "a draft"
    """A document or a draft states rules for it."""

    OURS = "rules of sonnx_ort"
    """It is in the operator set without a draft, and this project has rules for it."""

    GENERAL = "general restrictions only"
    """It is in the operator set, and nothing but the general restrictions binds it."""

    OUTSIDE = "outside the profile"
    """It is neither in the operator set, nor does a draft exist."""


def unsupported_attributes(domain: str, name: str) -> tuple[str, ...]:
    """The attributes of an operator that its draft does not support; none is to be given."""
    operator = OPERATORS.get(name)
    return operator.unsupported if operator is not None and operator.domain == domain else ()


def defined_outputs(domain: str, name: str) -> int | None:
    """How many outputs the draft of an operator defines; None without a draft."""
    operator = OPERATORS.get(name)
    if operator is None or operator.domain != domain or not operator.has_draft:
        return None
    return None if operator.repeated_result else 1 + len(operator.further_results)


def standing_of(domain: str, name: str) -> OperatorStanding:
    """What the profile says of an operator."""
    operator = OPERATORS.get(name)
    if operator is not None and operator.domain == domain and operator.has_draft:
        return OperatorStanding.DRAFT
    if domain != STANDARD_DOMAIN or name not in OPERATOR_SET:
        return OperatorStanding.OUTSIDE
    return OperatorStanding.GENERAL if operator is None else OperatorStanding.OURS


_RULES = (
    *GENERAL_RULES,
    FINITE,
    *CONTRACT_RULES,
    *(rule for operator in OPERATORS.values() for rule in operator.all_rules()),
)
require_distinct(_RULES)

RULES: Mapping[str, Rule] = MappingProxyType({rule.id: rule for rule in _RULES})
"""The rules by id."""


def _rule_of(name: str, given: Sequence[tuple[str, AttributeValue]]) -> Rule:
    """The rule of an id, for the node with these attributes if there are any."""
    return RULES[name].of_node(dict(given)) if given else RULES[name]


# A requirement has functions, which belong to the process: a rule is pickled by its id.
copyreg.pickle(Rule, lambda rule: (_rule_of, (rule.id, rule.given)))


def kernels_since(runtime: str | None) -> str | None:
    """The last release before a version of onnxruntime that made a rule unneeded; None if none did.

    Versions with the same one need the same rules.
    """
    unneeded = (rule.needed_before for rule in RULES.values() if not rule.needed_with(runtime))
    return max(filter(None, unneeded), key=lambda name: release_numbers(name) or (), default=None)
