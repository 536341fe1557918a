"""The examples of drafts of the working group, and those that are no cases, with the reason."""

from collections.abc import Mapping, Sequence

from sonnx_ort.vectors.printed import Example
from sonnx_ort.vectors.printed_elements import ELEMENTWISE
from sonnx_ort.vectors.printed_tensors import TENSORS

EXAMPLES: Sequence[Example] = [*ELEMENTWISE, *TENSORS]
"""The examples whose printed numbers are right."""

_FORMULAS = "no type has its operands, which are formulas"
_ONE_ZERO = "real numbers have one zero, and floats give -0"
_ROWS = "it takes rows for channels, where X has them on axis 1 (S28)"
_SIGMOID = "it prints 0.01798624 for -4, which gives 0.01798621 (S21)"

LEFT_OUT: Mapping[tuple[str, str], str] = {
    ("Acos", "real: Example 2"): _FORMULAS,
    ("BatchNormalization", "real: Example 2"): _ROWS,
    ("BatchNormalization", "float: Example 1"): _ROWS,
    ("DequantizeLinear", "int32, float: Example 2 (int32 overflow of the subtraction)"): (
        "a difference wraps around, which a rule refuses, and it prints -2147483749 "
        "for 2147483547 (S19, S20)"
    ),
    ("LeakyRelu", "float: Example 1"): "it prints -0.95 for -9.5 by 0.01, which is -0.095 (S22)",
    ("MaxPool", "int: Example 4"): (
        "of two equal elements it prints the index of the second, 3, where its text means "
        "the first, 0 (S12)"
    ),
    ("Neg", "real: Example"): _ONE_ZERO,
    ("Pow", "real: Example 2"): "it prints roots of negative numbers, which are NaN in floats",
    ("Reshape", "Example 3"): "allowzero is 1 with a 0 and a -1, which C3 excludes (S28)",
    ("Sigmoid", "real: Example 2"): _SIGMOID,
    ("Sigmoid", "float: Example 2"): _SIGMOID,
    ("Sin", "real: Example 1"): _FORMULAS,
    ("Sin", "real: Example 2"): _FORMULAS,
    ("Sub", "int: Example 1 (1D uint8 tensors)"): "it prints 44 for 100 - 200, which is 156 (S7)",
    ("Sub", "int: Example 2 (1D int8 tensors)"): "it prints -9 for -6 - (-3), which is -3 (S7)",
}
"""The examples that are no cases, by operator and place, and why; S7 and others are findings."""

WITHOUT_EXAMPLES = ("Gemm", "LSTM", "Max")
"""The operators whose drafts have no example with numbers."""
