"""Entries of an `onnxruntime.SessionOptions`."""

import onnxruntime

from sonnx_ort.errors import SonnxError

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
