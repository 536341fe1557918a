"""What the processor of this machine is, and what it can do, as Linux says it."""

import platform
from pathlib import Path

import pytest

_CPU = Path("/proc/cpuinfo")

FLAGS = frozenset(_CPU.read_text(encoding="utf-8").split() if _CPU.exists() else ())
"""The flags of its instructions; empty where they are not known."""

on_x86 = pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"},
    reason="other processors compute by other instructions",
)
