"""All operators and kernels of the domain `sonnx`."""

import importlib
import importlib.util
import keyword
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from sonnx_ort.custom_ops.broadcast import ALIGNED_SHAPE, BROADCAST_SHAPE
from sonnx_ort.custom_ops.definition import KernelDefinition
from sonnx_ort.custom_ops.inspection import Inspection
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS


def _custom_operators() -> Iterator[CustomOperator | Inspection]:
    """What each operator's own file defines: `div.py` for Div, `bit_shift.py`, `and_.py`.

    Without such a file the python backend refuses the operator.
    """
    for name in OPERATORS:
        file = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        module = f"sonnx_ort.custom_ops.{file}{'_' if keyword.iskeyword(file) else ''}"
        if name in STANDARD_OPERATORS and importlib.util.find_spec(module) is not None:
            custom: CustomOperator | Inspection = importlib.import_module(module).CUSTOM_OPERATOR
            yield custom


CUSTOM_OPERATORS: Mapping[str, CustomOperator | Inspection] = MappingProxyType(
    {custom.operator.name: custom for custom in _custom_operators()}
)
"""What takes the place of each standard operator of the profile."""

KERNEL_DEFINITIONS: tuple[KernelDefinition, ...] = (
    *(kernel for custom in CUSTOM_OPERATORS.values() for kernel in custom.definitions()),
    BROADCAST_SHAPE,
    ALIGNED_SHAPE,
)
"""Every kernel, for every combination of types."""
