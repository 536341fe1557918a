"""What was measured on, and with what."""

import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("sonnx_ort", "numpy", "onnxruntime", "onnxruntime-extensions", "onnx", "onnx-ir")
"""The packages whose versions the figures depend on."""

OPTIONAL_PACKAGES = ("jax", "jaxlib")
"""Those that some figures depend on, where they are installed."""


def describe_command(measurement: str, arguments: Sequence[str]) -> str:
    """The command line that measures this again.

    Args:
        measurement: What the first argument calls it.
        arguments: The others.
    """
    return shlex.join(["python3", "scripts/benchmark.py", measurement, *arguments])


def heading(machine: Mapping[str, str], command: str) -> str:
    """The lines above all figures.

    Args:
        machine: What is measured on.
        command: The command that measures.
    """
    lines = {**machine, "command": command}
    return "\n".join(f"{name:<24}{value}" for name, value in lines.items())


def describe_machine() -> dict[str, str]:
    """The versions and the machine that figures hold for, by what they are."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{package: version(package) for package in PACKAGES},
        **{package: version(package) for package in OPTIONAL_PACKAGES if find_spec(package)},
        "system": f"{platform.system()} {platform.machine()}",
        "CPU": _cpu_model(),
        "cores": str(os.cpu_count() or "unknown"),
        "load": _load(),
    }


def _cpu_model() -> str:
    # Only Linux keeps it here; elsewhere the platform module knows it.
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown"


def _load() -> str:
    if sys.platform == "win32":
        return "unknown"
    return f"{os.getloadavg()[0]:.2f} processes at the start, on average over a minute"
