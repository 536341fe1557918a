"""Code for child processes that define Python operators of their own.

Operators are registered for the whole process, and a later one breaks the sessions that exist; so
none but the product's is ever defined in the process of the tests.
"""

PRELUDE = """
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper
from onnxruntime_extensions import PyOp, get_library_path, onnx_op
from support.graphs import model, tensor

FLOAT = {"inputs": [PyOp.dt_float], "outputs": [PyOp.dt_float]}
ONES = {"x": np.ones(3, np.float32)}

def model_of(operator, **attributes):
    node = helper.make_node(operator, ["x"], ["y"], domain="probe", **attributes)
    x, y = (tensor(name, "float", [None]) for name in "xy")
    return model([node], [x], [y], domains={"probe": 1})

def session_of(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(get_library_path())
    return ort.InferenceSession(model.SerializeToString(), options)

def say(text):
    print(text, flush=True)
"""
"""Imports and helpers; what follows registers operators in the domain "probe"."""
