"""Runs rewritten models in ONNX Runtime: session options, sessions, violations."""
