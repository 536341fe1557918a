"""`Broadcast`: makes the shapes of any number of tensors equal, explicitly."""

from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import DOMAIN, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.broadcasting import Broadcastable, OwnType
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Source, Words

_DOCUMENT = "SONNX Broadcast"

E1 = Rule(
    "Broadcast.E1",
    71,
    "A dimension is the largest of its axis, or 1.",
    Source(
        _DOCUMENT,
        "Informal specification, conditions 1 and 2 and step 2",
        None,
        words=Words.OURS,
        remark="The document states the common shape and how elements are repeated, and leaves its "
        "error conditions open; a later draft of the working group states this one. A size of 0 "
        "against a size of 1 is neither the largest nor 1, as that draft says too; other later "
        "drafts (of Add, Sub and Mul) admit it.",
    ),
    Broadcastable(),
)
_C1 = Rule(
    "Broadcast.C1",
    72,
    "Xm and Zm have the same type.",
    Source(
        _DOCUMENT,
        "Inputs, Constraints",
        "C1",
        words=Words.OURS,
        remark="The document names the constraint and leaves its statement open; a later draft of "
        "the working group states it.",
    ),
    OwnType(),
)
_RULES = {Family.FLOAT: (E1, _C1), Family.INTEGER: (E1, _C1)}

BROADCAST = Operator(
    name="Broadcast",
    description="""
        `Broadcast`: makes the shapes of any number of tensors equal, explicitly.

        Step 1 prepends axes of size 1 until all ranks are equal; step 2 repeats each axis of size 1
        until all sizes are equal. Output m repeats the elements of input m, and has its type.

        ONNX Runtime 1.32.0 has no operator of this name. Its own operators silently broadcast, and
        accept a size of 0 against a size of 1.
    """,
    domain=DOMAIN,
    operands=(),
    repeated_operand="X",
    result="Z",
    repeated_result=True,
    versions=(1,),
    contracts={Edition.TYPED: _RULES, Edition.PRELIMINARY: _RULES},
)
