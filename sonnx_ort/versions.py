"""The versions of this package and of others."""

import functools
from collections.abc import Mapping
from types import MappingProxyType

VERSION = "0.1.0"
"""The version of this package, in the sources and in the files of a release."""

TRIED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Python": ("3.11", "3.14"),
        "ml_dtypes": ("0.5.0", "0.6.0"),
        "numpy": ("2.1.3", "2.4.6"),
        "onnx": ("1.20.0", "1.23.2"),
        "onnx-ir": ("1.0.0", "1.1.0"),
        "onnxruntime": ("1.23.0", "1.32.0"),
        "onnxruntime-extensions": ("0.15.0", "0.15.2"),
        "protobuf": ("7.36.2", "7.36.2"),
        "python-flint": ("0.8.0", "0.9.0"),
        "sympy": ("1.14.0", "1.14.0"),
    }
)
"""The oldest and the newest versions that the tests run with; older ones are not supported."""

OPTIONAL: Mapping[str, str] = MappingProxyType(
    {
        "onnxruntime-extensions": "and not needed",
        "python-flint": "so that audits do not know functions such as Exp",
    }
)
"""Those of them that need not be there, each with what that means."""

INDIRECT = frozenset({"protobuf", "sympy"})
"""Those of them that other packages ask for, also in older versions."""


@functools.cache
def version_of(package: str) -> str:
    """The version of a package, or "" without it; of this one, that of the code that runs.

    A clone runs without being installed, and may hide an installation of another version.
    """
    if package == "sonnx_ort":
        return VERSION
    # Imported late: it takes as long as all that `import sonnx_ort` needs.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version(package)
    except PackageNotFoundError:
        return ""
