"""ONNX Runtime refuses what breaks the rules that are left to it, and no process ends.

Each case runs in a child process at two optimization levels, in a plain session.
"""

import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Subject
from support.child import run_python
from support.held_cases import HELD_CASES

HELD = sorted(rule.id for rule in RULES.values() if rule.requirement.subject is Subject.HELD)

RUN = """
import re, sys
import onnxruntime as ort
from onnx import helper, numpy_helper
from support.graphs import parse
from support.held_cases import HELD_CASES
import numpy as np

ort.set_default_logger_severity(4)
Level = ort.GraphOptimizationLevel
for case in HELD_CASES[sys.argv[1]]:
    model = parse(case.graph, opset=case.opset)
    types = {v.name: v.type.tensor_type.elem_type for v in model.graph.input}
    feeds = {
        name: np.array(value, helper.tensor_dtype_to_np_dtype(types[name]))
        for name, value in case.feeds.items()
    }
    for level in (Level.ORT_DISABLE_ALL, Level.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        try:
            session = ort.InferenceSession(model.SerializeToString(), options)
            session.run(None, feeds)
            shapes = {name: array.shape for name, array in feeds.items()}
            print("ran:", re.sub(r"{[-0-9, ]+}", "{...}", case.graph), case.opset, shapes, level)
        except Exception as error:
            print("refused")
"""


def test_every_rule_that_is_left_to_the_runtime_has_cases() -> None:
    assert sorted(HELD_CASES) == HELD


@pytest.mark.satisfies(
    "Squeeze.A.C1",
    "Squeeze.A.rank",
    "Squeeze.size",
    "Conv.draft.kernel_shape",
    "Conv.draft.outputs",
    "Conv.draft.fits",
    "ConvInteger.draft.kernel_shape",
    "ConvInteger.draft.outputs",
    "ConvInteger.draft.fits",
    "MaxPool.draft.padding",
    "Gemm.draft.shapes",
    "LSTM.draft.shapes",
    "Concat.draft.axis",
    "Reshape.draft.vector",
    "Reshape.draft.copied",
    "Reshape.draft.smallest",
    "Reshape.draft.one",
    "Reshape.draft.count",
    "Flatten.draft.axis",
    "Unsqueeze.draft.axes",
    "Unsqueeze.draft.once",
    "Range.draft.step",
    "Slice.draft.numbers",
    "Slice.draft.rank",
    "Slice.draft.axes",
    "Slice.draft.once",
    "Slice.draft.steps",
    "MatMul.draft.inner",
    "BatchNormalization.draft.rank",
    "BatchNormalization.draft.sizes",
)
@pytest.mark.parametrize("rule", HELD)
def test_runtime_refuses_what_breaks_the_rule(rule: str) -> None:
    done = run_python(f"import sys; sys.argv = ['', {rule!r}]", RUN)
    assert done.exit_status == 0, str(done)
    told = done.stdout.splitlines()
    assert [line for line in told if line != "refused"] == []
    assert len(told) == 2 * len(HELD_CASES[rule])
