"""The library of the compiled kernels, which the installation builds."""

import ctypes
import functools
import sys
from pathlib import Path

from sonnx_ort.custom_ops.compiled.table import table_digest
from sonnx_ort.errors import SonnxError

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

LIBRARY = Path(__file__).with_name(f"sonnx_ort_kernels{_SUFFIX}")
"""Where the installation puts the library."""


def kernels_library() -> Path:
    """Find the library of the compiled kernels.

    Any language registers it: by `RegisterCustomOpsLibrary_V2` in C, `registerCustomOpLibrary` in
    Java, `RegisterCustomOpLibrary` in C#, or `register_custom_ops_library` in Python.

    Raises:
        SonnxError: It was not built, because there was no C++ compiler, or with other rules.
    """
    if not LIBRARY.is_file():
        raise SonnxError(
            f"the compiled kernels are not there ('{LIBRARY}'): install a C++17 compiler, such as "
            "g++ or clang++, and install sonnx_ort again, or use another backend"
        )
    if _table_of(LIBRARY) != table_digest():
        raise SonnxError(
            f"the compiled kernels of '{LIBRARY}' were not made of the rules of this sonnx_ort; "
            "install sonnx_ort again"
        )
    return LIBRARY


@functools.cache
def _table_of(library: Path) -> str:
    """The digest of the table that a library was made of; empty if it does not say."""
    try:
        table = ctypes.CDLL(str(library)).sonnx_ort_table
    except (OSError, AttributeError):
        return ""
    table.restype = ctypes.c_char_p
    digest: bytes = table()
    return digest.decode()
