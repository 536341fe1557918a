"""Models with a Div or Sub that ONNX Runtime's optimizers would take away."""

from dataclasses import dataclass

import onnx
import onnx.parser

from sonnx_ort.profile.div_and_sub import DIV, SUB
from sonnx_ort.profile.operator import Operator
from support.sessions import LEVELS


@dataclass(frozen=True)
class Fusion:
    """A model, and the optimizer that takes nodes of it away.

    Attributes:
        optimizer: The name under which ONNX Runtime knows the optimizer.
        model: A model that keeps to the profile, with operands of one shape.
        level: The lowest level of optimization at which it does so.
        losses: What the verification says is wrong then.
    """

    optimizer: str
    model: onnx.ModelProto
    level: str
    losses: str

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which it does so."""
        names = tuple(LEVELS)
        return names[names.index(self.level) :]


def _canary(
    operator: Operator, optimizer: str, level: str, losses: str = "Div 'divide' was removed"
) -> Fusion:
    """The model by which an optimizer is known, of one operator that it takes away."""
    (text,) = [known.canary for known in operator.optimizers if known.name == optimizer]
    return Fusion(optimizer, onnx.parser.parse_model(text), level, losses)


_NORMALIZED = "Sub 'centre' was removed; Div '(output normal)' was removed"

FUSIONS = {
    "reciprocal": _canary(
        DIV, "DivMulFusion", "basic", "Div 'divide': its operand A is no longer the constant 'one'"
    ),
    "x / 1": _canary(DIV, "NoopElimination", "basic"),
    "x - 0": _canary(SUB, "NoopElimination", "basic", "Sub 'subtract' was removed"),
    "Gelu of opset 20": _canary(DIV, "GeluFusionL1", "basic"),
    "Gelu of opset 17": _canary(DIV, "GeluFusionL2", "extended"),
    "LayerNormalization of opset 17": _canary(DIV, "LayerNormFusionL1", "basic", _NORMALIZED),
    "LayerNormalization of opset 16": _canary(DIV, "LayerNormFusionL2", "extended", _NORMALIZED),
    "RMSNormalization": _canary(DIV, "SimplifiedLayerNormFusion", "extended"),
    "scaled MatMul": _canary(DIV, "MatMulScaleFusion", "extended"),
}
