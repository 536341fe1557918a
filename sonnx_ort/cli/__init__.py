"""The command `sonnx-ort`.

Exit status 0: the profile is kept; 1: it is violated; 2: unusable input or arguments.
"""

from sonnx_ort.cli.application import app, main

__all__ = ["app", "main"]
