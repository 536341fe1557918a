"""Refuses a Python that cannot run this project.

Python 3.6 can still read this file, demo.py and test.py, so that it can say what is wrong.
"""

import sys

OLDEST = (3, 11)

NEWEST = (3, 13)
"""The newest that every dependency has builds for; onnxruntime-extensions is the last to follow."""


def refusal(version: "tuple[int, int]") -> "str | None":
    """Say why a Python cannot run this project.

    Args:
        version: Its version, (major, minor).

    Returns:
        A sentence; None if it can.
    """
    this = _dotted(version)
    if version < OLDEST:
        return f"sonnx_ort needs Python {_dotted(OLDEST)} or newer, this is {this}."
    if version > NEWEST:
        return (
            f"sonnx_ort needs Python {_dotted(OLDEST)} to {_dotted(NEWEST)}, this is {this}: "
            "not every package that it depends on has a build for that."
        )
    return None


def require_supported_python() -> None:
    """End with exit status 2 and a sentence if this Python cannot run the project."""
    reason = refusal((sys.version_info[0], sys.version_info[1]))
    if reason is not None:
        sys.stderr.write(reason + "\n")
        sys.exit(2)


def _dotted(version: "tuple[int, int]") -> str:
    return f"{version[0]}.{version[1]}"
