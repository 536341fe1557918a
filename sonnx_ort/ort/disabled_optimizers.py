"""The optimizers of ONNX Runtime that must not act on an enforced model, and their names."""

from collections.abc import Iterable

from sonnx_ort.facts.optimizers import MUST_BE_OFF
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.operator import Optimizer

OPTIMIZERS_OF_GUARDS = (
    Optimizer(
        "ReshapeFusion",
        "merges the Reshape of a guard with a Reshape after it",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (float[?] x, int64[?] s) => (float[2,2] y) <int64[2] target = {2, 2}> {
            [guard] c = Reshape(x, s)
            [reshape] y = Reshape(c, target)
        }""",
    ),
    Optimizer(
        "QDQPropagationTransformer",
        "quantizes the output of a guard after a DequantizeLinear again, in 8 bits",
        """<ir_version: 9, opset_import: ["": 17]>
        canary (int32[?] x, int64[?] s) => (float[?] y) <float scale = {0.5}> {
            [dequantize] d = DequantizeLinear(x, scale)
            [guard] y = Reshape(d, s)
        }""",
    ),
)
"""Optimizers that remove guards or their names, or change what they pass on.

Models of every backend have guards.
"""

OPTIMIZERS_OF_OPERATORS = tuple(
    optimizer for operator in OPERATORS.values() for optimizer in operator.optimizers
)
"""Optimizers that remove operators of the profile, which are left in a model if they are proved, or
not enforced.
"""

UNWANTED_OPTIMIZERS = OPTIMIZERS_OF_GUARDS + OPTIMIZERS_OF_OPERATORS
"""All optimizers that must not act on a rewritten model of any backend."""


def names_of(optimizers: Iterable[Optimizer]) -> list[str]:
    """The names of optimizers without repetitions; one may remove several operators."""
    return list(dict.fromkeys(optimizer.name for optimizer in optimizers))


def names_to_switch_off() -> list[str]:
    """The names of all optimizers that must not act on some rewritten model.

    They are those that undo the enforcement, and those that form other floats than are proved.
    """
    return list(dict.fromkeys((*names_of(UNWANTED_OPTIMIZERS), *MUST_BE_OFF)))


def names_needed_off(*, rests_on_numbers: bool) -> list[str]:
    """The names of the optimizers that a plain session of a rewritten model has to switch off.

    Args:
        rests_on_numbers: Whether something is proved of it by floats that a kernel computes.
    """
    return names_to_switch_off() if rests_on_numbers else names_of(UNWANTED_OPTIMIZERS)
