"""`Acos`: the angle whose cosine an element is, for each element of a tensor.

Results: the angle between 0 and pi, in the operand's type; NaN of NaN, which is a result.

ONNX Runtime 1.32.0 gives NaN of what is no cosine, without a word. It has kernels for float16 and
float; the last bit of a result depends on the place of the element in the tensor. By the draft a
result is the nearest number, which floats miss by up to 4 units in the last place.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 601
_OPERANDS = ("X",)

_RULES = CommonRules(
    "Acos",
    _FIRST_CODE,
    working_group("Acos", "The result has the operand's shape by definition.", of="October 2026"),
    operands="X",
    result="Y",
    one_shape=False,
    type_tag="E_ACOS_{}_CONSTR_X_0020",
)

_COSINE = Rule(
    "Acos.float.C1",
    _FIRST_CODE + 9,
    "Every element of X lies in [-1, 1].",
    working_group(
        "Acos",
        "The draft calls a NaN operand nominal, so that NaN keeps the rule.",
        of="October 2026",
        later_tag="E_ACOS_FLOAT_CONSTR_X_0010",
    ),
    WithinInterval(
        _OPERANDS,
        0,
        lambda _: (-1, 1),
        "below -1 or above 1",
        Illustration(
            "X [0.5, -1.0], float",
            "X [0.5, 1.001], float",
            "keep other numbers out, for example with Clip",
        ),
    ),
    survived=True,
)

ACOS = Operator(
    name="Acos",
    operands=_OPERANDS,
    versions=(7, 22),
    contracts=_RULES.contracts(Family.FLOAT, further={Family.FLOAT: (_COSINE,)}),
    result="Y",
    rounds_once=False,
)
