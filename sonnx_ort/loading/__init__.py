"""Loads a model from a file, bytes or an object into one valid, canonical graph.

A loaded model has passed the ONNX checker and contains no forged operators of the domain `sonnx`.
Each node to enforce is in a graph, not in a model-local function.
"""
