"""Trying the native backend on an execution provider of ONNX Runtime."""
