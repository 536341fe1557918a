"""The backends, and which of them this installation has."""

import enum
import platform
from importlib.util import find_spec
from typing import Literal

from sonnx_ort.custom_ops.compiled.library import kernels_library, require_kernels_built
from sonnx_ort.errors import BackendUnavailable
from sonnx_ort.errors.arguments import choose


class Backend(enum.StrEnum):
    """The backends that enforce the rules in a run."""

    PYTHON = "python"
    """Custom operators defined in Python: the reference."""

    NATIVE = "native"
    """Standard operators only, which ONNX Runtime runs from 1.23 on without a plugin."""

    COMPILED = "compiled"
    """Compiled custom operators, and standard ones as natively where there is none."""


BackendChoice = Backend | Literal["python", "native", "compiled"] | None
"""A backend as a caller gives it; None for the one that this installation takes."""


def choose_backend(backend: str | None) -> Backend:
    """Find the backend that a caller chooses.

    Raises:
        SonnxError: There is none of this name.
    """
    return installed_backend() if backend is None else choose(Backend, "backend", backend)


def installed_backend() -> Backend:
    """The backend where none is chosen: python, compiled or native, the first that is installed.

    Compiled kernels that are damaged count as installed, so that their fault is reported.
    """
    return next(filter(is_installed, (Backend.PYTHON, Backend.COMPILED, Backend.NATIVE)))


def is_installed(backend: Backend) -> bool:
    """Whether the kernels of a backend are there."""
    try:
        require_installed(backend)
    except BackendUnavailable:
        return False
    return True


def require_installed(backend: Backend) -> None:
    """Require that the kernels of a backend are there.

    Raises:
        BackendUnavailable: They are not; the message says how to get them.
    """
    if backend is Backend.PYTHON and find_spec("onnxruntime_extensions") is None:
        needs = "the python backend needs onnxruntime-extensions, which"
        lacking = without_extensions()
        if lacking is not None:
            raise BackendUnavailable(
                f"{needs} has no package for {lacking}. Use {other_backends()} for the original "
                "model"
            )
        raise BackendUnavailable(
            f"{needs} is not installed. Run `pip install onnxruntime-extensions`, or use "
            f"{other_backends()} for the original model"
        )
    if backend is Backend.COMPILED:
        require_kernels_built()


def without_extensions() -> str | None:
    """What onnxruntime-extensions has no package for and runs here; None if it has one.

    pyproject.toml omits the dependency for the same.
    """
    major, minor, _ = platform.python_version_tuple()
    if (int(major), int(minor)) >= (3, 14):
        return f"Python {major}.{minor}"
    if (platform.system(), platform.machine()) == ("Windows", "ARM64"):
        return "Windows on ARM"
    return None


def other_backends() -> str:
    """The backends that this installation has besides python, for a sentence that advises them."""
    names = [f'"{b}"' for b in (Backend.NATIVE, Backend.COMPILED) if is_installed(b)]
    return f"the backend {' or '.join(names)}"


def require_runnable(backend: Backend) -> None:
    """Require that this installation can run the models of a backend.

    Raises:
        BackendUnavailable: Its kernels are not there, or not those that the installation built.
    """
    if backend is Backend.COMPILED:
        kernels_library()
    else:
        require_installed(backend)
