"""What breaks the rules that ONNX Runtime holds itself.

Each rule of `HeldByRuntime` has cases here. The sizes in a case are open before a run, so that
ONNX Runtime decides in the run, or they are known to it, so that it refuses the model.
"""

from collections.abc import Mapping, Sequence

from support.held_by_convolutions import HELD_BY_CONVOLUTIONS
from support.held_case import HeldCase
from support.held_layout import LAYOUT_CASES

HELD_CASES: Mapping[str, Sequence[HeldCase]] = {**HELD_BY_CONVOLUTIONS, **LAYOUT_CASES}
"""The cases by the rules' ids."""
