"""What ONNX Runtime's optimizers do to an enforced model: kept from it, and looked at."""
