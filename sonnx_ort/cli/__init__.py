"""The command `sonnx-ort`.

Exit status 0: what the command asks is so; 1: it is not; 2: unusable input or arguments.
"""

from sonnx_ort.cli.application import app, main

__all__ = ["app", "main"]
