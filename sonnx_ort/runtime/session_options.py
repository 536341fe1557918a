"""What enforcement asks of session options: exact arithmetic, and some graph optimizers off."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import OPERATORS

_FLUSH_DENORMALS = "session.set_denormal_as_zero"


def config_entry(options: onnxruntime.SessionOptions, key: str) -> str:
    """Give an entry of session options, empty where there is none.

    Args:
        options: The options.
        key: The entry's key.
    """
    try:
        return str(options.get_session_config_entry(key))
    except RuntimeError:
        return ""


def require_exact_arithmetic(options: onnxruntime.SessionOptions) -> None:
    """Refuse options under which results differ from IEEE 754.

    Args:
        options: The options.

    Raises:
        SonnxError: They flush denormal numbers to zero.
    """
    if config_entry(options, _FLUSH_DENORMALS) == "1":
        raise SonnxError(
            f"the session option {_FLUSH_DENORMALS}=1 makes results differ from IEEE 754; "
            "leave it out"
        )


DISABLED_OPTIMIZERS = "optimization.disable_specified_optimizers"
"""The key of the session options' entry that lists optimizers to leave out, separated by ";"."""

OPTIMIZERS_OF_GUARDS: Mapping[str, str] = MappingProxyType(
    {
        "ReshapeFusion": "makes one Reshape of a guard and a Reshape behind it, without its name",
    }
)
"""What takes guards away, and how. Enforced models of every backend have guards."""

OPTIMIZERS_OF_OPERATORS: Mapping[str, str] = MappingProxyType(
    {name: how for operator in OPERATORS.values() for name, how in operator.optimizers.items()}
)
"""What takes an operator of the profile away. Only the native backend leaves such nodes."""

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
