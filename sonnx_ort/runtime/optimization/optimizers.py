"""The graph optimizers of ONNX Runtime that undo enforcement."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import onnxruntime

from sonnx_ort.runtime.session_options import config_entry

DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"
"""The key of the session options' entry that lists optimizers to leave out, separated by ";"."""

OPTIMIZERS_OF_GUARDS: Mapping[str, str] = MappingProxyType(
    {
        "ReshapeFusion": "makes one Reshape of a guard and a Reshape behind it, without its name",
    }
)
"""What takes guards away, and how. Enforced models of every backend have guards."""

OPTIMIZERS_OF_OPERATORS: Mapping[str, str] = MappingProxyType(
    {
        "DivMulFusion": "computes y / x for (1 / x) * y, of integers too",
        "NoopElimination": "leaves out x / 1 and x - 0",
        "GeluFusionL1": "makes one Gelu of the Div, Erf, Add and Mul in it",
        "GeluFusionL2": "does so after the nodes are assigned to execution providers",
        "LayerNormFusionL1": "makes one LayerNormalization of the Sub, Div and others in it",
        "LayerNormFusionL2": "does so after the nodes are assigned to execution providers",
        "SimplifiedLayerNormFusion": "does the same without the Sub",
        "MatMulScaleFusion": "turns a Div by one constant into a factor of a MatMul beside it",
    }
)
"""What takes a standard Div or Sub away, and how. Only the native backend leaves such nodes."""

UNWANTED_OPTIMIZERS: Mapping[str, str] = MappingProxyType(
    {**OPTIMIZERS_OF_GUARDS, **OPTIMIZERS_OF_OPERATORS}
)
"""What must not touch an enforced model of any backend."""


def switch_off_optimizers(
    options: onnxruntime.SessionOptions, names: Iterable[str] = UNWANTED_OPTIMIZERS
) -> None:
    """Switch optimizers off, besides those that are off already.

    Args:
        options: The options to change.
        names: The names of the optimizers.
    """
    off = [name for name in config_entry(options, DISABLED_OPTIMIZERS).split(";") if name]
    missing = [name for name in names if name not in off]
    if missing:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, ";".join([*off, *missing]))
