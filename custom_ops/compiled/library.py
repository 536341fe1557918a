"""The library of the compiled kernels, which the installation builds."""

import ctypes
import functools
import hashlib
import sys
from pathlib import Path

from sonnx_ort.errors import BackendUnavailable

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

LIBRARY = Path(__file__).with_name(f"sonnx_ort_kernels{_SUFFIX}")
"""Where the installation puts the library."""


_DIGEST = ".sha256"
"""How the name of the file ends that holds the digest of the library, beside it."""


def require_kernels_built() -> None:
    """Require that there is a library at all, which costs nothing.

    Raises:
        BackendUnavailable: There is none.
    """
    if not LIBRARY.is_file():
        raise BackendUnavailable(
            f"the compiled backend cannot run here, because its kernels are not there ('{LIBRARY}')"
            ": install a C++17 compiler, such as g++ or clang++, and install sonnx_ort again with "
            "pip's option --no-binary=sonnx_ort, or use another backend for the original model"
        )


def kernels_library() -> Path:
    """Find the library of the compiled kernels.

    Its digest is compared before it is loaded: a damaged library would end the process.

    Any language registers it: by `RegisterCustomOpsLibrary_V2` in C, `registerCustomOpLibrary` in
    Java, `RegisterCustomOpLibrary` in C#, or `register_custom_ops_library` in Python.

    Raises:
        BackendUnavailable: It was not built, because there was no C++ compiler, or with other
            rules; or it is not the file that was built.
    """
    # Imported late: it needs the whole profile.
    from sonnx_ort.custom_ops.compiled.catalog import table_digest  # noqa: PLC0415

    require_kernels_built()
    digest = LIBRARY.with_suffix(_DIGEST)
    if not _is_intact(LIBRARY, digest, _state(LIBRARY), _state(digest)):
        raise BackendUnavailable(
            f"the compiled kernels of '{LIBRARY}' are not those that the installation built, by "
            f"the digest in '{digest.name}'; install sonnx_ort again"
        )
    if _table_of(LIBRARY) != table_digest():
        raise BackendUnavailable(
            f"the compiled kernels of '{LIBRARY}' were not made of the rules of this sonnx_ort; "
            "install sonnx_ort again"
        )
    return LIBRARY


def _state(file: Path) -> tuple[int, int, int] | None:
    """What changes if a file does; None if there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@functools.lru_cache(maxsize=1)
def _is_intact(library: Path, digest: Path, *_states: tuple[int, int, int] | None) -> bool:
    """Whether a library has its digest; read again only if one of the two files changes."""
    try:
        expected = digest.read_bytes().split()
        found = hashlib.sha256(library.read_bytes()).hexdigest().encode()
    except OSError:
        return False
    return expected == [found]


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
