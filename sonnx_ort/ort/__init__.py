"""ONNX Runtime: what it infers, switches off and dies of; session options, and sessions."""
