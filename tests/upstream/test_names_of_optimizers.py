"""Each optimizer of the installed ONNX Runtime is in a group of `sonnx_ort.kernel.optimizers`.

A session logs the names of most. Others apply rules by their names, or act with some options or
providers alone; their names stand in the library.
"""

import re
from pathlib import Path

import onnxruntime as ort
import pytest

from sonnx_ort.comparing.against_plain import RULES, optimizers_tried
from sonnx_ort.comparing.isolated_run import Level, Settings
from sonnx_ort.kernel.optimizers import GROUPS
from support.graphs import binary_model

pytestmark = pytest.mark.upstream

KNOWN = {name for group in GROUPS.values() for name in group}
LIBRARY = next(Path(ort.__file__).parent.glob("capi/onnxruntime_pybind11_state*"))
ENDS = (
    "AltImpl|Approximation|Cleanup|Clip|Consolidation|DummyDq|Elimination|Folding|Fusion|FusionL1|"
    "FusionL2|NodeUnit|Optimizer|Quantization|Remover|Rewrite|Sharing|Transformer"
)
NO_OPTIMIZERS = re.compile(
    # Parts of names that the compiler lays over each other, functions, and what training has.
    r"EnsureUniqueDQFo\w+|GenerateRuleBasedGraphTransformer|GraphTransformer|"
    r"RuleBasedGraphTransformer|ClipGradNormTransformer"
)


@pytest.mark.parametrize("level", [Level.BASIC, Level.EXTENDED, Level.ALL])
def test_each_optimizer_that_a_session_tries_is_in_a_group(level):
    content = binary_model("Div", "float", ["n"], ["n"]).SerializeToString()
    assert set(optimizers_tried(content, Settings(level=level))) - KNOWN == set()


def test_each_rule_that_a_session_applies_is_in_a_group():
    assert set(RULES) - KNOWN == set()


def test_each_name_of_an_optimizer_in_the_library_is_in_a_group():
    words = re.findall(rb"(?<![\x20-\x7e])[A-Z][A-Za-z0-9_]{4,}(?=\x00)", LIBRARY.read_bytes())
    named = {word.decode() for word in words}
    found = {name for name in named if re.fullmatch(rf"\w+({ENDS})", name)}
    assert "ConvAddFusion" in found
    unknown = {name for name in found - KNOWN if not NO_OPTIMIZERS.fullmatch(name)}
    assert unknown == set()
