"""Running enforced models in ONNX Runtime: session options, sessions, violations."""
