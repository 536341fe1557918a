"""The choices for what enforces the rules."""

import enum


class Backend(enum.StrEnum):
    """What enforces the rules in a run."""

    PYTHON = "python"
    """Custom operators defined in Python: the reference."""
