"""From a file, bytes or a model object to one valid, canonical graph.

What leaves this room has passed the ONNX checker, holds no operator that pretends to be ours, and
has every node that is to be enforced in a graph rather than in a model-local function.
"""
