"""Squeeze and Unsqueeze, which remove and insert axes of size 1."""

from sonnx_ort.profile.common_rules import (
    LISTED,
    RulesOf,
    all_types,
    by_analogy,
    own,
    working_group,
)
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    GivenAttributes,
    HeldByRuntime,
    RequiredInput,
    SameNumericType,
)
from sonnx_ort.profile.requirements.axes import (
    AxesNamedOnce,
    named_axes_are_distinct,
    named_axes_exist,
    named_axes_have_size_one,
)
from sonnx_ort.profile.requirements.shapes import OnShapes, of_rank
from sonnx_ort.profile.rule import Illustration
from sonnx_ort.profile.source import Words
from sonnx_ort.terms.language import IfGiven, Tensor

_INT64 = SameNumericType(OF_THE_NODE, (ElementType.INT64,))
_A = ("A",)
_AXES = ("axes",)
_AXES_AS_INPUT = 13
"""The version in which axes became an input."""

_squeeze = RulesOf("Squeeze", 961, lambda name, remark: by_analogy(name, remark, like="Unsqueeze"))
_NO_DRAFT = "The operator is in the operator set, and no draft of it is known."
_NAMES_SOMETHING = "ONNX Runtime removes every axis of size 1, so that the rank depends on sizes."

_SQUEEZE_RULES = (
    *_squeeze.general(None, ("X",)),
    _squeeze("A.type", 2, "A is of the type int64.", _INT64, _A, remark=_NO_DRAFT),
    _squeeze(
        "A",
        3,
        "The input A is given.",
        RequiredInput("A", Illustration("A [0]", "A left out", "name the axes")),
        _A,
        source=own("Squeeze", _NAMES_SOMETHING),
        survived=True,
        since=_AXES_AS_INPUT,
    ),
    _squeeze(
        "A.names",
        4,
        "A names an axis.",
        OnShapes(
            _A,
            lambda _: IfGiven(Tensor("A"), Tensor("A").size(0) >= 1),
            Illustration("A [0]", "A []", "name the axes"),
        ),
        _A,
        source=own("Squeeze", f"{_NAMES_SOMETHING} onnx.reference removes none then."),
        survived=True,
        since=_AXES_AS_INPUT,
    ),
    _squeeze(
        "axes",
        5,
        "The attribute axes is given.",
        GivenAttributes(_AXES, Illustration("axes=[0]", "axes left out", "name the axes")),
        source=own("Squeeze", _NAMES_SOMETHING),
        survived=True,
        until=_AXES_AS_INPUT - 1,
    ),
    _squeeze(
        "axes.names",
        6,
        "The attribute axes names an axis.",
        AdmittedAttribute(_AXES, None, bool, Illustration("axes=[0]", "axes=[]", "name the axes")),
        source=own("Squeeze", _NAMES_SOMETHING),
        survived=True,
        until=_AXES_AS_INPUT - 1,
    ),
    _squeeze(
        "A.rank",
        7,
        "A is a tensor of rank 1.",
        of_rank(1, Illustration("A [0]", "A 0", "give the axes as a vector"), held=True),
        _A,
        since=_AXES_AS_INPUT,
        remark=_NO_DRAFT,
    ),
    _squeeze(
        "A.C1",
        8,
        "Each axis that is named is an axis of X.",
        HeldByRuntime(
            _AXES,
            named_axes_exist(),
            Illustration("X (1, 3, 1), A [-1]", "X (1, 3, 1), A [3]", "name axes of X"),
        ),
        remark=_NO_DRAFT,
    ),
    _squeeze(
        "size",
        9,
        "Each axis that is named has the size 1.",
        HeldByRuntime(
            _AXES,
            named_axes_have_size_one,
            Illustration("X (1, 3, 1), A [0]", "X (1, 3, 1), A [1]", "name axes of size 1"),
        ),
        source=own("Squeeze", "As ONNX has it; the definitions of the working group say so too."),
    ),
    _squeeze(
        "A.C2",
        10,
        "No axis is named twice.",
        AxesNamedOnce(),
        remark=_NO_DRAFT,
        survived=True,
    ),
)

SQUEEZE = Operator(
    name="Squeeze",
    description="""
        `Squeeze`: the elements of a tensor without some axes of size 1, which A names.

        Results: the elements in the same order, in the type of X.

        ONNX Runtime 1.32.0 silently takes an axis that is named twice, such as [0, 0] or, for rank
        3, [0, -3], for one axis. If no axis is named, it removes all of size 1. It rejects axes
        that do not exist or have another size. Before version 13 an attribute names them.
    """,
    operands=("X", "A"),
    versions=(1, 11, 13, 21, 23, 24, 25),
    contracts=all_types(_SQUEEZE_RULES),
    operand_types={"A": "int64"},
    result="Y",
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=1,
    optional=_A,
    elementwise=False,
    by_shape=("X",),
)


_unsqueeze = RulesOf("Unsqueeze", 981)

_UNSQUEEZE_RULES = (
    *_unsqueeze.general(None, ("X",), remark=LISTED, at="Unsqueeze (type, int64)"),
    _unsqueeze(
        "A.type",
        2,
        "A is of the type int64.",
        _INT64,
        _A,
        at="Inputs, A",
        remark="The heading of all types says so.",
    ),
    _unsqueeze(
        "A.rank",
        3,
        "A is a tensor of rank 1.",
        of_rank(1, Illustration("A [0]", "A 0", "give the axes as a vector")),
        _A,
        at="Inputs, A",
        remark="The draft says so where it names A.",
        survived=True,
    ),
    _unsqueeze(
        "A.C1",
        4,
        "Each axis that is named is an axis of Y.",
        HeldByRuntime(
            _AXES,
            named_axes_exist(of_the_result=True),
            Illustration("X (3,), A [1]", "X (3,), A [2]", "name axes of Y"),
        ),
        at="Inputs, Constraints [C1]",
        remark="The draft counts the axes in A by rA, the rank of A, where it means their number; "
        "a note in it counts negative axes by a + rA, where its constraints have a + rY.",
    ),
    _unsqueeze(
        "A.C2",
        5,
        "An axis shall only be designated once in A.",
        HeldByRuntime(
            _AXES,
            named_axes_are_distinct(of_the_result=True),
            Illustration("X (3,), A [0, 2]", "X (3,), A [0, -3]", "name each axis once"),
        ),
        source=working_group(
            "Unsqueeze",
            at="Inputs, Constraints [C2]",
            words=Words.AS_WRITTEN,
            remark="It adds a formula.",
        ),
    ),
)

UNSQUEEZE = Operator(
    name="Unsqueeze",
    description="""
        `Unsqueeze`: the elements of a tensor with further axes of size 1, which A names.

        Results: the elements in the same order, in the type of X.

        ONNX Runtime 1.32.0 silently takes a scalar A for a list of one axis. It rejects axes that
        do not exist or are named twice. Before version 13 an attribute names them.
    """,
    operands=("X", "A"),
    versions=(1, 11, 13, 21, 23, 24, 25),
    contracts=all_types(_UNSQUEEZE_RULES),
    operand_types={"A": "int64"},
    result="Y",
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=1,
    optional=_A,
    elementwise=False,
    by_shape=("X", "A"),
)
