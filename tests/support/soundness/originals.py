"""The graphs of `support.soundness.splices` as they are: what ends the process is not our doing."""

from support.soundness.splices import original_alone as attempt

__all__ = ["attempt"]
