"""By how many units in the last place ONNX Runtime misses the nearest number."""
