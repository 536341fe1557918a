"""What the processor of this machine can do, as Linux says it."""

from pathlib import Path

_CPU = Path("/proc/cpuinfo")

FLAGS = frozenset(_CPU.read_text(encoding="utf-8").split() if _CPU.exists() else ())
"""The flags of its instructions; empty where they are not known."""
