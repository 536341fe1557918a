"""Which added nodes no run can regret: those that fail, or end, whatever their operands are.

Guards are made of few operators. The kernels of most of them take any operands. A Div of integers
by zero ends the process in some versions of ONNX Runtime, and a Loop, a Range or a Tile goes on
for as long as its operands say. So these have the operands that guards give them, and no others,
also where nothing that a certificate says rests on them.
"""

from collections.abc import Callable, Mapping, Sequence

from onnx import NodeProto

from sonnx_ort.checker.expressions import Tree
from sonnx_ort.facts.sizes import require

_BOOL, _INT64 = (("to", 9),), (("to", 7),)


def _has_a_quotient(operands: Sequence[Tree]) -> bool:
    match operands:
        case [_, ("constant", "int64", (1,), (int(divisor),))]:
            return divisor > 0
        case [("constant", "float32" | "float64", (), (float(),)), _]:
            # Both operands are of one type, and floats have a quotient by 0.
            return True
    return False


def _takes_no_step(operands: Sequence[Tree]) -> bool:
    match operands:
        case [("constant", "int64", () | (1,), (0,)), *_]:
            return True
    return False


def _counts_axes(operands: Sequence[Tree]) -> bool:
    """Whether a Range is from 0 on in steps of 1, as far as a number of axes or of named axes."""
    match operands:
        case [
            ("constant", "int64", (), (0,)),
            ("Reshape", (), ("Shape", (), _), ("constant", "int64", (0,), ())),
            ("constant", "int64", (), (1,)),
        ]:
            return True
    return False


def _is_left_or_kept(operands: Sequence[Tree]) -> bool:
    """Whether a Tile has no copy or one, by a flag."""
    match operands:
        case [
            _,
            ("Reshape", (), ("Cast", to, flag), ("constant", "int64", (1,), (-1,))),
        ] if to == _INT64:
            return bool(flag[:2] == ("Cast", _BOOL) or flag[0] == "Greater")
    return False


BOUNDED: Mapping[str, Callable[[Sequence[Tree]], bool]] = {
    "Div": _has_a_quotient,
    "Loop": _takes_no_step,
    "Range": _counts_axes,
    "Tile": _is_left_or_kept,
}
"""The operators whose kernels do not take any operands, and whether they have those of a guard."""


def require_bounded(node: NodeProto, operand: Callable[[str], Tree]) -> None:
    """Reject an added node that may end the process, or never end.

    Args:
        node: The node.
        operand: Gives the expression of an operand.

    Raises:
        Rejected: Its operands are others than those that guards have.
    """
    is_bounded = BOUNDED.get(node.op_type)
    if is_bounded is not None:
        # What a Loop carries is read by no iteration.
        names = node.input[:1] if node.op_type == "Loop" else node.input
        found = is_bounded([operand(name) for name in names])
        require(found, f"the {node.op_type} of {[*node.output]} has other operands than in a guard")
