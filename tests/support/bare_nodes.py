"""Runs single nodes by ONNX Runtime's own operators, in a child process that may end."""

RUN = """
import json
from math import inf, nan
import numpy as np, onnxruntime as ort
from support.graphs import parse

DTYPES = {"float": np.float32, "double": np.float64}
BASIC = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
AS_WRITTEN = ort.GraphOptimizationLevel.ORT_DISABLE_ALL

def arrays(operands):
    for declaration, elements in operands:
        element_type = declaration.partition("[")[0]
        yield np.array(elements, DTYPES.get(element_type, element_type))

def opened(expression, declarations, level=AS_WRITTEN, constants=None):
    inputs = ", ".join(f"{d} {name}" for d, name in zip(declarations, "abcde"))
    result, expression = expression.split(" ", 1)
    text = f"({inputs}) => ({result}[] y) {{ y = {expression} }}"
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    model = parse(text, opset=18, constants=constants)
    return ort.InferenceSession(model.SerializeToString(), options)

def run(expression, operands):
    declarations = [declaration for declaration, _ in operands]
    session = opened(expression, declarations)
    return session.run(None, dict(zip("abcde", arrays(operands))))[0]

def fold(expression, operands):
    constants = dict(zip("abcde", arrays(operands)))
    return opened(expression, [], BASIC, constants).run(None, {})[0]

def report(cases):
    for name, expression, operands in cases:
        try:
            outcome = str(run(expression, operands).tolist())
        except Exception as error:
            outcome = f"{error}$"
        print(json.dumps([name, outcome]), flush=True)
"""
"""Code for `run_python`, which gives `report(cases)`, `run`, `fold` and `opened`.

A case: its name; a result's type and a node, like "float Add(a, b)"; each operand's type and
elements.
"""
