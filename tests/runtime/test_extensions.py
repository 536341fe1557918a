"""Models with other operators of onnxruntime-extensions: its own, and those of a program."""

import pytest

from support.child import run_python

REMEDY = (
    "leave out options.register_custom_ops_library(onnxruntime_extensions.get_library_path()): "
    "sonnx_ort registers this library, with all its operators and those defined by onnx_op"
)
TWICE = f"a library is registered twice on these session options; {REMEDY}"
TOO_EARLY = (
    "onnxruntime-extensions was registered on these session options before sonnx_ort added its "
    f"operators to it; {REMEDY}"
)

PRELUDE = """
import numpy as np
import onnx.parser
import onnxruntime as ort
from onnxruntime_extensions import PyOp, get_library_path, onnx_op

import sonnx_ort

def session(options, **chosen):
    return sonnx_ort.InferenceSession(MODEL, options, **chosen)

def plain_session(options):
    return ort.InferenceSession(sonnx_ort.rewrite(MODEL).SerializeToString(), options)

def add_library(options):
    options.register_custom_ops_library(get_library_path())
    return options

def options():
    new = ort.SessionOptions()
    new.log_severity_level = 4
    return new

def say(start):
    quotients = {"a": np.array([6], np.float32), "b": np.array([3], np.float32)}
    try:
        print(*(result.tolist() for result in start().run(None, FEEDS | quotients)))
    except sonnx_ort.SonnxError as error:
        print(error)
"""

TEXTS = """
FEEDS = {"x": np.array(["so"], object)}
MODEL = onnx.parser.parse_model('''
    <ir_version: 9, opset_import: ["": 17, "ai.onnx.contrib": 1]>
    g (string[n] x, float[m] a, float[m] b) => (string[n] y, float[m] c) {
        y = ai.onnx.contrib.StringUpper(x)
        c = Div(a, b)
    }
''')
"""
UPPER = "['SO'] [2.0]"


def own_operator(domain):
    return f"""
    FEEDS = {{"x": np.array([4], np.float32)}}
    MODEL = onnx.parser.parse_model('''
        <ir_version: 9, opset_import: ["": 17, "{domain}": 1]>
        g (float[n] x, float[m] a, float[m] b) => (float[n] y, float[m] c) {{
            y = {domain}.Half(x)
            c = Div(a, b)
        }}
    ''')

    @onnx_op(op_type="{domain}::Half", inputs=[PyOp.dt_float], outputs=[PyOp.dt_float])
    def half(x):
        return x / 2
    """


HALF = "[2.0] [2.0]"

MODELS = {
    "operator of the library": (TEXTS, UPPER),
    "own operator in its domain": (own_operator("ai.onnx.contrib"), HALF),
    "own operator in its own domain": (own_operator("own"), HALF),
}

STARTS = {
    "registered": "plain_session(sonnx_ort.register(options()))",
    "our session": "session(options())",
    "our session, registered": "session(sonnx_ort.register(options()))",
    "our session, new options": "session(None)",
    # What was loaded for the sessions above is in the library by now.
    "library first": "plain_session(sonnx_ort.register(add_library(options())))",
    "our session, library first": "session(add_library(options()))",
    "native, library alone": "session(add_library(options()), backend='native')",
}


@pytest.mark.parametrize(("model", "results"), MODELS.values(), ids=MODELS)
def test_operators_of_others_run_beside_ours(model, results):
    child = run_python(PRELUDE, model, *(f"say(lambda: {start})" for start in STARTS.values()))
    assert dict(zip(STARTS, child.stdout.splitlines(), strict=False)) == dict.fromkeys(
        STARTS, results
    ), child


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("plain_session(sonnx_ort.register(add_library(options())))", TOO_EARLY),
        ("session(add_library(options()))", TOO_EARLY),
        ("sonnx_ort.register(add_library(add_library(options())))", TWICE),
        ("session(add_library(sonnx_ort.register(options())))", TWICE),
        ("session(add_library(sonnx_ort.register(options())), backend='native')", TWICE),
    ],
)
def test_registration_that_cannot_work_is_refused_with_what_to_leave_out(start, message):
    child = run_python(PRELUDE, TEXTS, f"say(lambda: {start})")
    assert child.stdout == f"{message}\n", child


def test_asking_what_is_registered_leaves_no_trace_of_a_session():
    child = run_python(
        PRELUDE,
        """
        import os
        profiled = options()
        profiled.enable_profiling = True
        profiled.optimized_model_filepath = "optimized.onnx"
        sonnx_ort.register(profiled)
        print(os.listdir(), profiled.enable_profiling, profiled.log_severity_level)
        """,
    )
    assert child.stdout == "[] True 4\n", child
    assert not child.stderr, child
